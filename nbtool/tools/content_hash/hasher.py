"""What a fingerprint is written with: a running digest, and bounds on what is read."""

from __future__ import annotations

import copy
import hashlib
import time
from dataclasses import dataclass
from typing import Any, Self

MAX_BYTES = 8 * 1024**3
"""Bytes of one object that are read; SHA-256 takes one to two gigabytes a second where the processor helps."""

MAX_ITEMS = 2_000_000
"""Python objects in one value that are looked at one by one."""

MAX_LEAVES = 50_000_000
"""Plain values in one list that are read all at once."""

MAX_SECONDS = 10.0
"""Seconds that one fingerprint may take."""

MAX_DEPTH = 100
"""Levels of containers inside each other."""

CHUNK = 16 * 1024 * 1024
"""Bytes that are read between two looks at the clock."""


class NotHashable(Exception):
    """The object cannot be compared; the text says why."""


class CodeNotHashable(NotHashable):
    """Code of the notebook cannot be compared: what calls it cannot be, either."""


class OverLimit(NotHashable):
    """A bound of the whole fingerprint was reached, so that nothing more is read."""


class TooLargeToHash(NotHashable):
    """One object has more bytes than may still be read; what is smaller can be read all the same."""


@dataclass(slots=True)
class _ReadBudget:
    """How much may still be read, and until when: one for a whole fingerprint, whatever parts it is made of."""

    bytes: int
    items: int
    deadline: float
    is_exceeded: bool = False


class Hasher:
    """A digest that is written piece by piece; every piece is framed, so that no two sequences of pieces are alike.

    `is_live`: objects of one process are compared, so that what no other process could have counts too.
    """

    is_live = False

    def __init__(
        self, seconds: float = MAX_SECONDS, *, max_bytes: int | None = None, max_items: int | None = None
    ) -> None:
        self._digest = hashlib.sha256()
        self._budget = _ReadBudget(
            MAX_BYTES if max_bytes is None else max_bytes,
            MAX_ITEMS if max_items is None else max_items,
            self.clock() + seconds,
        )
        self._ancestors: list[int] = []

    def clock(self) -> float:
        """Return the seconds that count."""
        return time.monotonic()

    def hash_other(self, value: Any) -> bool:  # noqa: ARG002 - for subclasses
        """Write a value that is no plain data of Python, and say whether this was done."""
        return False

    def update_live_text(self, text: str) -> None:
        """Write what counts only where objects of one process are compared; nothing here."""

    def update_text(self, text: str) -> None:
        """Write what comes next: a kind, a name, a shape."""
        data = text.encode("utf-8", "surrogatepass")
        self._digest.update(b"%d:" % len(data))
        self._digest.update(data)

    def update_bytes(self, data: Any) -> None:
        """Write bytes, or anything that shows itself as a flat buffer of bytes.

        Raises:
            TooLarge: it is more than may be read.
            OverLimit: the time is over.
        """
        view = memoryview(data).cast("B")
        if len(view) > self._budget.bytes:
            self._budget.is_exceeded = True
            raise TooLargeToHash("it is too large to compare")
        self._budget.bytes -= len(view)
        self._digest.update(b"%d:" % len(view))
        for start in range(0, len(view), CHUNK):
            self._digest.update(view[start : start + CHUNK])
            self._check_deadline()

    def count_items(self, count: int = 1) -> None:
        """Count objects that are looked at.

        Raises:
            Unknown: they are too many, or the time is over.
        """
        previous = self._budget.items
        self._budget.items = remaining = previous - count
        if remaining < 0:
            raise OverLimit("it is too large to compare")
        if previous // 1_000 != remaining // 1_000:
            self._check_deadline()

    @property
    def is_partial(self) -> bool:
        """Whether something was too large to be read."""
        return self._budget.is_exceeded

    @property
    def items_left(self) -> int:
        """How many more objects may be looked at."""
        return self._budget.items

    def enter(self, container: object) -> bool:
        """Go into a container; False where it lies inside itself, which is then written as the level it lies on.

        Raises:
            Unknown: too many lie inside each other.
        """
        if id(container) in self._ancestors:
            self.update_text(f"again {self._ancestors.index(id(container))}")
            return False
        if len(self._ancestors) >= MAX_DEPTH:
            raise OverLimit("it is nested too deep to compare")
        self._ancestors.append(id(container))
        return True

    def exit(self) -> None:
        """Come out of the container that was entered last."""
        self._ancestors.pop()

    def fork(self) -> Self:
        """Give hasher for a part whose place must not matter; what it may read is taken from the same measure."""
        part = copy.copy(self)
        part._digest = hashlib.sha256()
        return part

    def merge_unordered(self, parts: list[Hasher]) -> None:
        """Write parts in an order of their own, whatever order they came in."""
        for digest in sorted(part.hexdigest() for part in parts):
            self.update_text(digest)

    def hexdigest(self) -> str:
        """Give the word that was written."""
        return self._digest.hexdigest()[:40]

    def _check_deadline(self) -> None:
        if self.clock() > self._budget.deadline:
            raise OverLimit("it takes too long to compare")
