"""A conversation: a tree of turns, whose every change is in the journal before it is made."""

from __future__ import annotations

import asyncio
import weakref

from nbtool.chat.journal import TurnWriter, journal
from nbtool.chat.tree import Node, Tree
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import TreeChanged, TreeOp
from nbtool.loop import reset_after_fork, run_sync
from nbtool.messages import new_id

TurnRef = str | Turn | None
"""A turn, the beginning of its id, or None: the last one of the active line."""


class Conversation:
    """What was said, and which line of it counts.

    A turn is named by itself or by the beginning of its id. A hidden turn is not told to the model, a pinned one is
    told whatever the window; both are shown all the same. Nothing here erases: `undo` brings back what was deleted.
    """

    def __init__(self) -> None:
        self.tree: Tree[Turn] = Tree()
        self.chat_id = new_id("chat")
        self.lock = asyncio.Lock()
        _conversations.add(self)

    def hide(self, turn: TurnRef = None) -> Node[Turn]:
        """Tell a turn to the model no more, whichever of its versions counts; gives its place."""
        return self._change("hide", self.find_turn(turn)[0])

    def show(self, turn: TurnRef = None) -> Node[Turn]:
        """Tell a hidden turn again; gives its place."""
        return self._change("show", self.find_turn(turn)[0])

    def pin(self, turn: TurnRef = None) -> Node[Turn]:
        """Tell a turn also where the window is too short for it; gives its place."""
        return self._change("pin", self.find_turn(turn)[0])

    def unpin(self, turn: TurnRef = None) -> Node[Turn]:
        """Let the window decide again; gives the turn's place."""
        return self._change("unpin", self.find_turn(turn)[0])

    def delete(self, turn: TurnRef, *, below: bool = False) -> Node[Turn]:
        """Delete one version, or, `below`, all of its place and everything that was said after it; gives its place.

        Where a place has no version left, what followed it follows the one before.

        Raises:
            BadUsage: a turn among them is still on its way.
        """
        node, version = self.find_turn(turn)
        self._check_ended(node, version, below=below)
        return self._change("delete", node, "" if below else version.turn_id)

    def undo(self) -> Node[Turn]:
        """Take the latest deletion back; gives its place.

        Raises:
            BadUsage: nothing is deleted.
        """
        if not (last := self.tree.last_deletion):
            raise BadUsage("Nothing was deleted, so there is nothing to undo.")
        node, turn_id = last
        return self._change("restore", node, turn_id)

    def switch(self, where: str | Turn) -> Node[Turn]:
        """Go to a branch, by its number in `%chat history` or by a turn on it, or to another version of a place.

        A turn of the active line becomes the version that counts there, and the line stays.

        Raises:
            BadUsage: there is no such branch or turn.
        """
        branches = self.tree.branches()
        if isinstance(where, str) and where.isdecimal():
            if not 0 < int(where) <= len(branches):
                raise BadUsage(f"There are {len(branches)} branches, and no number {where}.", fix="`%chat history`")
            node = branches[int(where) - 1]
            return self._change("switch", node)
        node, version = self.find_turn(where)
        return self._change("switch", node, version.turn_id)

    def branch(self, turn: TurnRef = None) -> Node[Turn] | None:
        """Let the next turn follow this one, beside what followed it; gives the place.

        Without a turn, the next one is said in place of the last: it follows what that one followed (None: nothing).
        """
        if turn is None:
            node = next(iter(self.tree.active_path[-2:-1]), None)
        else:
            node, _ = self.find_turn(turn)
        self._apply(TreeChanged("branch", node.node_id if node else ""))
        return node

    def new(self) -> None:
        """Begin afresh; what was said stays reachable."""
        self._apply(TreeChanged("branch", ""))

    def find_turn(self, turn: TurnRef) -> tuple[Node[Turn], Turn]:
        """Give the place of a turn and the turn.

        Raises:
            BadUsage: there is no such turn, or nothing was said yet.
        """
        if turn is not None:
            return self.tree.get(turn if isinstance(turn, str) else turn.turn_id)
        if not (line := self.tree.active_path) or not (last := line[-1].turn):
            raise BadUsage("Nothing was said yet.", fix="Say something first.")
        return line[-1], last

    def _check_ended(self, node: Node[Turn], version: Turn, *, below: bool) -> None:
        among = self.tree.turns_from(node) if below else [version]
        if running := next((one for one in among if not one.done.done()), None):
            raise BadUsage(f"{running.turn_id} is still on its way.", fix="Stop it first.")

    def _change(self, op: TreeOp, node: Node[Turn], turn_id: str = "") -> Node[Turn]:
        self._apply(TreeChanged(op, node.node_id, turn_id))
        return node

    def _apply(self, change: TreeChanged) -> None:
        """Write a change down, then make it; no turn finds its place meanwhile."""

        async def apply() -> None:
            async with self.lock:
                await TurnWriter(journal(), self.chat_id, "").write(change)
                self.tree.apply(change)

        run_sync(apply())


_conversations: weakref.WeakSet[Conversation] = weakref.WeakSet()


def _open_in_child() -> None:
    """Let turns begin in a forked child: one that held the turnstile runs in the other process."""
    for conversation in list(_conversations):
        conversation.lock = asyncio.Lock()


reset_after_fork(_open_in_child)
