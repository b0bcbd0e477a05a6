"""Texts: clean and shorten them, format counts, and change every text in JSON data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

SPACES = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
    "\u200b\u2060\ufeff"
)
"""What separates words: every character that is a space for `str.isspace`, and those without a width."""


def left_out(count: int, noun: str = "characters") -> str:
    """Return the note for `count` omitted items; empty if none is omitted."""
    return f"… {count:,} {noun.removesuffix('s') if count == 1 else noun} more" if count > 0 else ""


def shorten(text: str, limit: int) -> str:
    """Return the first `limit` characters of a text and the number of omitted ones; the whole where that is shorter."""
    cut = f"{text[:limit]}[{left_out(len(text) - limit)}]"
    return cut if len(cut) < len(text) else text


def list_names(names: Iterable[str], limit: int) -> str:
    """Return the first `limit` names as one line, and how many more there are; empty if there are none."""
    every = list(names)
    more = f" and {len(every) - limit:,} more" if len(every) > limit else ""
    return f"{', '.join(every[:limit])}{more}"


def format_number(number: int) -> str:
    """Return a number in groups: 1,204,332."""
    return f"{number:,}"


_SIZE_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def format_size(count: int) -> str:
    """Return a number of bytes in the largest unit that fits, with three digits: 12.5 MB."""
    size, unit = float(count), 0
    while size >= 999.5 and unit < len(_SIZE_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g} {_SIZE_UNITS[unit]}" if unit else count_of(count, "byte")


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: 1 item, 2 items."""
    return f"{format_number(number)} {noun}{'' if number == 1 else 's'}"


def count_are(number: int, noun: str) -> str:
    """Return a number with its noun as the subject of a sentence: 1 item is, 2 items are."""
    return f"{count_of(number, noun)} {'is' if number == 1 else 'are'}"


_SPOKEN_VOWEL = re.compile(r"[aeio]|u(?!ni|se|u|rl)|nd(?=array)", re.IGNORECASE)
"""How a name begins that is read with a vowel: `int`, `Unpacker`, `ndarray`, but not `user` or `UUID`."""


def with_article(name: str, *, capital: bool = False) -> str:
    """Return a name with its indefinite article: a str, an int; with `capital` as the beginning of a sentence."""
    first = "A" if capital else "a"
    return f"{first}n {name}" if _SPOKEN_VOWEL.match(name) else f"{first} {name}"


def type_of(value: object) -> str:
    """Return the type of a value as it is said in a sentence: a list, an int; None is None."""
    return "None" if value is None else with_article(type(value).__name__)


def clean_text(text: str) -> str:
    """Replace lone surrogates by U+FFFD, so that text can always be encoded, stored and sent."""
    if text.isascii():  # known without a copy
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def map_text(
    value: Any,
    change: Callable[[str], str],
    *,
    keys: Callable[[str], str] | None = None,
    number: Callable[[float], Any] | None = None,
) -> Any:
    """Return JSON data with every text changed, and also keys and numbers if they have a function."""

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, list | tuple):
            return [walk(inner) for inner in value]
        if isinstance(value, Mapping):
            return {keys(key) if keys else key: walk(inner) for key, inner in value.items()}
        return number(value) if number and isinstance(value, int | float) and not isinstance(value, bool) else value

    return walk(value)


def as_text(data: bytes) -> tuple[str, str] | None:
    """Return bytes as text, with the encoding that restores the same bytes; None if they are not text."""
    for bom, encoding in ((b"\xff\xfe\0\0", "utf-32-le"), (b"\0\0\xfe\xff", "utf-32-be")):
        if data.startswith(bom):
            return _decode_strict(data, encoding)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _decode_strict(data, "utf-16-le" if data[0] == 0xFF else "utf-16-be")
    head = data[:4_096]
    if head.count(0) * 4 > len(head):  # every second byte of Latin text is zero
        return _decode_strict(data, "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be")
    return _decode_strict(data, "utf-8") if 0 not in head else None


def map_media_text(data: bytes, mime: str, change: Callable[[str], str]) -> bytes:
    """Return data with its text changed, whatever its declared type and encoding; other bytes as they are."""
    says_text = mime.startswith("text/") or mime.endswith(("json", "xml"))
    if mime.startswith(("image/", "audio/", "video/")) and not says_text:
        return data
    text, encoding = as_text(data) or ((data.decode("latin-1"), "latin-1") if says_text else ("", ""))
    changed = change(text)
    return data if changed == text else changed.encode(encoding, "replace")


def _decode_strict(data: bytes, encoding: str) -> tuple[str, str] | None:
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        return None


def leaves(value: Any) -> Iterator[Any]:
    """Yield every value in JSON data that is no container, in any order."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as members:
                waiting += members.values()
            case list() as items:
                waiting += items
            case leaf:
                yield leaf
