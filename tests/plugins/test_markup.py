"""Private values in markup, in addresses and in wrapped lines: compositions of spellings, for each type of value."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.plugins.masks import MASK, Masks
from nbtool.plugins.pii_patterns import PII_TYPES, select_types
from nbtool.plugins.text_normalization import normalize
from tests.cpu_time import check_growth

VALUES = {
    "email": "grace.hopper@navy.mil",
    "card": "4111 1111 1111 1111",
    "iban": "DE89 3704 0044 0532 0130 00",
    "phone": "+49 30 1234567",
    "api_key": "sk-proj-abcdefghijklmnop",
    "name": "Grace Hopper",
}
Spell = Callable[[str, st.DataObject], str]


def part_of(written: str, data: st.DataObject) -> tuple[str, str, str]:
    """Cut a spelling of a value into three parts, at borders of the value's own words."""
    words = {word for value in VALUES.values() for word in re.findall(r"\w{2,}", value)}
    found = [one.span() for one in re.finditer(r"\w{2,}", written) if one[0] in words] or [(0, len(written))]
    start = data.draw(st.sampled_from([one for one, _ in found]))
    end = data.draw(st.sampled_from([one for _, one in found if one > start]))
    return written[:start], written[start:end], written[end:]


def wrapped(before: str, after: str) -> Spell:
    def spell(value: str, data: st.DataObject) -> str:
        head, middle, tail = part_of(value, data)
        return f"{head}{before}{middle}{after}{tail}"

    return spell


def broken(line_break: str) -> Spell:
    def spell(value: str, data: st.DataObject) -> str:
        spaces = [found.start() for found in re.finditer(r" (?![^<]*>)", value)]  # a tag is not wrapped
        if not spaces or "\n" in value:
            return value
        at = data.draw(st.sampled_from(spaces))
        return f"{value[:at]}{line_break}{value[at + 1 :]}"

    return spell


def soft_break(value: str, data: st.DataObject) -> str:
    at = data.draw(st.integers(1, len(value) - 1))
    return f"{value[:at]}=\n{value[at:]}"


SPELLINGS: dict[str, Spell] = {
    "escapes of Markdown": lambda value, _: re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", value),
    "a query": lambda value, _: f"https://example.net/find?q={quote_plus(value)}&page=2",
    "percent": lambda value, _: quote(value, safe=""),
    "entities": lambda value, _: html.escape("".join(f"&#{ord(one)};" if one in "@. " else one for one in value)),
    "bold": wrapped("**", "**"),
    "italic": wrapped("*", "*"),
    "struck": wrapped("~~", "~~"),
    "code": wrapped("`", "`"),
    "b": wrapped("<b>", "</b>"),
    "span": wrapped('<span class="x y">', "</span>"),
    "comment": wrapped("<!-- here -->", ""),
    "a link": wrapped("[", "](https://example.net/x)"),
    "a wrapped line": broken("\n"),
    "a wrapped line of Windows": broken("  \r\n"),
    "a wrapped quotation": broken("\n> "),
    "a wrapped comment": broken("\n    # "),
    "a soft break": soft_break,
}


def masks_for(type_: str) -> Masks:
    return Masks(select_types([] if type_ == "name" else [type_], [VALUES["name"]] if type_ == "name" else [], {}))


def words_of(value: str) -> list[str]:
    return [word.lower() for word in re.findall(r"\w{4,}", value)]


def check_masked(type_: str, written: str) -> None:
    masks, text = masks_for(type_), f"It was {written} ."

    masked = masks.mask(text)
    rest = normalize(MASK.sub("", masked)).text.lower()

    assert MASK.search(masked), written
    assert not [word for word in words_of(VALUES[type_]) if word in rest], (written, masked)
    assert masks.restore(masked) == text
    assert masks.mask(masked) == masked


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("masked")
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("type_", VALUES)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_a_value_is_masked_in_each_kind_of_markup(type_: str, spelling: str, data: st.DataObject) -> None:
    check_masked(type_, SPELLINGS[spelling](VALUES[type_], data))


@pytest.mark.promise("masked")
@settings(max_examples=120)
@given(type_=st.sampled_from(sorted(VALUES)), spelling=st.sampled_from(sorted(SPELLINGS)), data=st.data())
def test_any_value_is_masked_in_any_kind_of_markup(type_: str, spelling: str, data: st.DataObject) -> None:
    check_masked(type_, SPELLINGS[spelling](VALUES[type_], data))


