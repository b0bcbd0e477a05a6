"""A cache of encoded messages, each kept as long as the message."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from nbtool.messages import Message

Key = TypeVar("Key", bound=Hashable)
Encoded = TypeVar("Encoded")


class EncodingCache(Generic[Key, Encoded]):
    """Caches one form of each message object, for the last requested key.

    Messages are frozen, so the same object is the same message; nothing is kept longer than the message itself.
    Forms must not be modified. Thread-safe: at worst a form is encoded twice.
    """

    def __init__(self) -> None:
        self._encoded: dict[int, tuple[weakref.ref[Message], Key, Encoded]] = {}

    def get_or_encode(self, message: Message, key: Key, encode: Callable[[], Encoded]) -> Encoded:
        """Return the form of a message, built by `encode` if it is not cached."""
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
