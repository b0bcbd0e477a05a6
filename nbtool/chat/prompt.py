"""What the model is told beside a prompt: the system text, the objects of this turn, and the turns before it.

The order is fixed and nothing in it changes from request to request (a date, never a time), so that a provider's prompt
cache holds. What is exposed changes more often: it stands with the message that exposed it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Literal

from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.messages import Message, Part, Text, assistant, user

HistoryMode = Literal["compact", "native", "results", "none"]

NO_REPLY: Mapping[str, str] = {
    "completed": "[nbtool] The reply to this was empty.",
    "cancelled": "[nbtool] The user stopped this before there was a reply.",
    "timeout": "[nbtool] The time for this was over before there was a reply.",
    "error": "[nbtool] This failed before there was a reply.",
}
"""What stands in a history in place of a reply that never came, by the status of its turn."""


def system_prompt(own: str, rules: str) -> str:
    """Join the date, the person's own text and the rules of the tools, always in this order."""
    parts = [f"Today is {_today()}.", own.strip(), rules.strip()]
    return "\n\n".join(part for part in parts if part)


def with_context(prompt: Message, exposed: Mapping[str, str]) -> Message:
    """Give the person's message as the model is told it: with the exposed objects described, never their values."""
    if not exposed:
        return prompt
    lines = "\n".join(f"- $VAR_REF{{{{{name}}}}}: {description}" for name, description in exposed.items())
    return prompt.with_parts([*prompt.parts, Text(f"\n\n<notebook-objects>\n{lines}\n</notebook-objects>")])


def as_message(prompt: str | Message, parts: Iterable[Part]) -> Message:
    """Give what a person says as a message, with what they attach.

    Raises:
        BadUsage: it is neither a text nor a message.
    """
    if isinstance(prompt, Message):
        return prompt.with_parts([*prompt.parts, *parts])
    if not isinstance(prompt, str):
        raise BadUsage(f"A prompt is a text; {type(prompt).__name__} came.", fix="Give other things by attach=….")
    return user(prompt, *parts)


def history_messages(turn: Turn, mode: HistoryMode) -> list[Message]:
    """Tell a finished turn to a later one; the prompt is told also where no reply came, and why none did."""
    prompt = turn.messages.context[-1:]
    if mode == "none" or not prompt:
        return []
    if mode == "native":
        messages = _with_note([message for message in turn.messages.chain if message.parts], turn.end_note)
    elif mode == "results":
        results = [f"`{call.name}` returned:\n{call.shown}" for call in turn.calls]
        messages = _as_assistant("\n\n".join(filter(None, [*results, turn.text, turn.refusal, turn.end_note])))
    else:
        messages = _as_assistant(turn.content)
    return [*prompt, *(messages or _as_assistant(NO_REPLY.get(turn.status, NO_REPLY["error"])))]


def _with_note(messages: list[Message], note: str) -> list[Message]:
    """Put a note at the end of the last reply; one that asked for calls is answered first."""
    if not note:
        return messages
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant" or last.calls:
        return [*messages, assistant(note)]
    *before, end = last.parts
    parts = [Text(f"{end.text}\n\n{note}")] if isinstance(end, Text) else [end, Text(note)]
    return [*messages[:-1], last.with_parts([*before, *parts])]


def _as_assistant(text: str) -> list[Message]:
    return [assistant(text)] if text.strip() else []


def _today() -> str:
    now = dt.datetime.now().astimezone()
    return f"{now:%Y-%m-%d} ({now.tzname()})"
