"""Blocks between the marks of model families, where these stand as calls and are not only shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Literal

from nbtool.wire.prompted.call_json import ParsedCall
from nbtool.wire.prompted.model_formats import Delimiter, openers_pattern, parse_call_body
from nbtool.wire.prompted.segments import CallBlock

MAX_CALL_CHARS = 1024 * 1024
"""Characters of one call; a longer one is text."""

Ending = Literal["closer", "next", "quoted", "none", "long"]
"""How a block ends: by its closing mark, by the next opening one, by a closing mark that seemed to be inside a string,
not at all, or not within `MAX_CALL_CHARS`."""

_OWN_ENDS = ("}", "]", ")")
"""The ends of calls whose end is their own, also without the mark behind it: JSON, and a list in Python."""

_PLACE_TOKENS = ("```", "<think>", "</think>", "<tool_result", "<tool_response>")
_PLACE_PATTERN = re.compile("|".join(map(re.escape, _PLACE_TOKENS)))
_VISIBLE = re.compile(r"\S")


class MarkdownPlace:
    """A place in the Markdown of a reply: whether a mark starts a call there, or is quoted."""

    def __init__(self) -> None:
        self._is_blank_line = True
        self._last_character = ""
        self._has_text = False
        self._fence: Literal["", "open", "quoted"] = ""
        self._is_thinking = False
        self._has_invented_result = False

    @property
    def allows_call(self) -> bool:
        """Whether a mark counts: not in thinking, a fence after prose, inline code, or after an invented result."""
        return (
            not self._is_thinking
            and not self._has_invented_result
            and self._fence != "quoted"
            and self._last_character != "`"
        )

    def move(self, text: str) -> None:
        """Move the place behind a text."""
        position = 0
        for token in _PLACE_PATTERN.finditer(text):
            self.move_behind_block(text[position : token.start()])
            self._pass_token(token[0])
            position = token.end()
        self.move_behind_block(text[position:])

    def move_behind_block(self, source: str) -> None:
        """Move the place behind a block, in which no mark counts."""
        if not source:
            return
        is_blank = not source[source.rfind("\n") + 1 :].strip()
        self._is_blank_line = is_blank if "\n" in source else self._is_blank_line and is_blank
        self._last_character = source[-1]
        self._has_text = self._has_text or (not self._is_thinking and bool(source.strip()))

    def _pass_token(self, token: str) -> None:
        if token == "```" and self._is_blank_line and not self._is_thinking:
            self._fence = "" if self._fence else "quoted" if self._has_text else "open"
            self._is_blank_line, self._last_character = False, ""
        elif token in ("<think>", "</think>"):
            self._is_thinking = token == "<think>" and not self._has_text
            self._is_blank_line, self._last_character = False, ">"
        else:
            self._has_invented_result |= token in ("<tool_result", "<tool_response>") and self.allows_call
            self.move_behind_block(token)


def find_marked_blocks(
    text: str, marks: Iterable[Delimiter], place: MarkdownPlace, *, may_be_open: bool = False, complete: bool = True
) -> Iterator[CallBlock]:
    """Find the blocks that stand as calls, and move the place along.

    With `may_be_open` the calls of a last block without its closing mark are read too. The calls of a block are None
    where they cannot be read, and empty where it is a record of a call or the definition of a tool.
    """
    by_opener = {mark.opener: mark for mark in marks}
    openers = openers_pattern(tuple(by_opener))
    position = start = 0
    ignores_strings = False
    while opener := openers.search(text, position):
        place.move(text[start : opener.start()])
        start, position = opener.start(), opener.end()
        if not place.allows_call:
            place.move_behind_block(opener[0])
            start = position
            continue
        mark = by_opener[opener[0]]
        end, ending = find_body_end(text, position, mark, ignores_strings=ignores_strings)
        ignores_strings |= ending == "quoted"
        body, position = text[position:end], end + (len(mark.closer) if ending in ("closer", "quoted") else 0)
        if ending == "long":
            continue
        place.move_behind_block(text[start:position])
        is_cut = ending == "none" and (bool(mark.closer) or not complete)
        calls = None if is_cut and not may_be_open else _read_body(body, mark, ending)
        yield CallBlock(start, position, calls, is_cut)
        start = position
    place.move(text[start:])


def find_body_end(text: str, start: int, mark: Delimiter, *, ignores_strings: bool = False) -> tuple[int, Ending]:
    """Return where the body of a block ends that begins at `start`, and by what.

    A mark inside a string of JSON ends nothing, unless no other does, or the text is read with `ignores_strings`.
    """
    first = _VISIBLE.search(text, start)
    has_strings = not ignores_strings and first is not None and first[0] in "{[`"
    quote, quoted_closer = "", -1
    for token in _token_pattern(mark).finditer(text, start, start + MAX_CALL_CHARS):
        if token[0] in ('"', "'"):
            if has_strings and quote in ("", token[0]):
                quote = "" if quote else token[0]
        elif token[0][0] != "\\" and not quote:
            return token.start(), "closer" if token[0] == mark.closer else "next"
        elif token[0] == mark.closer and quoted_closer < 0:
            quoted_closer = token.start()
    if len(text) - start >= MAX_CALL_CHARS:
        return start + MAX_CALL_CHARS, "long"
    return (quoted_closer, "quoted") if quoted_closer >= 0 else (len(text), "none")


def _read_body(body: str, mark: Delimiter, ending: Ending) -> tuple[ParsedCall, ...] | None:
    is_closed = ending in ("closer", "quoted")
    if ending == "none" and mark.closer and not body.rstrip().endswith(_OWN_ENDS):
        return None  # nothing says whether more was to come
    calls = parse_call_body(body, is_closed=is_closed, opener=mark.opener)
    if calls is None:
        return None
    repairs = ("closing tag",) if mark.closer and not is_closed else ()
    return tuple(replace(call, repairs=(*call.repairs, *repairs)) for call in calls)


@cache
def _token_pattern(mark: Delimiter) -> re.Pattern[str]:
    tokens = sorted(filter(None, {mark.opener, mark.closer}), key=len, reverse=True)
    return re.compile("|".join([r"\\.", "[\"']", *map(re.escape, tokens)]), re.DOTALL)
