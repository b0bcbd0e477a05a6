"""What was written once need not be written again: the encoded form of messages, kept while they live."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from nbtool.messages import Message

Key = TypeVar("Key", bound=Hashable)
Form = TypeVar("Form")


class Settled(Generic[Key, Form]):
    """Remembers one form for each message object, under the last key it was asked for with.

    Messages are frozen, so the same object is the same message; nothing is kept longer than the message itself.
    What is given out must not be changed. Safe for several threads: at worst a form is made twice.
    """

    def __init__(self) -> None:
        self._forms: dict[int, tuple[weakref.ref[Message], Key, Form]] = {}

    def get(self, message: Message, key: Key, make: Callable[[], Form]) -> Form:
        """Give the form of a message, made by `make` where it is not known."""
        place = id(message)
        known = self._forms.get(place)
        if known and known[0]() is message and known[1] == key:
            return known[2]
        form = make()
        self._forms[place] = (weakref.ref(message, lambda gone: self._forget(place, gone)), key, form)
        return form

    def _forget(self, place: int, gone: weakref.ref[Message]) -> None:
        known = self._forms.get(place)
        if known and known[0] is gone:
            del self._forms[place]
