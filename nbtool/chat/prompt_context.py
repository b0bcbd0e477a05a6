"""The context of a prompt: the system text, the date, the exposed objects, and the earlier turns.

The order is fixed and the content is stable from request to request, so that the provider's prompt cache hits. What
changes (the date, never a time, and the exposed objects) is part of the user message, and stays in it in later
requests; a message states only what the messages before it do not.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

from nbtool.chat.turn import Turn
from nbtool.chat.turn.compact import ADDED, as_texts
from nbtool.errors import BadUsage
from nbtool.messages import (
    DateText,
    Media,
    Message,
    ObjectList,
    Part,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
    assistant,
    user,
)
from nbtool.tools.values.sanitize import is_masking

HistoryMode = Literal["compact", "native", "results", "text", "none"]

LEAST_SAVING = 2
"""How many times shorter the compact form of a turn has to be. Input that is read from a cache costs about a tenth."""

NO_REPLY: Mapping[str, str] = {
    "completed": "[nbtool] The reply to this was empty.",
    "cancelled": "[nbtool] The user stopped this before there was a reply.",
    "timeout": "[nbtool] The time for this was over before there was a reply.",
    "error": "[nbtool] This failed before there was a reply.",
}
"""Replaces a missing reply in the history, by the status of its turn."""


DATE_NOTE = re.compile(rb"<date>Today is [^<]{1,80}\.</date>")
"""The date in an encoded request."""


def system_prompt(own: str, rules: str) -> str:
    """Join the user's system text and the rules of the tools, in this order."""
    return "\n\n".join(part for part in (own.strip(), rules.strip()) if part)


def with_date(prompt: Message, history: Sequence[Message]) -> Message:
    """Return the user message with the date, unless it is the latest one in the history."""
    date = DateText(f"\n\n<date>Today is {_today()}.</date>")
    dates = [part for message in history for part in message.parts if isinstance(part, DateText)]
    return prompt if dates[-1:] == [date] else prompt.with_parts([*prompt.parts, date])


def without_date(request: bytes) -> bytes:
    """Return an encoded request without the date that `with_date` has added: it is the same one on another day."""
    return DATE_NOTE.sub(b"", request)


def with_context(prompt: Message, exposed: Mapping[str, str], history: Sequence[Message] = ()) -> Message:
    """Return the user message with descriptions of the exposed objects that the history does not have, never values."""
    listed = _listed_objects(history)
    changed = tuple((name, text) for name, text in exposed.items() if listed.get(name) != text)
    hidden = tuple(name for name in listed if name not in exposed)
    lines = [f"- $VAR_REF{{{{{name}}}}}: {description}" for name, description in changed]
    lines += [f"- `{name}`: no longer exposed, and no reference to it is valid" for name in hidden]
    if not lines:
        return prompt
    heading = ["Changes since the last list; other objects are as listed before:"] if listed else []
    text = "\n".join(["<notebook-objects>", *heading, *lines, "</notebook-objects>"])
    return prompt.with_parts([*prompt.parts, ObjectList(f"\n\n{text}", objects=changed, hidden=hidden)])


def _listed_objects(history: Sequence[Message]) -> dict[str, str]:
    """Return the objects that a history lists, with their latest descriptions."""
    listed: dict[str, str] = {}
    for message in history:
        for part in message.parts:
            if isinstance(part, ObjectList):
                listed |= dict(part.objects)
                for name in part.hidden:
                    listed.pop(name, None)
    return listed


def as_message(prompt: str | Message, parts: Iterable[Part]) -> Message:
    """Return a prompt as a message, with its attachments.

    Raises:
        BadUsage: it is neither a string nor a message.
    """
    if isinstance(prompt, Message):
        return prompt.with_parts([*prompt.parts, *parts])
    if not isinstance(prompt, str):
        raise BadUsage(
            f"A prompt has to be a string, not {type(prompt).__name__}.", fix="Pass other objects with attach=…."
        )
    return user(prompt, *parts)


_histories: WeakKeyDictionary[Turn, dict[tuple[HistoryMode, bool], tuple[Message, ...]]] = WeakKeyDictionary()
"""The messages of ended turns. The same objects are sent each time, so that what is made of them is made once, too."""


def history_messages(turn: Turn, mode: HistoryMode, *, always_compact: bool = False) -> tuple[Message, ...]:
    """Return a finished turn as history for a later one; without a reply, a note says why there is none.

    In compact history, a completed turn whose compact form saves less than half of its own messages is sent as it was,
    unless `always_compact`: its messages are in the prompt cache already, another form of them is not. A turn that was
    broken off keeps the compact form, which says what ran.
    """
    if is_masking() or not turn.done.done():
        return tuple(_make_history(turn, mode, always_compact=always_compact))
    known = _histories.setdefault(turn, {})
    if (form := (mode, always_compact)) not in known:
        known[form] = tuple(_make_history(turn, mode, always_compact=always_compact))
    return known[form]


def _make_history(turn: Turn, mode: HistoryMode, *, always_compact: bool) -> list[Message]:
    prompt = turn.messages.context[-1:]
    if mode == "none" or not prompt:
        return []
    if mode == "native":
        messages = _with_note([message for message in turn.messages.chain if message.parts], turn.end_note)
    elif mode in ("results", "text"):
        calls = turn.calls if mode == "results" else ()
        results = [f"`{call.name}` returned:\n{call.shown}" for call in calls]
        added = [Text(ADDED.format(text=text)) for message in turn.messages.chain for text in message.added]
        pieces = [*map(Text, results), *added, *turn.reply_texts, Text(turn.refusal), Text(turn.end_note)]
        messages = _as_assistant(*as_texts(pieces))
    else:
        messages = _as_assistant(*turn.content_texts)
        native = history_messages(turn, "native")[1:]
        can_be_native = turn.calls and turn.status == "completed" and not always_compact
        if can_be_native and _size(native) < LEAST_SAVING * _size(messages):
            return [*prompt, *native]
    return [*prompt, *(messages or _as_assistant(NO_REPLY.get(turn.status, NO_REPLY["error"])))]


def _with_note(messages: list[Message], note: str) -> list[Message]:
    """Append a note to the last reply, or as a new message if the last reply requests calls."""
    if not note:
        return messages
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or last.calls:
        return [*messages, assistant(note)]
    *before, end = last.parts
    parts = [replace(end, text=f"{end.text}\n\n{note}")] if isinstance(end, Text) else [end, Text(note)]
    return [*messages[:-1], last.with_parts([*before, *parts])]


def _size(messages: Iterable[Message]) -> int:
    """Return the number of characters of messages in a request, without the field names of its dialect."""
    return sum(
        _json_size(message.native.payload) if message.native else sum(map(_part_size, message.parts))
        for message in messages
    )


def _part_size(part: Part) -> int:
    match part:
        case ToolCall():
            return _json_size(part.name) + _json_size(part.arguments)
        case ToolResult():
            return _json_size(part.text) + sum(map(_part_size, part.media))
        case Media():
            return len(part.data or b"") + len(part.url or "")
        case Text() | Refusal():
            return _json_size(part.text)
        case _:
            return 0


def _json_size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str))


def _as_assistant(*texts: str | Text) -> list[Message]:
    message = assistant(*texts)
    return [message] if message.text.strip() else []


def _today() -> str:
    now = dt.datetime.now().astimezone()
    return f"{now:%Y-%m-%d} ({now.tzname()})"
