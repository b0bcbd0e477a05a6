"""A conversation: a tree of turns; every change is journalled before it is applied."""

from __future__ import annotations

import asyncio
import weakref
from contextlib import suppress
from functools import partial

from nbtool.argument_check import check_arguments
from nbtool.chat.conversation.tree import Node, Tree
from nbtool.chat.journal import TurnWriter, journal
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import TreeChanged, TreeOp
from nbtool.ids import new_id, short_id
from nbtool.text import shorten
from nbtool.threads.loop import reset_after_fork, run_sync

BRANCH_MARK = "b"
"""What the number of a branch begins with: the number alone would be that of a turn."""

MAX_DIGITS = 9
"""Digits of the number of a branch."""

TurnRef = str | Turn | None
"""A turn, its number, the beginning of its id, or None: the last turn of the active branch."""


@partial(check_arguments, owner="Chat")
class Conversation:
    """The turns of a chat, and which branch of them is active.

    A turn is named by a `Turn` or by the beginning of its id. A hidden turn is not sent to the model, a pinned one is
    sent whatever the window; both stay visible. `undo` restores what was deleted, and not what was erased.
    `named_hosts` are the hosts of the models that a person has named for it, by their names and base URLs.
    """

    tree: Tree[Turn]
    chat_id: str
    lock: asyncio.Lock
    named_hosts: dict[tuple[str, str], str]

    def __init__(self, chat_id: str = "") -> None:
        self.tree = Tree()
        self.chat_id = chat_id or new_id("chat")
        self.lock = asyncio.Lock()
        self.named_hosts = {}
        _conversations.add(self)

    @property
    def running_turns(self) -> tuple[Turn, ...]:
        """The turns that are running, waiting or parked."""
        turns = (turn for node in self.tree.nodes() for turn in node.versions)
        return tuple(turn for turn in turns if turn.status in ("running", "waiting", "parked"))

    def hide(self, turn: TurnRef = None) -> Node[Turn]:
        """Exclude a turn, with all its versions, from requests; return its node."""
        return self._change("hide", self.find_turn(turn)[0])

    def show(self, turn: TurnRef = None) -> Node[Turn]:
        """Include a hidden turn in requests again; return its node."""
        return self._change("show", self.find_turn(turn)[0])

    def pin(self, turn: TurnRef = None) -> Node[Turn]:
        """Include a turn in requests even when it is outside the window; return its node."""
        return self._change("pin", self.find_turn(turn)[0])

    def unpin(self, turn: TurnRef = None) -> Node[Turn]:
        """Remove the pin of a turn; return its node."""
        return self._change("unpin", self.find_turn(turn)[0])

    def delete(self, turn: TurnRef, *, below: bool = False) -> Node[Turn]:
        """Delete one version of a turn, or, with `below`, all versions and all later turns; return its node.

        When a node has no version left, its children are attached to its parent.

        Raises:
            BadUsage: one of these turns is still running.
        """
        node, version = self.find_turn(turn)
        self._check_ended(node, version, below=below)
        return self._change("delete", node, "" if below else version.turn_id)

    def undo(self) -> Node[Turn]:
        """Undo the latest deletion; return its node.

        Raises:
            BadUsage: nothing is deleted.
        """
        if not (last := self.tree.last_deletion):
            raise BadUsage("Nothing was deleted, so there is nothing to undo.")
        node, turn_id = last
        return self._change("restore", node, turn_id)

    def switch(self, where: str | Turn) -> Node[Turn]:
        """Switch to a branch, as `%chat history` lists it or by a turn on it, or to another version of a turn.

        `b2`, or `2` alone, is the second branch, `2.1` version 1 of turn 2.

        A version of a turn on the active branch becomes its current version, and the branch stays active.

        Raises:
            BadUsage: the branch or turn does not exist.
        """
        if isinstance(where, str) and where.removeprefix(BRANCH_MARK).isdecimal():
            return self._change("switch", self._find_end(where))
        node, version = self.find_turn(where)
        return self._change("switch", node, version.turn_id)

    def branch(self, turn: TurnRef = None) -> Node[Turn] | None:
        """Start a new branch after a turn; return its node.

        Without a turn, the next one becomes a sibling of the last: it gets the same parent (None: the root).
        """
        if turn is None:
            node = next(iter(self.tree.active_path[-2:-1]), None)
        else:
            node, _ = self.find_turn(turn)
        self._apply(TreeChanged("branch", node.node_id if node else ""))
        return node

    def new(self) -> None:
        """Start a new branch without history; the earlier turns stay available."""
        self._apply(TreeChanged("branch", ""))

    def erase(self, turn_id: str = "") -> None:
        """Remove a turn from memory; without one, all of them: the conversation then begins again, with a new id.

        The journal is not changed.
        """

        async def apply() -> None:
            async with self.lock:
                if turn_id:
                    self.tree.erase(turn_id)
                else:
                    self.tree, self.chat_id = Tree(), new_id("chat")

        run_sync(apply())

    def find_branch(self, branch: str) -> str:
        """Return the id of the last turn of a branch as `%chat history` lists it, such as `b2`.

        Raises:
            BadUsage: the branch does not exist, or has no turn.
        """
        if not (turn := self._find_end(branch).turn):
            raise BadUsage(f"The branch {branch} has no turn.", fix="`%chat history` lists the branches.")
        return turn.turn_id

    def _find_end(self, branch: str) -> Node[Turn]:
        """Return the last node of a branch."""
        branches, digits = self.tree.branches(), branch.removeprefix(BRANCH_MARK)
        number = int(digits) if len(digits) <= MAX_DIGITS else 0
        if 0 < number <= len(branches):
            return branches[number - 1]
        known = "branch 1 only" if len(branches) == 1 else f"the branches 1 to {len(branches)}"
        problem = f"This chat has no branch {shorten(digits, MAX_DIGITS)}: it has {known}."
        fix = "`%chat history` lists them; `%chat branch 1` starts one after turn 1."
        raise BadUsage(problem if branches else "The chat has no turns yet.", fix=fix)

    def find_turn(self, turn: TurnRef) -> tuple[Node[Turn], Turn]:
        """Return the node of a turn and the turn.

        Raises:
            BadUsage: the turn does not exist, or the chat has no turns yet.
        """
        if turn is not None:
            return self.tree.get(turn if isinstance(turn, str) else turn.turn_id)
        if not (line := self.tree.active_path) or not (last := line[-1].turn):
            raise BadUsage("The chat has no turns yet.", fix="Send a prompt first.")
        return line[-1], last

    def _check_ended(self, node: Node[Turn], version: Turn, *, below: bool) -> None:
        among = self.tree.turns_from(node) if below else [version]
        if running := next((turn for turn in among if not turn.done.done()), None):
            raise BadUsage(f"{short_id(running.turn_id)} is still running.", fix="Stop it first.")

    def _change(self, op: TreeOp, node: Node[Turn], turn_id: str = "") -> Node[Turn]:
        self._apply(TreeChanged(op, node.node_id, turn_id))
        return node

    def _apply(self, change: TreeChanged) -> None:
        """Journal a change, then apply it; under the lock, so that no turn is added meanwhile."""

        async def apply() -> None:
            async with self.lock:
                await TurnWriter(journal(), self.chat_id, "").write(change)
                self.tree.apply(change)

        run_sync(apply())


_conversations: weakref.WeakSet[Conversation] = weakref.WeakSet()


def open_conversations() -> list[Conversation]:
    """Return the conversations of all chats of this process."""
    while True:
        with suppress(RuntimeError):  # another thread has just begun a chat, and the set has changed meanwhile
            return list(_conversations)


def _open_in_child() -> None:
    """Reset the locks in a forked child: a turn that held one is running in the parent process."""
    for conversation in list(_conversations):
        conversation.lock = asyncio.Lock()


reset_after_fork(_open_in_child)
