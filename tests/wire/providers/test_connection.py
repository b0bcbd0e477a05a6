"""The settings of a connection: names that are none, and the forms of a proxy."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
from pydantic import SecretStr

from nbtool import Chat
from nbtool.errors import BadUsage, SettingsError
from nbtool.wire.providers.connection import CONNECTION_SETTINGS, MAX_VALUE, auth_header, make_connection


def test_an_unknown_setting_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadUsage, match="Unknown setting 'proxxy'") as refused:
        make_connection({"proxxy": "http://a:1"})

    assert all(name in refused.value.fix for name in CONNECTION_SETTINGS)


def test_each_kind_of_authorization_sends_the_key_in_its_header() -> None:
    kinds = ("", "bearer", "x-api-key", "api-key", "x-goog-api-key", "X-Team-Key")

    assert [auth_header(kind) for kind in kinds] == [
        ("authorization", "Bearer "), ("authorization", "Bearer "),
        ("x-api-key", ""), ("api-key", ""), ("x-goog-api-key", ""), ("x-team-key", ""),
    ]  # fmt: skip


@pytest.mark.skipif(find_spec("socksio") is not None, reason="the package that speaks to such a proxy is installed")
def test_a_socks_proxy_without_its_package_names_what_to_install() -> None:
    turn = Chat("m", base_url="http://127.0.0.1:9", proxy="socks5://ada:word-0123456789@127.0.0.1:9").send("Hi")

    assert isinstance(turn.error, SettingsError)
    assert "%pip install httpx[socks]" in str(turn.error)
    assert "word-0123456789" not in str(turn.error)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("pairs", "is_fit"),
    [
        ({"X-Team": "lab"}, True),
        ({"X-Team": SecretStr("lab")}, True),
        ({"X-Team": "a" * MAX_VALUE}, True),
        ({"X-Team": "a" * (MAX_VALUE + 1)}, False),
        ({" ": "lab"}, False),
        ({7: "lab"}, False),
        ({"X-Team": 7}, False),
    ],
)
def test_headers_are_names_and_texts_of_a_bounded_length(pairs: Any, is_fit: bool) -> None:
    if is_fit:
        assert make_connection({"headers": pairs}).headers["X-Team"].get_secret_value().startswith(("lab", "aaa"))
        return
    with pytest.raises(BadUsage, match="headers"):
        make_connection({"headers": pairs})


@pytest.mark.every_case
@pytest.mark.parametrize("seconds", [0, -1, True, "5", float("inf"), float("nan")])
def test_seconds_are_a_number_greater_than_0(seconds: Any) -> None:
    with pytest.raises(BadUsage, match="key_seconds"):
        make_connection({"key_seconds": seconds})


def test_seconds_that_are_one_hold() -> None:
    assert make_connection({"key_seconds": 2}).key_seconds == 2.0
