"""The changed form of each message, for as long as the message exists: so that dialects can cache its encoding."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial

from nbtool.messages import Message


class MessageCache:
    """The forms of messages that one function has changed; messages are frozen, so each is changed once."""

    def __init__(self) -> None:
        self._forms: dict[int, tuple[weakref.ref[Message], Message | None]] = {}

    def form_of(self, message: Message, change: Callable[[Message], Message]) -> Message:
        """Return a message as `change` returns it; the message itself if that is equal."""
        cached = self._forms.get(id(message))
        if cached and cached[0]() is message:
            return cached[1] or message
        changed = change(message)
        form = None if changed is message else changed  # a reference to the message itself would keep it for ever
        self._forms[id(message)] = (weakref.ref(message, partial(self._forget, id(message))), form)
        return changed

    def clear(self) -> None:
        """Change every message again."""
        self._forms.clear()

    def _forget(self, key: int, reference: weakref.ref[Message]) -> None:
        if key in self._forms and self._forms[key][0] is reference:
            del self._forms[key]
