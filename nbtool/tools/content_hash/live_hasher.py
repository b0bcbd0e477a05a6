"""The hasher for objects of this process: how much of them counts, what was written before, and what cannot be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from nbtool.tools.content_hash.builtins import hash_value
from nbtool.tools.content_hash.fields import short_name
from nbtool.tools.content_hash.hasher import Hasher, NotHashable, OverLimit, TooLargeToHash
from nbtool.tools.values.describe import object_token

MAX_PROBLEMS = 5
"""Problems that are named."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of the objects that code works with counts.

    `names` are the attributes that it names (all count where it is None), `passed_names` are names of objects that it
    passes on, and `complete_ids` the ids of objects all of which counts: they live as long as what they were found in
    is not written.
    """

    names: frozenset[str] | None = None
    passed_names: frozenset[str] = frozenset()
    complete_ids: frozenset[int] = frozenset()


class LiveHasher(Hasher):
    """Ink for objects of this process. `problems` say what could not be read; each object is written once.

    Given a `reach`, only the attributes that it names are written of instances of the person's own classes, and of
    their methods only these and those that Python calls by itself; but all of an instance that code passes on, which
    `is_complete` says of what is being written. `found_names` and `passed_names` are the names in the code that was
    written.
    """

    is_live = True

    def __init__(self, seconds: float, *, max_bytes: int, max_items: int, reach: Reach | None = None) -> None:
        super().__init__(seconds, max_bytes=max_bytes, max_items=max_items)
        self.names = reach.names if reach else None
        self.reach = reach or Reach()
        self.found_names: set[str] = set()
        self.passed_names: set[str] = set()
        self.is_complete = False
        self.problems: list[str] = []
        self.complete_ids: set[int] = set()
        self._complete_flags: list[bool] = []
        self._hashed: dict[int, tuple[int, object]] = {}
        self._bodies: dict[int, type] = {}

    def update_live_text(self, text: str) -> None:
        """Write what counts in this process."""
        self.update_text(text)

    def clock(self) -> float:
        """Return the processor seconds of this thread: a busy machine makes no object unreadable."""
        return time.thread_time()

    def data(self, data: Any) -> None:
        """Write bytes, or how many they are where that is more than may still be read."""
        try:
            super().update_bytes(data)
        except TooLargeToHash:
            self.update_text(f"{memoryview(data).nbytes} bytes")

    def enter(self, container: object) -> bool:
        """Go into a container; False where it was written before, which is then named by its number.

        What lies in one is a whole: code takes it out by a key, a method or a loop, and not by its name.
        """
        was_complete = self.is_complete
        entered = self._enter_container(container)
        self.is_complete = entered or was_complete
        return entered

    def _enter_container(self, container: object) -> bool:
        if self.is_complete:
            self.complete_ids.add(id(container))
        if earlier := self._hashed.get(id(container)):
            self.update_text(f"again {earlier[0]}")
            return False
        entered = super().enter(container)
        self._complete_flags.append(self.is_complete)
        self.is_complete = self.is_complete or id(container) in self.reach.complete_ids
        self._hashed[id(container)] = (len(self._hashed), container)  # kept alive: an id must not be used again
        return entered

    def fork(self) -> Self:
        """Give a hasher for a member of a set, which is a whole like what lies in any container."""
        part = super().fork()
        part.is_complete = True
        return part

    def exit(self) -> None:
        """Come out of the container that was entered last."""
        super().exit()
        self.is_complete = self._complete_flags.pop()

    def hash_as(self, value: Any, *, is_complete: bool) -> None:
        """Write a value that counts as a whole, or by the attributes that code names alone.

        Once something was too large to be read, it also counts which object each value is.
        """
        previous, self.is_complete = self.is_complete, is_complete
        try:
            hash_value(value, self)
        finally:
            self.is_complete = previous
        if self.is_partial:
            self.update_text(object_token(value))

    def next_reach(self) -> Reach:
        """Return what has to be written next time: what was to be, and what was found meanwhile."""
        names = None if self.names is None else self.names | self.found_names
        return Reach(names, self.reach.passed_names | self.passed_names, self.reach.complete_ids | self.complete_ids)

    def hash_other(self, value: Any) -> bool:
        """Write an object, whatever it is; what cannot be read counts by its identity."""
        try:
            self.hash_object(value)
        except OverLimit:
            raise
        except NotHashable as unhashable:
            self.count_by_identity(value, str(unhashable))
        except Exception as error:  # noqa: BLE001 - a library that fails on its own object: it cannot be read
            self.count_by_identity(value, f"a {short_name(type(value))} cannot be read ({type(error).__name__})")
        return True

    def is_first(self, kind: type) -> bool:
        """Whether the body of a class is to be written for the first time."""
        is_first = id(kind) not in self._bodies
        self._bodies[id(kind)] = kind
        return is_first

    def hash_object(self, value: Any) -> None:
        """Write an object by its kind, which the subclass knows."""
        raise NotImplementedError

    def count_by_identity(self, value: Any, problem: str) -> None:
        """Write which object it is, and note why no more of it can be read."""
        self.update_text(object_token(value))
        if problem not in self.problems and len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    @contextmanager
    def without_problems(self) -> Iterator[None]:
        """Let what is written here be no problem: its identity says enough."""
        previous, self.problems = self.problems, []
        try:
            yield
        finally:
            self.problems = previous

    def hash_container(self, value: Any, writer: Callable[[Any, LiveHasher], None]) -> None:
        """Write an object that may hold others, once."""
        if not self._enter_container(value):
            return
        depth, was_complete = len(self._ancestors), self._complete_flags[-1]
        try:
            writer(value, self)
        finally:
            del (
                self._ancestors[depth - 1 :],
                self._complete_flags[depth - 1 :],
            )  # what was left in there by an error too
            self.is_complete = was_complete
