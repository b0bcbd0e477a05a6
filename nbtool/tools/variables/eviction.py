"""Bounded storage of results: which ones are evicted, and how their memory is freed.

A result is in the variable store, under a name, and in the record of its call. Both count against one bound, and an
evicted result is removed from both. Results that the running turn created or used are not evicted. The newest result
that alone exceeds the bound is kept until the next turn begins, so that the person can take it, or raise the bound.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any, Generic, Protocol, TypeVar

from nbtool.text import count_of
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


@dataclass(frozen=True, slots=True)
class Evicted:
    """What was evicted: a named result, or one that only its record had (`name` is empty)."""

    name: str
    size: int


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


@dataclass(slots=True, eq=False)
class _Unnamed:
    holder: weakref.ref[Any]
    size: int
    is_held: bool
    name: str = ""
    is_pinned: bool = False

    @property
    def holders(self) -> list[weakref.ref[Any]]:
        """The only record that has the result."""
        return [self.holder]


@dataclass(slots=True)
class BoundedEntries(Generic[E]):
    """Named results, least recently used first, and results that are only in the records of their calls."""

    max_entries: int
    max_bytes: int
    evicted_count: int = 0
    _entries: OrderedDict[str, E] = field(default_factory=OrderedDict)
    _unnamed: list[_Unnamed] = field(default_factory=list)
    _open_turns: int = 0
    _counted: int = 0
    """At least `size`: results whose records are gone are counted until room is needed, or a turn ends."""

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[E]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """Estimated size in bytes of all stored results."""
        return sum(entry.size for entry in self) + sum(
            unnamed.size for unnamed in self._unnamed if unnamed.holder() is not None
        )

    def get(self, name: str) -> E | None:
        """Return the entry of a name, without counting it as used."""
        return self._entries.get(name)

    def use(self, name: str) -> None:
        """Count an entry as used."""
        if entry := self._entries.get(name):
            self._entries.move_to_end(name)
            entry.is_held = entry.is_held or self._open_turns > 0

    def put(self, entry: E) -> list[Evicted]:
        """Add an entry as the newest; return what was evicted."""
        if entry.name in self._entries:
            self.pop(entry.name)
        entry.is_held = self._open_turns > 0
        self._entries[entry.name] = entry
        self._counted += entry.size
        return self._make_room()

    def pop(self, name: str) -> E | None:
        """Remove an entry; results that the records of its calls still have continue to count."""
        entry = self._entries.pop(name, None)
        if entry is None:
            return None
        self._counted -= entry.size
        for holder in entry.holders:
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
            self._counted += size

    @property
    def oversized(self) -> E | None:
        """The newest entry that alone exceeds the bound; it is evicted when the next turn begins."""
        entries = (entry for entry in reversed(self._entries.values()) if entry.size > self.max_bytes)
        return next((entry for entry in entries if not entry.is_pinned), None)

    def begin_turn(self, needed: Iterable[str] = ()) -> list[Evicted]:
        """Evict what exceeds the bound, then exclude what the turn creates or uses; return what was evicted.

        Args:
            needed: names of results that the turn takes from an earlier version of itself.
        """
        needed = tuple(needed)
        for name in needed:
            if entry := self._entries.get(name):
                entry.is_held = True
        evicted: list[Evicted] = [] if self._open_turns else self._make_room(spares_newest=False)
        self._open_turns += 1
        for name in needed:
            self.use(name)
        return evicted

    def end_turn(self) -> list[Evicted]:
        """Include the turn's results in eviction again; return what was evicted."""
        self._open_turns -= 1
        if self._open_turns:
            return []
        self._forget_gone()
        for entry in (*self, *self._unnamed):
            entry.is_held = False
        return self._make_room()

    def evict_all(self) -> list[Evicted]:
        """Evict all that is not pinned; return what was evicted."""
        entries = [entry for entry in self._eviction_order() if not entry.is_pinned]
        for entry in entries:
            self._evict(entry)
        self.evicted_count += len(entries)
        return [Evicted(entry.name, entry.size) for entry in entries]

    def _make_room(self, *, spares_newest: bool = True) -> list[Evicted]:
        """Evict until both bounds hold; `spares_newest` keeps the newest entry and one that alone exceeds the bound."""
        if self._counted <= self.max_bytes:  # the usual case, at every result: independent of how many are stored
            return self._evict_surplus()
        self._forget_gone()
        oversized = self.oversized if spares_newest else None
        newest = next(reversed(self._entries), "") if spares_newest else ""
        size, evicted = self.size - (oversized.size if oversized else 0), []
        for entry in self._eviction_order() if size > self.max_bytes or len(self._entries) > self.max_entries else ():
            is_spared = entry is oversized or (entry.name != "" and entry.name == newest)
            is_too_many = entry.name != "" and len(self._entries) > self.max_entries
            if (size > self.max_bytes or is_too_many) and not (is_spared or entry.is_pinned or entry.is_held):
                self._evict(entry)
                size -= entry.size
                evicted.append(Evicted(entry.name, entry.size))
        self.evicted_count += len(evicted)
        return evicted

    def _evict_surplus(self) -> list[Evicted]:
        """Evict the least recently used entries if there are too many; those that are held were used last."""
        surplus = len(self._entries) - self.max_entries
        if surplus <= 0:
            return []
        newest = next(reversed(self._entries))
        evictable = (item for item in takewhile(lambda item: not item.is_held, self) if not item.is_pinned)
        entries = [item for item in islice(evictable, surplus) if item.name != newest]
        for entry in entries:
            self._evict(entry)
        self.evicted_count += len(entries)
        return [Evicted(entry.name, entry.size) for entry in entries]

    def _forget_gone(self) -> None:
        """Stop counting results whose records are gone."""
        self._unnamed = [unnamed for unnamed in self._unnamed if unnamed.holder() is not None]
        self._counted = self.size

    def _eviction_order(self) -> list[E | _Unnamed]:
        """Return all results: first those that never fit, then those without a name, then the least recently used."""
        every: list[E | _Unnamed] = [*self._unnamed, *self]
        return sorted(every, key=lambda entry: entry.size <= self.max_bytes)

    def _evict(self, entry: E | _Unnamed) -> None:
        if isinstance(entry, _Unnamed):
            self._unnamed.remove(entry)
        else:
            del self._entries[entry.name]
        self._counted -= entry.size
        for holder in entry.holders:
            _evict_from(holder())


def _evict_from(record: Holder | None) -> None:
    if record is not None and not isinstance(record.result, EvictedResult):
        record.result = EvictedResult(f"{describe(record.result)}, {count_of(size_of(record.result), 'byte')}")
