"""What became of the names that a chat uses, since its last turn: said in one line, so that nothing changes unseen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nbtool.chat.chat import Chat

MISSING = object()
"""Stands for nothing: a name that the notebook has no more."""


class RebindingTracker:
    """Remembers which object each name of the notebook stood for when a chat used it last."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._last_objects: dict[str, dict[str, int]] = {}

    def changes(self, chat: Chat, tools: Iterable[str]) -> str:
        """Say what changed, empty where nothing did; `tools` are the names that the chat's tools are made of.

        An object that was changed in place is the same object: only names that stand for another one are told of.
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
                yield f"`{name}` is gone"
            elif name in variables:
                yield f"`{name}` is another object now ({chat.variables.describe(name)})"
            else:
                yield f"`{name}` was defined anew, and calls run the new one"
