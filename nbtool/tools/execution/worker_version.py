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
"""What the runs in this process made of the code and of each item of data that they use, by portable digests."""


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

    def find_here(self) -> WorkerVersion | None:
        """Return the version in this process if it is this one, or what runs here have made of it; else None."""
        now = self.of(self.function)
        wanted, found = self._tokens(), now._tokens()
        is_here = all(
            token in (found.get(name, ""), _states.first_token(found.get(name, ""))) for name, token in wanted.items()
        )
        return now if is_here else None

    def record_run(self) -> None:
        """Record what a run in this process, before which the function had this version, has made of it."""
        after = self.of(self.function)._tokens()
        for name, token in self._tokens().items():
            _states.record(token, after.get(name, token))

    def _tokens(self) -> dict[str, str]:
        return {"": self.digest, **{name: f"{name}={digest}" for name, digest in self.items.items()}}


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
        version = self.version.find_here()
        if version is None:
            raise OtherVersionInWorker
        try:
            return self.work()
        finally:
            version.record_run()


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
