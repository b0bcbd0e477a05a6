"""Inputs of maps that calls of the maps themselves changed: a tool that counts its calls is still the same tool."""

from __future__ import annotations

import threading

from nbtool.chat.journal.database import call_in_children

MAX_CHANGES = 1_000
"""Maximum number of changes that are remembered; the oldest are forgotten first."""

_original: dict[str, str] = {}
_lock = threading.Lock()


def find_original(chat_id: str) -> str:
    """Return the chat of the inputs before maps of this process changed them to those of this chat."""
    return _original.get(chat_id, chat_id)


def record_change(original: str, changed: str) -> None:
    """Remember that a map with the inputs of one chat has left those of another."""
    with _lock:
        if changed != original:
            _original.pop(changed, None)
            _original[changed] = original
        while len(_original) > MAX_CHANGES:
            del _original[next(iter(_original))]


call_in_children(_original.clear)
