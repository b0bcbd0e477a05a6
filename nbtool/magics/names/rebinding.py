"""Detects names that were rebound since a chat's last turn, so that nothing changes unnoticed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nbtool.chat.chat import Chat

MISSING = object()
"""The object of a name that no longer exists."""


class RebindingTracker:
    """Remembers the object of each name of the notebook at a chat's last use."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._last_objects: dict[str, dict[str, int]] = {}
        self._absent: dict[str, frozenset[str]] = {}

    def changes(self, chat: Chat, tools: Mapping[str, str]) -> str:
        """Describe what changed, empty if nothing did; `tools` are the names of the chat's tools in the notebook.

        Each has the reason why the chat cannot have it now, empty if it has. An object that was changed in place is the
        same object: only rebound names are reported.
        """
        variables = [entry.name for entry in chat.exposed_variables() if entry.is_live]
        before = self._last_objects.get(chat.chat_id, {})
        now = {name: id(self._names.get(name, MISSING)) for name in (*tools, *variables)}
        missing = dict.fromkeys((name for name in before if name not in self._names), id(MISSING))
        self._last_objects[chat.chat_id] = now
        changed = [name for name, was in before.items() if was != {**now, **missing}.get(name, was)]
        was_absent = self._absent.get(chat.chat_id, frozenset())
        self._absent[chat.chat_id] = frozenset(name for name, absence in tools.items() if absence)
        texts = [
            f"{tools[name]}, so this chat has no such tool until it is defined again"
            if tools.get(name)
            else f"`{name}` is defined again, and a tool of this chat again"
            if name in tools and name in was_absent
            else self._describe(chat, name, variables)
            for name in changed
        ]
        return f"Since the last turn: {'; '.join(texts)}." if texts else ""

    def _describe(self, chat: Chat, name: str, variables: Iterable[str]) -> str:
        if name not in self._names:
            return f"`{name}` no longer exists"
        if name in variables:
            return f"`{name}` is now another object ({chat.variables.describe(name)})"
        return f"`{name}` was redefined; calls use the new definition"
