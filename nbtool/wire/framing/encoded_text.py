"""Find secrets in a text in any encoding: decode it, as a reader of it could, and compare.

A text is decoded in layers: escapes of JSON and Python, of HTML, of addresses, base64 and hexadecimal, each of which
may contain the next. Nothing is known of spellings: what a layer decodes to is searched, and what is found is mapped
back to the part of the text that it was decoded from.
"""

from __future__ import annotations

import html
import re
from binascii import a2b_base64, a2b_hex
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import accumulate
from typing import Protocol

MAX_LAYERS = 4
"""Encodings in one another that are decoded."""

MAX_WORK = 64
"""Bytes that are decoded of a text, for each byte of it, before its search is given up."""

LEAST_WORK = 1_000_000
"""Bytes that are decoded of a text in any case."""

_LEAST_START = 6
"""Bytes of a secret that count as its start, where a text was cut off."""

_MOST_CUT = 12
"""Bytes of an escape that a cut may have left of it."""

Span = tuple[int, int]


class TooManyEncodings(Exception):
    """A text has so many encodings that not all were searched."""


class Layer(Protocol):
    """The bytes of a decoded part of a text."""

    data: bytes

    def locate(self, start: int, end: int) -> Span:
        """Return the characters of the text from which these bytes were decoded."""


class Root(Layer):
    """A text itself."""

    def __init__(self, text: str) -> None:
        self.data = text.encode("utf-8", "surrogatepass")
        self._is_ascii = len(self.data) == len(text)

    @cached_property
    def _characters(self) -> list[int]:
        """The number of the character of each byte, counted from 1."""
        return list(accumulate(byte & 0xC0 != 0x80 for byte in self.data))

    def locate(self, start: int, end: int) -> Span:
        """Return the characters with these bytes."""
        if self._is_ascii:
            return start, end
        return self._characters[start] - 1, self._characters[end - 1]


@dataclass(slots=True)
class Unescaped(Layer):
    """A layer without its escapes; `marks` are where they were decoded to, and `sources` what they were."""

    outer: Layer
    data: bytes
    marks: list[Span] = field(default_factory=list)
    sources: list[Span] = field(default_factory=list)

    def locate(self, start: int, end: int) -> Span:
        """Return the characters that these bytes come from, each escape as a whole."""
        return self.outer.locate(self._source_of(start)[0], self._source_of(end - 1)[1])

    def _source_of(self, position: int) -> Span:
        number = bisect_right(self.marks, (position, len(self.data))) - 1
        if number < 0:
            return position, position + 1
        (_, decoded_end), (source_start, source_end) = self.marks[number], self.sources[number]
        if position < decoded_end:
            return source_start, source_end
        source = source_end + position - decoded_end
        return source, source + 1


