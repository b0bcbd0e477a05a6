"""The one strict parser for server addresses from users, files and the environment.

An address that two parsers could read differently is rejected, not repaired, because it decides where a key is sent.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache

from nbtool.errors import BadUsage
from nbtool.text import shorten

MAX_URL = 2_000
"""Maximum length of an address, in characters."""

DEFAULT_PORTS = {"http": 80, "https": 443}
"""The allowed schemes, and the default port of each."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]*\]|[^\[\]:]*)(?::(.*))?")
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_PATH = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
_QUERY = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_EXAMPLE_FIX = "Write it as https://host/v1 or http://localhost:8000/v1."


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """A parsed address; `str()` returns its normalized form."""

    scheme: str
    host: str
    port: int
    path: str = ""
    query: str = ""

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port, to which a key is bound (RFC 6454)."""
        return self.scheme, self.host, self.port

    @property
    def has_default_port(self) -> bool:
        """Whether the port is the default port of the scheme."""
        return self.port == DEFAULT_PORTS[self.scheme]

    @property
    def is_loopback(self) -> bool:
        """Whether this is `localhost` or an address of the loopback interface."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def may_be_this_machine(self) -> bool:
        """Whether it may lead to this machine: also by an embedded address, or a name below `localhost` (RFC 6761).

        More than `is_loopback`: a key may be sent only where that is certain.
        """
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return self.host == "localhost" or self.host.endswith((".localhost", ".localdomain"))
        inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return (inner or address).is_loopback or (inner or address).is_unspecified

    @property
    def may_carry_key(self) -> bool:
        """Whether a key may be sent there: over https, or to loopback."""
        return self.scheme == "https" or self.is_loopback

    @property
    def netloc(self) -> str:
        """Host and port, the port only if it is not the default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.has_default_port else f"{host}:{self.port}"

    def __str__(self) -> str:
        query = f"?{self.query}" if self.query else ""
        return f"{self.scheme}://{self.netloc}{self.path}{query}"


@lru_cache(maxsize=256)  # pure, and called several times for each request
def parse_server_url(text: str, *, may_have_query: bool = False) -> ServerUrl:
    """Parse the address of a server.

    `host:port` and `localhost` are read as `http://…`; `0.0.0.0` and `[::]`, on which servers listen, as the loopback
    address. A trailing slash is dropped.

    Raises:
        BadUsage: the address is invalid or ambiguous. The text itself is not repeated: it may contain a password.
    """
    address = text.strip(" \t\r\n")
    if not address or len(address) > MAX_URL:
        raise BadUsage(f"Expected an address of 1 to {MAX_URL:,} characters.", fix=_EXAMPLE_FIX)
    if not address.isascii() or any(character <= " " or character in '\\"<>^`{|}\x7f' for character in address):
        raise BadUsage(
            "The address contains an invalid character.",
            fix="Write a non-ASCII host in its ASCII form (xn--…), and remove spaces and backslashes.",
        )
    if "#" in address:
        raise BadUsage("The address contains a '#'.", fix="Remove it and everything after it.")
    base, question_mark, query = address.partition("?")
    if question_mark and (not may_have_query or not _QUERY.fullmatch(query)):
        raise BadUsage("The address contains a query ('?').", fix="Remove it and everything after it.")
    scheme_match = _SCHEME.match(base)
    scheme = scheme_match[1].lower() if scheme_match else "http"
    if scheme not in DEFAULT_PORTS:
        raise BadUsage(f"Unsupported scheme {shorten(scheme, 20)!r}: expected http or https.", fix=_EXAMPLE_FIX)
    authority, slash, path = base[scheme_match.end() if scheme_match else 0 :].partition("/")
    if not _PATH.fullmatch(path):
        raise BadUsage("The path of the address is invalid.", fix=_EXAMPLE_FIX)
    host, port = _parse_authority(authority, scheme)
    return ServerUrl(scheme, host, port, f"{slash}{path}".rstrip("/"), query)


def _parse_authority(authority: str, scheme: str) -> tuple[str, int]:
    if "@" in authority:
        raise BadUsage("The address contains a user or a password.", fix="Remove it, and pass the key as api_key.")
    parts = _AUTHORITY.fullmatch(authority)
    if not parts or not parts[1] or parts[1].lower() in DEFAULT_PORTS:
        raise BadUsage("The address has no host.", fix=_EXAMPLE_FIX)
    port = DEFAULT_PORTS[scheme]
    if parts[2] is not None:
        if not _PORT.fullmatch(parts[2]) or int(parts[2]) > 65_535:
            raise BadUsage("The port of the address is not a number from 1 to 65535.", fix=_EXAMPLE_FIX)
        port = int(parts[2])
    return _normalize_host(parts[1]), port


def _normalize_host(text: str) -> str:
    """Return a host in its normalized form: a name in lower case, or an IP address as `ipaddress` formats it."""
    if text.startswith("[") or _NUMBER.fullmatch(text.rpartition(".")[2]):
        try:
            address: ipaddress.IPv4Address | ipaddress.IPv6Address = (
                ipaddress.IPv6Address(text[1:-1]) if text.startswith("[") else ipaddress.IPv4Address(text)
            )
        except ValueError:
            raise BadUsage(
                "The address contains a malformed IP address.", fix="Write four numbers, or [IPv6]."
            ) from None
        return "127.0.0.1" if address.is_unspecified else str(address)
    if len(text) > 253 or not all(map(_LABEL.fullmatch, text.split("."))):
        raise BadUsage("The host of the address is invalid.", fix="Write a host name without a trailing dot.")
    return text.lower()
