"""Errors of a connection that fails or breaks off: address, certificate, proxy or network, each with the fix."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from socket import gaierror
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from nbtool.errors import ConnectionFailed
from nbtool.wire.transport.client_pool import is_loopback

_RETRY_FIX = "Send it again."
_CERTIFICATE_FIX = "Send it again; if the server requires a client certificate, set `client_certificate`."
_OTHER_ADDRESS = (62, 64)
"""OpenSSL's error codes for a certificate of another name or address."""

_OTHER_TIME = (9, 10)
"""OpenSSL's error codes for a certificate that is not yet valid or has expired."""

_CLIENT_CERTIFICATE_ALERTS = (
    "CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "UNKNOWN_CA", "CERTIFICATE_EXPIRED", "CERTIFICATE_UNKNOWN",
    "UNSUPPORTED_CERTIFICATE", "CERTIFICATE_REVOKED", "ACCESS_DENIED",
)  # fmt: skip
"""The ends of OpenSSL's names for the alerts of a server that does not accept the client's certificate, or its lack."""

_PLAIN_HTTP_REASONS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF", "HTTP_REQUEST")


def proxy_for(url: str) -> tuple[str, str]:
    """Return the variable that sets the proxy for a URL, and the proxy's host; both empty if there is none."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return "", ""
    proxies = getproxies()
    for name in (parts.scheme, "all"):
        if address := proxies.get(name):
            return f"{name.upper()}_PROXY", _host_of(address)
    return "", ""


def _host_of(address: str) -> str:
    """Return host and port of a proxy, never its credentials."""
    try:
        proxy = urlsplit(address if "//" in address else f"http://{address}")
        return f"{proxy.hostname}:{proxy.port}" if proxy.port else str(proxy.hostname)
    except ValueError:
        return "with an invalid address"


def connect_error(error: Exception, label: str, url: str, *, proxy: str = "") -> tuple[ConnectionFailed, bool]:
    """Return the error for a failed connection, and whether a retry may help; `proxy` is the proxy of a setting."""
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    for cause in _cause_chain(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _certificate_refused(cause, label), False
        if isinstance(cause, ssl.SSLError) and cause.reason in _PLAIN_HTTP_REASONS:
            return ConnectionFailed(
                f"{label} does not use https on this port.", fix="Check the port, or use http://."
            ), False
    if is_certificate_required(error):
        return _certificate_required(label), False
    variable, proxy_host = ("proxy", _host_of(proxy)) if proxy else proxy_for(url)
    bypass = "remove the setting" if proxy else f"bypass it: NO_PROXY={urlsplit(url).hostname}"
    if isinstance(error, httpx.ProxyError):
        return _proxy_refused(error, label, variable, proxy_host, bypass), False
    if variable:
        message = f"{label} cannot be reached: the proxy {proxy_host} ({variable}) does not answer ({_reason(error)})."
        fix = f"Check {variable}, or {bypass}."
        return ConnectionFailed(message, fix=fix), True
    if is_loopback(urlsplit(url).hostname or ""):
        fix = "Start the server, or choose another model."
    else:
        fix = "Check the address and the network; if a proxy is required, set HTTPS_PROXY."
    return ConnectionFailed(f"{label} cannot be reached ({_reason(error)}).", fix=fix), True


def disconnect_error(error: Exception, label: str, *, may_lack_certificate: bool = False) -> ConnectionFailed:
    """Return the error for a connection that broke after it was established.

    A server that misses a client certificate ends the connection after the handshake (RFC 8446 section 4.4.2.4), which
    looks like any other end: `may_lack_certificate` says that it may be this one.
    """
    fix = _CERTIFICATE_FIX if may_lack_certificate else _RETRY_FIX
    return ConnectionFailed(f"The connection to {label} broke ({_reason(error)}).", fix=fix)


def is_certificate_required(error: Exception) -> bool:
    """Whether a server ended the connection because it requires a client certificate, or refused the one it got."""
    reasons = (str(getattr(cause, "reason", "")) for cause in _cause_chain(error) if isinstance(cause, ssl.SSLError))
    return any("ALERT" in reason and reason.endswith(_CLIENT_CERTIFICATE_ALERTS) for reason in reasons)


def _certificate_required(label: str) -> ConnectionFailed:
    return ConnectionFailed(
        f"{label} requires a client certificate, or refused this one.", fix="Set `client_certificate` to a PEM file."
    )


def _certificate_refused(error: ssl.SSLCertVerificationError, label: str) -> ConnectionFailed:
    problem = error.verify_message or "not trusted"
    if error.verify_code in _OTHER_ADDRESS:
        fix = "Use the address that the certificate is for."
    elif error.verify_code in _OTHER_TIME:
        fix = "Check this machine's clock, or contact the server's administrator."
    else:
        fix = (
            "If a private CA signs the certificate, set `verify` or SSL_CERT_FILE to its CA file (PEM) and restart the "
            "kernel."
        )
    return ConnectionFailed(f"The certificate of {label} was refused ({problem}).", fix=fix)


def _proxy_refused(error: Exception, label: str, variable: str, proxy: str, bypass: str) -> ConnectionFailed:
    """Return the error for a proxy's rejection; httpx puts its status and reason in the text of its error."""
    message = f"The proxy {proxy} ({variable}) refused the connection to {label}: {error}."
    if re.match(r"407\b", str(error)):
        return ConnectionFailed(message, fix=f"It requires credentials: {variable}=http://NAME:PASSWORD@{proxy}")
    return ConnectionFailed(message, fix=f"Contact its administrator, or {bypass}")


def _cause_chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, in the order of discovery."""
    visited: set[int] = set()
    while error is not None and id(error) not in visited:
        visited.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: Exception) -> str:
    for cause in _cause_chain(error):
        causes = cause.exceptions if isinstance(cause, BaseExceptionGroup) else (cause,)
        if any(isinstance(inner_error, gaierror) for inner_error in causes):
            return "its name cannot be resolved"
        if any(isinstance(inner_error, ConnectionRefusedError) for inner_error in causes):
            return "nothing listens there"
    return str(error) or type(error).__name__
