"""Calls that are written as a value: as a JSON object, or as Python with literal arguments; perhaps in a code fence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.call_json import (
    ARGUMENT_KEYS,
    CALL_KEYS,
    LIST_KEYS,
    NAME_KEYS,
    SIDE_KEYS,
    is_schema,
    parse_call_value,
    parse_json_calls,
)
from nbtool.wire.prompted.call_python import LIST_START, end_of_call_list, find_call_list, parse_python_calls
from nbtool.wire.prompted.forms.searched_text import MAX_BARE_TRIES, OtherForm, SearchedText
from nbtool.wire.prompted.json_repair import parse_value
from nbtool.wire.prompted.json_tokens import find_end
from nbtool.wire.prompted.model_formats import strip_end_tokens
from nbtool.wire.prompted.segments import CallBlock
from nbtool.wire.prompted.tool_names import ToolNames

MAX_START_CHARS = 256
"""Characters in which a reply shows that it starts like a call."""

MAX_DEPTH = 8
"""Objects around a call in JSON."""

_JSON = re.compile(r"""(?:\[\s*+)?\{\s*+["'“]?[\w -]{1,60}+["'”]?\s*+:""")
_NAMING = re.compile(r"name|tool|func|action|call|api|command|method|invoke|recipient|use", re.IGNORECASE)
"""What the key of a tool's name contains."""

_KEY = "|".join({*NAME_KEYS, *ARGUMENT_KEYS, *CALL_KEYS, *LIST_KEYS})
_JSON_START = rf"""(?:\[\s*)?\{{\s*["'](?:{_KEY})["']\s*:"""
_JSON_CALL = re.compile(_JSON_START)
_REPLY_START = re.compile(rf"\s*(?:```\w*\s*)?(?:{_JSON_START}|{LIST_START})")
_JSON_PLACE = re.compile(r"(?:^|(?<=[.:!?>]))[ \t]*(?=[{\[])", re.MULTILINE)
_FOREIGN_TAG = re.compile(r"<(?!/think>|\|)[^<>\n]{1,40}>\s*\Z")
_FENCE_LINE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_CALL_LIST = re.compile(r"\[\s*(?:functions\.)?([A-Za-z_][\w.]*)\s*\(")


def find_json_objects(searched: SearchedText) -> Iterator[OtherForm]:
    """Find JSON that is a call of a tool; of an unknown tool only if it is all of the reply."""
    text, tools, position = searched.text, searched.tools, 0
    for match in searched.matches(_JSON):
        if match.start() < position or searched.is_code(match.start()):
            continue
        end = find_end(text, match.start())
        stop = end if end > 0 else searched.end_of_paragraph(match.start())
        body = text[match.start() : stop]
        names = _names_in_json(tools, body)
        name = next((tool for item in names or () if (tool := tools.match(item))), "")
        if (
            names is None
            and (shown := tools.find(body))
            and re.search(rf"[\"'“:]\s*(?:functions\.)?{re.escape(shown)}", body)
        ):
            yield searched.widen(OtherForm(match.start(), stop, shown, "unreadable"))
        elif name or (names and searched.is_whole(match.start(), stop)):
            yield searched.widen(OtherForm(match.start(), stop, name or (names[0] if names else "")))
        position = stop


def _names_in_json(tools: ToolNames, body: str) -> list[str] | None:
    """Return the names of the calls in a JSON text, none if it has no call, and None if it cannot be read."""
    try:
        value = parse_value(body, is_closed=True).value
    except InvalidArguments:
        return None
    calls = parse_call_value(value, is_delimited=False)
    return [call.name for call in calls] if calls else list(_tools_in(tools, value, MAX_DEPTH))


def _tools_in(tools: ToolNames, value: Any, depth: int) -> Iterator[str]:
    """Yield the tools that objects within a JSON value name beside arguments."""
    if isinstance(value, dict) and (name := _tool_of(tools, value)):
        yield name
    if depth and isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tools_in(tools, item, depth - 1)


def _tool_of(tools: ToolNames, value: dict[str, Any]) -> str:
    """Return the tool that an object calls: it names it, and has arguments, or an object and nothing else."""
    named = ((key, tools.match(item)) for key, item in value.items() if isinstance(item, str) and _NAMING.search(key))
    name_key, name = next((pair for pair in named if pair[1]), ("", ""))
    others = value.keys() - {name_key} - SIDE_KEYS
    for key in others if name else ():
        item, is_only = value[key], len(others) == 1
        if isinstance(item, dict):
            has_arguments = (key in ARGUMENT_KEYS or is_only) and not is_schema(item)
        else:
            has_arguments = key in ARGUMENT_KEYS and (is_only or str(item).lstrip().startswith("{"))
        if has_arguments:
            return name
    return ""


def find_python_calls(searched: SearchedText) -> Iterator[OtherForm]:
    """Find calls written as Python: a list of them, one that is all of the reply, or a fence for calls."""
    text, tools = searched.text, searched.tools
    for fence in searched.fences:
        if (fence.is_for_calls and (name := tools.find(fence.body))) or (name := _only_call(tools, fence.body)):
            yield OtherForm(fence.start, fence.end, name)
    for match in searched.matches(_CALL_LIST):
        end = end_of_call_list(text, match.start())
        if (
            not searched.is_code(match.start())
            and end > 0
            and (name := tools.match(match[1]))
            and parse_python_calls(text[match.start() : end])
        ):
            yield searched.widen(OtherForm(match.start(), end, name))
    whole = text.strip().strip("`").strip()
    if (
        (calls := parse_python_calls(whole))
        and (name := tools.match(calls[0].name))
        and searched.fence_at(text.find(whole)) is None
    ):
        yield OtherForm(0, len(text), name)


def _only_call(tools: ToolNames, code: str) -> str:
    """Return the tool that a code fence calls, if a call with literal arguments is all of it; else an empty text."""
    calls = parse_python_calls(code)
    if calls:
        return tools.match(calls[0].name)
    names = _names_in_json(tools, code.strip()) if code.lstrip().startswith(("{", "[")) else None
    return next((tool for name in names or () if (tool := tools.match(name))), "")


def starts_like_call(text: str) -> bool:
    """Whether a text starts like a call without marks."""
    return _REPLY_START.match(text[:MAX_START_CHARS]) is not None


def read_values(text: str) -> list[CallBlock]:
    """Read the one call, or list of calls, that a text displays; several different ones are examples."""
    text = strip_end_tokens(text)
    stripped = text.strip()
    if calls := parse_python_calls(stripped) or parse_json_calls(stripped):
        return [CallBlock(0, len(text), calls)]
    blocks = list(_read_fences(text))
    blocks += [block for block in (*_read_objects(text), *_read_lists(text)) if not _is_inside(block, blocks)]
    different = {repr(block.calls) for block in blocks}
    return blocks[:1] if len(different) == 1 else []


def _is_inside(block: CallBlock, others: list[CallBlock]) -> bool:
    return any(other.start <= block.start < other.end for other in others)


def _read_fences(text: str) -> Iterator[CallBlock]:
    lines = _FENCE_LINE.finditer(text)
    for opener, closer in islice(zip(lines, lines, strict=False), MAX_BARE_TRIES):
        body = text[opener.end() : closer.start()].strip()
        calls = parse_json_calls(body) if body.startswith(("{", "[")) else None
        calls = calls or (None if body.startswith("[") and find_call_list(body) else parse_python_calls(body))
        if calls or _JSON_CALL.match(body):
            yield CallBlock(opener.start(), closer.end(), calls)


def _read_objects(text: str) -> Iterator[CallBlock]:
    """Read JSON values that are calls, up to the first one that starts like a call and cannot be parsed."""
    position = 0
    for match in islice(_JSON_PLACE.finditer(text), MAX_BARE_TRIES):
        start = match.end()
        is_foreign = _FOREIGN_TAG.search(text, max(0, start - 60), start) is not None
        if start < position or is_foreign or not _JSON_CALL.match(text, start):
            continue
        position = find_end(text, start)
        calls = parse_json_calls(text[start:position]) if position > 0 else None
        if calls or position < 0 or not _is_json(text[start:position]):
            yield CallBlock(start, max(start, position), calls)
        if position < 0:
            return


def _is_json(text: str) -> bool:
    try:
        parse_value(text)
    except InvalidArguments:
        return False
    return True


def _read_lists(text: str) -> Iterator[CallBlock]:
    position = 0
    for _ in range(MAX_BARE_TRIES):
        start = find_call_list(text, position)
        if start < 0:
            return
        end = end_of_call_list(text, start)
        yield CallBlock(start, max(end, start), parse_python_calls(text[start:end]) if end > 0 else None)
        if end < 0:
            return
        position = end
