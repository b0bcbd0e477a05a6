"""Blocks between the marks of model families: those that stand as calls, and those that only look like one."""

# ruff: noqa: RUF001 - the marks are written with the very characters that the models use

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Literal

from nbtool.wire.prompted.call_json import ParsedCall
from nbtool.wire.prompted.forms.searched_text import OtherForm, SearchedText
from nbtool.wire.prompted.json_tokens import find_end
from nbtool.wire.prompted.markdown_place import MarkdownPlace
from nbtool.wire.prompted.model_formats import DELIMITERS, OPENERS, Delimiter, openers_pattern, parse_call_body
from nbtool.wire.prompted.segments import CallBlock, MalformedReason

MAX_CALL_CHARS = 1024 * 1024
"""Characters of one call; a longer one is text."""

Ending = Literal["closer", "next", "quoted", "none", "long"]
"""How a block ends: by its closing mark, by the next opening one, by a closing mark that seemed to be inside a string,
not at all, or not within `MAX_CALL_CHARS`."""

_OWN_ENDS = ("}", "]", ")")
"""The ends of calls whose end is their own, also without the mark behind it: JSON, and a list in Python."""

MAX_BODY_CHARS = 256 * 1024
"""Characters of blocks that are read of one text, for blocks may overlap; a further one is read up to the next opener
only, and what follows is hidden if it may hold a call."""

MAX_UNCLOSED = 16 * 1024
"""Characters of a block without its closing mark; all behind a longer one is hidden with it."""

MAX_PARTS = 16
"""Objects and marks of a block without its closing mark; all behind more of them is hidden with it."""

_MARKS = {mark.opener: mark for mark in DELIMITERS}
_VISIBLE = re.compile(r"\S")
TOKEN = r"(?:<[|｜][\w▁ -]{1,40}[|｜]?>|<[\w▁ -]{1,40}[|｜]>)"
"""A control token of a chat template."""

_NEXT_PART = re.compile(rf"\s*(?:{TOKEN}|</?tool_calls?>|[{{\[](?=\s*[{{\"'\]}}]))")
_ANSWER = re.compile(r"[ \t]*+\r?\n\s*+[*#]*+[ \t]*+[^\W\d_]{2,}+[ ,.:](?![^\n]*[{}<>\"])")
"""A line of prose behind a block: it begins with a word and contains nothing of a call."""


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


def find_body_end(
    text: str, start: int, mark: Delimiter, *, limit: int | None = None, ignores_strings: bool = False
) -> tuple[int, Ending]:
    """Return where the body of a block ends that begins at `start`, and by what.

    A mark inside a string of JSON ends nothing, unless no other does, or the text is read with `ignores_strings`.
    """
    first = _VISIBLE.search(text, start)
    has_strings = not ignores_strings and first is not None and first[0] in "{[`"
    quote, quoted_closer = "", -1
    stop = len(text) if limit is None else limit
    for token in _token_pattern(mark).finditer(text, start, min(stop, start + MAX_CALL_CHARS)):
        if token[0] in ('"', "'"):
            if has_strings and quote in ("", token[0]):
                quote = "" if quote else token[0]
        elif token[0][0] != "\\" and not quote:
            return token.start(), "closer" if token[0] == mark.closer else "next"
        elif token[0] == mark.closer and quoted_closer < 0:
            quoted_closer = token.start()
    if stop - start >= MAX_CALL_CHARS:
        return start + MAX_CALL_CHARS, "long"
    return (quoted_closer, "quoted") if quoted_closer >= 0 else (stop, "none")


def _read_body(body: str, mark: Delimiter, ending: Ending) -> tuple[ParsedCall, ...] | None:
    is_closed = ending in ("closer", "quoted")
    if ending == "none" and mark.closer and not body.rstrip().endswith(_OWN_ENDS):
        return None  # nothing says whether more was to come
    calls = parse_call_body(body, is_closed=is_closed, opener=mark.opener)
    if calls is None:
        return None
    repairs = ("closing tag",) if mark.closer and not is_closed else ()
    return tuple(replace(call, repairs=(*call.repairs, *repairs)) for call in calls)


def find_quoted_blocks(searched: SearchedText) -> Iterator[OtherForm]:
    """Find blocks that do not run: they are only shown, cannot be read, or the format has another form."""
    text, position, read_chars = searched.text, 0, 0
    for match in searched.matches(OPENERS):
        if match.start() < position:
            continue
        mark = _MARKS[match[0]]
        following = OPENERS.search(text, match.end()) if read_chars > MAX_BODY_CHARS else None
        end, ending = find_body_end(text, match.end(), mark, limit=following.start() if following else len(text))
        body, is_closed = text[match.end() : end], ending in ("closer", "quoted")
        read_chars += len(body)
        calls = parse_call_body(body, is_closed=is_closed, opener=match[0])
        name = searched.tools.match(calls[0].name) if calls else searched.tools.find(body)
        is_meant = bool(name) or not (searched.is_code(match.start()) or searched.is_shown(match.start()))
        is_bare = not is_closed and not body.strip() and not text[: match.start()].rpartition("\n")[2].strip()
        if not is_meant or not (calls or is_bare or _looks_structured(body)):
            searched.unread += [match.start()] if following and not is_closed else []
            continue
        position = end + len(mark.closer) if is_closed else end
        if ending == "none":
            position = end_of_unclosed(text, match.end())
        reason: MalformedReason = "other_form" if calls else "unreadable"
        yield searched.widen(OtherForm(match.start(), position, name or (calls[0].name if calls else ""), reason))


def end_of_unclosed(text: str, start: int) -> int:
    """Return where a block without its closing mark ends: behind its objects and marks if an answer follows them."""
    block, end = text[start : start + MAX_UNCLOSED], 0
    for _ in range(MAX_PARTS):
        if (part := _NEXT_PART.match(block, end)) is None:
            return start + end if end and _ANSWER.match(text, start + end) else len(text)
        end = find_end(block, part.end() - 1) if part[0].endswith(("{", "[")) else part.end()
        if end < 0:
            break
    return len(text)


def _looks_structured(body: str) -> bool:
    start = body.lstrip(" \t\r\n`")[:200]
    return (
        start.startswith(("{", "[", "<"))
        or re.search(r"[\"']?(?:name|arguments|parameters)[\"']?\s*[:=>]", start) is not None
    )


@cache
def _token_pattern(mark: Delimiter) -> re.Pattern[str]:
    tokens = sorted(filter(None, {mark.opener, mark.closer}), key=len, reverse=True)
    return re.compile("|".join([r"\\.", "[\"']", *map(re.escape, tokens)]), re.DOTALL)
