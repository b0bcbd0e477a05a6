"""Detects names that were rebound since a chat's last turn, so that nothing changes unnoticed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nbtool.chat.chat import Chat

MISSING = object()
"""The object of a name that no longer exists."""


class RebindingTracker:
    """Remembers the object of each name of the notebook at a chat's last use."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._last_objects: dict[str, dict[str, int]] = {}

    def changes(self, chat: Chat, tools: Iterable[str]) -> str:
        """Describe what changed, empty if nothing did; `tools` are the names of the chat's tools in the notebook.

        An object that was changed in place is the same object: only rebound names are reported.
        """
        variables = [entry.name for entry in chat.exposed_variables() if entry.is_live]
        before = self._last_objects.get(chat.chat_id, {})
        now = {name: id(self._names.get(name, MISSING)) for name in (*tools, *variables)}
        missing = dict.fromkeys((name for name in before if name not in self._names), id(MISSING))
        self._last_objects[chat.chat_id] = now
        changed = [name for name, was in before.items() if was != {**now, **missing}.get(name, was)]
        return f"Since the last turn: {'; '.join(self._describe(chat, changed, variables))}." if changed else ""

    def _describe(self, chat: Chat, changed: Iterable[str], variables: Iterable[str]) -> Iterator[str]:
        for name in changed:
            if name not in self._names:
                yield f"`{name}` no longer exists"
            elif name in variables:
                yield f"`{name}` is now another object ({chat.variables.describe(name)})"
            else:
                yield f"`{name}` was redefined; calls use the new definition"
