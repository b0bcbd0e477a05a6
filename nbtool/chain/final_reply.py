"""The final reply of a turn, requested without tool calls: its prompts and its content."""

from __future__ import annotations

from dataclasses import dataclass

from nbtool.messages import Message
from nbtool.wire.reply import Reply

LIMIT_NOTICE = "The turn was ended early: {reason}. A final reply without tool calls was requested."
RAISE_LIMIT = " `--set {name}=NUMBER` (in Python `{name}`) raises the limit."
NO_ROUND_FOR_TOOLS = "The turn is limited to one request, so no tools were offered."
CALL_IN_FINAL_REPLY = (
    "The final reply contained a tool call; it did not run. To let the model go on, send another prompt{advice}."
)
OR_RAISE_LIMIT = ", or run the cell again with a larger `--set {name}=NUMBER` (in Python `{name}`)"
NO_REPLY = "The model returned no final reply."
FINAL_PROMPT = (
    "[nbtool] No more tool calls are possible: {reason}. Answer the person now, without calling tools: say what was"
    " done and found, and what was not done."
)
EMPTY_REPLY_PROMPT = (
    "[nbtool] The tool calls are done and your reply was empty. Answer the person now, from the results."
)


@dataclass(frozen=True, slots=True)
class RequestPurpose:
    """The purpose of a request: the next round, or, if `is_final`, a final reply.

    `prompt` is sent, not stored. Without `has_tools`, no tools are offered. `setting` raises the limit that made it
    final, if one does.
    """

    prompt: str = ""
    is_final: bool = False
    has_tools: bool = True
    setting: str = ""


def is_empty(reply: Reply) -> bool:
    """Whether a reply has no text, refusal or media."""
    return not reply.text.strip() and not any(part.kind in ("refusal", "media") for part in reply.message.parts)


def name_setting(text: str, setting: str) -> str:
    """Return a text that names a setting as a cell and as Python set it; empty without a setting."""
    return text.format(name=setting) if setting else ""


def without_calls(message: Message) -> Message:
    """Return a message without its tool calls."""
    if not message.calls:
        return message
    return message.with_parts([part for part in message.parts if part.kind != "call"])
