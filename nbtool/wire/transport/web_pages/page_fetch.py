"""Fetch a page for a model, without credentials, from public addresses only, and within limits.

A name is resolved once, the address is checked, and the connection is made to that address, with the name only in the
`Host` header and in TLS; this prevents DNS rebinding. Every redirect is checked the same way. Proxies are not used,
because a proxy would resolve the name again.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from nbtool.errors import BadUsage, ConnectionFailed, InvalidReply, TimedOut
from nbtool.failed_handshake import close_failed_handshake
from nbtool.policy import site_policy
from nbtool.server_url import DEFAULT_PORTS, ServerUrl
from nbtool.text import count_of, shorten
from nbtool.threads.threadless import suspension
from nbtool.wire.transport import traffic
from nbtool.wire.transport.response.decompression import ACCEPT_ENCODING, read_start
from nbtool.wire.transport.tls import tls_context
from nbtool.wire.transport.web_pages.ssrf import IPAddress, is_public, resolve_allowed

if TYPE_CHECKING:
    import ssl

    import httpx

MAX_URL = 4_000
"""Maximum length of a URL, in characters."""

MAX_REDIRECTS = 5
"""Maximum number of redirects."""

MAX_PAGE = 2_000_000
"""Maximum decompressed size of a page in bytes; the rest is not read."""

FETCH_SECONDS = 20.0
"""Time limit for a page, including its redirects."""

Resolver = Callable[[str, int], Awaitable[list[str]]]
AddressFilter = Callable[[IPAddress], bool]

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
_KNOWN_CHARSET = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|us-ascii|ascii|latin-?1|iso-8859-\d+|windows-\d+|cp\d+|koi8-[ru]|shift[_-]jis|euc-(?:jp|kr)"
    r"|gbk|gb2312|gb18030|big5|macintosh",
    re.IGNORECASE,
)
_HEADERS = {
    "user-agent": "nbtool",
    "accept": "text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.8,*/*;q=0.1",
    "accept-encoding": ACCEPT_ENCODING,
}


@dataclass(frozen=True, slots=True)
class Page:
    """The response for a URL. `is_complete` is False if it was larger than `MAX_PAGE`."""

    url: str
    status: int
    content_type: str
    data: bytes
    is_complete: bool

    @property
    def mime(self) -> str:
        """The media type, in lower case and without parameters."""
        return self.content_type.partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The content as text, in the charset of the header or of the page, else UTF-8."""
        charset_match = _CHARSET.search(self.content_type) or _CHARSET.search(self.data[:2_048].decode("latin-1"))
        charset = charset_match[1] if charset_match and _KNOWN_CHARSET.fullmatch(charset_match[1]) else "utf-8"
        try:
            return self.data.decode(charset, "replace")
        except LookupError:
            return self.data.decode("utf-8", "replace")


async def resolve(host: str, port: int) -> list[str]:
    """Resolve a name with the system's resolver.

    Raises:
        BadUsage: there is none: a browser does not say which address a name has.
    """
    if suspension():
        raise BadUsage("Pages cannot be fetched in a browser.", fix="Use a kernel outside the browser for it.")
    addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in addresses))


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches pages; the resolver and the address filter can be replaced, mainly for tests."""

    resolve: Resolver = resolve
    is_allowed: AddressFilter = is_public
    max_page: int = MAX_PAGE
    seconds: float = FETCH_SECONDS
    tls: ssl.SSLContext | None = None

    async def fetch(self, url: str) -> Page:
        """Return a page, with any status.

        Raises:
            BadUsage: the URL is invalid or not allowed.
            WireError: there is no valid response within the time limit.
            PolicyRefused: the administrator's policy does not allow the host.
        """
        import httpx  # noqa: PLC0415 - the network loads when it is first used

        location = validate_url(url)
        try:
            async with asyncio.timeout(self.seconds):
                for _ in range(MAX_REDIRECTS + 1):
                    answer = await self._request(location)
                    if isinstance(answer, Page):
                        return answer
                    location = answer
        except TimeoutError:
            raise TimedOut(f"{location.host} took longer than {self.seconds:g} s.", fix="Try another page.") from None
        except httpx.HTTPError as error:
            raise ConnectionFailed(f"{location.host} cannot be reached ({type(error).__name__}).") from None
        raise InvalidReply(f"{location.host} redirects more than {MAX_REDIRECTS} times.", fix="Try another page.")

    async def _request(self, location: httpx.URL) -> Page | httpx.URL:
        """Send one request, and return the page or the target of a redirect."""
        import httpx  # noqa: PLC0415 - imported on first use of the network

        port = location.port or DEFAULT_PORTS[location.scheme]
        site_policy().check_page_url(ServerUrl(location.scheme, hostname(location).lower(), port, location.path))
        address = await self._address(location)
        host = location.netloc.decode("ascii")
        # A new client for each hop: cookies of one server are not sent to the next.
        transport = httpx.AsyncHTTPTransport(verify=self.tls or _tls(), trust_env=False, retries=0)
        hooks: Any = {"request": [close_failed_handshake]}
        async with httpx.AsyncClient(transport=transport, trust_env=False, timeout=None, event_hooks=hooks) as client:
            request = client.build_request(
                "GET",
                location.copy_with(host=str(address), fragment=None),
                headers={**_HEADERS, "host": host},
                extensions={"sni_hostname": hostname(location)},
            )
            with traffic.counting(hostname(location), 0):
                response = await client.send(request, stream=True, auth=None, follow_redirects=False)
            async with aclosing(response):
                if response.is_redirect and "location" in response.headers:
                    return validate_url(_redirect_target(location, response.headers["location"]))
                data, is_complete = await read_start(response, self.max_page, hostname(location))
                return Page(
                    str(location), response.status_code, response.headers.get("content-type", ""), data, is_complete
                )

    async def _address(self, location: httpx.URL) -> IPAddress:
        port = location.port or DEFAULT_PORTS[location.scheme]
        return await resolve_allowed(hostname(location), port, self.resolve, self.is_allowed)


def validate_url(url: str) -> httpx.URL:
    """Parse a URL strictly: http or https, a host, and nothing that two parsers could read differently.

    Raises:
        BadUsage: it is invalid.
    """
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    if len(url) > MAX_URL:
        raise BadUsage(f"The address has {count_of(len(url), 'character')}; the limit is {MAX_URL:,}.")
    if not url.isprintable() or " " in url or "\\" in url:
        raise BadUsage("The address contains an invalid character.", fix="Write it as https://host/path.")
    try:
        location = httpx.URL(url)
        host, has_user = hostname(location), bool(location.userinfo)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise BadUsage("The address is invalid.", fix="Write it as https://host/path.") from None
    if location.scheme not in ("http", "https"):
        raise BadUsage(f"{shorten(location.scheme, 20) or 'No scheme'!r}: only http and https are fetched.")
    if not host or "%" in host or not 0 < (location.port or 80) < 65_536:
        raise BadUsage("The address has no host.", fix="Write it as https://host/path.")
    if has_user:
        raise BadUsage("The address contains a user or a password.", fix="Remove it.")
    return location


def hostname(location: httpx.URL) -> str:
    """Return the host in its ASCII form."""
    return location.raw_host.decode("ascii")


def _redirect_target(base: httpx.URL, location: str) -> str:
    import httpx  # noqa: PLC0415 - imported on first use of the network

    try:
        return str(base.join(location))
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise InvalidReply(f"{base.host} redirects to an invalid address.") from None


@cache
def _tls() -> ssl.SSLContext:
    return tls_context()
