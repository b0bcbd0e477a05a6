"""Tools that are listed by name: the practice model asks for their definitions, and calls them through the other tool.

What is planned is a request that offers them like any other tool, whose calls are then wrapped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nbtool.practice.request import OfferedTool, ParsedRequest, ToolOutcome

SEARCHING = frozenset({"query", "names"})
CALLING = frozenset({"name", "arguments"})
"""The parameters of the two tools of a search; their names may differ where a tool of the chat has one of them."""

_MENTION = re.compile(r"(?<![$\w`])[&@]?`(\w[\w.]*)`(?!`)|(?<![\w`$.{])(\w+)(?=\()")


@dataclass(frozen=True, slots=True)
class ToolLookup:
    """What a request with listed tools comes to: `names` to look up, or the `request` with what was found.

    `call_name` is the tool through which those of `found` are called.
    """

    request: ParsedRequest
    find_name: str
    call_name: str
    names: tuple[str, ...] = ()
    found: frozenset[str] = frozenset()

    def wrap(self, name: str, arguments: str) -> tuple[str, str]:
        """Return the name and the arguments with which a tool is called."""
        if name not in self.found:
            return name, arguments
        return self.call_name, json.dumps({"name": name, "arguments": json.loads(arguments)}, ensure_ascii=False)


def look_up_tools(request: ParsedRequest) -> ToolLookup | None:
    """Return what a request with listed tools comes to; None for one that lists none, or names the search itself."""
    own = {frozenset(tool.parameters.get("properties") or {}): tool.name for tool in request.tools}
    find_name, call_name = own.get(SEARCHING, ""), own.get(CALLING, "")
    is_own_search = any(re.search(rf"\b{name}\b", request.prompt) for name in (find_name, call_name) if name)
    if not (find_name and call_name) or is_own_search or request.final or request.choice not in ("auto", "required"):
        return None
    searches = [outcome for outcome in request.outcomes if outcome.name == find_name]
    if not searches:
        return ToolLookup(request, find_name, call_name, _listed_mentions(request))
    found = tuple(tool for outcome in searches for tool in _definitions(outcome.text))
    outcomes = tuple(_unwrap(outcome, call_name) for outcome in request.outcomes if outcome.name != find_name)
    offered = tuple(tool for tool in request.tools if tool.name not in (find_name, call_name))
    seen = replace(request, tools=(*offered, *found), outcomes=outcomes)
    return ToolLookup(seen, find_name, call_name, found=frozenset(tool.name for tool in found))


def _listed_mentions(request: ParsedRequest) -> tuple[str, ...]:
    """Return the names in a prompt that the system text lists, and that are no tool that was offered."""
    listed = set(re.findall(r"\w+", request.instructions))
    offered = {tool.name for tool in request.tools}
    mentions = (quoted or called for quoted, called in _MENTION.findall(request.prompt))
    names = dict.fromkeys(name.replace(".", "_") for name in mentions)
    return tuple(name for name in names if name in listed and name not in offered)


def _definitions(text: str) -> list[OfferedTool]:
    """Return the tools whose definitions are the lines of a search's result."""
    tools = []
    for line in text.splitlines():
        try:
            definition = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a line about further matches
        if isinstance(definition, dict) and isinstance(definition.get("parameters"), dict):
            tools.append(OfferedTool(str(definition["name"]), str(definition["description"]), definition["parameters"]))
    return tools


def _unwrap(outcome: ToolOutcome, call_name: str) -> ToolOutcome:
    """Return the outcome of a call as one of the tool that was called through another."""
    if outcome.name != call_name:
        return outcome
    try:
        arguments: Any = json.loads(outcome.arguments)
    except (ValueError, RecursionError):
        return outcome
    match arguments:
        case {"name": str(name), "arguments": Mapping() as values}:
            return replace(outcome, name=name, arguments=json.dumps(values, ensure_ascii=False))
    return outcome
