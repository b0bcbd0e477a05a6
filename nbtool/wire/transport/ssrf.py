"""SSRF protection: pages are fetched from public addresses only.

The check is applied to the resolved address, never to a name or its spelling. An address that embeds another one is
checked by that one (NAT64), or rejected (mapped, tunnelled).
"""

from __future__ import annotations

import ipaddress

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


def is_public(address: IPAddress) -> bool:
    """Whether an address is public: not of this machine, its networks, its host or its cloud."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64 and not address.scope_id:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address.scope_id or address not in _GLOBAL_6:
            return False
    is_closed = address.is_private or address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not is_closed and not any(address in network for network in _CLOSED)
