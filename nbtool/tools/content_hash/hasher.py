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


class Unknown(Exception):
    """The object cannot be compared; the text says why."""


class UnknownCode(Unknown):
    """Code of the notebook cannot be compared: what calls it cannot be, either."""


class OverLimit(Unknown):
    """A bound of the whole fingerprint was reached, so that nothing more is read."""


class TooLarge(Unknown):
    """One object has more bytes than may still be read; what is smaller can be read all the same."""


@dataclass(slots=True)
class _Measure:
    """How much may still be read, and until when: one for a whole fingerprint, whatever parts it is made of."""

    bytes: int
    items: int
    deadline: float
    is_exceeded: bool = False


class Ink:
    """A digest that is written piece by piece; every piece is framed, so that no two sequences of pieces are alike.

    `is_live`: objects of one process are compared, so that what no other process could have counts too.
    """

    is_live = False

    def __init__(
        self, seconds: float = MAX_SECONDS, *, max_bytes: int | None = None, max_items: int | None = None
    ) -> None:
        self._digest = hashlib.sha256()
        self._measure = _Measure(
            MAX_BYTES if max_bytes is None else max_bytes,
            MAX_ITEMS if max_items is None else max_items,
            self.clock() + seconds,
        )
        self._above: list[int] = []

    def clock(self) -> float:
        """Return the seconds that count."""
        return time.monotonic()

    def write_other(self, value: Any) -> bool:  # noqa: ARG002 - for subclasses
        """Write a value that is no plain data of Python, and say whether this was done."""
        return False

    def mark_live(self, text: str) -> None:
        """Write what counts only where objects of one process are compared; nothing here."""

    def mark(self, text: str) -> None:
        """Write what comes next: a kind, a name, a shape."""
        data = text.encode("utf-8", "surrogatepass")
        self._digest.update(b"%d:" % len(data))
        self._digest.update(data)

    def data(self, data: Any) -> None:
        """Write bytes, or anything that shows itself as a flat buffer of bytes.

        Raises:
            TooLarge: it is more than may be read.
            OverLimit: the time is over.
        """
        view = memoryview(data).cast("B")
        if len(view) > self._measure.bytes:
            self._measure.is_exceeded = True
            raise TooLarge("it is too large to compare")
        self._measure.bytes -= len(view)
        self._digest.update(b"%d:" % len(view))
        for start in range(0, len(view), CHUNK):
            self._digest.update(view[start : start + CHUNK])
            self._look_at_the_clock()

    def item(self, count: int = 1) -> None:
        """Count objects that are looked at.

        Raises:
            Unknown: they are too many, or the time is over.
        """
        before = self._measure.items
        self._measure.items = left = before - count
        if left < 0:
            raise OverLimit("it is too large to compare")
        if before // 1_000 != left // 1_000:
            self._look_at_the_clock()

    @property
    def is_partial(self) -> bool:
        """Whether something was too large to be read."""
        return self._measure.is_exceeded

    @property
    def items_left(self) -> int:
        """How many more objects may be looked at."""
        return self._measure.items

    def enter(self, container: object) -> bool:
        """Go into a container; False where it lies inside itself, which is then written as the level it lies on.

        Raises:
            Unknown: too many lie inside each other.
        """
        if id(container) in self._above:
            self.mark(f"again {self._above.index(id(container))}")
            return False
        if len(self._above) >= MAX_DEPTH:
            raise OverLimit("it is nested too deep to compare")
        self._above.append(id(container))
        return True

    def leave(self) -> None:
        """Come out of the container that was entered last."""
        self._above.pop()

    def apart(self) -> Self:
        """Give ink for a part whose place must not matter; what it may read is taken from the same measure."""
        part = copy.copy(self)
        part._digest = hashlib.sha256()
        return part

    def take(self, parts: list[Ink]) -> None:
        """Write parts in an order of their own, whatever order they came in."""
        for word in sorted(part.word() for part in parts):
            self.mark(word)

    def word(self) -> str:
        """Give the word that was written."""
        return self._digest.hexdigest()[:40]

    def _look_at_the_clock(self) -> None:
        if self.clock() > self._measure.deadline:
            raise OverLimit("it takes too long to compare")
