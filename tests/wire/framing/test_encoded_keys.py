"""A key is hidden in every encoding, and in encodings of encodings; a text without one stays as it is."""

from __future__ import annotations

import base64
import html
import json
import time
from collections.abc import Callable
from functools import partial
from urllib.parse import quote, quote_plus, unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtool.errors import ProviderError
from nbtool.secret import Secret
from nbtool.wire.framing.encoded_text import TooManyEncodings, find_secrets, secret_forms
from nbtool.wire.framing.redaction import HIDDEN, MAX_PART, NOT_SHOWN, _without_keys, redact, redact_error

Encode = Callable[[str], str]


def each(form: str) -> Encode:
    """Return an encoding that writes every character by its number."""
    return lambda text: "".join(form.format(ord(one)) for one in text)


def as_base64(text: str, before: str = "", alphabet: bytes = b"+/") -> str:
    return base64.b64encode((before + text).encode("utf-8", "surrogatepass"), alphabet).decode()


def wrapped(text: str) -> str:
    return base64.encodebytes(("user:" + text).encode("utf-8", "surrogatepass")).decode()


NAMES = {"&": "&amp;", "+": "&plus;", "/": "&sol;", "=": "&equals;", "<": "&lt;", '"': "&quot;"}


def utf_16(text: str) -> list[int]:
    data = text.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]


ENCODINGS: dict[str, Encode] = {
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON as it is": lambda text: json.dumps(text, ensure_ascii=False)[1:-1].replace("/", "\\/"),
    "JSON twice": lambda text: json.dumps(json.dumps(text)),
    "JSON by numbers": lambda text: "".join(f"\\u{one:04X}" for one in utf_16(text)),
    "Python": lambda text: repr(text)[1:-1],
    "Python in ASCII": lambda text: ascii(text)[1:-1],
    "Python of bytes": lambda text: repr(text.encode("utf-8", "surrogatepass"))[2:-1],
    "bytes by numbers": lambda text: "".join(f"\\x{one:02x}" for one in text.encode("utf-8", "surrogatepass")),
    "octal": lambda text: "".join(f"\\{one:03o}" for one in text.encode("utf-8", "surrogatepass")),
    "HTML": html.escape,
    "HTML by numbers": each("&#{};"),
    "HTML in hexadecimal": each("&#x{:X};"),
    "HTML by names": lambda text: "".join(NAMES.get(one, one) for one in text),
    "an address": lambda text: quote(text, safe="", errors="surrogatepass"),
    "a form": lambda text: quote_plus(text, errors="surrogatepass"),
    "an address in lower case": lambda text: "".join(f"%{one:02x}" for one in text.encode("utf-8", "surrogatepass")),
    "base64": as_base64,
    "base64 for addresses": lambda text: as_base64(text, alphabet=b"-_").rstrip("="),
    "base64 behind a byte": lambda text: as_base64(text, "u:"),
    "base64 behind two": lambda text: as_base64(text, "a"),
    "base64 in lines": wrapped,
    "hexadecimal": lambda text: text.encode("utf-8", "surrogatepass").hex(),
    "hexadecimal in capitals": lambda text: text.encode("utf-8", "surrogatepass").hex().upper(),
    "hexadecimal in pairs": lambda text: text.encode("utf-8", "surrogatepass").hex(" "),
}
KEYS = [
    "sk+ab/cd==QQqq1234", "pässwörd-€-𝄞-key", "quo'te\"back\\slash", "a&amp;b<c>d%2Bef", "key=with+plus/and=", "AbCdEf",
    "abc\\u002Bdef", "k" * 200, "nb_9f86d081884c7d659a2feaa0c55ad015",
]  # fmt: skip


def hides(shown: str, encoded: str) -> bool:
    """Whether nothing of an encoded key is left but a remainder at its edges."""
    return HIDDEN in shown and not any(part in shown for part in parts_of(encoded))


def parts_of(encoded: str) -> list[str]:
    middle = encoded[len(encoded) // 4 : -(len(encoded) // 4)]
    return [middle] if len(middle) >= 4 else []


def is_in(text: str, key: str) -> bool:
    """Whether a key can be read in a text, by nbtool's own decoding."""
    return bool(find_secrets(text, secret_forms([key])))


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize("outer", ENCODINGS)
@pytest.mark.parametrize("inner", ["", *ENCODINGS])
def test_a_key_in_two_encodings_is_hidden(inner: str, outer: str) -> None:
    for key in KEYS if not inner else KEYS[:4]:
        encoded = ENCODINGS[outer](ENCODINGS[inner](key) if inner else key)
        text = f"Invalid key: '{encoded}' (see https://host/keys)."

        shown = redact(text, [Secret(key)])

        assert hides(shown, encoded), shown
        assert shown.startswith("Invalid key: ")
        assert shown.endswith("(see https://host/keys).")
        assert not is_in(shown, key)


keys = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=8, max_size=40)
long_keys = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x24F, exclude_categories=("Cc", "Zs")), min_size=60, max_size=200
)
surrounding = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
chains = st.lists(st.sampled_from(sorted(ENCODINGS)), min_size=1, max_size=3)


@pytest.mark.promise("no-secret-told")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(key=keys, chain=chains, before=surrounding, after=surrounding)
def test_a_key_in_any_encodings_is_hidden(key: str, chain: list[str], before: str, after: str) -> None:
    encoded = key
    for name in chain:
        encoded = ENCODINGS[name](encoded)

    shown = redact(f"{before} {encoded} {after}", [Secret(key)])

    assert not is_in(shown, key)
    assert encoded not in shown


