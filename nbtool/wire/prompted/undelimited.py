"""Calls that stand in a text without marks of their own: bare JSON, Python lists, ReAct, GLM-4, role tokens for tags.

Here the shape alone has to say that something is a call, so the reading is strict: one group of calls in a text, or
none. A text that shows several, or one that cannot be read, shows examples and calls nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest

from nbtool.errors import InvalidArguments
from nbtool.wire.prompted.call_json import (
    ARGUMENT_KEYS,
    CALL_KEYS,
    LIST_KEYS,
    NAME_KEYS,
    WrittenCall,
    known_calls,
    read_shape,
)
from nbtool.wire.prompted.call_python import find_list_end, read_pythonic, starts_list
from nbtool.wire.prompted.delimiters import without_end
from nbtool.wire.prompted.json_repair import parse_object, parse_value
from nbtool.wire.prompted.json_tokens import find_end, split_values
from nbtool.wire.prompted.segments import Calls, Prose, joined

MAX_TRIES = 32
"""Places in one text at which a call is looked for."""

_KEY = "|".join({*NAME_KEYS, *ARGUMENT_KEYS, *CALL_KEYS, *LIST_KEYS})
_BEGINS = re.compile(
    rf"""\s*(?:```\w*\s*)?(?:(?:\[\s*)?\{{\s*["'](?:{_KEY})["']\s*:|\[\s*[^\W\d]\w*(?:\.[^\W\d]\w*)*\s*\()"""
)
_JSON_CALL = re.compile(rf"""(?:\[\s*)?\{{\s*["'](?:{_KEY})["']\s*:""")
_MAY_BEGIN = re.compile(
    r"""\s*(?:`{1,2}|(?:```\w*\s*)?(?:\[?\s*(?:\{\s*(?:["']\w*["']?\s*)?)?|\[\s*[^\W\d]\w*(?:\.\w*)*\s*))\Z"""
)
_MAX_BEGINNING = 256

_FENCE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_PLACE = re.compile(r"(?:^|(?<=[.:!?>]))[ \t]*(?=[{\[])", re.MULTILINE)
_FOREIGN_TAG = re.compile(r"<(?!/think>|\|)[^<>\n]{1,40}>\s*\Z")
_ACTION = re.compile(r"^[ \t]*Action:[ \t]*(?P<name>[^\n]+?)[ \t\r]*\n\s*Action Input:[ \t]*(?=\S)", re.MULTILINE)
_OBSERVATION = re.compile(r"^[ \t]*Observation:", re.MULTILINE)
_NAMED = re.compile(r"(?:\A|(?<=[.!:,;)`'\"\]…\n]))(?<!```)[ \t]*(?P<name>[^\W\d]\w{0,63})[ \t]*\r?\n(?=\{)")
_ROLE = re.compile(r"<\|(?:im_start|im_end|start_header_id|end_header_id|eot_id)\|>")


@dataclass(frozen=True, slots=True)
class _Group:
    """A place in the text that looks like calls; `calls` is None where they cannot be read."""

    start: int
    end: int
    calls: tuple[WrittenCall, ...] | None


def begins_as_call(text: str) -> bool | None:
    """Whether a reply begins as a call without marks; None while that cannot be told."""
    if (found := _BEGINS.match(text)) and found.end() <= _MAX_BEGINNING:
        return True
    return None if len(text) <= _MAX_BEGINNING and _MAY_BEGIN.match(text) else False


def read_unmarked(text: str, names: Collection[str] | None = None) -> list[Prose | Calls] | None:
    """Cut a whole text into prose and calls; None where it holds no call that can be told for sure."""
    said = without_end(text)
    groups = _react(said) or _between_roles(text) or _after_name(said) or _shown(said)
    return _cut(text, groups, names) if groups else None


def _cut(text: str, groups: list[_Group], names: Collection[str] | None) -> list[Prose | Calls] | None:
    pieces: list[Prose | Calls] = []
    at = 0
    for group in groups:
        calls = known_calls(group.calls or (), names)
        if not calls:
            return None
        pieces += [Prose(text[at : group.start]), Calls(tuple(calls), text[group.start : group.end])]
        at = group.end
    return joined([*pieces, Prose(text[at:])])


def _react(text: str) -> list[_Group]:
    """Read `Action:` and `Action Input:`; what follows an `Observation:` the model invented."""
    invented = _OBSERVATION.search(text)
    said = text[: invented.start()] if invented else text
    groups: list[_Group] = []
    for action in islice(_ACTION.finditer(said), MAX_TRIES):
        groups.append(_object_at(said, action.start(), action.end(), action["name"]))
        if groups[-1].calls is None:
            break
    return groups


def _object_at(text: str, start: int, at: int, name: str) -> _Group:
    """Read the JSON object at `at` as the arguments of `name`; it ends its line."""
    end = find_end(text, at) if text[at] == "{" else -1
    if end < 0 or text[end:].partition("\n")[0].strip(" \t\r`"):
        return _Group(start, end, None)
    try:
        parsed = parse_object(text[at:end])
    except InvalidArguments:
        return _Group(start, end, None)
    return _Group(start, end, (WrittenCall(name, parsed.value, parsed.repairs),))


def _between_roles(text: str) -> list[_Group]:
    """Read objects that stand between `<|im_start|>` tokens, which some models write in place of a tag.

    Nothing else may stand there, and the same token has to close; the looser the marks, the stricter the content.
    """
    groups: list[_Group] = []
    tokens = list(_ROLE.finditer(text))
    for opener, closer in zip_longest(tokens, tokens[1:]):
        inside = text[opener.end() : closer.start() if closer else len(text)]
        if not inside.lstrip().startswith(("{", "[{")):
            continue
        paired = opener[0] == "<|im_start|>" and (closer is None or closer[0] == opener[0])
        calls = _read_json(inside.strip(), single=True) if paired else None
        groups.append(_Group(opener.start(), opener.end() + len(inside), calls))
        if calls is None:
            break
    return groups


def _shown(text: str) -> list[_Group]:
    """Read code fences, bare JSON and Python lists; several that say the same are one."""
    whole = text.strip()
    if calls := _read_python(whole) or _read_json(whole):
        return [_Group(0, len(text), calls)]
    groups = list(_fences(text))
    groups += [group for group in (*_objects(text), *_lists(text)) if not _inside(group, groups)]
    different = {repr(group.calls) for group in groups}
    return groups[:1] if len(different) == 1 else []


def _inside(group: _Group, others: list[_Group]) -> bool:
    return any(other.start <= group.start < other.end for other in others)


def _fences(text: str) -> Iterator[_Group]:
    lines = _FENCE.finditer(text)
    for opener, closer in islice(zip(lines, lines, strict=False), MAX_TRIES):
        body = text[opener.end() : closer.start()].strip()
        calls = _read_json(body) if body.startswith(("{", "[")) else None
        calls = calls or (None if body.startswith("[") and starts_list(body) else _read_python(body))
        if calls or _JSON_CALL.match(body):
            yield _Group(opener.start(), closer.end(), calls)


def _objects(text: str) -> Iterator[_Group]:
    """Find JSON values that are calls, or begin as one and cannot be read, which is the last that is looked at."""
    at = 0
    for place in islice(_PLACE.finditer(text), MAX_TRIES):
        start = place.end()
        if start < at or not _JSON_CALL.match(text, start) or _FOREIGN_TAG.search(text, max(0, start - 60), start):
            continue
        at = find_end(text, start)
        calls = _read_json(text[start:at]) if at > 0 else None
        if calls or at < 0 or not _is_json(text[start:at]):
            yield _Group(start, max(start, at), calls)
        if at < 0:
            return


def _is_json(text: str) -> bool:
    try:
        parse_value(text)
    except InvalidArguments:
        return False
    return True


def _lists(text: str) -> Iterator[_Group]:
    at = 0
    for _ in range(MAX_TRIES):
        start = starts_list(text, at)
        if start < 0:
            return
        end = find_list_end(text, start)
        yield _Group(start, max(end, start), _read_python(text[start:end]) if end > 0 else None)
        if end < 0:
            return
        at = end


def _after_name(text: str) -> list[_Group]:
    """Read a name on a line and a JSON object below it, to the end of the text, as GLM-4 writes calls."""
    groups: list[_Group] = []
    for named in islice(_NAMED.finditer(text), MAX_TRIES):
        if groups and named.start() < groups[-1].end:
            continue
        groups.append(_object_at(text, named.start("name"), named.end(), named["name"]))
        if groups[-1].calls is None:
            return []
    if not groups or text[groups[-1].end :].strip():
        return []
    return [] if any(_is_shape(group.calls[0].args) for group in groups if group.calls) else groups


def _is_shape(value: object) -> bool:
    return bool(read_shape(value, marked=False))


def _read_json(text: str, *, single: bool = False) -> tuple[WrittenCall, ...] | None:
    """Read JSON values as calls; None when one of them is none."""
    pieces = split_values(text)
    if not pieces or (single and len(pieces) > 1):
        return None
    found: list[WrittenCall] = []
    for piece in pieces:
        if find_end(piece) < 0:
            return None
        try:
            parsed = parse_value(piece)
        except InvalidArguments:
            return None
        calls = read_shape(parsed.value, marked=False, repairs=parsed.repairs)
        if not calls or (single and not isinstance(parsed.value, dict)):
            return None
        found.extend(calls)
    return tuple(found)


def _read_python(text: str) -> tuple[WrittenCall, ...] | None:
    found = read_pythonic(text)
    return tuple(WrittenCall(name, args) for name, args in found) if found else None
