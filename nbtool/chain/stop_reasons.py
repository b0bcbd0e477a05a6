"""The final reply of a turn, and replies that stopped without a finished answer: the reason, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass

from nbtool.events import EndReason, Notice
from nbtool.messages import Message
from nbtool.text import shorten
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


MAX_EXPLANATION = 500
"""Characters of a provider's explanation that a notice shows."""

_STOPS: dict[str, EndReason] = {
    "refused": "refused",
    "filtered": "filtered",
    "action": "provider_action",
    "calls": "too_many_calls",
    "length": "length",
    "error": "broken_off",
}
"""The stop reasons of a reply without a finished answer, and the end reasons of its turn."""

_TEXTS: dict[EndReason, str] = {
    "refused": "The model refused to answer",
    "filtered": "The provider's content filter stopped the reply",
    "provider_action": "The provider asked for something that nbtool cannot do",
    "too_many_calls": "The reply was stopped and none of its calls ran",
    "broken_off": "The provider broke off the reply",
    "length": "The reply was cut off at its length limit",
    "thinking_only": "The model returned thinking only, and no answer",
    "empty": NO_REPLY.removesuffix("."),
}


def end_reason_of(reply: Reply) -> EndReason:
    """Return why a reply is not a finished answer; empty if it is one, or if it waits for its calls."""
    if stop := _STOPS.get(reply.stop_reason):
        return stop
    if reply.stop_reason == "unknown" and reply.finish_reason:
        return "broken_off"
    if reply.explanation and reply.calls:
        return "provider_action"
    if reply.calls or not is_empty(reply):
        return ""
    return "thinking_only" if reply.thinking.strip() else "empty"


IMMEDIATE_STOPS: frozenset[EndReason] = frozenset(
    {"refused", "filtered", "provider_action", "too_many_calls", "broken_off"}
)
"""The reasons that are reported with the reply; another request would not bring an answer."""


def notice_of(reason: EndReason, explanation: str = "") -> Notice:
    """Return the notice for an end reason."""
    detail = shorten(explanation.strip(), MAX_EXPLANATION)
    return Notice(f"{_TEXTS[reason]}{f': {detail}' if detail else '.'}", "warning", reason)
