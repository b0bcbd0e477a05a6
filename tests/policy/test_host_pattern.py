from __future__ import annotations

import pytest

from nbtool.errors import BadUsage
from nbtool.policy.host_pattern import HostPattern
from nbtool.server_url import parse_server_url


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("api.example.org", "https://api.example.org/v1/chat"),
        ("API.example.org", "https://api.EXAMPLE.org"),
        ("api.example.org:8443", "https://api.example.org:8443/v1"),
        ("*.example.org", "https://a.b.example.org"),
        ("https://example.org/v1", "https://example.org/v1"),
        ("https://example.org/v1", "https://example.org/v1/chat/completions"),
        ("http://llm.internal:8000", "http://llm.internal:8000/v1"),
        ("localhost", "http://127.0.0.1:11434/v1"),
        ("127.0.0.1", "http://localhost:8000"),
        ("localhost:8000", "http://[::1]:8000"),
        ("https://example.org", "https://example.org/any/../path"),
    ],
)
def test_an_entry_allows_its_host_and_what_is_below_its_address(pattern: str, url: str) -> None:
    assert HostPattern.parse(pattern).matches(parse_server_url(url))


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("api.example.org", "http://api.example.org"),
        ("api.example.org", "https://api.example.org:8443"),
        ("api.example.org", "https://evil-api.example.org"),
        ("api.example.org", "https://api.example.org.evil.example"),
        ("*.example.org", "https://example.org"),
        ("*.example.org", "https://evilexample.org"),
        ("*.example.org", "http://a.example.org"),
        ("https://example.org/v1", "https://example.org/v10"),
        ("https://example.org/v1", "https://example.org/v2"),
        ("https://example.org/v1", "https://example.org/v1/../admin"),
        ("https://example.org/v1", "https://example.org/v1/%2e%2e/admin"),
        ("https://example.org/v1", "https://example.org/v1/..%2fadmin"),
        ("https://example.org/v1", "http://example.org/v1"),
        ("localhost", "http://127.0.0.2:8000"),
        ("localhost:8000", "http://localhost:8001"),
        ("localhost", "https://localhost.example.org"),
    ],
)
def test_an_entry_allows_nothing_that_only_looks_like_it(pattern: str, url: str) -> None:
    assert not HostPattern.parse(pattern).matches(parse_server_url(url))


def test_a_proxy_is_compared_by_host_and_port_whatever_its_protocol() -> None:
    assert HostPattern.parse("proxy.example.org:3128").matches_proxy("proxy.example.org", 3128)
    assert HostPattern.parse("proxy.example.org").matches_proxy("proxy.example.org", 1080)
    assert not HostPattern.parse("proxy.example.org:3128").matches_proxy("proxy.example.org", 3129)
    assert not HostPattern.parse("proxy.example.org").matches_proxy("evil.example", 3128)


@pytest.mark.parametrize(
    "text",
    ["", "*", "*.", "a*b.example.org", "example.org/v1", "ftp://example.org", "user:key@example.org", "a b", "*.*.org"],
)
def test_an_entry_that_is_no_address_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(BadUsage, match=r"is not an address") as refused:
        HostPattern.parse(text)

    assert repr(text) in str(refused.value)
