"""Messages for connection errors: the address, the certificate, the proxy or the network, with the fix."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from socket import gaierror
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from nbtool.errors import ConnectionFailed
from nbtool.wire.transport.clients import is_loopback

_RETRY_FIX = "Send it again."
_OTHER_ADDRESS = (62, 64)
"""OpenSSL's error codes for a certificate of another name or address."""

_OTHER_TIME = (9, 10)
"""OpenSSL's error codes for a certificate that is not yet valid or has expired."""

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


def connect_error(error: Exception, label: str, url: str) -> tuple[ConnectionFailed, bool]:
    """Return the error for a failed connection, and whether a retry may help."""
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    for cause in _cause_chain(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _certificate_refused(cause, label), False
        if isinstance(cause, ssl.SSLError) and cause.reason in _PLAIN_HTTP_REASONS:
            return ConnectionFailed(
                f"{label} does not use https on this port.", fix="Check the port, or use http://."
            ), False
    if isinstance(error, httpx.ProxyError):
        return _proxy_refused(error, label, url), False
    variable, proxy = proxy_for(url)
    if variable:
        message = f"{label} cannot be reached: the proxy {proxy} ({variable}) does not answer ({_reason(error)})."
        fix = f"Check {variable}, or bypass the proxy: NO_PROXY={urlsplit(url).hostname}."
        return ConnectionFailed(message, fix=fix), True
    if is_loopback(urlsplit(url).hostname or ""):
        fix = "Start the server, or choose another model."
    else:
        fix = "Check the address and the network; if a proxy is required, set HTTPS_PROXY."
    return ConnectionFailed(f"{label} cannot be reached ({_reason(error)}).", fix=fix), True


def disconnect_error(error: Exception, label: str) -> ConnectionFailed:
    """Return the error for a connection that broke after it was established."""
    return ConnectionFailed(f"The connection to {label} broke ({_reason(error)}).", fix=_RETRY_FIX)


def _certificate_refused(error: ssl.SSLCertVerificationError, label: str) -> ConnectionFailed:
    problem = error.verify_message or "not trusted"
    if error.verify_code in _OTHER_ADDRESS:
        fix = "Use the address that the certificate is for."
    elif error.verify_code in _OTHER_TIME:
        fix = "Check this machine's clock, or contact the server's administrator."
    else:
        fix = "If a private CA signs the certificate, set SSL_CERT_FILE to its CA file (PEM) and restart the kernel."
    return ConnectionFailed(f"The certificate of {label} was refused ({problem}).", fix=fix)


def _proxy_refused(error: Exception, label: str, url: str) -> ConnectionFailed:
    """Return the error for a proxy's rejection; httpx puts its status and reason in the text of its error."""
    variable, proxy = proxy_for(url)
    message = f"The proxy {proxy} ({variable}) refused the connection to {label}: {error}."
    if re.match(r"407\b", str(error)):
        return ConnectionFailed(message, fix=f"It requires credentials: {variable}=http://NAME:PASSWORD@{proxy}")
    return ConnectionFailed(message, fix=f"Contact its administrator, or bypass it: NO_PROXY={urlsplit(url).hostname}")


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
