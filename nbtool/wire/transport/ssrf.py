"""Which addresses a page may be fetched from: public ones, however they are written.

The judgement is over the address that a connection goes to, never over a name or its spelling. An address that carries
another one inside is judged by that one (NAT64), or closed altogether (mapped, tunnelled).
"""

from __future__ import annotations

import ipaddress

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")  # all that was ever given out: RFC 4291 § 2.4, RFC 3587
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # networks without IPv4 reach all of it through these: RFC 6052
_CLOSED = tuple(
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32",  # Azure's host: a public address that only the machine's own host answers
        "192.0.0.0/24",  # protocol assignments, and Oracle's metadata
        "192.88.99.0/24",  # relays of 6to4, given up (RFC 7526)
        "2001::/23",  # protocol assignments, Teredo among them
        "2002::/16",  # 6to4, which carries any IPv4 address inside
        "2001:db8::/32", "3fff::/20", "5f00::/16",  # documentation, segment routing
    )
)  # fmt: skip


def is_public(address: IPAddress) -> bool:
    """Whether an address is one of the open network: not of this machine, its networks, its host or its cloud."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64 and not address.scope_id:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address.scope_id or address not in _GLOBAL_6:
            return False
    is_closed = address.is_private or address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not is_closed and not any(address in network for network in _CLOSED)
