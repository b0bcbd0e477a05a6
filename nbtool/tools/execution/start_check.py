"""Compare an approved call once more where and when it starts, if it waited behind other work.

An executor, the caller's thread and the loop of async tools may be busy, so that minutes pass between the approval and
the start, and another call may change an object meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any


class ChangedBeforeStart(Exception):
    """What was approved changed before the function could start."""


@dataclass(slots=True)
class CheckedFunction:
    """A function with its arguments, checked right before it runs, or is pickled to run in another process.

    `reduce` says in which form it is pickled; alone by default.
    """

    function: partial[Any]
    is_unchanged: Callable[[], bool] = lambda: True
    reduce: Callable[[partial[Any]], str | tuple[Any, ...]] = partial.__reduce__

    def __call__(self) -> Any:
        """Call the function; raises `ChangedBeforeStart`."""
        self._check()
        return self.function()

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle the function; raises `ChangedBeforeStart`."""
        self._check()
        return self.reduce(self.function)

    def _check(self) -> None:
        if not self.is_unchanged():
            raise ChangedBeforeStart
