r"""How a text reads where it is rendered: as Markdown, as HTML, as the query of an address, in lines that are wrapped.

Backslashes before punctuation, marks of emphasis, line breaks with the marks of a quotation, tags and the brackets of
links are what a reader does not see. Where a mark may stand for several things (a tag for a space or for nothing, a `+`
for a space or for itself), each is a reading of its own, so that no reading hides a value that another one shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache, partial
from typing import Literal

from nbtool.plugins.text_normalization import CHANGES, NormalizedText, normalize, normalize_by, plain_piece

PASSES = 4
"""Maximum number of passes for nested markup, after those for escapes: a link in bold in a wrapped line takes three."""

MAX_TAG = 400
"""Characters of a tag, and of the target of a link, that is left out."""

MAX_COMMAND = 20
"""Characters of the name of a command of TeX."""

_ESCAPE = r"\\[ -/:-@\[-`{-~]"
_BREAK = r"\\?[ \t\r]*\n(?:[ \t\r\n]|[>|#*%;/-]{1,8}[ \t])+|(?:\\[ \t\r]*|[ \t\r]+)\n|\\[nrt]"
_BREAK_IN_QUERY = r"\\?[ \t\r+]*\n(?:[ \t\r\n+]|[>|#*%;/-]{1,8}[ \t+])+|(?:\\[ \t\r]*|[ \t\r+]+)\n|\\[nrt]"
_EMPHASIS = r"[*~`]+|(?<![^\W_])_+(?=\w)|(?<=\w)_+(?![^\W_])|\[\^[^\]\s]{1,40}\]"
_SPACES = r"[ \t\r]{2,}"
_PLUS = r"(?<=[^=&(:/\s+])\++"
_TAG = (
    rf"</?[A-Za-z][A-Za-z0-9:-]*(?:\s[^<>]{{0,{MAX_TAG}}})?/?>|<!--[^<>]{{0,{MAX_TAG}}}-->"
    rf"|\]\([^()\s]{{0,{MAX_TAG}}}\)|\\[A-Za-z]{{1,{MAX_COMMAND}}}\{{|[\[\]{{}}]"
)
_PLAIN = re.compile(r"[^\\\n*~`_&%=<+\[\]{}]*")
"""A text without markup."""

_LINE = re.compile(r"(?:=\r?\n|[^\n])+")  # with the soft breaks of quoted-printable
_AMBIGUOUS = re.compile(r"[<\]{+%&\\=]")
"""What a line that may have tags or pluses, also escaped ones, contains."""

_KNOWN = re.compile(CHANGES)
_ANY_PLUS = re.compile(_PLUS)
_ANY_TAG = re.compile(_TAG)

Tags = Literal["with", "joined", "spaced"]
"""Whether tags stay, are left out, or become spaces."""


def markup_readings(text: str) -> Iterator[tuple[int, NormalizedText]]:
    """Yield the readings of a text in which its markup is left out, each with its position; none where there is none.

    The first one is that of the whole text; what may stand for several things is read line by line.
    """
    if _PLAIN.fullmatch(text):
        return
    yield 0, _read(text, "joined", has_pluses=True)
    for line in _LINE.finditer(text):
        for reading in _readings_of_line(line[0]) if _AMBIGUOUS.search(line[0]) else ():
            yield line.start(), reading


def _readings_of_line(line: str) -> Iterator[NormalizedText]:
    """Yield the readings of a line but for the one without tags and with each `+` as it is."""
    tagged = _read(line, "with", has_pluses=True)
    has_tags = bool(_ANY_TAG.search(tagged.text))
    if has_tags:
        yield tagged
        yield _read(line, "spaced", has_pluses=True)
    if _ANY_PLUS.search(tagged.text):
        for tags in ("with", "joined", "spaced") if has_tags else ("joined",):
            yield _read(line, tags, has_pluses=False)


def _read(text: str, tags: Tags, *, has_pluses: bool) -> NormalizedText:
    changes = _changes(has_tags=tags == "with", has_pluses=has_pluses)
    return normalize_by(normalize(text), PASSES, _PLAIN, changes, partial(_rendered_piece, tags))


@cache
def _changes(*, has_tags: bool, has_pluses: bool) -> re.Pattern[str]:
    breaks, pluses = (_BREAK, "") if has_pluses else (_BREAK_IN_QUERY, _PLUS)
    kinds = (CHANGES, "" if has_tags else _TAG, breaks, _ESCAPE, _EMPHASIS, _SPACES, pluses)
    return re.compile("|".join(filter(None, kinds)))


@lru_cache(maxsize=4_096)
def _rendered_piece(tags: Tags, piece: str) -> str:
    if _KNOWN.fullmatch(piece):
        return plain_piece(piece)
    first = piece[0]
    if first == "<":
        return " " if tags == "spaced" else ""
    if "\n" in piece or piece in ("\\n", "\\r"):
        return "\n"
    if first == "+" or piece.isspace() or piece == "\\t":
        return " "
    return piece[1] if first == "\\" and len(piece) == 2 else ""
