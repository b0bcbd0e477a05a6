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


def system_text(own: str, rules: str) -> str:
    """Join the date, the person's own text and the rules of the tools, always in this order."""
    parts = [f"Today is {_today()}.", own.strip(), rules.strip()]
    return "\n\n".join(part for part in parts if part)


def told(prompt: Message, exposed: Mapping[str, str]) -> Message:
    """Give the person's message as the model is told it: with the exposed objects described, never their values."""
    if not exposed:
        return prompt
    lines = "\n".join(f"- $VAR_REF{{{{{name}}}}}: {description}" for name, description in exposed.items())
    return prompt.with_parts([*prompt.parts, Text(f"\n\n<notebook-objects>\n{lines}\n</notebook-objects>")])


def as_said(prompt: str | Message, parts: Iterable[Part]) -> Message:
    """Give what a person says as a message, with what they attach.

    Raises:
        BadUsage: it is neither a text nor a message.
    """
    if isinstance(prompt, Message):
        return prompt.with_parts([*prompt.parts, *parts])
    if not isinstance(prompt, str):
        raise BadUsage(f"A prompt is a text; {type(prompt).__name__} came.", fix="Give other things by attach=….")
    return user(prompt, *parts)


def as_history(turn: Turn, mode: HistoryMode) -> list[Message]:
    """Tell a finished turn to a later one; a turn that brought nothing is not told at all."""
    prompt, chain = turn.messages.context[-1:], turn.messages.chain
    if mode == "none" or not prompt or not chain:
        return []
    if mode == "native":
        return [*prompt, *chain]
    if mode == "results":
        came = [f"`{call.name}` returned:\n{call.shown}" for call in turn.calls]
        return [*prompt, assistant("\n\n".join([*came, turn.text]))]
    return [*prompt, assistant(turn.content)] if turn.content.strip() else []


def _today() -> str:
    now = dt.datetime.now().astimezone()
    return f"{now:%Y-%m-%d} ({now.tzname()})"
