"""Read-only views of a turn and of its node, for code that reads a conversation without importing the chat.

`nbtool.chat.turn.Turn` and `nbtool.chat.conversation.tree.Node` have all of these attributes, under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from nbtool.events import Event, TurnStatus
from nbtool.messages import Message


class HasTurnId(Protocol):
    """Anything that is identified as a turn."""

    @property
    def turn_id(self) -> str:
        """Its id."""


class TurnView(HasTurnId, Protocol):
    """A turn, running or ended."""

    @property
    def prompt(self) -> Message:
        """The user's message."""

    @property
    def model(self) -> str:
        """The name of its model."""

    @property
    def status(self) -> TurnStatus:
        """Its current status."""

    @property
    def log(self) -> Sequence[Event]:
        """Its events so far, without the deltas of finished replies."""

    @property
    def event_times(self) -> Sequence[float]:
        """The times of `log`, in seconds since the epoch; shorter than `log` if they are not known."""

    @property
    def difference(self) -> object | None:
        """What it changes of an earlier version, as an object whose text says it; None without one."""


class LiveTurn(HasTurnId, Protocol):
    """A turn that can be followed and stopped."""

    def follow(self, listener: Callable[[Event], None]) -> None:
        """Call `listener` with every event, past ones first; on nbtool's own thread."""

    def abort(self) -> None:
        """Stop it."""


class NodeView(Protocol):
    """One node of a conversation, its visible versions, and its children."""

    @property
    def node_id(self) -> str:
        """Its id."""

    @property
    def versions(self) -> Sequence[TurnView]:
        """Its versions that are not deleted."""

    @property
    def current(self) -> int:
        """The index in `versions` of the current one."""

    @property
    def children(self) -> Sequence[NodeView]:
        """The nodes that follow it."""

    @property
    def hidden(self) -> bool:
        """Whether it is excluded from requests."""

    @property
    def pinned(self) -> bool:
        """Whether it is included in requests even when it is outside the window."""
