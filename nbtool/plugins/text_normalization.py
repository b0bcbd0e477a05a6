"""Normalize a text for pattern matching, with a mapping back to positions in the original.

Compatibility forms and digits of any script become ASCII, invisible characters are dropped, spaces and dashes of any
kind become plain ones, Cyrillic and Greek letters that look like Latin ones become Latin, HTML entities and percent,
backslash and quoted-printable escapes are decoded, and `[at]`, `(dot)` and the like become `@` and `.`. Each change
covers a few characters and is found in one pass of one expression, so the cost is linear in the text. What markup adds
to a text is left out by `markup_readings`.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from nbtool.text import as_text

PASSES = 3
"""Maximum number of passes for nested escapes: `&amp;#64;` takes two."""

MAX_SHOWN_LOSS = 0.1
"""Share of unprintable characters above which decoded bytes do not count as text."""

CHANGES = (
    r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});"
    r"|(?:%[0-9A-Fa-f]{2})+"
    r"|\\u[0-9a-fA-F]{4}|(?:\\x[0-9a-fA-F]{2})+"
    r"|=(?:40|2[DdEe])|(?:=[C-Fc-f][0-9A-Fa-f](?:=[89ABab][0-9A-Fa-f])+)+|=\r?\n"
    r"|\s{0,2}[\[({<]\s{0,2}(?i:at|@|dot|\.)\s{0,2}[\])}>]\s{0,2}"
    r"|[A-Za-z][\u0300-\u036f]+"
    r"|[^\x01-\x08\x0a-\x7f][\u0300-\u036f]*"
)
"""The pieces of a text that `plain_piece` replaces."""

_CHANGE = re.compile(CHANGES)
_PLAIN = re.compile(r"[^\x00\t&%\\=\[({<\x80-\U0010ffff]*")
"""A text that needs no normalization."""

_TWINS = str.maketrans(
    "аеорсухіјѕԁһԛԝӏьАВЕКМНОРСТУХІЈЅαινορυΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdhqwlbABEKMHOPCTYXIJSaivopuABEZHIKMNOPTYX",
)
"""Cyrillic and Greek letters, and the Latin letters that they resemble (Unicode TR39)."""

_BASE64 = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{12,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*={0,2}")
_PIECE = re.compile(r"[A-Za-z0-9+]{12,}={0,2}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?(?:[0-9A-Fa-f]{2}[ :-]?){8,}+")


@dataclass(slots=True)
class NormalizedText:
    """A normalized text; `span` maps a span of it to the original text."""

    text: str
    _ends: list[int] = field(default_factory=list)
    _changes: list[tuple[int, int, int]] = field(default_factory=list)
    _source: NormalizedText | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original text for a span of the normalized text."""
        source_span = (self._source_position(start, is_end=False), self._source_position(end, is_end=True))
        return self._source.span(*source_span) if self._source else source_span

    def _source_position(self, position: int, *, is_end: bool) -> int:
        index = bisect_right(self._ends, position - is_end)  # the changes that end before this character
        begin, was_begin, _ = self._changes[index] if index < len(self._changes) else (len(self.text) + 1, 0, 0)
        if begin < position or (begin == position and not is_end):
            return self._changes[index][2] if is_end else was_begin
        if not index:
            return position
        return self._changes[index - 1][2] + position - self._ends[index - 1]


def normalize(text: str) -> NormalizedText:
    """Return the normalized form of a text."""
    return normalize_by(NormalizedText(text), PASSES, _PLAIN, _CHANGE, plain_piece)


def normalize_by(
    spelling: NormalizedText,
    passes: int,
    plain: re.Pattern[str],
    change: re.Pattern[str],
    replace: Callable[[str], str],
) -> NormalizedText:
    """Return a text after passes that replace each match of `change`, until it is `plain` or nothing changes."""
    for _ in range(passes):
        if plain.fullmatch(spelling.text):
            break
        changed = _normalize_pass(spelling, change, replace)
        if changed is None:
            break
        spelling = changed
    return spelling


