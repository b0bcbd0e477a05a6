"""What was written once need not be written again: the encoded form of messages, kept while they live."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from nbtool.messages import Message

Key = TypeVar("Key", bound=Hashable)
Encoded = TypeVar("Encoded")


class EncodingCache(Generic[Key, Encoded]):
    """Remembers one form for each message object, under the last key it was asked for with.

    Messages are frozen, so the same object is the same message; nothing is kept longer than the message itself.
    What is given out must not be changed. Safe for several threads: at worst a form is made twice.
    """

    def __init__(self) -> None:
        self._encoded: dict[int, tuple[weakref.ref[Message], Key, Encoded]] = {}

    def get_or_encode(self, message: Message, key: Key, encode: Callable[[], Encoded]) -> Encoded:
        """Return the form of a message, made by `encode` where it is not known."""
        cache_key = id(message)
        entry = self._encoded.get(cache_key)
        if entry and entry[0]() is message and entry[1] == key:
            return entry[2]
        encoded = encode()
        self._encoded[cache_key] = (
            weakref.ref(message, lambda reference: self._remove(cache_key, reference)),
            key,
            encoded,
        )
        return encoded

    def _remove(self, cache_key: int, reference: weakref.ref[Message]) -> None:
        entry = self._encoded.get(cache_key)
        if entry and entry[0] is reference:
            del self._encoded[cache_key]
