"""The conversation tree: nodes, their versions, and the active branch.

A node is one position in the conversation; its *versions* are alternative turns (a rerun adds a new one). A *branch*
starts where a node has several children. The active branch runs from a root to the *tip*, and determines the history
that is sent to the model.

No change removes anything from the tree. Deleted versions are marked, and the public views (`versions`, `children`,
`active_path`) skip them: a deletion is undone by removing its marks, and the same changes in the same order always
produce the same tree. Only `erase` removes a version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from nbtool.errors import BadUsage
from nbtool.events import TreeChanged, TurnStarted
from nbtool.ids import is_id, new_id
from nbtool.turn_view import HasTurnId

V = TypeVar("V", bound=HasTurnId)

CHAT_PREFIX = "chat_"
"""What the id of a chat begins with."""

_NUMBER = re.compile(r"([0-9]{1,9})(?:\.([1-9][0-9]{0,8}))?")
"""The number of a turn in `%chat history`; after a dot, that of its version."""


@dataclass(slots=True, eq=False)
class Node(Generic[V]):
    """One position in the conversation.

    `parent` and `all_children` include deleted nodes; `all_versions` are in order of arrival, `deleted` are the ids of
    deleted ones. `selected` is the id of the current version, `last_visited` the child that was last active.
    `insert_before` is only set on a new node: the child that will follow it.
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
        """The index in `versions` of the selected one, else of its nearest neighbor; -1 if there is none."""
        before = 0
        for version in self.all_versions:
            if version.turn_id == self.selected:
                return before if self.selected not in self.deleted else max(before - 1, 0) if self.versions else -1
            before += version.turn_id not in self.deleted
        return before - 1

    @property
    def turn(self) -> V | None:
        """The current version; None before the first one is added, and if all are deleted."""
        return self.versions[self.current] if self.versions else None

    @property
    def children(self) -> tuple[Node[V], ...]:
        """The child nodes, in order; a deleted child is replaced by its own children."""
        return tuple(_visible(self.all_children))


@dataclass(frozen=True, slots=True)
class _Deletion:
    """One deletion: its target, and the versions that were marked."""

    node_id: str
    turn_id: str
    marked: frozenset[str]


