"""Whether a turn is what its events say, once they were written and read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from nbtool.chat.turn import Turn
from nbtool.event_json import dump_event, load_events
from nbtool.turn_state import Call, TurnState, fold

MAX_CHARS = 1_000_000
"""Maximum length of a text of a turn that is compared: tests of memory have longer ones."""


def differences_of(turn: Turn) -> list[str]:
    """Return what differs between the state of a turn and that of its events as the journal writes them."""
    if not turn.state.ended or any(len(one.text) + len(one.thinking) > MAX_CHARS for one in turn.rounds):
        return []
    dumped = [dump_event(event) for event in turn.log]
    if any("\ufffd" in text for text in dumped):  # no file can hold a lone surrogate
        return []
    read = fold(load_events(dumped))
    differences = _differences(turn.state, read, ("calls",))
    for live, folded in zip(turn.state.calls, read.calls, strict=False):
        differences += [f"{live.name}: {one}" for one in _differences(live, folded, ())]
    if [one.call_id for one in turn.state.calls] != [one.call_id for one in read.calls]:
        differences.append(f"calls: {turn.state.calls} and {read.calls}")
    return differences


def _differences(live: TurnState | Call, folded: Any, excluded: tuple[str, ...]) -> list[str]:
    return [
        f"{one.name}: {getattr(live, one.name)!r} and {getattr(folded, one.name)!r}"
        for one in fields(live)
        if one.compare and one.name not in excluded and getattr(live, one.name) != getattr(folded, one.name)
    ]
