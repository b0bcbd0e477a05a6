"""Blocks between the marks of model families, results that the model made up, tags, and control tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.call_json import parse_call_value
from nbtool.wire.prompted.json_repair import parse_value
from nbtool.wire.prompted.json_tokens import find_end
from nbtool.wire.prompted.model_formats import DELIMITERS, OPENERS, parse_call_body
from nbtool.wire.prompted.segments import MalformedReason
from nbtool.wire.prompted.suspected_calls.searched_text import OtherForm, SearchedText

MAX_BODY_CHARS = 256 * 1024
"""Characters of blocks that are read of one text, for blocks may overlap; a further one is read up to the next opener
only, and what follows is hidden if it may hold a call."""

MAX_UNCLOSED = 16 * 1024
"""Characters of a block without its closing mark; all behind a longer one is hidden with it."""

MAX_PARTS = 16
"""Objects and marks of a block without its closing mark; all behind more of them is hidden with it."""

MAX_UNKNOWN_CALL = 16 * 1024
"""Characters of a call of an unknown tool behind a control token; a longer one is shown."""

_CLOSERS = {one.opener: one.closer for one in DELIMITERS}
_TAG_WORDS = r"tool|func|function|call|invoke|action|api"
_RESULT = re.compile(
    r"<(?P<tag>tool_results?|tool_response|function_results?|function_response|observation)\b[^<>]*+>", re.IGNORECASE
)
_WORD_TAG = re.compile(rf"<(?=[\w:.-]*(?:{_TAG_WORDS}))(?P<tag>[\w:.-]++)(?:[ =][^<>]*+)?>", re.IGNORECASE)
# ruff: noqa: RUF001 - the marks are written with the very characters that the models use
_TOKEN = r"(?:<[|｜][\w▁ -]{1,40}[|｜]?>|<[\w▁ -]{1,40}[|｜]>)"
_ADDRESS = r"\bto=(?:functions\.[A-Za-z_][\w.]*|[A-Za-z_][\w.]*(?=\s*(?:<|\{|json\b|code\b|\Z)))"
_SPECIAL = re.compile(rf"{_TOKEN}|{_ADDRESS}")
_NEXT_PART = re.compile(rf"\s*(?:{_TOKEN}|</?tool_calls?>|[{{\[](?=\s*[{{\"'\]}}]))")
_ANSWER = re.compile(r"[ \t]*+\r?\n\s*+[*#]*+[ \t]*+[^\W\d_]{2,}+[ ,.:](?![^\n]*[{}<>\"])")
"""A line of prose behind a block: it begins with a word and contains nothing of a call."""

_SPECIAL_TAIL = re.compile(rf"\s*(?:{_TOKEN}\s*)*")


def find_results(searched: SearchedText) -> Iterator[OtherForm]:
    """Find results that the model made up."""
    for match in searched.matches(_RESULT):
        if searched.is_code(match.start()) or searched.is_quoted(match.start(), match.end()):
            continue
        closer = re.compile(rf"</{re.escape(match['tag'])}\s*>", re.IGNORECASE).search(searched.text, match.end())
        yield OtherForm(match.start(), closer.end() if closer else len(searched.text), reason="result")


def find_delimited(searched: SearchedText) -> Iterator[OtherForm]:
    """Find blocks between the marks of model families."""
    text, position, read_chars = searched.text, 0, 0
    for match in searched.matches(OPENERS):
        if match.start() < position:
            continue
        closer = _CLOSERS[match[0]]
        end = text.find(closer, match.end()) if closer else -1
        stop = end if end >= 0 else len(text)
        following = OPENERS.search(text, match.end(), stop) if read_chars > MAX_BODY_CHARS else None
        body = text[match.end() : following.start() if following else stop]
        read_chars += len(body)
        calls = parse_call_body(body, is_closed=end >= 0 and not following, opener=match[0])
        name = searched.tools.match(calls[0].name) if calls else searched.tools.find(body)
        is_meant = bool(name) or not (searched.is_code(match.start()) or searched.is_shown(match.start()))
        is_bare = end < 0 and not body.strip() and not text[: match.start()].rpartition("\n")[2].strip()
        if not is_meant or not (calls or is_bare or _looks_structured(body)):
            searched.unread += [match.start()] if following else []
            continue
        position = end + len(closer) if end >= 0 else len(text)
        if end < 0:
            position = _end_of_unclosed(text, match.end())
        reason: MalformedReason = "other_form" if calls else "unreadable"
        yield searched.widen(OtherForm(match.start(), position, name or (calls[0].name if calls else ""), reason))


def _end_of_unclosed(text: str, start: int) -> int:
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


def find_tags(searched: SearchedText) -> Iterator[OtherForm]:
    """Find tags that are named like a tool, or that mention a call and contain the name of a tool."""
    text, tools = searched.text, searched.tools
    patterns = [_WORD_TAG, *([_tag_pattern(tools.alternation)] if tools.alternation else [])]
    for pattern in patterns:
        mention = tools.mention(text)
        for match in searched.matches(pattern):
            if searched.is_code(match.start()) or (
                searched.is_shown(match.start()) and not searched.fence_at(match.start())
            ):
                continue
            closer = re.compile(rf"</{re.escape(match['tag'])}\s*>").search(text, match.end())
            stop = closer.end() if closer else _end_of_unclosed(text, match.end())
            if match[0].endswith("/>"):
                stop = match.end()
            if mention and mention.start() < match.start():
                mention = tools.mention(text, match.start())
            if mention and mention.end() <= stop:
                yield searched.widen(OtherForm(match.start(), stop, mention[0]))


@lru_cache(maxsize=64)
def _tag_pattern(alternation: str) -> re.Pattern[str]:
    return re.compile(rf"<(?P<tag>{alternation})(?:\s[^<>]*)?/?>")


def find_control_tokens(searched: SearchedText) -> Iterator[OtherForm]:
    """Find control tokens of chat templates before a call, or that address a tool, with the object behind them."""
    text = searched.text
    for match in searched.matches(_SPECIAL):
        rest = text[match.end() : match.end() + 400]
        name = searched.tools.find(match[0] + rest.partition("\n\n")[0])
        brace = text.find("{", match.end(), match.end() + 400)
        if not name and brace >= 0 and not text[match.end() : brace].strip() and not searched.is_shown(match.start()):
            name = _name_of_call(text[brace : brace + MAX_UNKNOWN_CALL])
        if not name or searched.is_code(match.start()) or (brace < 0 and "to=" not in match[0]):
            continue
        end = find_end(text, brace) if brace >= 0 else -1
        tail = _SPECIAL_TAIL.match(text, end if end > 0 else len(text))
        yield OtherForm(match.start(), tail.end() if tail else len(text), name)


def _name_of_call(text: str) -> str:
    """Return the name of the call with whose object a text begins; empty if it begins with something else."""
    end = find_end(text)
    try:
        calls = parse_call_value(parse_value(text[:end]).value, is_delimited=False) if end > 0 else None
    except InvalidArguments:
        return ""
    return calls[0].name if calls else ""
