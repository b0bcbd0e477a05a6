"""Replies that stopped without a finished answer: the reason, and the notice for the user."""

from __future__ import annotations

from nbtool.chain.final_reply import NO_REPLY, is_empty
from nbtool.events import EndReason, Notice
from nbtool.text import shorten
from nbtool.wire.reply import Reply

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
