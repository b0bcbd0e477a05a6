"""The TLS context: which certificates are trusted, and the client's own certificate."""

from __future__ import annotations

import os
import ssl
import sys
from typing import TYPE_CHECKING

from nbtool.errors import SettingsError
from nbtool.wire.providers.connection import CERTIFI, SYSTEM

if TYPE_CHECKING:
    from nbtool.secret import Secret


def tls_context(verify: str = "", client_certificate: tuple[Secret, ...] = ()) -> ssl.SSLContext:
    """Return the TLS context for certificates of the system, of certifi, or of a file or folder.

    Without `verify` the files of the environment are used, else the system's trust store.

    Raises:
        nbtool.errors.SettingsError: a certificate cannot be read.
    """
    location, source = (verify, "the setting `verify`") if verify else certificate_location()
    try:
        context = _trust(location)
    except OSError as error:  # ssl.SSLError is one
        raise SettingsError(
            f"The certificates of {source} cannot be read ({error.strerror or error}).",
            fix="Set it to a PEM file, or unset it, and restart the kernel.",
        ) from None
    if client_certificate:
        _load_client_certificate(context, client_certificate)
    return context


def certificate_location() -> tuple[str, str]:
    """Return the file or folder of certificates that the environment names, and the name of its variable."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        if path := os.environ.get(name):
            return path, name
    return "", "the system"


def _trust(location: str) -> ssl.SSLContext:
    if location == CERTIFI or (not location and not _has_system_certificates()):
        import httpx  # noqa: PLC0415 - imported on first use of the network

        return httpx.create_ssl_context(trust_env=False)  # the bundle of certifi
    if location and location != SYSTEM:
        is_folder = os.path.isdir(location)  # noqa: PTH112 - the setting names a file or a folder, as a plain string
        context = ssl.create_default_context(
            capath=location if is_folder else None, cafile=None if is_folder else location
        )
        # Companies' authorities often lack the extensions that Python 3.13 and newer require by default; the system's
        # trust store, below, does not require them either: https://docs.python.org/3/library/ssl.html
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return context
    import truststore  # noqa: PLC0415 - imported on first use of the network

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _has_system_certificates() -> bool:
    """Whether the system has a trust store; minimal Linux images have none."""
    if sys.platform in ("win32", "darwin"):  # pragma: no cover - another system
        return True
    paths = ssl.get_default_verify_paths()
    folder = paths.capath
    return bool(paths.cafile) or bool(folder and any(os.scandir(folder)))


def _load_client_certificate(context: ssl.SSLContext, parts: tuple[Secret, ...]) -> None:
    certificate, *others = (part.get_secret_value() for part in parts)
    try:
        # Without a password OpenSSL would ask for one on the terminal.
        context.load_cert_chain(certificate, others[0] if others else None, others[1] if others[1:] else "")
    except (OSError, ValueError, TypeError):  # ssl.SSLError is an OSError
        reason = "the certificate, its key, or the password of the key is wrong"
    else:
        return
    raise SettingsError(f"The client certificate cannot be used: {reason}.", fix="Check `client_certificate`.")
