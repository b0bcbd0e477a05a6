"""The edits of a rerun: arguments or results of calls that replace the recorded ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nbtool.chat.turn import Turn
from nbtool.chat.turn.version_diff import CallEdit
from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.turn_state import Call


def parse_edits(
    turn: Turn, arguments: Mapping[str, Mapping[str, Any]], results: Mapping[str, str]
) -> tuple[CallEdit, ...]:
    """Return the edits of a turn's calls, which are named by the beginnings of their ids.

    Raises:
        BadUsage: a call does not exist or is edited twice, or a value has the wrong type.
    """
    edits = [_arguments(_call(turn, call_id), value) for call_id, value in arguments.items()]
    edits += [_result(_call(turn, call_id), value) for call_id, value in results.items()]
    if len({edit.call_id for edit in edits}) < len(edits):
        raise BadUsage("A call is edited twice.", fix="Edit either its arguments or its result, once.")
    return tuple(edits)


def _arguments(call: Call, value: object) -> CallEdit:
    try:
        if not isinstance(value, Mapping):
            raise TypeError(f"{type(value).__name__} is not a mapping")
        value = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadUsage(f"The arguments of `{call.name}` have to be a mapping of JSON values ({error}).") from None
    return CallEdit(call.call_id, call.name, call.round, "arguments", call.arguments, value)


def _result(call: Call, value: str) -> CallEdit:
    return CallEdit(call.call_id, call.name, call.round, "result", call.shown, value)


def _call(turn: Turn, call_id: str) -> Call:
    """Return a call that the model requested; a call made by a tool is not in the messages and cannot be edited."""
    call_ids = {call.call_id for reply in turn.rounds if reply.complete for call in reply.calls}
    matches = [call for call in turn.calls if call.call_id in call_ids and call.call_id.startswith(call_id)]
    if len(matches) != 1:
        available = (
            ", ".join(f"{call.call_id} ({call.name})" for call in turn.calls if call.call_id in call_ids) or "none"
        )
        many = "Several calls begin" if matches else "No call begins"
        raise BadUsage(f"{many} with {call_id!r} in {short_id(turn.turn_id)}.", fix=f"Its calls: {available}.")
    return matches[0]