@pytest.mark.sampled(2)
@pytest.mark.promise("masked")
@pytest.mark.parametrize("type_", VALUES)
@settings(max_examples=250, deadline=None)
@given(data=st.data(), names=st.lists(st.sampled_from(sorted(SPELLINGS)), min_size=2, max_size=3, unique=True))
def test_a_value_is_masked_in_every_composition_of_spellings(type_: str, names: list[str], data: st.DataObject) -> None:
    written = VALUES[type_]
    for name in sorted(names, key="a soft break".__eq__):  # which a mail is sent in, whatever it contains
        written = SPELLINGS[name](written, data)

    check_masked(type_, written)


@pytest.mark.parametrize(
    ("type_", "written"),
    [
        ("email", r"grace\.hopper\@navy\.mil"),
        ("email", r"<grace\.hopper\@navy\.mil>"),
        ("email", r"grace\_hopper@navy.mil"),
        ("email", "grace.hopper@\nnavy.mil"),
        ("name", "https://example.net/find?q=Grace+Hopper"),
        ("name", "q=Grace+**Hopper**&page=2"),
        ("iban", "https://example.net/find?q=D=\nE89+3704+0044+0532+0130+00&page=2"),
        ("name", "Grace **Hopper**"),
        ("name", "__Grace__ Hopper"),
        ("name", "Grace <b>Hopper</b>"),
        ("name", "<td>Grace</td><td>Hopper</td>"),
        ("name", "Gra<b>ce</b> Ho**pp**er"),
        ("name", "[Grace](https://example.net) [Hopper]"),
        ("name", r"\textbf{Grace} \emph{Hopper}"),
        ("name", r"Grace\ Hopper"),
        ("name", "Grace<br/>\n  Hopper"),
        ("iban", "DE89 3704\n0044 0532 0130 00"),
        ("iban", "DE89 37\r\n04 0044 0532 0130 00\nNEXT"),
        ("iban", "DE893704004405\n32013000"),
        ("iban", "> DE89 3704 0044\n> 0532 0130 00"),
        ("card", "4111 1111\n1111 1111"),
        ("card", "4111 11\n11 1111 1111"),
        ("phone", "+49 30\n1234567"),
        ("phone", r"\+49\(30\)1234567"),
    ],
)
@pytest.mark.promise("masked")
def test_a_value_is_masked_as_it_was_met(type_: str, written: str) -> None:
    check_masked(type_, written)


@pytest.mark.parametrize(
    "plain",
    [
        "0\n1\n2\n3\n4\n5\n6\n7\n8\n9", "00\n01\n02\n03\n04\n05", "1999 2000\n2001 2002", "a * b + c ** 2 - d[0]",
        "    year  value\n0   2019  12345\n1   2020  67890\n2   2021  24680\n3   2022  13579",
        "def f(self):\n    return self.g\n\n@app.route('/x')\ndef h(): ...", "C:\\new\\table\\readme", "x += 1; y++",
        "| a | b |\n|---|---|\n| 1 | 2 |", "ID10\nNAME\nCITY\nTOWN", "List<int> and Map<str, int>",
        "BE68 lower case words that\nfollow here",
    ],
)  # fmt: skip
def test_code_tables_and_columns_of_numbers_stay_as_they_are(plain: str) -> None:
    assert Masks(select_types(PII_TYPES, ["Grace Hopper"], {})).mask(plain) == plain


def test_an_iban_ends_where_its_checksum_says() -> None:
    masks = Masks(select_types(["iban"], (), {}))

    assert masks.mask("BE68 5390 0754 7034 text") == "__MASK_IBAN_1__ text"
    assert masks.mask("BE68 5390 0754 7034\nTEXT") == "__MASK_IBAN_1__\nTEXT"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "piece",
    ["\\", "\\.", "*", "_", "_ ", "`a", "<a ", "<b>", "](", "](x", "\n", "\n> ", " ", "\r", "+", "a+", "=\n", "[^a",
     "\\a{", "ab12\n"],
)  # fmt: skip
def test_time_grows_with_the_markup(piece: str) -> None:
    types = select_types(PII_TYPES, ["Grace Hopper"], {})

    check_growth(lambda size: Masks(types).mask(piece * (size // len(piece))), (50_000, 200_000), room=2.5)
