"""The chats of the journal that keep the turns of maps: one for the same model, tools and settings."""

from __future__ import annotations

PREFIX = "map_"
"""How the ids of such chats begin."""

_latest: list[str] = []


def is_map_chat(chat_id: str) -> bool:
    """Whether a chat keeps the turns of maps: each is in a conversation of its own."""
    return chat_id.startswith(PREFIX)


def note_map(chat_id: str) -> None:
    """Note that a map of this process keeps its turns in a chat."""
    _latest[:] = [chat_id]


def latest_map_chat() -> str:
    """Return the id of the chat that keeps the turns of the latest map of this process; empty if there was none."""
    return _latest[0] if _latest else ""
