"""Calls in a text without marks: bare JSON, Python lists, ReAct, GLM-4, role tokens as tags.

Only the shape shows that something is a call, so parsing is strict: one group of calls in a text, or none. A text with
several groups, or one that cannot be parsed, contains examples and not calls.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice, zip_longest

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.call_json import (
    ARGUMENT_KEYS,
    CALL_KEYS,
    LIST_KEYS,
    NAME_KEYS,
    ParsedCall,
    match_tools,
    parse_call_value,
)
from nbtool.wire.prompted.call_python import end_of_call_list, find_call_list, parse_python_calls
from nbtool.wire.prompted.json_repair import parse_object, parse_value
from nbtool.wire.prompted.json_tokens import find_end, split_values
from nbtool.wire.prompted.model_formats import strip_end_tokens
from nbtool.wire.prompted.segments import CallBlock

MAX_TRIES = 32
"""Maximum number of positions in a text at which a call is searched."""

_KEY = "|".join({*NAME_KEYS, *ARGUMENT_KEYS, *CALL_KEYS, *LIST_KEYS})
_CALL_START = re.compile(
    rf"""\s*(?:```\w*\s*)?(?:(?:\[\s*)?\{{\s*["'](?:{_KEY})["']\s*:|\[\s*[^\W\d]\w*(?:\.[^\W\d]\w*)*\s*\()"""
)
_JSON_CALL = re.compile(rf"""(?:\[\s*)?\{{\s*["'](?:{_KEY})["']\s*:""")
MAX_START_CHARS = 256
"""Characters in which a reply shows that it starts like a call."""

_FENCE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_JSON_START = re.compile(r"(?:^|(?<=[.:!?>]))[ \t]*(?=[{\[])", re.MULTILINE)
_FOREIGN_TAG = re.compile(r"<(?!/think>|\|)[^<>\n]{1,40}>\s*\Z")
_ACTION = re.compile(r"^[ \t]*+Action:[ \t]*+(?P<name>\S[^\n]*+)\n\s*+Action Input:[ \t]*+(?=\S)", re.MULTILINE)
_OBSERVATION = re.compile(r"^[ \t]*Observation:", re.MULTILINE)
_NAME_LINE = re.compile(r"(?:\A|(?<=[.!:,;)`'\"\]…\n]))(?<!```)[ \t]*(?P<name>[^\W\d]\w{0,63})[ \t]*\r?\n(?=\{)")
_ROLE = re.compile(r"<\|(?:im_start|im_end|start_header_id|end_header_id|eot_id)\|>")


def starts_like_call(text: str) -> bool:
    """Whether a text starts like a call without marks."""
    return _CALL_START.match(text[:MAX_START_CHARS]) is not None


def find_bare_calls(text: str, names: Collection[str] | None = None) -> list[CallBlock]:
    """Return the calls of a whole text; none if one of them is not certain, or not of a tool that there is."""
    body = strip_end_tokens(text)
    groups = _react_calls(body) or _between_role_tokens(text) or _name_then_json(body) or _displayed_calls(body)
    return groups if all(match_tools(group.calls or (), names) for group in groups) else []


def _react_calls(text: str) -> list[CallBlock]:
    """Parse `Action:` and `Action Input:`; what follows `Observation:` is invented by the model."""
    invented = _OBSERVATION.search(text)
    body = text[: invented.start()] if invented else text
    groups: list[CallBlock] = []
    for action in islice(_ACTION.finditer(body), MAX_TRIES):
        groups.append(_object_at(body, action.start(), action.end(), action["name"].rstrip()))
        if groups[-1].calls is None:
            break
    return groups


def _object_at(text: str, start: int, position: int, name: str) -> CallBlock:
    """Parse the JSON object at `position`, up to the end of its line, as the arguments of `name`."""
    end = find_end(text, position) if text[position] == "{" else -1
    if end < 0 or text[end:].partition("\n")[0].strip(" \t\r`"):
        return CallBlock(start, end, None)
    try:
        parsed = parse_object(text[position:end])
    except InvalidArguments:
        return CallBlock(start, end, None)
    return CallBlock(start, end, (ParsedCall(name, parsed.value, parsed.repairs),))


def _between_role_tokens(text: str) -> list[CallBlock]:
    """Parse objects between `<|im_start|>` tokens, which some models write instead of a tag.

    Nothing else may be between them, and the same token has to close: ambiguous marks need strict content.
    """
    groups: list[CallBlock] = []
    tokens = list(_ROLE.finditer(text))
    for opener, closer in zip_longest(tokens, tokens[1:]):
        content = text[opener.end() : closer.start() if closer else len(text)]
        if not content.lstrip().startswith(("{", "[{")):
            continue
        paired = opener[0] == "<|im_start|>" and (closer is None or closer[0] == opener[0])
        calls = _parse_json_calls(content.strip(), single=True) if paired else None
        groups.append(CallBlock(opener.start(), opener.end() + len(content), calls))
        if calls is None:
            break
    return groups


def _displayed_calls(text: str) -> list[CallBlock]:
    """Parse code fences, bare JSON and Python lists; identical ones count once."""
    stripped = text.strip()
    if calls := _parse_python_list(stripped) or _parse_json_calls(stripped):
        return [CallBlock(0, len(text), calls)]
    groups = list(_fences(text))
    groups += [group for group in (*_objects(text), *_lists(text)) if not _is_inside(group, groups)]
    different = {repr(group.calls) for group in groups}
    return groups[:1] if len(different) == 1 else []


def _is_inside(group: CallBlock, others: list[CallBlock]) -> bool:
    return any(other.start <= group.start < other.end for other in others)


def _fences(text: str) -> Iterator[CallBlock]:
    lines = _FENCE.finditer(text)
    for opener, closer in islice(zip(lines, lines, strict=False), MAX_TRIES):
        body = text[opener.end() : closer.start()].strip()
        calls = _parse_json_calls(body) if body.startswith(("{", "[")) else None
        calls = calls or (None if body.startswith("[") and find_call_list(body) else _parse_python_list(body))
        if calls or _JSON_CALL.match(body):
            yield CallBlock(opener.start(), closer.end(), calls)


def _objects(text: str) -> Iterator[CallBlock]:
    """Find JSON values that are calls, up to the first one that starts like a call and cannot be parsed."""
    position = 0
    for match in islice(_JSON_START.finditer(text), MAX_TRIES):
        start = match.end()
        if (
            start < position
            or not _JSON_CALL.match(text, start)
            or _FOREIGN_TAG.search(text, max(0, start - 60), start)
        ):
            continue
        position = find_end(text, start)
        calls = _parse_json_calls(text[start:position]) if position > 0 else None
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


def _lists(text: str) -> Iterator[CallBlock]:
    position = 0
    for _ in range(MAX_TRIES):
        start = find_call_list(text, position)
        if start < 0:
            return
        end = end_of_call_list(text, start)
        yield CallBlock(start, max(end, start), _parse_python_list(text[start:end]) if end > 0 else None)
        if end < 0:
            return
        position = end


def _name_then_json(text: str) -> list[CallBlock]:
    """Parse a name on a line and a JSON object below it, up to the end of the text, as GLM-4 writes calls."""
    groups: list[CallBlock] = []
    for match in islice(_NAME_LINE.finditer(text), MAX_TRIES):
        if groups and match.start() < groups[-1].end:
            continue
        groups.append(_object_at(text, match.start("name"), match.end(), match["name"]))
        if groups[-1].calls is None:
            return []
    if not groups or text[groups[-1].end :].strip():
        return []
    return [] if any(_looks_like_call(group.calls[0].args) for group in groups if group.calls) else groups


def _looks_like_call(value: object) -> bool:
    return bool(parse_call_value(value, is_delimited=False))


def _parse_json_calls(text: str, *, single: bool = False) -> tuple[ParsedCall, ...] | None:
    """Parse JSON values as calls; None if one of them is not a call."""
    values = split_values(text)
    if not values or (single and len(values) > 1):
        return None
    all_calls: list[ParsedCall] = []
    for value_text in values:
        if find_end(value_text) < 0:
            return None
        try:
            parsed = parse_value(value_text)
        except InvalidArguments:
            return None
        calls = parse_call_value(parsed.value, is_delimited=False, repairs=parsed.repairs)
        if not calls or (single and not isinstance(parsed.value, dict)):
            return None
        all_calls.extend(calls)
    return tuple(all_calls)


def _parse_python_list(text: str) -> tuple[ParsedCall, ...] | None:
    calls = parse_python_calls(text)
    return tuple(ParsedCall(name, args) for name, args in calls) if calls else None
