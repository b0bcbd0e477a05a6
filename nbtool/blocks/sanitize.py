"""Sanitize untrusted text for display: no control sequences, no invisible characters."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby

from nbtool.text import clean_text, count_of

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI sequences: colors, cursor movements (ECMA-48 section 5.4)
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC: titles, links, clipboard
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_INVISIBLE_RANGES = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f"
    "\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_INVISIBLE_RANGES}]")
STACK_LIMIT = 16
"""Combining marks on one letter that are shown; a browser takes seconds to render thousands."""

_STACK = re.compile(rf"[^\w\s\x00-\x7f]{{{STACK_LIMIT + 1},}}")


def strip_stacks(text: str) -> str:
    """Truncate stacks of combining marks, with a note of how many were omitted."""
    return _STACK.sub(_cut_stacks, text)


def _cut_stacks(match: re.Match[str]) -> str:
    pieces = []
    for is_mark, group in groupby(match[0], lambda letter: unicodedata.category(letter).startswith("M")):
        run = "".join(group)
        more = len(run) - STACK_LIMIT
        is_cut = is_mark and more > 0
        pieces.append(f"{run[:STACK_LIMIT]}[… {count_of(more, 'combining mark')} more]" if is_cut else run)
    return "".join(pieces)


def without_controls(text: str) -> str:
    r"""Remove terminal control sequences and control characters; `\n` and tabs stay, `\r\n` becomes `\n`."""
    text = clean_text(text)
    return _CONTROL.sub("", text) if _CONTROL.search(text) else text


def escape_invisible(text: str) -> str:
    r"""Escape invisible, bidirectional and control characters, so that nothing is hidden at a gate.

    A right-to-left override becomes `\u{202e}`, as visible text.
    """
    text = clean_text(text)
    return text.translate(_invisible_escapes()) if _INVISIBLE.search(text) else text


@cache
def _invisible_escapes() -> dict[int, str]:
    """Return the escapes of all invisible characters: translating a text is five times faster than substituting."""
    ranges = re.findall(r"(.)(?:-(.))?", _INVISIBLE_RANGES, re.DOTALL)
    codes = (code for first, last in ranges for code in range(ord(first), ord(last or first) + 1))
    return {code: f"\\u{{{code:04x}}}" for code in codes}


def one_line(text: str, limit: int = 120) -> str:
    """Return the text as one visible line of at most `limit` characters."""
    line = " ".join(escape_invisible(text[: limit * 4].replace("\n", " ")).split())
    return line if len(line) <= limit and len(text) <= limit * 4 else f"{line[: limit - 1]}…"
