"""Compare a function in another process with the one that was approved: a worker has what was there when it started.

A pool of processes receives a function as a name, and so do the workers of a map what is defined in a module. What the
worker's own runs have changed of its data there is no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from nbtool.tools.content_hash.change_token import portable_digest
from nbtool.tools.content_hash.tool_states import ToolStates
from nbtool.tools.execution.start_check import ChangedBeforeStart

_states = ToolStates()
"""What the runs in this process made of what they use, by portable digests."""

_first_items: dict[str, str] = {}
"""The data of modules as this process had them before any compared run, by name."""


class OtherVersionInWorker(ChangedBeforeStart):
    """A worker has another version of the function, or of what it uses, than was approved."""


@dataclass(frozen=True, slots=True)
class WorkerVersion:
    """A function as it was where it was approved: the digests of its code, and of the data that it uses by name."""

    function: Callable[..., Any]
    digest: str
    items: Mapping[str, str]
    modules: frozenset[str]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> WorkerVersion:
        """Return the version of a function in this process."""
        parts = [portable_digest(part) for part in _parts_by_name(function)]
        items = {name: digest for part in parts for name, digest in part.items.items()}
        modules = frozenset().union(*(part.modules for part in parts))
        return cls(function, "+".join(part.digest for part in parts), items, modules)

    def is_here(self) -> bool:
        """Whether this process has that version, or what its own runs have made of it."""
        now = self.of(self.function)
        first = {name: _first_items.setdefault(name, digest) for name, digest in now.items.items()}
        are_items_here = all(digest in (now.items.get(name), first.get(name)) for name, digest in self.items.items())
        return are_items_here and self.digest in (now.digest, _states.first_token(now.digest))

    def record_run(self) -> None:
        """Record the code of the function after a run of it in this process."""
        _states.record(self.digest, self.of(self.function).digest)


@dataclass(frozen=True, slots=True)
class ComparedCall:
    """A call that was pickled; it runs only where its function is what it was."""

    work: partial[Any]
    version: WorkerVersion

    def __call__(self) -> Any:
        """Call the function.

        Raises:
            OtherVersionInWorker: it is another one here.
        """
        if not self.version.is_here():
            raise OtherVersionInWorker
        try:
            return self.work()
        finally:
            self.version.record_run()


def compare_in_worker(work: partial[Any]) -> tuple[type[ComparedCall], tuple[partial[Any], WorkerVersion]]:
    """Return how to pickle a call so that its worker compares it."""
    return ComparedCall, (work, WorkerVersion.of(work.func))


def _parts_by_name(function: Any) -> list[Any]:
    """Return what is pickled by its name: not arguments of a partial, nor the object of a method or a callable one."""
    if isinstance(function, partial):
        return _parts_by_name(function.func)
    if isinstance(function, MethodType):
        return [function.__func__, *_parts_by_name(function.__self__)]
    return [function] if isinstance(function, type | FunctionType) else [type(function)]