def encoded_texts(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int, str]]:
    """Yield the spans that are text in base64 or hexadecimal, with the decoded text."""
    end = len(text) if end is None else end
    for match in _HEX.finditer(text, start, end):
        if decoded := _decoded_text(_from_hex(match[0])):
            yield match.start(), match.end(), decoded
    for match in _BASE64.finditer(text, start, end):
        if decoded := _decoded_text(_from_base64(match[0])):
            yield match.start(), match.end(), decoded
        elif "/" in match[0] or "-" in match[0] or "_" in match[0]:  # part of a path, or of a name
            for piece in _PIECE.finditer(text, *match.span()):
                if decoded := _decoded_text(_from_base64(piece[0])):
                    yield piece.start(), piece.end(), decoded


def _decoded_text(data: bytes | None) -> str:
    """Return bytes as text; empty if they are not readable text."""
    decoded = as_text(data) if data else None
    return decoded[0] if decoded and _is_readable(decoded[0]) else ""


def _normalize_pass(
    source: NormalizedText, change: re.Pattern[str], replace: Callable[[str], str]
) -> NormalizedText | None:
    """Return the text after one pass; None if nothing changes."""
    if all(replace(piece) == piece for piece in {match[0] for match in change.finditer(source.text)}):
        return None  # letters with accents and emoji, of which a text may be full
    text, pieces, position, length = source.text, list[str](), 0, 0
    ends, changes = list[int](), list[tuple[int, int, int]]()
    for match in change.finditer(text):
        start, end = match.span()
        if (replacement := replace(match[0])) == match[0]:
            continue
        pieces += [text[position:start], replacement]
        begin = length + start - position
        length, position = begin + len(replacement), end
        ends.append(length)
        changes.append((begin, start, end))
    return NormalizedText("".join([*pieces, text[position:]]), ends, changes, source)


@lru_cache(maxsize=4_096)
def plain_piece(piece: str) -> str:
    """Return the normalized form of a match of `CHANGES`."""
    first = piece[0]
    if first == "&":
        return html.unescape(piece)
    if piece.endswith("\n"):  # a soft break of quoted-printable
        return ""
    if first in "%=":
        return unquote_to_bytes(piece.replace("=", "%")).decode("utf-8", "replace")
    if first == "\\":
        return _from_bytes(bytes.fromhex(piece.replace("\\x", ""))) if piece[1] == "x" else chr(int(piece[2:], 16))
    if piece.isascii() and len(piece) > 1:
        return "@" if "@" in piece or "at" in piece.lower() else "."
    return "".join(map(_plain_letter, unicodedata.normalize("NFKC", piece))).translate(_TWINS)


def _from_bytes(data: bytes) -> str:
    """Return escaped bytes as text: UTF-8, else each as the character of its number."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _plain_letter(letter: str) -> str:
    kind = unicodedata.category(letter)
    if kind == "Nd":
        return str(unicodedata.digit(letter))
    if kind in ("Cf", "Cc"):
        return " " if letter == "\t" else ""
    if kind == "Pd" or letter == "\u2212":
        return "-"
    return " " if kind == "Zs" else "" if letter in "\u034f\u115f\u1160\u3164\ufe0e\ufe0f" else letter


def _from_base64(piece: str) -> bytes | None:
    text = "".join(piece.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text[: len(text) - (len(text) % 4 == 1)] + "=" * (-len(text) % 4))
    except binascii.Error:
        return None


def _from_hex(piece: str) -> bytes | None:
    digits = re.sub(r"[ :-]", "", piece.removeprefix("0x"))
    return bytes.fromhex(digits) if len(digits) % 2 == 0 else None


def _is_readable(text: str) -> bool:
    head = text[:2_000]
    return sum(not (letter.isprintable() or letter.isspace()) for letter in head) <= len(head) * MAX_SHOWN_LOSS
