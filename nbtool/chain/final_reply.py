"""The last word of a turn: when it is asked for, in which words, and what it may hold."""

from __future__ import annotations

from dataclasses import dataclass

from nbtool.messages import Message
from nbtool.wire.reply import Reply

LIMIT_NOTICE = "The turn was ended early: {reason}. The model was asked for a last word without tools."
NO_ROUND_FOR_TOOLS = "The turn may make one request, so no tools were offered in it."
CALL_IN_FINAL_REPLY = "The model asked for a call in its last word; it did not run."
NO_REPLY = "The model gave no final reply."
FINAL_PROMPT = (
    "[nbtool] No more tool calls are possible: {reason}. Answer the person now, without tools: say what was done and"
    " found, and what was not done."
)
EMPTY_REPLY_PROMPT = (
    "[nbtool] The tool calls are done and your reply was empty. Answer the person now, from the results."
)


@dataclass(frozen=True, slots=True)
class RequestPurpose:
    """What a request is for: the next round, or, `is_final`, a last word without tools; `prompt` are sent, not kept."""

    prompt: str = ""
    is_final: bool = False


def is_empty(reply: Reply) -> bool:
    """Whether a reply brought nothing that a person could read, see or hear."""
    return not reply.text.strip() and not any(part.kind in ("refusal", "media") for part in reply.message.parts)


def without_calls(message: Message) -> Message:
    """Give a message without the calls in it."""
    if not message.calls:
        return message
    return message.with_parts([part for part in message.parts if part.kind != "call"])
