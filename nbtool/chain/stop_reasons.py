"""Replies that stopped before they were a finished answer: what the person is told, and what later requests are."""

from __future__ import annotations

from nbtool.chain.final_reply import NO_REPLY, is_empty
from nbtool.events import EndReason, Notice
from nbtool.shorten import shorten
from nbtool.wire.reply import Reply

MAX_EXPLANATION = 500
"""Characters of a provider's explanation that a notice repeats."""

_STOPS: dict[str, EndReason] = {
    "refused": "refused",
    "filtered": "filtered",
    "action": "provider_action",
    "calls": "calls",
    "length": "length",
    "error": "broken_off",
}
"""The stops of a reply after which a turn has no finished answer, and what that is called of the turn."""

_TEXTS: dict[EndReason, str] = {
    "refused": "The model refused to answer",
    "filtered": "The provider's content filter stopped the reply",
    "provider_action": "The provider asked for something that nbtool cannot do",
    "calls": "The reply was stopped and none of its calls ran",
    "broken_off": "The provider broke off the reply",
    "length": "The reply was cut off at its length limit",
    "thinking_only": "The model thought, and gave no answer",
    "empty": NO_REPLY.removesuffix("."),
}


def end_reason_of(reply: Reply) -> EndReason:
    """Say why a reply is no finished answer; empty where it is one, or where it only waits for its calls."""
    if stop := _STOPS.get(reply.stop_reason):
        return stop
    if reply.stop_reason == "unknown" and reply.finish_reason:
        return "broken_off"
    if reply.explanation and reply.calls:
        return "provider_action"
    if reply.calls or not is_empty(reply):
        return ""
    return "thinking_only" if reply.thinking.strip() else "empty"


IMMEDIATE_STOPS: frozenset[EndReason] = frozenset({"refused", "filtered", "provider_action", "calls", "broken_off"})
"""What is told with the reply that it is about; asking again for an answer would not bring one."""


def notice_of(reason: EndReason, explanation: str = "") -> Notice:
    """Write the one line that tells a person of it."""
    detail = shorten(explanation.strip(), MAX_EXPLANATION)
    return Notice(f"{_TEXTS[reason]}{f': {detail}' if detail else '.'}", "warning", reason)
