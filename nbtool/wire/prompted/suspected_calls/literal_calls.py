"""Calls that are written as a value: as a JSON object, or as Python with literal arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.call_json import ARGUMENT_KEYS, SIDE_KEYS, is_schema, parse_call_value
from nbtool.wire.prompted.call_python import end_of_call_list, parse_python_calls
from nbtool.wire.prompted.json_repair import parse_value
from nbtool.wire.prompted.json_tokens import find_end
from nbtool.wire.prompted.suspected_calls.searched_text import OtherForm, SearchedText
from nbtool.wire.prompted.tool_names import ToolNames

MAX_DEPTH = 8
"""Objects around a call in JSON."""

_JSON = re.compile(r"""(?:\[\s*+)?\{\s*+["'“]?[\w -]{1,60}+["'”]?\s*+:""")
_NAMING = re.compile(r"name|tool|func|action|call|api|command|method|invoke|recipient|use", re.IGNORECASE)
"""What the key of a tool's name contains."""

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
        name = next((tool for one in names or () if (tool := tools.match(one))), "")
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
    name_key, name = next((one for one in named if one[1]), ("", ""))
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
        and (name := tools.match(calls[0][0]))
        and searched.fence_at(text.find(whole)) is None
    ):
        yield OtherForm(0, len(text), name)


def _only_call(tools: ToolNames, code: str) -> str:
    """Return the tool that a code fence calls, if a call with literal arguments is all of it; else an empty text."""
    calls = parse_python_calls(code)
    if calls:
        return tools.match(calls[0][0])
    names = _names_in_json(tools, code.strip()) if code.lstrip().startswith(("{", "[")) else None
    return next((tool for name in names or () if (tool := tools.match(name))), "")
