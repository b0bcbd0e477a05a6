"""Iterators in a result: their items are taken once, within a bound, so that reading a result uses nothing up."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from nbtool.text import format_number

MAX_TAKEN = 10_000
"""Maximum number of items taken from one iterator."""

MAX_SEARCHED = 2_000
"""Maximum number of items of containers that are searched for iterators; it is done on the event loop."""

MAX_DEPTH = 20
"""Maximum nesting in which iterators are searched for."""

_SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes})
_CONTAINERS: tuple[Any, ...] = (dict, list, tuple)

_NOTHING = object()

NOT_READ = "{kind}, an iterator: its items are not shown, because reading them would use them up"

TAKEN_IN_PART = "{kind}: the first {count} items were taken, and there are more"


class PartlyTaken(list[Any]):
    """The first items of an iterator that has more."""

    def __init__(self, items: list[Any], kind: str) -> None:
        super().__init__(items)
        self.note = TAKEN_IN_PART.format(kind=kind, count=format_number(len(items)))


def is_lazy(value: Any) -> bool:
    """Whether a value gives its items only once, and holds nothing open: not a file or a cursor."""
    if inspect.isgenerator(value):
        return True
    return isinstance(value, Iterator) and not hasattr(value, "close")


def is_iterator(value: Any) -> bool:
    """Whether reading the items of a value would use them up."""
    return isinstance(value, Iterator) or inspect.isasyncgen(value)


def contains_iterators(value: Any, excluded: Sequence[Any] = ()) -> bool:
    """Whether a result is or contains iterators, other than those `excluded`; only plain containers are searched."""
    remaining, waiting, known = MAX_SEARCHED, [(value, 0)], {id(entry) for entry in excluded}
    while waiting and remaining > 0:
        item, depth = waiting.pop()
        remaining -= 1
        if id(item) in known or type(item) in _SCALARS:
            continue
        if is_lazy(item):
            return True
        if type(item) in _CONTAINERS and depth < MAX_DEPTH:
            known.add(id(item))
            inner = item.values() if type(item) is dict else item
            waiting += ((entry, depth + 1) for entry in islice(inner, remaining))
    return False


def take_iterators(value: Any, excluded: Sequence[Any] = (), max_items: int = MAX_TAKEN) -> Any:
    """Return a result with lists in the place of its iterators, other than those `excluded`; see `contains_iterators`.

    The items are computed here, by the code of the tool.
    """
    return _Taking(excluded, max_items).take(value, 0)


class _Taking:
    """Replaces iterators; the same iterator in two places becomes the same list."""

    def __init__(self, excluded: Sequence[Any], max_items: int) -> None:
        self._excluded = {id(item) for item in excluded}
        self._max_items = max_items
        self._taken: dict[int, tuple[Any, Any]] = {}
        self._ancestors: set[int] = set()

    def take(self, value: Any, depth: int) -> Any:
        if id(value) in self._excluded or id(value) in self._ancestors or depth > MAX_DEPTH:
            return value
        if is_lazy(value):
            return self._list_of(value, depth)
        if type(value) not in _CONTAINERS:
            return value
        self._ancestors.add(id(value))
        try:
            return self._container(value, depth)
        finally:
            self._ancestors.discard(id(value))

    def _container(self, value: Any, depth: int) -> Any:
        """Return a container itself, or a copy if an item of it was replaced."""
        items = list(value.values()) if type(value) is dict else value
        taken = [self.take(item, depth + 1) for item in items]
        if all(new is old for new, old in zip(taken, items, strict=True)):
            return value
        return dict(zip(value, taken, strict=True)) if type(value) is dict else type(value)(taken)

    def _list_of(self, value: Any, depth: int) -> Any:
        if id(value) not in self._taken:
            # each item at once: the next one of `groupby` would use it up
            items: list[Any] = [self.take(item, depth + 1) for item in islice(value, self._max_items)]
            if len(items) == self._max_items and next(value, _NOTHING) is not _NOTHING:
                items = PartlyTaken(items, type(value).__name__)
            self._taken[id(value)] = value, items  # the iterator too, so that no other gets its id
        return self._taken[id(value)][1]
