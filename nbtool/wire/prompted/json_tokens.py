"""A tokenizer for lenient JSON: strings in any quotes, comments, brackets, words.

Every character belongs to exactly one token and no token looks back, so that the time is linear in the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

BLANK = " \t\r\n\f\v\u00a0\u200b\u200c\u200d\u2060\ufeff"
"""Insignificant characters between tokens, including invisible ones that models copy."""

_OPENER = re.compile(r"```[\w-]*+[ \t]*+\n?")

_QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "\u201e": "\u201c"}
_STRINGS = "|".join(
    rf"{opener}[^{closer}\\]*(?:\\(?:.|\Z)[^{closer}\\]*)*(?:{closer}|\Z)" for opener, closer in _QUOTES.items()
)
_COMMENTS = r"//[^\n]*|\#[^\n]*|/\*.*?(?:\*/|\Z)"
_TOKEN = re.compile(
    rf"(?P<string>{_STRINGS})"
    rf"|(?P<blank>[{re.escape(BLANK)}]+)"
    rf"|(?P<comment>{_COMMENTS})"
    r"|(?P<mark>[{}\[\]:,])"
    r"|(?P<word>[+-]?[\w.]+(?:(?<=\d[eE])[+-]\d+)?)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_BRACKET = re.compile(rf"{_STRINGS}|{_COMMENTS}|[{{}}\[\]]", re.DOTALL)
"""The brackets among the tokens, and the tokens that may contain an insignificant one."""


class Token(NamedTuple):
    """A part of the text; `kind` is string, blank, comment, mark, word or other, `start` its position."""

    kind: str
    text: str
    start: int


def strip_fence(text: str) -> str | None:
    """Return the content of a code fence that is the whole text; None if the text is not one."""
    text = text.strip()
    opener = _OPENER.match(text)
    if not opener or len(text) < opener.end() + 3 or not text.endswith("```"):
        return None
    return text[opener.end() : -3].rstrip(" \t").removesuffix("\n")


def tokens(text: str, start: int = 0) -> Iterator[Token]:
    """Split a text into tokens; joined, they are the text again."""
    for match in _TOKEN.finditer(text, start):
        yield Token(match.lastgroup or "other", match[0], match.start())


def is_closed_string(text: str) -> bool:
    """Whether a string token ends with its quote and not with the end of the text."""
    if len(text) < 2 or text[-1] != _QUOTES[text[0]]:
        return False
    backslashes = len(text) - 1 - len(text[:-1].rstrip("\\"))
    return backslashes % 2 == 0


def find_end(text: str, start: int = 0) -> int:
    """Return the position after the bracket that closes the one at `start`, or -1 if none does.

    Brackets inside strings and comments are ignored; a closing bracket of the wrong kind ends the search.
    """
    stack: list[str] = []
    for match in _BRACKET.finditer(text, start):
        token = match[0]
        if token in ("{", "["):
            stack.append("}" if token == "{" else "]")
        elif token in ("}", "]"):
            if not stack or stack.pop() != token:
                return -1
            if not stack:
                return match.end()
    return -1


def split_values(text: str) -> list[str] | None:
    """Split a text of consecutive JSON objects and arrays.

    Blanks, commas and semicolons may separate them. Return None if there is anything else; a last value that does not
    close is returned unchanged.
    """
    values: list[str] = []
    position = 0
    skip = re.compile(rf"[{re.escape(BLANK)},;]*")
    while True:
        position = skip.match(text, position).end()  # type: ignore[union-attr]  # matches the empty string too
        if position == len(text):
            return values
        if text[position] not in "{[":
            return None
        end = find_end(text, position)
        values.append(text[position:] if end < 0 else text[position:end])
        if end < 0:
            return values
        position = end
