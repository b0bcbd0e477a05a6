"""Results within a bound: which ones are kept, and how one that is dropped is really let go.

A result lies in the variable store, under a name, and in the record of its call. Both count against one bound, and what
is dropped is dropped from both, so that its memory is free. Nothing that the running turn made or used is dropped, and
neither is the newest result when it alone is larger than the bound.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from nbtool.tools.values.describe import describe, format_number
from nbtool.tools.values.sizes import size_of

MIN_COUNTED_BYTES = 1_000
"""Bytes below which a result that has no name is not counted."""


@dataclass(frozen=True, slots=True)
class EvictedResult:
    """Stands in a call's record for a result that was dropped to make room."""

    description: str

    def __repr__(self) -> str:
        return f"<dropped to make room: {self.description}>"


class Holder(Protocol):
    """The record of a call."""

    result: Any


class Entry(Protocol):
    """A named result. `holders` are the records that hold the same object."""

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
    """Named results, the least recently used first, and results that only the records of their calls hold."""

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
        """Bytes, as estimated, of all that is kept."""
        return sum(entry.size for entry in self) + sum(one.size for one in self._unnamed if one.holder() is not None)

    def get(self, name: str) -> E | None:
        """Give the entry of a name; it does not count as used."""
        return self._entries.get(name)

    def use(self, name: str) -> None:
        """Count an entry as used."""
        if entry := self._entries.get(name):
            self._entries.move_to_end(name)
            entry.is_held = entry.is_held or self._open_turns > 0

    def put(self, entry: E) -> list[str]:
        """Keep an entry as the newest; gives the names of those that were dropped for it."""
        self.pop(entry.name)
        entry.is_held = self._open_turns > 0
        self._entries[entry.name] = entry
        return self._make_room()

    def pop(self, name: str) -> E | None:
        """Take an entry out; what the records of its calls still hold goes on counting."""
        entry = self._entries.pop(name, None)
        for holder in entry.holders if entry else ():
            if (record := holder()) is not None:
                self.count(record)
        return entry

    def count(self, record: Holder, name: str = "") -> None:
        """Count what a call's record holds: as the entry of this name where it is the same object, or on its own."""
        entry = self._entries.get(name)
        if entry is not None and entry.value is record.result:
            entry.holders.append(weakref.ref(record))
        elif not isinstance(record.result, EvictedResult) and (size := size_of(record.result)) >= MIN_COUNTED_BYTES:
            self._unnamed.append(_Unnamed(weakref.ref(record), size, self._open_turns > 0))

    def begin_turn(self) -> None:
        """Drop nothing from now on that the turn makes or uses."""
        self._open_turns += 1

    def end_turn(self) -> list[str]:
        """Let the bound hold for the turn's results too; gives the names of those that were dropped."""
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
