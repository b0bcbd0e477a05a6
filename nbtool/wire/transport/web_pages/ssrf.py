"""SSRF protection: pages are fetched from public addresses only.

The check is applied to the resolved address, never to a name or its spelling. An address that embeds another one is
checked by that one (NAT64), or rejected (mapped, tunnelled).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Sequence

from nbtool.errors import BadUsage, ConnectionFailed
from nbtool.text import shorten

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")  # all allocated unicast addresses: RFC 4291 § 2.4, RFC 3587
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # maps all IPv4 addresses for networks without IPv4: RFC 6052
_CLOSED = tuple(
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32",  # Azure's host: a public address that is answered by the machine's own host
        "192.0.0.0/24",  # protocol assignments, and Oracle's metadata
        "192.88.99.0/24",  # relays of 6to4, deprecated (RFC 7526)
        "2001::/23",  # protocol assignments, Teredo among them
        "2002::/16",  # 6to4, which embeds any IPv4 address
        "2001:db8::/32", "3fff::/20", "5f00::/16",  # documentation, segment routing
    )
)  # fmt: skip


async def resolve_allowed(
    host: str,
    port: int,
    resolve: Callable[[str, int], Awaitable[Sequence[str]]],
    is_allowed: Callable[[IPAddress], bool],
) -> IPAddress:
    """Resolve a host once, and return the address to connect to.

    Raises:
        ConnectionFailed: it has no address.
        BadUsage: one of its addresses is not allowed.
    """
    try:
        addresses = [ipaddress.ip_address(text) for text in await resolve(host, port)]
    except (OSError, ValueError, UnicodeError):
        addresses = []
    if not addresses:
        raise ConnectionFailed(f"The host {shorten(host, 100)} cannot be resolved.", fix="Check the address.")
    if not all(map(is_allowed, addresses)):
        raise BadUsage(
            f"{shorten(host, 100)} is on a private network or this machine, and is not fetched.",
            fix="Use a public address.",
        )
    return addresses[0]


def is_public(address: IPAddress) -> bool:
    """Whether an address is public: not of this machine, its networks, its host or its cloud."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64 and not address.scope_id:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address.scope_id or address not in _GLOBAL_6:
            return False
    is_closed = address.is_private or address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not is_closed and not any(address in network for network in _CLOSED)
