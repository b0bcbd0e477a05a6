"""The conversation tree: nodes, their versions, and the active line.

A node is one place in the conversation; its *versions* are turns that were tried there (a rerun makes a new one beside
the old). A *branch* begins where a node has several children. The active line runs from the root to a leaf, and decides
what the model is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from nbtool.errors import BadUsage
from nbtool.messages import new_id


class HasTurnId(Protocol):
    """What a version must have."""

    @property
    def turn_id(self) -> str: ...  # noqa: D102


V = TypeVar("V", bound=HasTurnId)


@dataclass(slots=True)
class Node(Generic[V]):
    """One place in the conversation. `current` is the index of the version that counts."""

    parent: Node[V] | None
    cell_id: str = ""
    versions: list[V] = field(default_factory=list)
    current: int = -1
    children: list[Node[V]] = field(default_factory=list)
    hidden: bool = False
    pinned: bool = False
    node_id: str = field(default_factory=lambda: new_id("n"))

    @property
    def turn(self) -> V | None:
        """The version that counts, None while the first one is on its way."""
        return self.versions[self.current] if self.versions else None


class Tree(Generic[V]):
    """All nodes of a conversation and its active line."""

    def __init__(self) -> None:
        self._roots: list[Node[V]] = []
        self._line: list[Node[V]] = []

    @property
    def line(self) -> tuple[Node[V], ...]:
        """The active line, from the first node to the last."""
        return tuple(self._line)

    def place(self, cell_id: str = "", *, append: bool = False) -> Node[V]:
        """Give the node for a new turn: the cell's own when it has one on the line, else one that follows the line.

        The tree is not changed: what was said before is collected first, and `put` makes the node a part of it.
        """
        if cell_id and not append:
            for node in reversed(self._line):
                if node.cell_id == cell_id:
                    return node
        return Node[V](self._line[-1] if self._line else None, cell_id)

    def put(self, node: Node[V], version: V) -> None:
        """Add a version to a node, and the node to the line if it is new."""
        if not node.versions:
            (node.parent.children if node.parent else self._roots).append(node)
            self._line = self._path(node)
        node.versions.append(version)
        node.current = len(node.versions) - 1

    def before(self, node: Node[V], *, window: int | None = None) -> list[V]:
        """Give the turns that are told before a node: its ancestors' current versions, hidden ones left out.

        With a `window` only so many of the latest are told, and those that are pinned; a turn counts as one, however
        many messages it is, so that a call is never parted from its result.
        """
        line = [one for one in self._path(node.parent) if one.turn is not None and not one.hidden]
        first = 0 if window is None else max(0, len(line) - window)
        return [one.turn for place, one in enumerate(line) if one.turn and (place >= first or one.pinned)]

    def branch(self, node: Node[V] | None) -> None:
        """Let the next turn follow a node (None: stand at the very beginning); what came after stays reachable."""
        self._line = self._path(node)

    def find(self, turn_id: str) -> Node[V]:
        """Give the node that holds a turn; an unambiguous beginning of its id is enough.

        Raises:
            BadUsage: no turn, or several, begin like this.
        """
        found = [node for node in self.nodes() if any(version.turn_id.startswith(turn_id) for version in node.versions)]
        if len(found) != 1:
            many = "several turns begin" if found else "no turn begins"
            raise BadUsage(f"In this chat {many} with {turn_id!r}.", fix="`%chat history` lists them.")
        return found[0]

    def nodes(self) -> Iterator[Node[V]]:
        """Give all nodes, parents before children."""
        waiting = self._roots[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    @staticmethod
    def _path(node: Node[V] | None) -> list[Node[V]]:
        path: list[Node[V]] = []
        while node:
            path.append(node)
            node = node.parent
        return path[::-1]