@dataclass(slots=True)
class Unpacked(Layer):
    """A run of base64 or hexadecimal digits, decoded; `digits` are their positions, with `bits` bits each."""

    outer: Layer
    data: bytes
    digits: range | list[int]
    bits: int

    def locate(self, start: int, end: int) -> Span:
        """Return the characters of the digits that have any bit of these bytes."""
        last = min(-(-end * 8 // self.bits), len(self.digits)) - 1
        return self.outer.locate(self.digits[start * 8 // self.bits], self.digits[last] + 1)


_BACKSLASH = rb"""\\+(?:u[dD][89abAB][0-9a-fA-F]{2}\\+u[dD][c-fC-F][0-9a-fA-F]{2}|u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}
    |U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|[nrtfvb]|)"""
_ENTITY = rb"&(?:\#[xX][0-9a-fA-F]{1,8};?|\#[0-9]{1,9};?|[A-Za-z][A-Za-z0-9]{1,31};?)"
_PERCENT = rb"%(?:u[0-9a-fA-F]{4}|[0-9a-fA-F]{2})"
_ESCAPES = tuple(
    re.compile(pattern, re.VERBOSE)
    for pattern in (b"|".join((_BACKSLASH, _ENTITY, _PERCENT)), _BACKSLASH, _ENTITY, _PERCENT)
)
"""All escapes together, and each kind alone: what one kind escapes may look like an escape of another."""

_DIGITS = rb"[A-Za-z0-9+/_-]"
_WRAPPED = rb"(?:(?<=%s{60})[ \r\n]{1,2}%s+)*" % (_DIGITS, _DIGITS)
"""What follows digits of base64, of either alphabet, that are wrapped after 60 or more."""

_STANDARD = bytes.maketrans(b"-_", b"+/")

_WIDE = re.compile(rb"[\xc2\xc3][\x80-\xbf]")
"""A character from U+0080 to U+00FF in UTF-8."""

_SECOND_BYTES = bytes(range(0x80, 0xC0))
_FIRST_BYTES = b"\xc2\xc3"


def secret_forms(secrets: Iterable[str]) -> list[bytes]:
    """Return what secrets look like in a decoded text, the longest first: also if they contain escapes themselves."""
    forms: set[bytes] = set()
    for secret in secrets:
        forms |= {variant.encode("utf-8", "surrogatepass") for variant in _variants(secret)}
    newest = forms
    for _ in range(MAX_LAYERS):
        newest = {_unescape(form, pattern).data for form in newest for pattern in _ESCAPES} - forms
        forms |= newest
    narrow = {_narrowed(Unescaped(Root(""), form)).data for form in forms}
    forms |= narrow
    # what is next to a secret may form a character with its edge
    forms |= {form.lstrip(_SECOND_BYTES).rstrip(_FIRST_BYTES) for form in narrow}
    return sorted((form for form in forms if len(form) >= _LEAST_START), key=len, reverse=True)


def _variants(secret: str) -> set[str]:
    """Return a secret as forms and addresses decode it, in which `+` and a space are the same."""
    return {secret, secret.replace("+", " "), secret.replace(" ", "+")}


def find_secrets(
    text: str, forms: list[bytes], *, is_cut: bool = False, max_work: int = MAX_WORK, least_work: int = LEAST_WORK
) -> list[Span]:
    """Return the parts of a text that decode to a secret; if it was cut off, also to the start of one at its end.

    Raises:
        TooManyEncodings: not all of its decodings were searched.
    """
    if not forms:
        return []
    root = Root(text)
    spans: list[Span] = []
    seen = {root.data}
    layers: list[tuple[Layer, bool]] = [(root, is_cut)]
    work = 0
    for _ in range(MAX_LAYERS + 1):
        inner: list[tuple[Layer, bool]] = []
        for layer, at_end in layers:
            spans += (layer.locate(*found) for found in _found(layer.data, forms, at_end=at_end))
            if (narrow := _narrowed(layer)) is not layer:
                spans += (narrow.locate(*found) for found in _found(narrow.data, forms, at_end=at_end))
            for child, is_last in _decoded(layer, least=len(forms[-1]), at_end=at_end):
                if child.data in seen:
                    continue
                seen.add(child.data)
                inner.append((child, is_last))
                work += len(child.data)
                if work > max(least_work, max_work * len(root.data)):
                    raise TooManyEncodings
        layers = inner
    return spans


def _narrowed(layer: Layer) -> Layer:
    """Return a layer with one byte for each character up to U+00FF, whether it was that byte or in UTF-8.

    An escape of one byte is either of them: in `repr`, U+00A1 is in UTF-8 and U+00AD behind it is one byte.
    """
    for _ in range(MAX_LAYERS):
        if not _WIDE.search(layer.data):
            break
        layer = _unescape(layer.data, _WIDE, layer)
    return layer


def _found(data: bytes, forms: list[bytes], *, at_end: bool) -> Iterator[Span]:
    for form in forms:
        at = data.find(form)
        while at >= 0:
            yield at, at + len(form)
            at = data.find(form, at + len(form))
    if at_end:
        for form in forms:
            yield from _start_at_end(data, form)


def _start_at_end(data: bytes, form: bytes) -> Iterator[Span]:
    """Yield where the data ends with the start of a secret, and maybe with what a cut left of an escape."""
    at = data.find(form[:_LEAST_START], max(0, len(data) - len(form) - _MOST_CUT))
    while at >= 0:
        rest = data[at:]
        common = next(
            (i for i, (number, other) in enumerate(zip(rest, form, strict=False)) if number != other), len(rest)
        )
        if len(rest) - common <= _MOST_CUT:
            yield at, len(data)
        at = data.find(form[:_LEAST_START], at + 1)


def _decoded(layer: Layer, *, least: int, at_end: bool) -> Iterator[tuple[Layer, bool]]:
    """Yield the layers below one, each with whether it reaches to the end of the text."""
    for pattern in _ESCAPES:
        unescaped = _unescape(layer.data, pattern, layer)
        if unescaped.marks:
            yield unescaped, at_end
    for run, bits, decode in _runs(layer, _LEAST_START if at_end else least):
        is_last = at_end and run[-1] >= len(layer.data) - 3  # padding may follow
        if len(run) * bits < 8 * (_LEAST_START if is_last else least):
            continue
        for phase in range(8 // bits if bits == 4 else 4):
            digits = run[phase:]
            yield Unpacked(layer, decode(_digits(layer.data, digits)), digits, bits), is_last


Decode = Callable[[bytes], bytes]


@cache
def _run_patterns(least: int) -> tuple[tuple[re.Pattern[bytes], int, Decode], ...]:
    """Return the patterns of runs that have so many bytes, with the bits of a digit: base64, hexadecimal, and pairs."""
    base64, hexadecimal = min(-(-least * 8 // 6), 60), 2 * least  # a line of a wrapped run may be short
    return (
        (re.compile(rb"%s{%d,}%s" % (_DIGITS, base64, _WRAPPED)), 6, _decode_base64),
        (re.compile(rb"[0-9a-fA-F]{%d,}" % hexadecimal), 4, _decode_hex),
        (re.compile(rb"[0-9a-fA-F]{2}(?:[ :+-][0-9a-fA-F]{2}){%d,}(?![0-9a-fA-F])" % (least - 1)), 4, _decode_hex),
    )


def _runs(layer: Layer, least: int) -> Iterator[tuple[range | list[int], int, Decode]]:
    """Yield the positions of the digits of each run of a layer, without what separates them."""
    for pattern, bits, decode in _run_patterns(least):
        for match in pattern.finditer(layer.data):
            run: range | list[int] = range(*match.span())
            if bits == 4 and match[0][2:3] in (b" ", b":", b"+", b"-"):
                run = [at for at in run if (at - match.start()) % 3 != 2]
            elif not match[0].isalnum() and match[0].split()[1:]:
                run = [at for at in run if layer.data[at] not in b" \r\n"]
            yield run, bits, decode


def _digits(data: bytes, positions: range | list[int]) -> bytes:
    if isinstance(positions, range):
        return data[positions.start : positions.stop]
    return bytes(data[at] for at in positions)


def _decode_base64(digits: bytes) -> bytes:
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    return a2b_base64(digits.translate(_STANDARD) + b"=" * (-len(digits) % 4))


def _decode_hex(digits: bytes) -> bytes:
    return a2b_hex(digits[: len(digits) & ~1])


def _unescape(data: bytes, pattern: re.Pattern[bytes], outer: Layer | None = None) -> Unescaped:
    pieces: list[bytes] = []
    layer = Unescaped(outer or Root(""), b"")
    position = size = 0
    for match in pattern.finditer(data):
        decoded = _decode_escape(match[0])
        if decoded is None:
            continue
        literal = data[position : match.start()]
        size += len(literal)
        layer.marks.append((size, size + len(decoded)))
        layer.sources.append(match.span())
        pieces += (literal, decoded)
        size += len(decoded)
        position = match.end()
    layer.data = b"".join((*pieces, data[position:]))
    return layer


def _decode_escape(escape: bytes) -> bytes | None:
    """Return what an escape stands for; None if it is none."""
    if escape[0] >= 0x80:
        return escape.decode().encode("latin-1")
    text = escape.decode("ascii")
    if text[0] == "&":
        unescaped = html.unescape(text)
        return None if unescaped == text else unescaped.encode("utf-8", "surrogatepass")
    body = text.lstrip("\\%")
    if text[0] == "%" and body[0] != "u":
        return bytes([int(body, 16)])
    if not body:
        return b""
    if body[0] in "nrtfvb" and len(body) == 1:
        return b" "
    if body[0] in "01234567":
        return bytes([int(body, 8)])
    return _decode_codes(body)


def _decode_codes(body: str) -> bytes | None:
    """Return what the escape of one code, or of a pair of surrogates, stands for; None if it is beyond Unicode."""
    codes = [int(part.strip("uUx{}"), 16) for part in re.split(r"\\+", body)]
    if len(codes) == 2:
        codes = [0x10000 + ((codes[0] - 0xD800) << 10) + codes[1] - 0xDC00]
    if body[0] == "x":
        return bytes(codes)
    return chr(codes[0]).encode("utf-8", "surrogatepass") if codes[0] <= 0x10FFFF else None
