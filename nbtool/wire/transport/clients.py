"""One HTTP client per event loop, so that connections are reused."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import ssl
import weakref
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nbtool.errors import SettingsError
from nbtool.wire.transport.body import ACCEPT_ENCODING

if TYPE_CHECKING:
    import httpx

MAX_IDLE_CONNECTIONS = 8
"""Maximum number of idle connections per loop."""

IDLE_SECONDS = 60.0
"""Seconds after which an idle connection is closed."""

_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[bool, httpx.AsyncClient]] = (
    weakref.WeakKeyDictionary()
)


def client_for(url: str) -> httpx.AsyncClient:
    """Return the running loop's client for a URL.

    Proxies and CA files are taken from the environment; loopback is never accessed through a proxy.

    Raises:
        nbtool.errors.SettingsError: a proxy or a CA file from the environment cannot be used.
    """
    is_local = is_loopback(urlsplit(url).hostname or "")
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    client = clients.get(is_local)
    if client is None or client.is_closed:
        client = clients[is_local] = _new_client(trust_env=not is_local)
    return client


async def close_clients() -> None:
    """Close the running loop's connections."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.aclose()


@lru_cache(maxsize=64)
def is_loopback(hostname: str) -> bool:
    """Whether a host is loopback."""
    if hostname == "localhost" or hostname.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(hostname).is_loopback
    except ValueError:
        return False


def _new_client(*, trust_env: bool) -> httpx.AsyncClient:
    import httpx  # noqa: PLC0415 - imported on first use of the network

    try:
        return httpx.AsyncClient(
            verify=certificates() if trust_env else True,
            trust_env=trust_env,
            follow_redirects=False,
            timeout=None,
            limits=httpx.Limits(max_keepalive_connections=MAX_IDLE_CONNECTIONS, keepalive_expiry=IDLE_SECONDS),
            headers={"user-agent": "nbtool", "accept-encoding": ACCEPT_ENCODING},
        )
    except OSError as error:
        names = [name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)]
        raise SettingsError(
            f"The certificates of {' and '.join(names) or 'Python'} cannot be read ({error.strerror or error}).",
            fix="Set it to a PEM file, or unset it, and restart the kernel.",
        ) from None
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise SettingsError(
            f"The proxy of the environment cannot be used ({error}).", fix="Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY."
        ) from None


def certificates() -> ssl.SSLContext | bool:
    """Return the TLS context for REQUESTS_CA_BUNDLE; httpx itself reads only SSL_CERT_FILE and SSL_CERT_DIR."""
    bundle = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    if not bundle or os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        return True
    try:
        if os.path.isdir(bundle):  # noqa: PTH112 - the variable names a file or a folder, as a plain string
            return ssl.create_default_context(capath=bundle)
        return ssl.create_default_context(cafile=bundle)
    except OSError as error:
        raise SettingsError(
            f"The certificates in {bundle} cannot be read ({error.strerror or error}).",
            fix="Set REQUESTS_CA_BUNDLE to a PEM file.",
        ) from None