MIXED = [
    ("000000¡\xad", "000000¡\\xad"), ("000000¡\xad", "000000%A1\u00ad"), ("pässwörd", "p\\xe4ssw\\xc3\\xb6rd"),
    ("pässwörd", "p%E4ssw&#246;rd"), ("pässwörd", "p\\u00c3\\u00a4ssw%F6rd"), ("pässwörd€", "p\\344sswörd%E2%82%AC"),
    ("Ã¡-é-key", "\\xc3\\xa1-é-key"), ("Ã¡-é-key", "Ã\\xa1-\\xe9-key"), ("¡key-é-Ã", "Ã\\xa1key-é-Ã\\xa1"),
]  # fmt: skip


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize(("key", "written"), MIXED)
def test_each_escape_of_one_byte_may_be_a_character_or_a_byte_of_utf_8(key: str, written: str) -> None:
    for text in (written, as_base64(written), json.dumps(written)):
        shown = redact(f"The key {text} is wrong.", [Secret(key)])

        assert HIDDEN in shown
        assert written not in shown
        assert not is_in(shown, key)


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=300), key=st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=8, max_size=40))
def test_a_text_without_the_key_stays_as_it_is(text: str, key: str) -> None:
    if not is_in(text, key):
        assert redact(text, [Secret(key)]) == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "The model gpt-6.1-terra does not exist; see https://host/docs?page=2&lang=en%20US.",
        '{"error": {"message": "Bad \\"value\\" for \\u00e9tat", "code": 400}}', "a &lt; b &amp;&amp; c",
        "0123456789abcdef" * 8, base64.b64encode(bytes(range(256))).decode(), "C:\\new\\table\\users", "100% &nothing;",
    ],
)  # fmt: skip
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    assert redact(text, [Secret("nb_9f86d081884c7d659a2feaa0c55ad015")]) == text


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", ENCODINGS)
def test_the_start_of_a_key_that_was_cut_off_is_hidden(name: str, key: str) -> None:
    encoded = ENCODINGS[name](key)
    for length in range(0, len(encoded), max(1, len(encoded) // 12)):
        error = ProviderError(f"The key {encoded[:length]}[… 99 characters more]")
        shown = redact_error(error, [Secret(key)]).message
        rest = shown.removeprefix("The key ").partition("[… ")[0]

        assert len(rest) <= 40 or HIDDEN in shown or not _starts(rest, key), (length, shown)


@settings(max_examples=100)
@given(key=long_keys, name=st.sampled_from(sorted(ENCODINGS)), share=st.floats(0.2, 1))
def test_the_start_of_any_key_that_was_cut_off_anywhere_is_hidden(key: str, name: str, share: float) -> None:
    start = ENCODINGS[name](key)[: int(share * len(ENCODINGS[name](key)))]

    shown = redact_error(ProviderError(f"The key {start}[… 99 characters more]"), [Secret(key)]).message
    rest = shown.removeprefix("The key ").partition("[… ")[0]

    assert len(rest) <= 40 or HIDDEN in shown or not _starts(rest, key), shown


def _starts(rest: str, key: str) -> bool:
    return bool(find_secrets(rest, secret_forms([key]), is_cut=True))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("unit", "count"),
    [("a", 100_000), ("%2B", 25_000), ("\\u002B", 15_000), ("&#43;", 20_000), ("QUJD", 25_000), ("é ", 50_000),
     ("&amp;", 15_000), ("\\", 80_000), ("4142", 20_000), ("x" * 60 + "\n", 1_500), ("sk+ab/", 20_000),
     ("a b ", 50_000), ("\\xc3", 15_000), ("\\xc3" * 50 + "\\x83" * 50, 300)],
)  # fmt: skip
def test_the_time_grows_with_the_text(unit: str, count: int) -> None:
    key = [Secret("sk+ab/cd==QQqq1234")]

    def seconds(text: str) -> float:
        started = time.process_time()
        redact(text, key)
        return time.process_time() - started

    small, large = seconds(unit * (count // 8)), seconds(unit * count)

    assert large < 8 * 6 * max(small, 0.005)


def test_a_text_of_too_many_encodings_is_not_shown() -> None:
    text = as_base64(as_base64("some text that is long enough to be decoded" * 9))
    forms, find = secret_forms(["nb_9f86d081884c7d65"]), partial(find_secrets, max_work=1, least_work=100)

    with pytest.raises(TooManyEncodings):
        find(text, forms)
    assert _without_keys(f"It says {text}.", forms, find=find) == NOT_SHOWN
    assert _without_keys(f"It says {text}.", forms) == f"It says {text}."


def test_a_text_from_which_a_key_cannot_be_taken_is_not_shown() -> None:
    assert _without_keys("some text", [b"-"], find=lambda *_, **__: [(0, 1)]) == NOT_SHOWN


def test_a_key_is_hidden_anywhere_in_a_long_text() -> None:
    key = "nb_9f86d081884c7d659a2feaa0c55ad015"
    text = f"{'words ' * (MAX_PART // 6 - 4)}{as_base64(key, 'x')}{' words' * 30_000} {quote(key)}"

    shown = redact(text, [Secret(key)])

    assert shown.count(HIDDEN) == 2
    assert key not in unquote(shown)
