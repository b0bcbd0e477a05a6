"""The conversation tree: places, their versions, and the active line.

A node is one place in the conversation; its *versions* are turns that were tried there (a rerun makes a new one beside
the old). A *branch* begins where a node has several children. The active line runs from a root to the *tip*, and
decides what the model is told.

Nothing is ever taken out of the tree. What is deleted is marked, and what is seen (`versions`, `children`, `line`) is
read off without it: so a deletion is undone by taking its marks away, and the same changes, made again in the same
order, give the same tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from nbtool.errors import BadUsage
from nbtool.events import TreeChanged, TurnStarted
from nbtool.messages import new_id


class HasTurnId(Protocol):
    """What a version must have."""

    @property
    def turn_id(self) -> str: ...  # noqa: D102 - the name says it


V = TypeVar("V", bound=HasTurnId)


@dataclass(slots=True, eq=False)
class Node(Generic[V]):
    """One place in the conversation.

    `parent` and `below` are the tree as it was told, deleted places included; `tried` are all versions, in the order in
    which they came, and `deleted` the ids of those that are marked so. `chosen` is the id of the version that counts,
    `onward` the place below it that was last stood on. `child` is set on a new place alone: what is to follow it.
    """

    parent: Node[V] | None
    cell_id: str = ""
    insert_before: Node[V] | None = None
    node_id: str = field(default_factory=lambda: new_id("n"))
    all_versions: list[V] = field(default_factory=list)
    all_children: list[Node[V]] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    selected: str = ""
    last_visited: Node[V] | None = None
    hidden: bool = False
    pinned: bool = False

    @property
    def versions(self) -> tuple[V, ...]:
        """The versions that are not deleted."""
        return tuple(version for version in self.all_versions if version.turn_id not in self.deleted)

    @property
    def current(self) -> int:
        """The index in `versions` of the one that counts: the chosen one, else its nearest neighbour; -1 for none."""
        before = 0
        for version in self.all_versions:
            if version.turn_id == self.selected:
                return before if self.selected not in self.deleted else max(before - 1, 0) if self.versions else -1
            before += version.turn_id not in self.deleted
        return before - 1

    @property
    def turn(self) -> V | None:
        """The version that counts; None while the first one is on its way, and where all are deleted."""
        return self.versions[self.current] if self.versions else None

    @property
    def children(self) -> tuple[Node[V], ...]:
        """The places that follow, in order; those that follow a deleted place stand where it stood."""
        return tuple(_visible(self.all_children))


@dataclass(frozen=True, slots=True)
class _Deletion:
    """One deletion: what was named, and the versions that were marked."""

    node_id: str
    turn_id: str
    marked: frozenset[str]


class Tree(Generic[V]):
    """All places of a conversation, and the tip of its active line."""

    def __init__(self) -> None:
        self._roots: list[Node[V]] = []
        self._nodes: dict[str, Node[V]] = {}
        self._tip: Node[V] | None = None
        self._deletions: list[_Deletion] = []

    # --- what is seen ---------------------------------------------------------------------------------------

    @property
    def active_path(self) -> tuple[Node[V], ...]:
        """The active line, from the first node to the last."""
        return tuple(_path(self._tip))

    @property
    def roots(self) -> tuple[Node[V], ...]:
        """The places where a conversation begins."""
        return tuple(_visible(self._roots))

    def nodes(self) -> Iterator[Node[V]]:
        """Give all nodes, parents before children."""
        waiting = list(self.roots[::-1])
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def branches(self) -> list[Node[V]]:
        """Give the last node of every branch, in the order of the tree."""
        return [node for node in self.nodes() if not node.children]

    def path(self, node: Node[V] | None) -> tuple[Node[V], ...]:
        """Give the nodes from the beginning to this one."""
        return tuple(_path(node))

    def history_before(self, node: Node[V], *, window: int | None = None) -> list[V]:
        """Give the turns that are told before a node: its ancestors' current versions, hidden ones left out.

        With a `window` only so many of the latest are told, and those that are pinned; a turn counts as one, however
        many messages it is, so that a call is never parted from its result.
        """
        line = [one for one in _path(node.parent) if not one.hidden]
        first = 0 if window is None else max(0, len(line) - window)
        return [one.turn for index, one in enumerate(line) if one.turn and (index >= first or one.pinned)]

    def find(self, turn_id: str) -> Node[V]:
        """Give the node that holds a turn; an unambiguous beginning of its id is enough.

        Raises:
            BadUsage: no turn, or several, begin like this.
        """
        return self.get(turn_id)[0]

    def get(self, turn_id: str) -> tuple[Node[V], V]:
        """Give the node that holds a turn, and that turn; raises as `find`."""
        among = [(node, version) for node in self.nodes() for version in node.versions]
        matches = [one for one in among if one[1].turn_id == turn_id] or [
            one for one in among if one[1].turn_id.startswith(turn_id)
        ]
        if len(matches) != 1:
            many = "several turns begin" if matches else "no turn begins"
            raise BadUsage(f"In this chat {many} with {turn_id!r}.", fix="`%chat history` lists them.")
        return matches[0]

    def turns_from(self, node: Node[V]) -> list[V]:
        """Give every version of a node and of all that is below it."""
        return [version for one in _subtree(node) for version in one.versions]

    @property
    def last_deletion(self) -> tuple[Node[V], str] | None:
        """The latest deletion: its node and the version it was of, "" for all from there; None where there is none."""
        return (self._nodes[self._deletions[-1].node_id], self._deletions[-1].turn_id) if self._deletions else None

    # --- places for new turns ---------------------------------------------------------------------------------

    def node_for_cell(self, cell_id: str = "", *, append: bool = False) -> Node[V]:
        """Give the node for a new turn: the cell's own when it has one on the line, else one that follows the line.

        The tree is not changed: what was said before is collected first, and `put` makes the node a part of it.
        """
        line = self.active_path
        if cell_id and not append:
            for node in reversed(line):
                if node.cell_id == cell_id:
                    return node
        return Node[V](line[-1] if line else None, cell_id)

    def new_sibling(self, node: Node[V], cell_id: str = "") -> Node[V]:
        """Give the node for a turn that is said in place of another; the cell's own where it has one there already."""
        parent = next(iter(_path(node.parent)[-1:]), None)
        siblings = parent.children if parent else self.roots
        ours = (one for one in siblings if cell_id and one.cell_id == cell_id and one is not node)
        return next(ours, None) or Node[V](parent, cell_id)

    def insert_after(self, node: Node[V], cell_id: str = "") -> Node[V]:
        """Give the node for a turn that is put after one of the line; what followed there will follow it.

        Raises:
            BadUsage: the node is not on the active line.
        """
        if node not in self.active_path:
            raise BadUsage("A turn is put in only on the active line.", fix="`%chat switch TURN` goes there first.")
        path = _full_path(self._tip)
        index = path.index(node)
        return Node[V](node, cell_id, insert_before=next(iter(path[index + 1 :]), None))

    def node_from_event(self, event: TurnStarted) -> Node[V]:
        """Give the node of a turn that a journal tells of, known by its ids; a parent that is unknown is none."""
        if existing := self._nodes.get(event.node_id):
            return existing
        node = Node[V](self._nodes.get(event.parent_id), event.cell_id, self._nodes.get(event.child_id))
        node.node_id = event.node_id or node.node_id
        return node

    def add_version(self, node: Node[V], version: V) -> None:
        """Add a version to a node, and the node to the tree if it is new; the active line leads there."""
        if node.node_id not in self._nodes:
            self._attach(node)
        node.all_versions.append(version)
        node.selected = version.turn_id
        if node not in _full_path(self._tip):
            self._select(self._deepest(node))

    # --- changes ----------------------------------------------------------------------------------------------

    def apply(self, change: TreeChanged) -> None:
        """Make a change; one that is about a place or a turn unknown here changes nothing."""
        if node := self._nodes.get(change.node_id):
            self._change(node, change)
        elif change.op == "branch" and not change.node_id:
            self._tip = None

    def _change(self, node: Node[V], change: TreeChanged) -> None:
        match change.op:
            case "hide" | "show":
                node.hidden = change.op == "hide"
            case "pin" | "unpin":
                node.pinned = change.op == "pin"
            case "delete":
                self._delete(node, change.turn_id)
            case "restore":
                self._restore(change)
            case "branch":
                self._select(node)
            case "switch":
                self._switch(node, change.turn_id)

    def _delete(self, node: Node[V], turn_id: str) -> None:
        """Mark one version as deleted, or, where none is named, all of the node and of what is below it."""
        among = [node] if turn_id else list(_subtree(node))
        marked: set[str] = set()
        for one in among:
            ids = {version.turn_id for version in one.versions if turn_id in ("", version.turn_id)}
            one.deleted |= ids
            marked |= ids
        if marked:
            self._deletions.append(_Deletion(node.node_id, turn_id, frozenset(marked)))

    def _restore(self, change: TreeChanged) -> None:
        for index in range(len(self._deletions) - 1, -1, -1):
            deletion = self._deletions[index]
            if (deletion.node_id, deletion.turn_id) == (change.node_id, change.turn_id):
                del self._deletions[index]
                for node in _subtree(self._nodes[deletion.node_id]):
                    node.deleted -= deletion.marked
                return

    def _switch(self, node: Node[V], turn_id: str) -> None:
        if any(version.turn_id == turn_id for version in node.all_versions):
            node.selected = turn_id
        if node not in _full_path(self._tip):
            self._select(self._deepest(node))

    def _attach(self, node: Node[V]) -> None:
        self._nodes[node.node_id] = node
        siblings = node.parent.all_children if node.parent else self._roots
        child, node.insert_before = node.insert_before, None
        if child in siblings and child is not None:  # put between two: the child goes below it, and it takes its place
            siblings[siblings.index(child)] = node
            child.parent, node.last_visited = node, child
            node.all_children.append(child)
            if node.parent and node.parent.last_visited is child:
                node.parent.last_visited = node
        else:
            siblings.append(node)

    def _select(self, node: Node[V]) -> None:
        self._tip = node
        while node.parent:
            node.parent.last_visited = node
            node = node.parent

    @staticmethod
    def _deepest(node: Node[V]) -> Node[V]:
        """Follow the line that was last stood on to its end; where there is none to see, the latest child's."""
        while node.children:
            onward = node.last_visited
            sees = onward is not None and (onward.versions or onward.children)
            node = onward if onward is not None and sees else node.children[-1]
        return node


def _visible(nodes: list[Node[V]]) -> Iterator[Node[V]]:
    """Give these nodes, and in the place of each deleted one those that follow it."""
    waiting = nodes[::-1]
    while waiting:
        node = waiting.pop()
        if node.versions:
            yield node
        else:
            waiting.extend(reversed(node.all_children))


def _full_path(node: Node[V] | None) -> list[Node[V]]:
    """Give the path to a node, deleted places included."""
    path: list[Node[V]] = []
    while node:
        path.append(node)
        node = node.parent
    return path[::-1]


def _path(node: Node[V] | None) -> list[Node[V]]:
    return [one for one in _full_path(node) if one.versions]


def _subtree(node: Node[V]) -> Iterator[Node[V]]:
    """Give a node and all that is below it, deleted places included."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.all_children)
