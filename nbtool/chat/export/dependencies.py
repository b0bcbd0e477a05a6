"""The results that each call produces and uses, to find the calls that other calls depend on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nbtool.chat.export.call_code import arguments_of
from nbtool.chat.export.literals import NotLiteral
from nbtool.chat.turn import Turn
from nbtool.errors import UnknownReference
from nbtool.text import leaves
from nbtool.tools.variables.references import Reference, parse
from nbtool.turn_state import Call

TurnCalls = tuple[Turn, Sequence[Call]]
"""A turn, and those of its calls that are exported."""


def required_calls(before: Sequence[TurnCalls], turns: Sequence[TurnCalls]) -> list[TurnCalls]:
    """Return the calls of earlier turns whose results these turns use, directly or indirectly."""
    wanted: set[str] = set()
    for call in reversed(successful_calls(turns)):
        wanted = (wanted - names_defined(call)) | names_read(call)
    required: list[TurnCalls] = []
    for turn, turn_calls in reversed(before):
        calls: list[Call] = []
        for call in reversed(successful_calls([(turn, turn_calls)])):
            if names_defined(call) & wanted:
                wanted = (wanted - names_defined(call)) | names_read(call)
                calls.append(call)
        if calls:
            required.append((turn, calls[::-1]))
    return required[::-1]


def successful_calls(turns: Iterable[TurnCalls]) -> list[Call]:
    """Return the calls of these turns that ran and whose results were sent to the model."""
    return [call for _, calls in turns for call in calls if call.status == "ok"]


def names_used(turns: Iterable[TurnCalls]) -> set[str]:
    """Return all names that the calls of these turns refer to."""
    return {name for call in successful_calls(turns) for name in names_read(call)}


def names_defined(call: Call) -> set[str]:
    """Return the names under which a call's result and arguments are stored."""
    names = {call.result_name, call.arguments_reference} - {""}
    if call.name == "WriteVar":
        names.add(str(_arguments(call).get("name", "")))
    return names


def names_read(call: Call) -> set[str]:
    """Return the names of the references in a call's arguments."""
    texts = (leaf for leaf in leaves(_arguments(call)) if isinstance(leaf, str) and "$VAR_REF{{" in leaf)
    return {name for text in texts for name in _names(text)}


def _arguments(call: Call) -> dict[str, Any]:
    try:
        return arguments_of(call)
    except NotLiteral:
        return {}


def _names(text: str) -> list[str]:
    try:
        return [piece.name for piece in parse(text) if isinstance(piece, Reference)]
    except UnknownReference:
        return []
