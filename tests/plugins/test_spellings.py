"""Private values in other spellings: each way to write a value that is promised to be found, for each type of value."""

# ruff: noqa: RUF001 - letters that look like others are the subject

from __future__ import annotations

import base64
import json
import quopri
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.messages import Media
from nbtool.plugins.masks import MASK, Masks, mask_part
from nbtool.plugins.pii_patterns import PII_TYPES, select_types
from nbtool.plugins.text_normalization import normalize
from tests.cpu_time import check_growth

VALUES = {
    "email": "ada@example.org",
    "card": "4111 1111 1111 1111",
    "iban": "DE89 3704 0044 0532 0130 00",
    "phone": "+49 30 1234567",
    "ip": "192.168.10.77",
    "api_key": "sk-proj-abcdefghijklmnop",
    "name": "Ada Lovelace",
}
TWINS = str.maketrans("aeopcAETO", "аеорсАЕТО")

WAYS: dict[str, Callable[[str], str]] = {
    "plain": lambda value: value,
    "full width": lambda value: "".join(chr(ord(one) + 0xFEE0) if one > " " else one for one in value),
    "digits of Arabic": lambda value: value.translate({ord("0") + n: 0x660 + n for n in range(10)}),
    "digits of mathematics": lambda value: value.translate({ord("0") + n: 0x1D7CE + n for n in range(10)}),
    "zero width": lambda value: "\u200b".join(value),
    "soft hyphens": lambda value: "\u00ad".join(value),
    "word joiners and marks": lambda value: "\u2060\u200e".join(value),
    "nulls": lambda value: "\0".join(value),
    "no-break spaces": lambda value: value.replace(" ", "\u00a0"),
    "thin spaces": lambda value: value.replace(" ", "\u2009"),
    "tabs": lambda value: value.replace(" ", "\t"),
    "other dashes": lambda value: value.replace("-", "\u2010"),
    "letters that look alike": lambda value: value.translate(TWINS) if "@" in value or value[0] == "A" else value,
    "entities in hexadecimal": lambda value: "".join(f"&#x{ord(one):x};" for one in value),
    "entities in decimal": lambda value: "".join(f"&#{ord(one)};" for one in value),
    "entities of entities": lambda value: "".join(f"&amp;#{ord(one)};" for one in value),
    "percent": lambda value: "".join(f"%{ord(one):02X}" for one in value),
    "percent of percent": lambda value: "".join(f"%25{ord(one):02X}" for one in value),
    "escapes of JSON": lambda value: "".join(f"\\u{ord(one):04x}" for one in value),
    "escapes of Python": lambda value: "".join(f"\\x{ord(one):02x}" for one in value),
    "quoted-printable": lambda value: quopri.encodestring(value.encode()).decode().replace("@", "=40"),
    "base64": lambda value: base64.b64encode(f"so {value}, he said".encode()).decode(),
    "base64 of an address": lambda value: base64.urlsafe_b64encode(f"so {value}, he said".encode()).decode(),
    "base64 in lines": lambda value: base64.encodebytes(f"{'a b ' * 30}{value}{' c d' * 30}".encode()).decode(),
    "base64 in a path": lambda value: f"/files/{base64.b64encode(f'{value}!'.encode()).decode()}",
    "base64 of base64": lambda value: base64.b64encode(base64.b64encode(f"so {value}!".encode())).decode(),
    "base64 of UTF-16": lambda value: base64.b64encode(value.encode("utf-16")).decode(),
    "hexadecimal": lambda value: value.encode().hex(),
    "hexadecimal in pairs": lambda value: value.encode().hex(" "),
}
OF_ONE = {
    "email": ["ada [at] example [dot] org", "ada(at)example.org", "ada@example(dot)org", "ada at example dot org",
              "ada@example[.]org", "ada @ example.org", "ADA@EXAMPLE.ORG",
              "mailto:ada%40example.org", "<ada@example.org>"],
    "card": ["4111-1111-1111-1111", "4111.1111.1111.1111", "4111  1111  1111  1111", "4111_1111_1111_1111",
             "4111/1111/1111/1111", "4111\u20131111\u20131111\u20131111", "4111\u202f1111\u202f1111\u202f1111"],
    "iban": ["DE89-3704-0044-0532-0130-00", "de89 3704 0044 0532 0130 00", "DE89.3704.0044.0532.0130.00"],
    "ip": ["192[.]168[.]10[.]77", "192(.)168(.)10(.)77"],
    "name": ["ADA LOVELACE", "ada.lovelace", "ada_lovelace", "Ada-Lovelace", "Ada\nLovelace", "Ada   Lovelace"],
}  # fmt: skip


