"""The hasher for objects of this process: how much of them counts, what was written before, and what cannot be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from nbtool.tools.content_hash.builtins import write
from nbtool.tools.content_hash.fields import short_name
from nbtool.tools.content_hash.hasher import Ink, OverLimit, TooLarge, Unknown
from nbtool.tools.values.describe import identity

MAX_PROBLEMS = 5
"""Problems that are named."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of the objects that code works with counts.

    `names` are the attributes that it names (all count where it is None), `passed` are names of objects that it passes
    on, and `whole` the ids of objects all of which counts: they live as long as what they were found in is not written.
    """

    names: frozenset[str] | None = None
    passed: frozenset[str] = frozenset()
    whole: frozenset[int] = frozenset()


class LiveHasher(Ink):
    """Ink for objects of this process. `problems` say what could not be read; each object is written once.

    Given a `reach`, only the attributes that it names are written of instances of the person's own classes, and of
    their methods only these and those that Python calls by itself; but all of an instance that code passes on, which
    `is_whole` says of what is being written. `found` and `passed` are the names in the code that was written.
    """

    is_live = True

    def __init__(self, seconds: float, *, max_bytes: int, max_items: int, reach: Reach | None = None) -> None:
        super().__init__(seconds, max_bytes=max_bytes, max_items=max_items)
        self.names = reach.names if reach else None
        self.reach = reach or Reach()
        self.found: set[str] = set()
        self.passed: set[str] = set()
        self.is_whole = False
        self.problems: list[str] = []
        self.whole: set[int] = set()
        self._flags: list[bool] = []
        self._written: dict[int, tuple[int, object]] = {}
        self._bodies: dict[int, type] = {}

    def mark_live(self, text: str) -> None:
        """Write what counts in this process."""
        self.mark(text)

    def clock(self) -> float:
        """Return the processor seconds of this thread: a busy machine makes no object unreadable."""
        return time.thread_time()

    def data(self, data: Any) -> None:
        """Write bytes, or how many they are where that is more than may still be read."""
        try:
            super().data(data)
        except TooLarge:
            self.mark(f"{memoryview(data).nbytes} bytes")

    def enter(self, container: object) -> bool:
        """Go into a container; False where it was written before, which is then named by its number.

        What lies in one is a whole: code takes it out by a key, a method or a loop, and not by its name.
        """
        is_whole = self.is_whole
        entered = self._enter(container)
        self.is_whole = entered or is_whole
        return entered

    def _enter(self, container: object) -> bool:
        if self.is_whole:
            self.whole.add(id(container))
        if found := self._written.get(id(container)):
            self.mark(f"again {found[0]}")
            return False
        entered = super().enter(container)
        self._flags.append(self.is_whole)
        self.is_whole = self.is_whole or id(container) in self.reach.whole
        self._written[id(container)] = (len(self._written), container)  # kept alive: an id must not be used again
        return entered

    def apart(self) -> Self:
        """Give a hasher for a member of a set, which is a whole like what lies in any container."""
        part = super().apart()
        part.is_whole = True
        return part

    def leave(self) -> None:
        """Come out of the container that was entered last."""
        super().leave()
        self.is_whole = self._flags.pop()

    def write_as(self, value: Any, *, is_whole: bool) -> None:
        """Write a value that counts as a whole, or by the attributes that code names alone.

        Once something was too large to be read, it also counts which object each value is.
        """
        before, self.is_whole = self.is_whole, is_whole
        try:
            write(value, self)
        finally:
            self.is_whole = before
        if self.is_partial:
            self.mark(identity(value))

    def reached(self) -> Reach:
        """Return what has to be written next time: what was to be, and what was found meanwhile."""
        names = None if self.names is None else self.names | self.found
        return Reach(names, self.reach.passed | self.passed, self.reach.whole | self.whole)

    def write_other(self, value: Any) -> bool:
        """Write an object, whatever it is; what cannot be read counts by its identity."""
        try:
            self.write_object(value)
        except OverLimit:
            raise
        except Unknown as unknown:
            self.count_by_identity(value, str(unknown))
        except Exception as error:  # noqa: BLE001 - a library that fails on its own object: it cannot be read
            self.count_by_identity(value, f"a {short_name(type(value))} cannot be read ({type(error).__name__})")
        return True

    def is_first(self, kind: type) -> bool:
        """Whether the body of a class is to be written for the first time."""
        is_first = id(kind) not in self._bodies
        self._bodies[id(kind)] = kind
        return is_first

    def write_object(self, value: Any) -> None:
        """Write an object by its kind, which the subclass knows."""
        raise NotImplementedError

    def count_by_identity(self, value: Any, problem: str) -> None:
        """Write which object it is, and note why no more of it can be read."""
        self.mark(identity(value))
        if problem not in self.problems and len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    @contextmanager
    def without_problems(self) -> Iterator[None]:
        """Let what is written here be no problem: its identity says enough."""
        before, self.problems = self.problems, []
        try:
            yield
        finally:
            self.problems = before

    def write_inside(self, value: Any, writer: Callable[[Any, LiveHasher], None]) -> None:
        """Write an object that may hold others, once."""
        if not self._enter(value):
            return
        depth, is_whole = len(self._above), self._flags[-1]
        try:
            writer(value, self)
        finally:
            del self._above[depth - 1 :], self._flags[depth - 1 :]  # what was left in there by an error too
            self.is_whole = is_whole
