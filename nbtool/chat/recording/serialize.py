"""Convert a finished turn to its recorded form: events without deltas, ids and times, and results of calls."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import Any, TypeVar

from nbtool.audience import for_audience, map_content
from nbtool.chat.recording.file import RecordedCall, RecordedTurn
from nbtool.chat.recording.key_part import Part
from nbtool.chat.recording.numpy_scalars import TYPE_SIZE, numpy_type, restore_types, split_types
from nbtool.chat.recording.redaction import Redactor
from nbtool.chat.turn import Turn
from nbtool.errors import BadRecording, UnknownReference, UnreadableEvent
from nbtool.event_filter import filter_events, hidden_calls
from nbtool.event_json import load_events
from nbtool.events import CallFinished, CallReady, CallStarted, Event, Notice, TurnEnded
from nbtool.ids import new_id
from nbtool.text import clean_text, map_text
from nbtool.tools.variables.store import Variables
from nbtool.tools.variables.variable import NAME
from nbtool.turn_state import Call

T = TypeVar("T")

RECORDED_KINDS = frozenset(
    {"request_started", "reply_finished", "call_ready", "call_decided", "call_finished", "message_appended", "notice",
     "error_raised", "turn_ended"}
)  # fmt: skip
"""The kinds of events in a recording."""

CALL_IDS = frozenset({"call_id", "inside"})
"""The fields with ids of calls, which differ in each run."""

MAX_VALUE = 64 * 1024
"""Maximum characters of a result that is recorded; for a larger one the call runs again on replay."""

MAX_LEVELS = 20
"""Maximum nesting of a result that is recorded."""


def serialize_turn(turn: Turn, key: Mapping[Part, str], variables: Variables, redactor: Redactor) -> RecordedTurn:
    """Return the recorded form of a completed turn.

    Raises:
        BadRecording: it cannot be recorded.
    """
    ids: dict[str, str] = {}
    inner, hidden = _with_calls_inside(turn.log), hidden_calls(turn.log)
    calls = {
        _short_id(record.call_id, ids): for_audience(
            RecordedCall() if record.call_id in hidden else _recorded_call(record, variables, redactor, inner),
            "recording",
            hide=redactor.hide,
        )
        for record in turn.calls
    }
    events = [event for event in filter_events(turn.log, "recording", redactor.hide) if _is_recorded(event)]
    items = [_plain(event, ids) for event in events]
    recorded = RecordedTurn(
        recorded=dt.datetime.now().astimezone().date().isoformat(),
        model=turn.model,
        prompt=clean_text(redactor.hide(turn.prompt.text)),
        key=dict(key),
        calls=calls,
        events=items,
    )
    deserialize_events(recorded)  # raises if it cannot be read back
    return recorded


def deserialize_events(
    recorded: RecordedTurn, redactor: Redactor | None = None
) -> tuple[list[Event], dict[str, RecordedCall]]:
    """Return the events and calls of a recorded turn, with new ids.

    Raises:
        BadRecording: they are invalid, or not those of a completed turn.
    """
    ids: dict[str, str] = {}
    try:
        restore = redactor.restore if redactor else str
        loaded = load_events(recorded.events)
        events = [_with_new_ids(map_content(event, restore), ids) for event in loaded]
    except UnreadableEvent as error:
        raise BadRecording(f"A recorded turn cannot be read: {error.message}") from None
    except (TypeError, AttributeError, ValueError, RecursionError):
        raise BadRecording("A recorded turn cannot be read: its format is invalid.") from None
    ends = [event for event in events if isinstance(event, TurnEnded)]
    is_whole = len(ends) == 1 and events[-1] is ends[0] and ends[0].status == "completed"
    if not is_whole or any(event.kind not in RECORDED_KINDS for event in events):
        raise BadRecording("A recorded turn cannot be read: it is not a completed turn.")
    calls = {ids[name]: _with_types(call) for name, call in recorded.calls.items() if name in ids}
    _check(events, calls)
    return events, calls


# --- writing ------------------------------------------------------------------------------------------------------


def _is_recorded(event: Event) -> bool:
    """Whether an event is part of a recording, and not only about the memory of its kernel or what was sent there."""
    return event.kind in RECORDED_KINDS and not (isinstance(event, Notice) and event.topic in ("evicted", "request"))


def _plain(value: Any, ids: dict[str, str]) -> dict[str, Any]:
    """Return an event, or a part of it, as plain data: without optional fields that have their default.

    Content is written as it is, whatever keys it has.
    """
    brief: dict[str, Any] = {}
    for item in fields(value):
        field = getattr(value, item.name)
        if item.name == "kind" or not _is_left_out(item, field):
            brief[item.name] = _short_id(field, ids) if item.name in CALL_IDS and field else _plain_field(field, ids)
    return {"kind": brief.pop("kind"), **brief} if "kind" in brief else brief


def _plain_field(field: Any, ids: dict[str, str]) -> Any:
    if is_dataclass(field):
        return _plain(field, ids)
    if isinstance(field, tuple):
        return [_plain_field(inner, ids) for inner in field]
    if isinstance(field, dict):
        return {clean_text(str(name)): _plain_field(inner, ids) for name, inner in field.items()}
    if isinstance(field, bytes):
        return base64.urlsafe_b64encode(field).decode()
    return map_text(field, clean_text, keys=lambda name: clean_text(str(name)))


def _is_left_out(item: Field[Any], field: Any) -> bool:
    """Whether an optional field has its default, or is an id: new ones are made."""
    if item.default is MISSING and item.default_factory is MISSING:
        return False
    return item.name == "message_id" or field is None or field == item.default or field in ((), {})


def _short_id(call_id: str, ids: dict[str, str]) -> str:
    return ids.setdefault(call_id, f"call-{len(ids) + 1}")


def _recorded_call(record: Call, variables: Variables, redactor: Redactor, inner: set[str]) -> RecordedCall:
    """Return the recorded form of a call; one that made calls itself never runs again."""
    edited = record.edited
    if record.status != "ok":
        return RecordedCall(edited=edited)
    is_changed = any(decided.gate == "result" and decided.edited for decided in record.decisions)
    value = record.result
    if record.reference:
        try:
            value = variables.value(record.reference)
        except UnknownReference:
            value = None if is_changed else record.result
    is_known = value is not None or not record.reference or is_changed  # not that of a turn on a worker
    if is_known and not record.is_unreadable and is_json_value(value):
        plain, numpy = split_types(value)
        if redactor.is_unchanged(plain):
            return RecordedCall(False, True, plain, numpy, record.arguments_reference, edited)
    reruns = bool(record.reference) and not is_changed and record.call_id not in inner
    return RecordedCall(reruns, arguments_reference=record.arguments_reference, edited=edited)


def is_json_value(value: Any) -> bool:
    """Whether a value is exactly representable as JSON and types of numpy, and small enough for a readable file."""
    left, level = MAX_VALUE, [value]
    for _ in range(MAX_LEVELS):
        inside: list[Any] = []
        for item in level:
            if (items := _items(item)) is None:
                return False
            left -= 8 + (len(item) if type(item) is str else TYPE_SIZE if numpy_type(item) else 0)
            inside.extend(items)
            if left < 0 or len(inside) > left:
                return False
        if not inside:
            return True
        level = inside
    return False


def _items(value: Any) -> Sequence[Any] | None:
    """Return the items of a JSON value, including its keys; None if it is not a JSON value."""
    kind = type(value)
    if kind is dict:
        return [*value, *value.values()] if all(type(name) is str for name in value) else None
    if kind is list:
        return list(value)
    is_text = kind is str and clean_text(value) == value
    if numpy_type(value):
        return _items(value.item())
    return () if value is None or kind is bool or is_text or _is_number(value) else None


def _is_number(value: Any) -> bool:
    return (type(value) is int and abs(value) < 2**63) or (type(value) is float and math.isfinite(value))


def _with_calls_inside(log: Sequence[Event]) -> set[str]:
    """Return the calls that made calls themselves: others started during them that no reply requests."""
    requested = {call.call_id for event in log if event.kind == "reply_finished" for call in event.message.calls}
    running: set[str] = set()
    outer: set[str] = set()
    for event in log:
        match event:
            case CallStarted() if event.call_id in requested:
                running.add(event.call_id)
            case CallStarted():
                outer |= running
            case CallFinished():
                running.discard(event.call_id)
            case _:
                pass
    return outer


# --- reading ------------------------------------------------------------------------------------------------------


def _check(events: Sequence[Event], calls: Mapping[str, RecordedCall]) -> None:
    """Check that every call has an outcome and that its recorded data is complete."""
    finished = {event.call_id: event for event in events if isinstance(event, CallFinished)}
    open_ = {event.call_id for event in events if isinstance(event, CallReady)} - set(finished)
    names = [event.reference for event in finished.values()] + [call.arguments_reference for call in calls.values()]
    texts = [call.edited for call in calls.values()]
    is_named = all(call_id in finished and finished[call_id].reference for call_id, call in calls.items() if call.again)
    if open_ or set(calls) - set(finished) or not is_named:
        raise BadRecording("A recorded turn cannot be read: its calls are incomplete.")
    if any(name and not NAME.fullmatch(name) for name in names) or any(_arguments(text) is None for text in texts):
        raise BadRecording(
            "A recorded turn cannot be read: one of its calls has an invalid variable name or arguments."
        )


def _with_types(call: RecordedCall) -> RecordedCall:
    """Return a call with the numbers of numpy in its result.

    Raises:
        BadRecording: as `restore_types`.
    """
    return replace(call, value=restore_types(call.value, call.numpy)) if call.numpy else call


def _with_new_ids(value: T, ids: dict[str, str]) -> T:
    """Return an event, or a part of it, with new ids of calls."""
    changes: dict[str, Any] = {}
    for item in fields(value):  # type: ignore[arg-type]  # every event and part is a dataclass
        field = getattr(value, item.name)
        if item.name in CALL_IDS and field:
            changes[item.name] = ids.setdefault(field, new_id("call"))
        elif is_dataclass(field):
            changes[item.name] = _with_new_ids(field, ids)
        elif isinstance(field, tuple):
            changes[item.name] = tuple(_with_new_ids(inner, ids) if is_dataclass(inner) else inner for inner in field)
    return replace(value, **changes)  # type: ignore[type-var]  # the same


def _arguments(text: str) -> dict[str, Any] | None:
    try:
        read = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None
