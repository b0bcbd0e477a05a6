"""A cache of what was made of a frozen value, such as a message or a tool, kept as long as the value."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")
Key = TypeVar("Key", bound=Hashable)
Form = TypeVar("Form")


class FormCache(Generic[Value, Key, Form]):
    """Caches one form of each value, for the last requested key.

    The values are frozen, so the same object is the same value; nothing is kept longer than the value. Forms must not
    be modified. Thread-safe: at worst a form is made twice.
    """

    def __init__(self) -> None:
        self._forms: dict[int, tuple[weakref.ref[Value], Key, Form | None]] = {}

    def get_or_make(self, value: Value, key: Key, make: Callable[[Value], Form]) -> Form:
        """Return the form of a value, built by `make` if it is not cached."""
        place = id(value)
        entry = self._forms.get(place)
        if entry and entry[0]() is value and entry[1] == key:
            return value if entry[2] is None else entry[2]  # type: ignore[return-value]  # see below
        form = make(value)
        stored = None if form is value else form  # a reference to the value itself would keep it for ever
        self._forms[place] = (weakref.ref(value, lambda reference: self._remove(place, reference)), key, stored)
        return form

    def _remove(self, place: int, reference: weakref.ref[Value]) -> None:
        entry = self._forms.get(place)
        if entry and entry[0] is reference:
            del self._forms[place]
