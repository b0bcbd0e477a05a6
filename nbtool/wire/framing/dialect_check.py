"""Detect the dialect of an event, so that a wrong wire is a clear error instead of a truncated reply."""

from __future__ import annotations

from typing import Any

from nbtool.errors import InvalidReply

_NAMES = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "anthropic": "Anthropic Messages",
    "gemini": "Gemini",
}
_ANTHROPIC_EVENTS = frozenset(
    {"message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"}
)


def dialect_of(event: dict[str, Any], name: str = "") -> str:
    """Return the dialect of an event; empty if it is ambiguous."""
    kind = event.get("type") or name
    if isinstance(kind, str) and kind:
        return "responses" if kind.startswith("response.") else "anthropic" if kind in _ANTHROPIC_EVENTS else ""
    if isinstance(event.get("choices"), list):
        return "chat"
    return "gemini" if isinstance(event.get("candidates"), list) else ""


def check_dialect(event: dict[str, Any], expected: str, name: str = "") -> None:
    """Reject an event of another dialect.

    Raises:
        nbtool.errors.InvalidReply: the event is of another dialect.
    """
    detected = dialect_of(event, name)
    if detected and detected != expected:
        fix = f"Check the address and the wire: `--wire {detected}`."
        raise InvalidReply(f"The reply is in the dialect {_NAMES[detected]}, not {_NAMES[expected]}.", fix=fix)
