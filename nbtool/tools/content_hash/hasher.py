"""An incremental hasher with bounds on the data read."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from typing import Any, Self

from nbtool.clock import monotonic

MAX_BYTES = 8 * 1024**3
"""Maximum number of bytes read of one object; SHA-256 processes one to two GB per second with processor support."""

MAX_ITEMS = 2_000_000
"""Maximum number of Python objects inspected one by one in one value."""

MAX_LEAVES = 50_000_000
"""Maximum number of plain values of one list that are read at once."""

MAX_SECONDS = 10.0
"""Maximum seconds for one content hash."""

MAX_DEPTH = 100
"""Maximum nesting depth."""

CHUNK = 16 * 1024 * 1024
"""Number of bytes read between two deadline checks."""


class NotHashable(Exception):
    """The object cannot be compared; the message says why."""


class CodeNotHashable(NotHashable):
    """Code of the notebook cannot be compared, and neither can code that calls it."""


class OverLimit(NotHashable):
    """A bound of the whole content hash was reached, so that nothing more is read."""


class TooLargeToHash(NotHashable):
    """One object exceeds the bytes left; smaller ones can still be read."""


@dataclass(slots=True)
class _ReadBudget:
    """The budget and the deadline shared by all parts of a content hash."""

    bytes: int
    items: int
    deadline: float
    is_exceeded: bool = False


class Hasher:
    """An incremental digest; every piece is framed, so that different sequences of pieces have different digests.

    `is_live`: objects of one process are compared, so that process-specific state counts too.
    """

    is_live = False

    def __init__(self, seconds: float = MAX_SECONDS, *, max_bytes: int = MAX_BYTES, max_items: int = MAX_ITEMS) -> None:
        self._digest = hashlib.sha256()
        self._budget = _ReadBudget(max_bytes, max_items, self.clock() + seconds)
        self._ancestors: list[int] = []

    def clock(self) -> float:
        """Return the current time in seconds."""
        return monotonic()

    def hash_other(self, value: Any) -> bool:  # noqa: ARG002 - for subclasses
        """Hash a value of another type; return whether that was possible."""
        return False

    def hash_plain(self, value: Any) -> bool:  # noqa: ARG002 - for subclasses
        """Hash plain data at once; return whether that was possible."""
        return False

    def update_live_text(self, text: str) -> None:
        """Hash a text that counts only for objects of one process; here it is ignored."""

    def update_text(self, text: str) -> None:
        """Hash a kind, a name or a shape."""
        data = text.encode("utf-8", "surrogatepass")
        self._digest.update(b"%d:" % len(data))
        self._digest.update(data)

    def update_bytes(self, data: Any) -> None:
        """Hash bytes, or an object with a flat buffer.

        Raises:
            TooLargeToHash: it exceeds the bytes left.
            OverLimit: the deadline has passed.
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
        """Count inspected objects.

        Raises:
            OverLimit: they are too many, or the deadline has passed.
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
        """The number of objects that may still be inspected."""
        return self._budget.items

    def enter(self, container: object) -> bool:
        """Enter a container; return False if it contains itself, and hash its nesting level instead.

        Raises:
            OverLimit: the nesting is too deep.
        """
        if id(container) in self._ancestors:
            self.update_text(f"again {self._ancestors.index(id(container))}")
            return False
        if len(self._ancestors) >= MAX_DEPTH:
            raise OverLimit("it is nested too deep to compare")
        self._ancestors.append(id(container))
        return True

    def exit(self) -> None:
        """Leave the innermost container."""
        self._ancestors.pop()

    def fork(self) -> Self:
        """Return a hasher for a part whose order must not matter; it shares the budget."""
        part = copy.copy(self)
        part._digest = hashlib.sha256()
        return part

    def merge_unordered(self, parts: list[Hasher]) -> None:
        """Hash parts independently of their order."""
        for digest in sorted(part.hexdigest() for part in parts):
            self.update_text(digest)

    def hexdigest(self) -> str:
        """Return the digest in hex."""
        return self._digest.hexdigest()[:40]

    def _check_deadline(self) -> None:
        if self.clock() > self._budget.deadline:
            raise OverLimit("it takes too long to compare")
