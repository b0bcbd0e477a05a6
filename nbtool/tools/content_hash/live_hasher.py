"""The hasher for objects of this process: attributes that count, objects already hashed, and problems."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Self

from nbtool.threads.threadless import thread_time
from nbtool.tools.content_hash.builtins import hash_value
from nbtool.tools.content_hash.classes import is_class
from nbtool.tools.content_hash.fields import class_name, short_name
from nbtool.tools.content_hash.hasher import Hasher, NotHashable, OverLimit, TooLargeToHash
from nbtool.tools.content_hash.module_origin import MAIN, with_one_main
from nbtool.tools.content_hash.object_token import object_token
from nbtool.tools.content_hash.plain_data import plain_data

MAX_PROBLEMS = 5
"""Maximum number of reported problems."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The parts of the objects used by code that count.

    `names` are the attributes that it names (None: all count), `passed_names` are names of objects that it passes on,
    and `complete_ids` the ids of objects of which everything counts: these live at least until their container has been
    hashed.
    """

    names: frozenset[str] | None = None
    passed_names: frozenset[str] = frozenset()
    complete_ids: frozenset[int] = frozenset()


class LiveHasher(Hasher):
    """A hasher for objects of this process; each is hashed once. `problems` say which objects could not be read.

    `code_problems` say which code could not be read, or is not known before it runs.

    With a `reach`, only the attributes that it names are hashed of instances of the user's own classes, and of their
    methods only these and those that Python calls implicitly; but everything of an instance that code passes on
    (`is_complete`). `found_names` and `passed_names` are the names in the hashed code.

    If it `is_portable`, the digest is one for all processes: what counts by its identity counts by its type, what only
    this process knows does not count, and `items` are digests of the data of modules by name, which is no part of it.
    `own_modules` are the names of the user's modules that were read.
    """

    def __init__(
        self,
        seconds: float,
        *,
        max_bytes: int,
        max_items: int,
        reach: Reach | None = None,
        is_portable: bool = False,
    ) -> None:
        super().__init__(seconds, max_bytes=max_bytes, max_items=max_items)
        self.is_live = not is_portable
        self.is_of_tool = reach is not None
        self.names = reach.names if reach else None
        self.reach = reach or Reach()
        self.found_names: set[str] = set()
        self.passed_names: set[str] = set()
        self.is_complete = False
        self.own_modules: set[str] = set()
        self.items: dict[str, str] = {}
        self.problems: list[str] = []
        self.code_problems: list[str] = []
        self.complete_ids: set[int] = set()
        self._complete_flags: list[bool] = []
        self._hashed: dict[int, tuple[int, object]] = {}
        self._bodies: dict[int, type] = {}

    def update_live_text(self, text: str) -> None:
        """Hash a text that counts only in this process."""
        if self.is_live:
            self.update_text(text)

    def update_text(self, text: str) -> None:
        """Hash a kind, a name or a shape."""
        super().update_text(text if self.is_live else with_one_main(text))

    def hash_plain(self, value: Any) -> bool:
        """Hash plain data at once, unless a part of it was hashed before: then it is another object that is shared."""
        plain = plain_data(value)
        if plain is None or any(id(container) in self._hashed for container in plain.containers):
            return False
        self.count_items(plain.count - 1)  # it has been counted itself
        self._hashed.update(
            {id(part): (number, part) for number, part in enumerate(plain.containers, len(self._hashed))}
        )
        self.update_text("plain")
        self.data(plain.data)
        return True

    def identify(self, value: Any) -> str:
        """Return the text for an object that counts by its identity."""
        if self.is_live:
            return object_token(value)
        if type(value) is ModuleType:
            return f"module {vars(value).get('__name__')}"
        return class_name(value if is_class(value) else type(value))

    def add_own_module(self, name: Any) -> None:
        """Record that code or data of a user's own module counts."""
        if type(name) is str and name not in MAIN:
            self.own_modules.add(name)

    def clock(self) -> float:
        """Return the processor seconds of this thread: a busy machine must not make an object unreadable."""
        return thread_time()

    def data(self, data: Any) -> None:
        """Hash bytes, or only their number if they exceed the budget."""
        try:
            super().update_bytes(data)
        except TooLargeToHash:
            self.update_text(f"{memoryview(data).nbytes} bytes")

    def enter(self, container: object) -> bool:
        """Enter a container; return False if it was hashed before, and hash its number instead.

        Everything in a container counts: code accesses it by a key, a method or a loop, and not by name.
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
        self._hashed[id(container)] = (len(self._hashed), container)  # keeps a reference: an id must not be reused
        return entered

    def fork(self) -> Self:
        """Return a hasher for a member of a set, of which everything counts."""
        part = super().fork()
        part.is_complete = True
        return part

    def exit(self) -> None:
        """Leave the innermost container."""
        super().exit()
        self.is_complete = self._complete_flags.pop()

    def hash_as(self, value: Any, *, is_complete: bool) -> None:
        """Hash a value in full, or only the attributes that code names.

        Once something was too large to be read, the identity of each value counts too.
        """
        previous, self.is_complete = self.is_complete, is_complete
        try:
            hash_value(value, self)
        finally:
            self.is_complete = previous
        if self.is_partial:
            self.update_identity(value)

    def hash_named(self, module: Any, name: str, value: Any, *, is_complete: bool) -> None:
        """Hash what a name of a module stands for; if the digest is portable, data is hashed as an item."""
        if self.is_live or type(value) in (FunctionType, ModuleType) or is_class(value):
            self.update_text(name)
            self.hash_as(value, is_complete=is_complete)
            return
        part = self.fork()
        part._hashed = {}  # what an item is does not depend on what was read before it
        part.hash_as(value, is_complete=is_complete)
        self.items[with_one_main(f"{module}.{name}")] = part.hexdigest()

    def has_found(self, name: str) -> bool:
        """Whether code of the tool names this, as far as it was read."""
        return name in self.found_names or (self.names is not None and name in self.names)

    def next_reach(self) -> Reach:
        """Return the reach of the next pass: the current one and the names found."""
        names = None if self.names is None else self.names | self.found_names
        return Reach(names, self.reach.passed_names | self.passed_names, self.reach.complete_ids | self.complete_ids)

    def hash_other(self, value: Any) -> bool:
        """Hash any other object; one that cannot be read counts by its identity."""
        try:
            self.hash_object(value)
        except OverLimit:
            raise
        except NotHashable as unhashable:
            self.count_by_identity(value, str(unhashable))
        except Exception as error:  # noqa: BLE001 - a library may fail on its own object: it cannot be read
            problem = f"a {short_name(type(value))} cannot be read ({type(error).__name__})"
            self.count_by_identity(value, problem)
            if type(value) is FunctionType:
                self.add_code_problem(problem)
        return True

    def is_first(self, kind: type) -> bool:
        """Whether the body of a class is hashed for the first time."""
        is_first = id(kind) not in self._bodies
        self._bodies[id(kind)] = kind
        return is_first

    @abstractmethod
    def hash_object(self, value: Any) -> None:
        """Hash an object by its kind."""

    def count_by_identity(self, value: Any, problem: str) -> None:
        """Hash the identity of an object, and record why its content cannot be read."""
        self.update_identity(value)
        self.add_problem(problem)

    def update_identity(self, value: Any) -> None:
        """Hash the identity of an object."""
        self.update_text(self.identify(value))

    def add_problem(self, problem: str) -> None:
        """Record why a change of an object may go unnoticed."""
        if problem not in self.problems and len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def add_code_problem(self, problem: str) -> None:
        """Record why a change of what code does may go unnoticed."""
        if problem not in self.code_problems and len(self.code_problems) < MAX_PROBLEMS:
            self.code_problems.append(problem)

    @contextmanager
    def without_problems(self) -> Iterator[None]:
        """Record no problem in the context: the identity is sufficient."""
        previous, self.problems = self.problems, []
        try:
            yield
        finally:
            self.problems = previous

    def hash_container(self, value: Any, writer: Callable[[Any, LiveHasher], None]) -> None:
        """Hash an object that may contain others, once."""
        if not self._enter_container(value):
            return
        depth, was_complete = len(self._ancestors), self._complete_flags[-1]
        try:
            writer(value, self)
        finally:
            del (
                self._ancestors[depth - 1 :],
                self._complete_flags[depth - 1 :],
            )  # an error may have left inner containers entered
            self.is_complete = was_complete
