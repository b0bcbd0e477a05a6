"""An address in a policy: a host, all hosts below a domain, or a base URL."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nbtool.errors import BadUsage
from nbtool.server_url import ServerUrl, parse_server_url

THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names of this machine, which are one host to a policy."""

_AMBIGUOUS_SEGMENT = re.compile(r"/\.{1,2}(?:/|$)|%2e|%2f|%5c|//", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HostPattern:
    """One allowed address.

    `api.example.org` is that host over HTTPS at its default port; `*.example.org` every host below it;
    `api.example.org:8443` another port; `https://example.org/v1` and `http://host:8000` an address and what is below
    it. `localhost` is this machine, at any port and over plain HTTP too.
    """

    text: str
    scheme: str
    host: str
    port: int | None
    path: str
    is_domain: bool

    @classmethod
    def parse(cls, text: str) -> HostPattern:
        """Parse one entry of a list of addresses.

        Raises:
            BadUsage: it is invalid.
        """
        scheme = text.partition("://")[0] if "://" in text else ""
        address = text.partition("://")[2] or text
        is_domain = address.startswith("*.")
        try:
            url = parse_server_url(f"{scheme or 'https'}://{address.removeprefix('*.')}")
        except BadUsage as error:
            raise BadUsage(f"{text!r} is not an address. {error.message}") from None
        if "*" in f"{url.host}{url.path}" or (url.path and not scheme):
            raise BadUsage(f"{text!r} is not an address: expected HOST, HOST:PORT, *.DOMAIN or https://HOST/PATH.")
        names_port = bool(scheme) or re.search(r":\d+$", address) is not None
        host = "localhost" if url.host in THIS_MACHINE else url.host
        return cls(text, scheme.lower(), host, url.port if names_port else None, url.path, is_domain)

    def matches(self, url: ServerUrl) -> bool:
        """Whether an address is allowed by this entry."""
        return self._matches_host(url.host) and self._matches_port(url) and self._matches_path(url.path)

    def matches_proxy(self, host: str, port: int) -> bool:
        """Whether a proxy is allowed by this entry, whatever its protocol; without a port, at any port."""
        return self._matches_host(host) and self.port in (None, port)

    def _matches_host(self, host: str) -> bool:
        if self.is_domain:
            return host.endswith(f".{self.host}")
        return ("localhost" if host in THIS_MACHINE else host) == self.host

    def _matches_port(self, url: ServerUrl) -> bool:
        is_here = url.host in THIS_MACHINE
        if (url.scheme != self.scheme) if self.scheme else not (is_here or url.scheme == "https"):
            return False
        return url.port == self.port if self.port else is_here or url.has_default_port

    def _matches_path(self, path: str) -> bool:
        if not self.path:
            return True
        is_below = path == self.path or path.startswith(f"{self.path}/")
        return is_below and not _AMBIGUOUS_SEGMENT.search(path)