class Tree(Generic[V]):
    """All nodes of a conversation, and the tip of its active branch."""

    def __init__(self) -> None:
        self._roots: list[Node[V]] = []
        self._nodes: dict[str, Node[V]] = {}
        self._tip: Node[V] | None = None
        self._deletions: list[_Deletion] = []

    # --- public views ---------------------------------------------------------------------------------------

    @property
    def active_path(self) -> tuple[Node[V], ...]:
        """The active branch, from the root to the tip."""
        return tuple(_path(self._tip))

    @property
    def roots(self) -> tuple[Node[V], ...]:
        """The root nodes."""
        return tuple(_visible(self._roots))

    def nodes(self) -> Iterator[Node[V]]:
        """Yield all nodes, parents before children."""
        waiting = list(self.roots[::-1])
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def branches(self) -> list[Node[V]]:
        """Return the last node of every branch, in the order of the tree."""
        return [node for node in self.nodes() if not node.children]

    def path(self, node: Node[V] | None) -> tuple[Node[V], ...]:
        """Return the nodes from the root to this one."""
        return tuple(_path(node))

    def history_before(self, node: Node[V], *, window: int | None = None) -> list[V]:
        """Return the history of a node: the current versions of its ancestors, without hidden ones.

        With a `window`, only so many of the latest turns and the pinned ones; a turn counts as one, whatever its number
        of messages, so that a call is never separated from its result.
        """
        line = [item for item in _path(node.parent) if not item.hidden]
        first = 0 if window is None else max(0, len(line) - window)
        return [item.turn for index, item in enumerate(line) if item.turn and (index >= first or item.pinned)]

    def all_versions(self) -> Iterator[V]:
        """Yield the versions of all nodes, also deleted ones."""
        for node in self._nodes.values():
            yield from node.all_versions

    def find(self, turn_id: str) -> Node[V]:
        """Return the node of a turn, by its number on the active branch, its id or an unambiguous prefix of that.

        `2.1` is version 1 of turn 2.

        Raises:
            BadUsage: no turn or several turns match.
        """
        return self.get(turn_id)[0]

    def get(self, turn_id: str) -> tuple[Node[V], V]:
        """Return the node of a turn, and the turn; raises as `find`."""
        among = [(node, version) for node in self.nodes() for version in node.versions]
        matches = [pair for pair in among if pair[1].turn_id == turn_id] or [
            pair for pair in among if pair[1].turn_id.startswith(turn_id)
        ]
        if not matches and (number := _NUMBER.fullmatch(turn_id)):
            return self._numbered(int(number[1]), int(number[2]) if number[2] else 0)
        if len(matches) != 1:
            if turn_id.startswith(CHAT_PREFIX) and is_id(turn_id):
                raise BadUsage(f"{turn_id} is a chat, and no turn.", fix=f"`%chat explore {turn_id}` shows it.")
            many = "several turns begin" if matches else "no turn begins"
            raise BadUsage(f"In this chat {many} with {turn_id!r}.", fix="`%chat history` lists them.")
        return matches[0]

    def numbered_turns(self) -> dict[int, tuple[Node[V], V]]:
        """Return the turns of the active branch by their numbers, from 1 on, each with its node."""
        turns = ((node, node.turn) for node in self.active_path)
        return dict(enumerate(((node, turn) for node, turn in turns if turn is not None), 1))

    def number_of(self, turn: V) -> str:
        """Return the number of a turn of the active branch, with that of its version unless it is the current one.

        Empty for a turn of another branch.
        """
        for number, (node, current) in self.numbered_turns().items():
            if turn in node.versions:
                return str(number) if turn is current else f"{number}.{node.versions.index(turn) + 1}"
        return ""

    def _numbered(self, number: int, version: int) -> tuple[Node[V], V]:
        """Return a turn by its number, and the number of its version; 0 for the current one."""
        turns = self.numbered_turns()
        if number not in turns:
            known = f"it has the turns 1 to {len(turns)}" if len(turns) > 1 else "it has 0 turns"
            known = "it has turn 1 only" if len(turns) == 1 else known
            raise BadUsage(f"This line has no number {number}: {known}.", fix="`%chat history` lists them.")
        node, turn = turns[number]
        if version > len(node.versions):
            many = f"versions 1 to {len(node.versions)}" if len(node.versions) > 1 else "one version"
            raise BadUsage(f"Turn {number} has no version {version}: it has {many}.", fix="`%chat history` lists them.")
        return (node, node.versions[version - 1]) if version else (node, turn)

    def turns_from(self, node: Node[V]) -> list[V]:
        """Return all versions of a node and its descendants."""
        return [version for item in _subtree(node) for version in item.versions]

    @property
    def last_deletion(self) -> tuple[Node[V], str] | None:
        """The latest deletion: its node and version ("" for the whole subtree); None if there is none."""
        return (self._nodes[self._deletions[-1].node_id], self._deletions[-1].turn_id) if self._deletions else None

    # --- nodes for new turns ----------------------------------------------------------------------------------

    def node_for_cell(self, cell_id: str = "", *, append: bool = False) -> Node[V]:
        """Return the node for a new turn: the node of its cell on the active branch, else a new one after the tip.

        The tree is not changed: the history is collected first, and `add_version` adds the node.
        """
        line = self.active_path
        if cell_id and not append:
            for node in reversed(line):
                if node.cell_id == cell_id:
                    return node
        return Node[V](line[-1] if line else None, cell_id)

    def new_sibling(self, node: Node[V], cell_id: str = "") -> Node[V]:
        """Return a sibling node for a turn; the cell's own if it has one there already."""
        parent = next(iter(_path(node.parent)[-1:]), None)
        siblings = parent.children if parent else self.roots
        ours = (sibling for sibling in siblings if cell_id and sibling.cell_id == cell_id and sibling is not node)
        return next(ours, None) or Node[V](parent, cell_id)

    def insert_after(self, node: Node[V], cell_id: str = "") -> Node[V]:
        """Return the node for a turn inserted after one of the active branch, before the turns that follow.

        Raises:
            BadUsage: the node is not on the active branch.
        """
        if node not in self.active_path:
            raise BadUsage("A turn can only be inserted on the active branch.", fix="`%chat branch TURN --switch`")
        path = _full_path(self._tip)
        index = path.index(node)
        return Node[V](node, cell_id, insert_before=next(iter(path[index + 1 :]), None))

    def node_from_event(self, event: TurnStarted) -> Node[V]:
        """Return the node of a journalled turn, by its ids; an unknown parent is treated as none."""
        if existing := self._nodes.get(event.node_id):
            return existing
        node = Node[V](self._nodes.get(event.parent_id), event.cell_id, self._nodes.get(event.child_id))
        node.node_id = event.node_id or node.node_id
        return node

    def add_version(self, node: Node[V], version: V) -> None:
        """Add a version to a node, and a new node to the tree; the active branch then includes it."""
        if node.node_id not in self._nodes:
            self._attach(node)
        node.all_versions.append(version)
        node.selected = version.turn_id
        if node not in _full_path(self._tip):
            self._select(self.end_below(node))

    # --- changes ----------------------------------------------------------------------------------------------

    def apply(self, change: TreeChanged) -> None:
        """Apply a change; a change of an unknown node or turn has no effect."""
        if node := self._nodes.get(change.node_id):
            self._change(node, change)
        elif change.op == "branch" and not change.node_id:
            self._tip = None

    def erase(self, turn_id: str) -> None:
        """Remove a version, also a deleted one, from memory; `undo` does not restore it.

        Its node stays, as that of a deleted version does, so that the turns after it keep their place.
        """
        for node in self._nodes.values():
            node.all_versions = [version for version in node.all_versions if version.turn_id != turn_id]
            node.deleted.discard(turn_id)
        left = (replace(deletion, marked=deletion.marked - {turn_id}) for deletion in self._deletions)
        self._deletions = [deletion for deletion in left if deletion.marked]

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
        """Mark one version as deleted, or, if none is named, those of the whole subtree."""
        among = [node] if turn_id else list(_subtree(node))
        marked: set[str] = set()
        for item in among:
            ids = {version.turn_id for version in item.versions if turn_id in ("", version.turn_id)}
            item.deleted |= ids
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
            self._select(self.end_below(node))

    def _attach(self, node: Node[V]) -> None:
        self._nodes[node.node_id] = node
        siblings = node.parent.all_children if node.parent else self._roots
        child, node.insert_before = node.insert_before, None
        if child is not None and child in siblings:  # inserted: the node replaces the child, and becomes its parent
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
    def end_below(node: Node[V]) -> Node[V]:
        """Return the end of the last visited branch below a node; if it is deleted, of the latest child's."""
        while node.children:
            onward = node.last_visited
            sees = onward is not None and (onward.versions or onward.children)
            node = onward if onward is not None and sees else node.children[-1]
        return node


def _visible(nodes: list[Node[V]]) -> Iterator[Node[V]]:
    """Yield these nodes, with each deleted one replaced by its children."""
    waiting = nodes[::-1]
    while waiting:
        node = waiting.pop()
        if node.versions:
            yield node
        else:
            waiting.extend(reversed(node.all_children))


def _full_path(node: Node[V] | None) -> list[Node[V]]:
    """Return the path to a node, including deleted nodes."""
    path: list[Node[V]] = []
    while node:
        path.append(node)
        node = node.parent
    return path[::-1]


def _path(node: Node[V] | None) -> list[Node[V]]:
    return [item for item in _full_path(node) if item.versions]


def _subtree(node: Node[V]) -> Iterator[Node[V]]:
    """Yield a node and its descendants, including deleted ones."""
    waiting = [node]
    while waiting:
        item = waiting.pop()
        yield item
        waiting.extend(item.all_children)
