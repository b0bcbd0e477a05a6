"""The results that each call produces and uses, to find the calls that other calls depend on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nbtool.chat.export.calls import arguments_of
from nbtool.chat.export.literals import NotLiteral
from nbtool.errors import UnknownReference
from nbtool.messages import Message
from nbtool.tools.calls.record import CallRecord
from nbtool.tools.variables.references import Reference, parse


class TurnCalls(Protocol):
    """The fields of a turn that an export uses."""

    @property
    def turn_id(self) -> str: ...  # noqa: D102 - the names are those of `Turn`
    @property
    def prompt(self) -> Message: ...  # noqa: D102
    @property
    def calls(self) -> list[CallRecord]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class TurnPart:
    """A turn with some of its calls."""

    turn_id: str
    prompt: Message
    calls: list[CallRecord]


def required_calls(before: Sequence[TurnCalls], turns: Sequence[TurnCalls]) -> list[TurnPart]:
    """Return the calls of earlier turns whose results these turns use, directly or indirectly."""
    wanted: set[str] = set()
    for turn in reversed(turns):
        for call in reversed(successful_calls(turn)):
            wanted = (wanted - names_defined(call)) | names_read(call)
    parts: list[TurnPart] = []
    for turn in reversed(before):
        calls: list[CallRecord] = []
        for call in reversed(successful_calls(turn)):
            if names_defined(call) & wanted:
                wanted = (wanted - names_defined(call)) | names_read(call)
                calls.append(call)
        if calls:
            parts.append(TurnPart(turn.turn_id, turn.prompt, calls[::-1]))
    return parts[::-1]


def successful_calls(turn: TurnCalls) -> list[CallRecord]:
    """Return the calls of a turn that ran and whose results were sent to the model."""
    return [call for call in turn.calls if call.status == "ok"]


def names_used(turns: Iterable[TurnCalls]) -> set[str]:
    """Return all names that the calls of these turns refer to."""
    return {name for turn in turns for call in successful_calls(turn) for name in names_read(call)}


def names_defined(call: CallRecord) -> set[str]:
    """Return the names under which a call's result and arguments are stored."""
    names = {call.result_name, call.arguments_reference} - {""}
    if call.name == "WriteVar":
        names.add(str(_arguments(call).get("name", "")))
    return names


def names_read(call: CallRecord) -> set[str]:
    """Return the names of the references in a call's arguments."""
    return {name for text in _texts(_arguments(call)) if "$VAR_REF{{" in text for name in _names(text)}


def _arguments(call: CallRecord) -> dict[str, Any]:
    try:
        return arguments_of(call)
    except NotLiteral:
        return {}


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _names(text: str) -> list[str]:
    try:
        return [piece.name for piece in parse(text) if isinstance(piece, Reference)]
    except UnknownReference:
        return []
