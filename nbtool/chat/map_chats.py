"""The chats of the journal that keep the turns of maps: one for the same model, tools and settings."""

from __future__ import annotations

PREFIX = "map_"
"""How the ids of such chats begin."""


def is_map_chat(chat_id: str) -> bool:
    """Whether a chat keeps the turns of maps: each is in a conversation of its own."""
    return chat_id.startswith(PREFIX)