def masks_for(type_: str) -> Masks:
    return Masks(select_types([] if type_ == "name" else [type_], [VALUES["name"]] if type_ == "name" else [], {}))


def is_clear(value: str, text: str) -> bool:
    """Tell whether any long part of a value is still to be read."""
    bare = "".join(letter for letter in normalize(text).text.lower() if letter.isalnum())
    return "".join(letter for letter in value.lower() if letter.isalnum())[:9] in bare


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("masked")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("type_", VALUES)
def test_a_value_is_masked_however_it_is_spelled_and_comes_back_letter_by_letter(type_: str, way: str) -> None:
    written = WAYS[way](VALUES[type_])
    masks, text = masks_for(type_), f"It was {written} ."

    masked = masks.mask(text)

    assert MASK.search(masked), masked
    assert not is_clear(VALUES[type_], masked)
    assert written[4:-4] not in masked
    assert masks.restore(masked) == text
    assert masks.mask(masked) == masked


words = st.text("abdegiklmnorstu", min_size=4, max_size=8)
digits = st.text("0123456789", min_size=4, max_size=4)


def with_luhn(number: str) -> str:
    """Return a number of 15 digits with its check digit, in groups of four."""
    doubled = [int(digit) * (2 - at % 2) for at, digit in enumerate(number)]
    whole = number + str(-sum(value // 10 + value % 10 for value in doubled) % 10)
    return " ".join(whole[at : at + 4] for at in range(0, 16, 4))


def with_check_digits(account: str) -> str:
    """Return the IBAN of a German account, in groups of four."""
    whole = f"DE{98 - int(f'{account}131400') % 97:02}{account}"
    return " ".join(whole[at : at + 4] for at in range(0, len(whole), 4))


private_values = st.one_of(
    st.tuples(st.just("email"), st.builds(lambda one, other: f"{one}@{other}.org", words, words)),
    st.tuples(st.just("card"), st.text("0123456789", min_size=14, max_size=14).map(lambda text: with_luhn(f"4{text}"))),
    st.tuples(st.just("iban"), st.text("123456789", min_size=18, max_size=18).map(with_check_digits)),
    st.tuples(st.just("ip"), st.builds(lambda a, b: f"192.168.{a}.{b}", st.integers(10, 255), st.integers(10, 255))),
    st.tuples(
        st.just("api_key"), st.text("abcdefgh1234", min_size=16, max_size=30).map(lambda text: f"sk-proj-{text}")
    ),
    st.tuples(st.just("name"), st.builds(lambda one, other: f"{one} {other}".title(), words, words)),
)


@pytest.mark.promise("masked")
@settings(max_examples=120)
@given(made=private_values, way=st.sampled_from(sorted(WAYS)))
def test_any_private_value_is_masked_however_it_is_spelled_and_restored(made: tuple[str, str], way: str) -> None:
    type_, value = made
    written = WAYS[way](value)
    masks = Masks(select_types([] if type_ == "name" else [type_], [value] if type_ == "name" else [], {}))
    text = f"It was {written} ."

    masked = masks.mask(text)

    assert MASK.search(masked), masked
    assert not is_clear(value, masked)
    assert masks.restore(masked) == text
    assert masks.mask(masked) == masked


@pytest.mark.parametrize(("type_", "written"), [(type_, one) for type_, several in OF_ONE.items() for one in several])
def test_a_value_is_masked_in_the_spellings_of_its_own(type_: str, written: str) -> None:
    masks, text = masks_for(type_), f"It was {written}, he said."

    masked = masks.mask(text)

    assert MASK.search(masked), masked
    assert "lovelace" not in masked.lower()
    assert "example" not in masked
    assert not any(part in masked for part in ("4111", "3704", "192"))
    assert masks.restore(masked) == text


@pytest.mark.parametrize(
    "plain",
    [
        "Meet me at the station. Look at this dot plot.", "x[at] = y[dot]", "f(at) + g(dot)",
        "100%25 of 50% & &amp; more",
        "Привет, мир! Αθήνα 2024, 日本語のテキスト、１２３",
        "e\u0301tude, na\u0131\u0308ve, ﬁne ²³",
        "\u200bzero\u200bwidth\u200b",
        "deadbeefdeadbeefdeadbeefdeadbeef", "0123456789abcdef0123456789abcdef01234567", "a=40; b=2E5; c=2D",
        "The quick brown fox jumps over configurationmanager/documentation_of_everything",
        "12 13 14 15 16 17 18 19 20 21 22", "3750 5076 3400", "version 1.2.3, 12:30:45, 2024-01-02 10:20",
        base64.b64encode(b"a long text without anything private in it").decode(), "\\u00e9\\x41\\n",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    ],
)  # fmt: skip
def test_a_text_without_anything_private_stays_as_it_is(plain: str) -> None:
    assert Masks(select_types(PII_TYPES, ["Ada Lovelace", "Bob"], {})).mask(plain) == plain


@pytest.mark.sampled(0)
def test_the_texts_of_this_project_stay_but_for_what_is_private_in_them() -> None:
    masks = Masks(select_types([kind for kind in PII_TYPES if kind not in ("ip", "phone")], (), {}))
    for path in sorted(Path(__file__, "../../../docs").resolve().glob("*.md")):
        text = path.read_text()
        masked = masks.mask(text)
        assert masks.restore(masked) == text
        assert not [found for found in MASK.finditer(masked) if "@" not in masks.restore(found[0])], path


@settings(max_examples=300, deadline=None)
@given(st.text("a1@.\u200b\u00ad＠&#4;%0=[]()\\x ат\u0301", max_size=30))
def test_whatever_is_masked_is_restored_and_masked_once(text: str) -> None:
    masks = Masks(select_types(["email", "card"], ["a1"], {"one": "1+"}))

    masked = masks.mask(text)

    assert masks.restore(masked) == text
    assert masks.mask(masked) == masked


@settings(max_examples=300, deadline=None)
@given(st.text("a1\u200b\u00ad＠&#4;%0=[]()\\x ат\u0301ﬁ\U0001d7ce", max_size=30), st.data())
def test_a_piece_of_the_one_spelling_is_found_again_in_the_text(text: str, data: st.DataObject) -> None:
    spelling = normalize(text)
    start = data.draw(st.integers(0, len(spelling.text)))
    end = data.draw(st.integers(start, len(spelling.text)))

    here = spelling.span(start, end)

    assert 0 <= here[0] <= len(text)
    assert here[1] <= len(text)
    assert start == end or here[0] < here[1]
    if len(text) == len(spelling.text) == len(normalize(text[here[0] : here[1]]).text) + start + len(text) - end:
        assert normalize(text[slice(*here)]).text == spelling.text[start:end]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("mime", ["text/csv", "application/octet-stream", "application/x-yaml", "application/vnd.me"])
def test_an_attached_text_is_masked_in_every_encoding_and_under_every_name(mime: str, encoding: str) -> None:
    masks, text = masks_for("email"), "name,mail\nAda,ada@example.org\n"
    media = Media(mime, text.encode(encoding), name="x.csv")

    masked = mask_part(media, masks)

    assert isinstance(masked, Media)
    assert masked.data
    assert masked.data.decode(encoding) == text.replace("ada@example.org", "__MASK_EMAIL_1__")


def test_bytes_that_are_no_text_and_texts_with_nothing_private_stay_byte_for_byte() -> None:
    masks = masks_for("email")
    for data in (b"\x00\x01\xff" * 50, b"caf\xe9 au lait", b"\xff\xfeh\x00i\x00\x00", b""):
        for mime in ("text/plain", "application/octet-stream", "application/json"):
            assert mask_part(Media(mime, data), masks) == Media(mime, data)
    odd = mask_part(Media("text/plain", b"caf\xe9 ada@example.org"), masks)
    assert isinstance(odd, Media)
    assert odd.data == b"caf\xe9 __MASK_EMAIL_1__"


def test_arguments_of_calls_are_masked_in_every_spelling_too() -> None:
    masks = masks_for("email")
    value = {"to": ["ada&#64;example.org"], "ada%40example.org": 1}

    masked = json.dumps(masks.mask_all(value))

    assert "ada" not in masked


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "piece",
    ["&#64;", "%40", "\u200b", "[at]", "[ ", "( at ", "A\u0301", "ａ@", "QWRh", "ab ", "ab:", "\\u0040", "=40", "&amp;",
     "a at ", "1\u00ad", "QWRhQGV4YW1wbGUub3Jn\n", "4111 1111 ", "DE89 3704 ", "ada @ ", "a.b-c_d/", "\t", "٣"],
)  # fmt: skip
def test_time_grows_with_the_text(piece: str) -> None:
    types = select_types(PII_TYPES, ["Ada Lovelace"], {})

    check_growth(lambda size: Masks(types).mask(piece * (size // len(piece))), (50_000, 200_000), room=2.5)
