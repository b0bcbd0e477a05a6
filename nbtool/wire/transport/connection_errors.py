"""Why a server was not reached, in words that name the mend: an address, a certificate, a proxy, or the line itself."""

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
"""OpenSSL's codes of a certificate that is for another name or address."""

_OTHER_TIME = (9, 10)
"""OpenSSL's codes of a certificate that is not valid yet, or no more."""

_PLAIN_HTTP_REASONS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF", "HTTP_REQUEST")


def proxy_for(url: str) -> tuple[str, str]:
    """Give the variable that names the proxy on the way to an address, and the proxy's host; empty where none is."""
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
    """Give host and port of a proxy, never its name and password."""
    try:
        proxy = urlsplit(address if "//" in address else f"http://{address}")
        return f"{proxy.hostname}:{proxy.port}" if proxy.port else str(proxy.hostname)
    except ValueError:
        return "whose address makes no sense"


def connect_error(error: Exception, label: str, url: str) -> tuple[ConnectionFailed, bool]:
    """Say why no connection came about, and whether trying again may help."""
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    for cause in _cause_chain(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _certificate_refused(cause, label), False
        if isinstance(cause, ssl.SSLError) and cause.reason in _PLAIN_HTTP_REASONS:
            return ConnectionFailed(
                f"{label} does not speak https there.", fix="Check the port, or write http://."
            ), False
    if isinstance(error, httpx.ProxyError):
        return _proxy_refused(error, label, url), False
    variable, proxy = proxy_for(url)
    if variable:
        message = f"{label} cannot be reached: the proxy {proxy} ({variable}) does not answer ({_reason(error)})."
        fix = f"Check {variable}; NO_PROXY={urlsplit(url).hostname} goes past the proxy."
        return ConnectionFailed(message, fix=fix), True
    if is_loopback(urlsplit(url).hostname or ""):
        fix = "Start the server, or choose another model."
    else:
        fix = "Check the address and the network; where only a proxy leads out, set HTTPS_PROXY."
    return ConnectionFailed(f"{label} cannot be reached ({_reason(error)}).", fix=fix), True


def disconnect_error(error: Exception, label: str) -> ConnectionFailed:
    """Say that a connection broke which had come about."""
    return ConnectionFailed(f"The connection to {label} broke ({_reason(error)}).", fix=_RETRY_FIX)


def _certificate_refused(error: ssl.SSLCertVerificationError, label: str) -> ConnectionFailed:
    problem = error.verify_message or "not trusted"
    if error.verify_code in _OTHER_ADDRESS:
        fix = "Use the address that the certificate is for."
    elif error.verify_code in _OTHER_TIME:
        fix = "Check this machine's clock, or tell whoever keeps the server."
    else:
        fix = (
            "Where a company or a server of your own signs certificates, name its CA file (PEM) in SSL_CERT_FILE and "
            "restart the kernel."
        )
    return ConnectionFailed(f"The certificate of {label} was refused ({problem}).", fix=fix)


def _proxy_refused(error: Exception, label: str, url: str) -> ConnectionFailed:
    """Tell a proxy's no: httpx gives its status and reason as the text of the error."""
    variable, proxy = proxy_for(url)
    message = f"The proxy {proxy} ({variable}) did not let us through to {label}: {error}."
    if re.match(r"407\b", str(error)):
        return ConnectionFailed(message, fix=f"It wants a name and a password: {variable}=http://NAME:PASSWORD@{proxy}")
    return ConnectionFailed(message, fix=f"Ask who keeps it, or go past it: NO_PROXY={urlsplit(url).hostname}")


def _cause_chain(error: BaseException | None) -> Iterator[BaseException]:
    """Give an error and what led to it, in the order of discovery."""
    visited: set[int] = set()
    while error is not None and id(error) not in visited:
        visited.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: Exception) -> str:
    for cause in _cause_chain(error):
        causes = cause.exceptions if isinstance(cause, BaseExceptionGroup) else (cause,)
        if any(isinstance(inner_error, gaierror) for inner_error in causes):
            return "its name is not known here"
        if any(isinstance(inner_error, ConnectionRefusedError) for inner_error in causes):
            return "nothing listens there"
    return str(error) or type(error).__name__
