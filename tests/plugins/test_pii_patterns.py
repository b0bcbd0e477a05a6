from __future__ import annotations

import pytest

from nbtool.errors import BadUsage
from nbtool.plugins.masks import Masks
from nbtool.plugins.pii_patterns import MAX_TYPE, PII_TYPES, select_types
from tests.cpu_time import run_within


def mask_text(text: str, *types: str) -> str:
    return Masks(select_types(types or PII_TYPES, (), {})).mask(text)


@pytest.mark.parametrize(
    ("type_", "private"),
    [
        ("email", "ada@example.org"),
        ("email", "a.b+c@mail.example.co.uk"),
        ("email", "müller@exämple.de"),
        ("phone", "+49 30 1234567"),
        ("phone", "030/1234567"),
        ("phone", "(030) 1234-567"),
        ("phone", "555-123-4567"),
        ("phone", "1-800-555-0199"),
        ("card", "4111 1111 1111 1111"),
        ("card", "4111111111111111"),
        ("card", "3782 822463 10005"),
        ("iban", "DE89370400440532013000"),
        ("iban", "DE89 3704 0044 0532 0130 00"),
        ("iban", "BE68 5390 0754 7034"),
        ("iban", "DE89_3704_0044_0532_0130_00"),
        ("ip", "192.168.0.1"),
        ("ip", "2001:db8::ff00:42:8329"),
        ("ip", "fe80::1"),
        ("ip", "::ffff:192.0.2.1"),
        ("api_key", "sk-proj-abcdefghijklmnop"),
        ("api_key", "ghp_abcdefghijklmnopqrst"),
        ("api_key", "AKIAIOSFODNN7EXAMPLE"),
        ("api_key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\n-----END RSA PRIVATE KEY-----"),
    ],
)
def test_a_private_text_is_found_whole_within_a_sentence(type_: str, private: str) -> None:
    assert mask_text(f"It is {private}, he said.", type_) == f"It is __MASK_{PII_TYPES[type_].name}_1__, he said."


@pytest.mark.parametrize(
    ("type_", "plain"),
    [
        ("email", "user at example, @name and a@b"),
        ("phone", "3750000 on 2024-01-02, 01.02.2024, in 0.12345678 s"),
        ("card", "4111 1111 1111 1112"),
        ("iban", "ab12cdef34567890abcdef1234567890"),
        ("ip", "version 1.2.3, at 12:30:45, a[::2], std::vector, 999.1.1.1"),
        ("api_key", "task-based risk-free sky-blue"),
    ],
)
def test_what_only_looks_alike_stays(type_: str, plain: str) -> None:
    assert mask_text(plain, type_) == plain


@pytest.mark.parametrize("around", ["http://{}:8080/x", "ip:{}", "{}:22.", "({})", "{}/24"])
def test_an_address_of_a_host_is_found_with_a_port_and_after_a_colon(around: str) -> None:
    assert mask_text(around.format("192.168.17.4"), "ip") == around.format("__MASK_IP_1__")


@pytest.mark.parametrize(
    "written", ["J=C3=BCrgen Groß", r"J\xc3\xbcrgen Groß", r"J\xfcrgen Groß", "J%C3%BCrgen Gro%C3%9F"]
)
def test_a_name_is_found_in_escaped_bytes(written: str) -> None:
    assert Masks(select_types((), ["Jürgen Groß"], {})).mask(f"By {written}.") == "By __MASK_NAME_1__."


def test_names_are_found_as_whole_words_in_any_case() -> None:
    masks = Masks(select_types((), ["Ann", "Ann Lee"], {}))

    assert masks.mask("ANN, *ann* and Ann Lee met Anna.") == (
        "__MASK_NAME_1__, *__MASK_NAME_2__* and __MASK_NAME_3__ met Anna."
    )
    assert masks.mask("_Ann_") == "___MASK_NAME_4___"


def test_patterns_of_ones_own_have_types_of_ones_own() -> None:
    assert Masks(select_types((), (), {"ticket": r"TK-\d+"})).mask("See TK-12.") == "See __MASK_TICKET_1__."


@pytest.mark.parametrize(
    ("built_in", "patterns", "complaint"),
    [
        (["mail"], {}, r"Unknown private type 'mail'\. Available: email"),
        ([], {"ticket": "TK-["}, r"pattern of 'ticket' is not a regular expression: unterminated"),
        ([], {"ticket": r"\d*"}, r"matches the empty string"),
        ([], {"my ticket": r"\d"}, r"Invalid type name 'my ticket'"),
        ([], {"a__b": r"\d"}, r"Invalid type name 'a__b'"),
        ([], {"a" * (MAX_TYPE + 1): r"\d"}, r"Invalid type name"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(built_in: list[str], patterns: dict[str, str], complaint: str) -> None:
    with pytest.raises(BadUsage, match=complaint) as refused:
        select_types(built_in, (), patterns)

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["a" * 200_000, "a." * 100_000, "1" * 200_000, "1 " * 100_000, ":" * 200_000, "@" * 9])
def test_the_patterns_take_time_in_proportion_to_the_text(text: str) -> None:
    run_within(5, lambda: mask_text(text))
