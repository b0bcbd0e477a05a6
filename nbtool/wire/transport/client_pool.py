"""The pool of HTTP clients: one per event loop, proxy and certificates, so that connections are reused.

The TLS context of a client is made in `tls.py`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import weakref
from dataclasses import dataclass
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies

from nbtool.errors import BadUsage, SettingsError
from nbtool.policy import site_policy
from nbtool.threads.threadless import suspension
from nbtool.wire.providers.connection import Connection
from nbtool.wire.transport.response.decompression import ACCEPT_ENCODING
from nbtool.wire.transport.tls import certificate_location, tls_context

if TYPE_CHECKING:
    import httpx

    from nbtool.secret import Secret

MAX_IDLE_CONNECTIONS = 8
"""Maximum number of idle connections per loop."""

IDLE_SECONDS = 60.0
"""Seconds after which an idle connection is closed."""


@dataclass(frozen=True, slots=True)
class _Access:
    """What connections depend on: requests that differ in it have different clients."""

    uses_environment: bool
    proxy: Secret | None
    verify: str
    environment_certificates: str
    client_certificate: tuple[Secret, ...]


_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[_Access, httpx.AsyncClient]] = (
    weakref.WeakKeyDictionary()
)


def client_for(url: str, connection: Connection | None = None) -> httpx.AsyncClient:
    """Return the running loop's client for a URL.

    A proxy and certificates are those of the `connection`, else those of the environment; loopback is accessed through
    the connection's own proxy only.

    Raises:
        nbtool.errors.SettingsError: a proxy or a certificate cannot be used.
        nbtool.errors.BadUsage: the host of the URL is invalid.
        nbtool.errors.PolicyRefused: the administrator's policy does not allow the host, or a proxy.
        nbtool.errors.PolicyUnreadable: the policy cannot be read.
    """
    _check_host(url)
    site_policy().check_model_url(url)
    settings = connection or Connection()
    uses_environment = settings.proxy is None and not is_loopback(urlsplit(url).hostname or "")
    site_policy().check_proxies(_proxies(settings, uses_environment=uses_environment))
    access = _Access(
        uses_environment, settings.proxy, settings.verify, certificate_location()[0], settings.client_certificate
    )
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    client = clients.get(access)
    if client is None or client.is_closed:
        client = clients[access] = (_browser_client if suspension() else _new_client)(access)
    return client


def _proxies(settings: Connection, *, uses_environment: bool) -> list[str]:
    """Return the proxies through which a request may go: those of the environment whatever `NO_PROXY` says."""
    if settings.proxy:
        return [settings.proxy.get_secret_value()]
    if not uses_environment:
        return []
    return [address for name, address in getproxies().items() if name in ("http", "https", "all")]


@lru_cache(maxsize=64)
def is_loopback(hostname: str) -> bool:
    """Whether a host is loopback."""
    if hostname == "localhost" or hostname.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(hostname).is_loopback
    except ValueError:
        return False


def _new_client(access: _Access) -> httpx.AsyncClient:
    import httpx  # noqa: PLC0415 - imported on first use of the network

    from nbtool.failed_handshake import close_failed_handshake  # noqa: PLC0415 - the same
    from nbtool.wire.transport.unread_bytes import check_connection  # noqa: PLC0415 - the same

    context = tls_context(access.verify, access.client_certificate)
    try:
        return httpx.AsyncClient(
            verify=context,
            trust_env=access.uses_environment,
            proxy=access.proxy.get_secret_value() if access.proxy else None,
            cookies=_no_cookies(),
            follow_redirects=False,
            timeout=None,
            limits=httpx.Limits(max_keepalive_connections=MAX_IDLE_CONNECTIONS, keepalive_expiry=IDLE_SECONDS),
            headers={"user-agent": "nbtool", "accept-encoding": ACCEPT_ENCODING},
            event_hooks={"request": [close_failed_handshake], "response": [check_connection]},
        )
    except ImportError:
        reason = "socksio is not installed: `%pip install httpx[socks]`"
    except (ValueError, httpx.InvalidURL):
        reason = "invalid address"  # not the error's text: the address may contain a password
    if access.proxy:
        raise SettingsError(f"The proxy cannot be used ({reason}).", fix="Check the setting `proxy`.")
    raise SettingsError(
        f"The proxy of the environment cannot be used ({reason}).", fix="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY."
    )


def _browser_client(access: _Access) -> httpx.AsyncClient:
    """Return a client without sockets: proxies and certificates are those of the browser."""
    import httpx  # noqa: PLC0415 - imported on first use of the network

    from nbtool.wire.transport.socketless.browser_transport import FetchTransport  # noqa: PLC0415 - the same

    if access.proxy or access.verify or access.client_certificate:
        raise SettingsError(
            "A browser uses its own proxy and certificates.",
            fix="Remove the settings `proxy`, `verify` and `client_certificate`.",
        )
    return httpx.AsyncClient(
        transport=FetchTransport(), trust_env=False, cookies=_no_cookies(), follow_redirects=False, timeout=None
    )


def _no_cookies() -> CookieJar:
    """Return a jar that stays empty: one server could set what another one reads."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=()))


@lru_cache(maxsize=64)
def _check_host(url: str) -> None:
    """Check that the ASCII form of an international name (xn--…) is one: the HTTP library decodes it."""
    import httpx  # noqa: PLC0415 - imported on first use of the network

    try:
        httpx.URL(url).host  # noqa: B018 - raises if it cannot be decoded
    except (UnicodeError, httpx.InvalidURL):
        raise BadUsage("The host of the address is invalid.", fix="Check the part that begins with xn--.") from None
