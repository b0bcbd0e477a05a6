"""The results of a turn while it runs: kept until it ends, and what was evicted meanwhile, as one line."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from nbtool.text import count_of, format_size, list_names
from nbtool.tools.variables.eviction import Evicted
from nbtool.tools.variables.store import Variables

MAX_NAMED = 5
"""Maximum number of evicted results that are named."""

TO_KEEP_IT = "A larger `%config NbTool.result_bytes` or Chat(result_bytes=…) keeps it."


class TurnResults:
    """Keeps what one turn creates or uses, as a context manager; `end` may be called before it is left.

    `needed` are the names of results that it takes from an earlier version of itself.
    """

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self._is_open = False
        self.needed: frozenset[str] = frozenset()

    def __enter__(self) -> TurnResults:
        self._variables.begin_turn(self.needed)
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> str:
        """Evict what exceeds the bound; return a line about what was evicted, and what will be; empty if nothing."""
        if not self._is_open:
            return ""
        self._is_open = False
        evicted = _describe_evicted(self._variables.end_turn(), self._variables)
        return f"{evicted} {describe_oversized(self._variables)}".strip()


def describe_oversized(variables: Variables) -> str:
    """Return that a stored result alone exceeds the bound, and when it is evicted; empty if none does."""
    entry = variables.oversized
    if entry is None:
        return ""
    size, bound = format_size(entry.size), format_size(variables.max_bytes)
    return (
        f"`{entry.name}` ({size}) alone exceeds result_bytes ({bound}): it is evicted when the next turn begins. "
        f"{TO_KEEP_IT}"
    )


def _describe_evicted(evicted: Sequence[Evicted], variables: Variables) -> str:
    if not evicted:
        return ""
    names = [f"`{item.name}`" for item in evicted if item.name]
    count = len(evicted) - len(names)
    unnamed = f"{count_of(count, 'result')} without a name" if count else ""
    subject = "; ".join(filter(None, (list_names(names, MAX_NAMED), unnamed)))
    size, bound = format_size(sum(item.size for item in evicted)), format_size(variables.max_bytes)
    return f"Evicted to free memory: {subject} ({size}, result_bytes is {bound})."
