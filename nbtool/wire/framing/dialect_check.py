"""Which dialect an event is of: a stream that came over the wrong wire says so, in place of breaking off."""

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
    """Say which dialect an event certainly is of; empty where it may be of any."""
    kind = event.get("type") or name
    if isinstance(kind, str) and kind:
        return "responses" if kind.startswith("response.") else "anthropic" if kind in _ANTHROPIC_EVENTS else ""
    if isinstance(event.get("choices"), list):
        return "chat"
    return "gemini" if isinstance(event.get("candidates"), list) else ""


def check_dialect(event: dict[str, Any], expected: str, name: str = "") -> None:
    """Refuse an event of another dialect.

    Raises:
        nbtool.errors.InvalidReply: it is one.
    """
    detected = dialect_of(event, name)
    if detected and detected != expected:
        fix = f"Check the address and the wire{f': `--wire {detected}`' if detected != 'gemini' else ' (`--wire`)'}."
        raise InvalidReply(f"What came is in the dialect {_NAMES[detected]}, not {_NAMES[expected]}.", fix=fix)
