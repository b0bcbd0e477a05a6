"""The data of a conversation: the nodes of a tree, and the versions of their turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nbtool.events import Event, TurnStatus
from nbtool.messages import Message


class TurnSource(Protocol):
    """A turn, running or ended. `moments` are the times of `log`, in seconds since the epoch, if known."""

    @property
    def turn_id(self) -> str: ...  # noqa: D102 - the names are those of `Turn`
    @property
    def prompt(self) -> Message: ...  # noqa: D102
    @property
    def model(self) -> str: ...  # noqa: D102
    @property
    def status(self) -> TurnStatus: ...  # noqa: D102
    @property
    def log(self) -> Sequence[Event]: ...  # noqa: D102
    @property
    def event_times(self) -> Sequence[float | None]: ...  # noqa: D102
    @property
    def difference(self) -> object | None: ...  # noqa: D102


class NodeSource(Protocol):
    """One node of a conversation, its visible versions, and its children."""

    @property
    def node_id(self) -> str: ...  # noqa: D102 - the names are those of `Node`
    @property
    def versions(self) -> Sequence[TurnSource]: ...  # noqa: D102
    @property
    def current(self) -> int: ...  # noqa: D102
    @property
    def children(self) -> Sequence[NodeSource]: ...  # noqa: D102
    @property
    def hidden(self) -> bool: ...  # noqa: D102
    @property
    def pinned(self) -> bool: ...  # noqa: D102


def timed_log(turn: TurnSource) -> list[tuple[float | None, Event]]:
    """Return the events of a turn, each with its time if known; safe while the turn is running."""
    log, event_times = list(turn.log), list(turn.event_times)
    if len(event_times) < len(log):
        return [(None, event) for event in log]
    return list(zip(event_times, log, strict=False))
