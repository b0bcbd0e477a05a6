"""Bounded storage of results: which ones are evicted, and how their memory is freed.

A result is in the variable store, under a name, and in the record of its call. Both count against one bound, and an
evicted result is removed from both. Results that the running turn created or used are not evicted, nor is the newest
result if it alone exceeds the bound.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from nbtool.text import format_number
from nbtool.tools.values.memory_size import size_of
from nbtool.tools.values.type_and_shape import describe

MIN_COUNTED_BYTES = 1_000
"""Results below this size without a name are not counted."""


@dataclass(frozen=True, slots=True)
class EvictedResult:
    """Replaces an evicted result in a call's record."""

    description: str

    def __repr__(self) -> str:
        return f"<dropped to make room: {self.description}>"


class Holder(Protocol):
    """The record of a call."""

    result: Any


class Entry(Protocol):
    """A named result. `holders` are the records with the same object."""

    name: str
    value: Any
    size: int
    is_pinned: bool
    is_held: bool
    holders: list[weakref.ref[Any]]


E = TypeVar("E", bound=Entry)


@dataclass(slots=True)
class _Unnamed:
    holder: weakref.ref[Any]
    size: int
    is_held: bool


@dataclass(slots=True)
class BoundedEntries(Generic[E]):
    """Named results, least recently used first, and results that are only in the records of their calls."""

    max_entries: int
    max_bytes: int
    evicted_count: int = 0
    _entries: OrderedDict[str, E] = field(default_factory=OrderedDict)
    _unnamed: list[_Unnamed] = field(default_factory=list)
    _open_turns: int = 0

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[E]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """Estimated size in bytes of all stored results."""
        return sum(entry.size for entry in self) + sum(one.size for one in self._unnamed if one.holder() is not None)

    def get(self, name: str) -> E | None:
        """Return the entry of a name, without counting it as used."""
        return self._entries.get(name)

    def use(self, name: str) -> None:
        """Count an entry as used."""
        if entry := self._entries.get(name):
            self._entries.move_to_end(name)
            entry.is_held = entry.is_held or self._open_turns > 0

    def put(self, entry: E) -> list[str]:
        """Add an entry as the newest; return the names of the evicted ones."""
        self.pop(entry.name)
        entry.is_held = self._open_turns > 0
        self._entries[entry.name] = entry
        return self._make_room()

    def pop(self, name: str) -> E | None:
        """Remove an entry; results that the records of its calls still have continue to count."""
        entry = self._entries.pop(name, None)
        for holder in entry.holders if entry else ():
            if (record := holder()) is not None:
                self.count(record)
        return entry

    def count(self, record: Holder, name: str = "") -> None:
        """Count the result in a call's record: as the entry of this name if it is the same object, else separately."""
        entry = self._entries.get(name)
        if entry is not None and entry.value is record.result:
            entry.holders.append(weakref.ref(record))
        elif not isinstance(record.result, EvictedResult) and (size := size_of(record.result)) >= MIN_COUNTED_BYTES:
            self._unnamed.append(_Unnamed(weakref.ref(record), size, self._open_turns > 0))

    def begin_turn(self) -> None:
        """Exclude everything that the turn creates or uses from eviction."""
        self._open_turns += 1

    def end_turn(self) -> list[str]:
        """Include the turn's results in eviction again; return the names of the evicted ones."""
        self._open_turns -= 1
        if self._open_turns:
            return []
        for entry in (*self, *self._unnamed):
            entry.is_held = False
        return self._make_room()

    def _make_room(self) -> list[str]:
        self._unnamed = [unnamed for unnamed in self._unnamed if unnamed.holder() is not None]
        largest = next((entry for entry in reversed(self._entries.values()) if entry.size > self.max_bytes), None)
        size = self.size - (largest.size if largest else 0)
        for unnamed in list(self._unnamed):
            if size > self.max_bytes and not unnamed.is_held:
                self._unnamed.remove(unnamed)
                _evict(unnamed.holder())
                size -= unnamed.size
        evicted: list[str] = []
        newest = next(reversed(self._entries), "")
        for name, entry in list(self._entries.items()):
            if len(self._entries) <= self.max_entries and size <= self.max_bytes:
                break
            if entry is not largest and name != newest and not (entry.is_pinned or entry.is_held):
                del self._entries[name]
                size -= entry.size
                evicted.append(name)
                for holder in entry.holders:
                    _evict(holder())
        self.evicted_count += len(evicted)
        return evicted


def _evict(record: Holder | None) -> None:
    if record is not None and not isinstance(record.result, EvictedResult):
        record.result = EvictedResult(f"{describe(record.result)}, {format_number(size_of(record.result))} bytes")
