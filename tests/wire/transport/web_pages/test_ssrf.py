from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.wire.transport.web_pages.ssrf import is_public

CLOSED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.1.2.3",
    "127.255.255.254", "169.254.0.1", "169.254.169.254", "169.254.170.2", "168.63.129.16", "172.16.0.1",
    "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255",
    "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.8.8", "::127.0.0.1",
    "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::8.8.8.8",
    "100::1", "2001::1", "2001:0:7f00:1::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1",
    "2002:7f00:1::", "2002:a9fe:a9fe::", "2002:808:808::", "3fff::1", "4000::1", "5f00::1", "fc00::1", "fd00::1",
    "fd00:ec2::254", "fd20:ce::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1", "2606:4700::1%eth0",
]  # fmt: skip
OPEN = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "93.184.216.34", "100.63.255.255", "100.128.0.1", "126.255.0.1",
    "128.0.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "192.167.0.1", "223.255.255.1", "2606:4700::1111",
    "2001:4860:4860::8888", "2a00:1450::1", "64:ff9b::8.8.8.8",
]  # fmt: skip


def test_there_are_at_least_sixty_closed_forms() -> None:
    assert len(set(CLOSED)) >= 60


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("text", CLOSED)
def test_this_machine_its_networks_and_its_cloud_are_closed(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


NETWORKS = [
    *map(ipaddress.IPv4Network, (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
    )),
    *map(ipaddress.IPv6Network, (
        "::/96", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
        "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    )),
]  # fmt: skip
"""Networks that IANA's registries of special addresses, and the makers of clouds, list."""


@settings(max_examples=200)
@given(network=st.sampled_from(NETWORKS), share=st.floats(0, 1))
def test_every_address_of_a_special_network_is_closed(
    network: ipaddress.IPv4Network | ipaddress.IPv6Network, share: float
) -> None:
    address = network[min(int(share * network.num_addresses), network.num_addresses - 1)]

    assert not is_public(address)


@settings(max_examples=200)
@given(address=st.ip_addresses(v=4))
def test_an_address_that_embeds_another_is_at_most_as_open(address: ipaddress.IPv4Address) -> None:
    number = int(address)

    assert is_public(ipaddress.IPv6Address((0x64FF9B << 96) | number)) is is_public(address)
    assert not is_public(ipaddress.IPv6Address((0xFFFF << 32) | number))
    assert not is_public(ipaddress.IPv6Address((0x2002 << 112) | (number << 80)))


@pytest.mark.parametrize("text", OPEN)
def test_the_open_network_is_open(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))
