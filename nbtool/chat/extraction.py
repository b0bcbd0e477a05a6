"""A line or a subtree of a conversation as a chat of its own: copies of its turns, with new ids, in the journal too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from nbtool.chat.chat_base import ChatBase
from nbtool.chat.conversation import TurnRef, restore
from nbtool.chat.conversation.tree import Node, Tree
from nbtool.chat.journal import TurnWriter, journal, redactor_for
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import Event, TurnStarted
from nbtool.ids import new_id, short_id
from nbtool.threads.loop import run_sync

C = TypeVar("C", bound=ChatBase)

IN_FORMER_CHAT = "it belongs to the chat from which this one was made"
"""Why a reference to a result is invalid in the new chat."""


def turns_to_extract(chat: ChatBase, /, turn: TurnRef = None, *, subtree: bool = False) -> tuple[Turn, ...]:
    """Return the turns that `extract_chat` takes, and change nothing.

    They are the line from the first turn to this one (default: the last), or with `subtree` this one and all that
    follow it, in all their versions.

    Raises:
        BadUsage: the turn does not exist, or one of them is still running.
    """
    return tuple(
        version for node in _nodes(chat, turn, subtree=subtree) for version in _versions(node, subtree=subtree)
    )


def extract_chat(chat: C, /, turn: TurnRef = None, *, subtree: bool = False, cut: bool = False) -> C:
    """Return a chat of its own with copies of the turns that `turns_to_extract` lists, and with the same settings.

    It has the line from the first turn to `turn` (default: the last one); with `subtree`, `turn` and all that follow
    it, as its beginning. Their results stay in this chat: there, references to them fail with the reason. With `cut`
    the subtree is deleted here, until `undo`.

    Raises:
        BadUsage: the turn does not exist, one of them is still running, or a line is to be cut, whose beginning other
            branches share.
    """
    if cut and not subtree:
        raise BadUsage(
            "A line cannot be cut out: other branches may share its beginning.",
            fix="Cut a subtree, or copy the line and delete what is not needed.",
        )
    nodes = _nodes(chat, turn, subtree=subtree)
    made, tree, places = chat.fork(), Tree[Turn](), dict[str, str]()
    copies: dict[str, Turn] = {}
    for node in nodes:
        for version in _versions(node, subtree=subtree):
            events = _copied(version, node, places)
            start = _start(events)
            run_sync(_write(made, events, start.turn_id))
            copies[node.node_id] = restore.restore_turn(events, before=version.context[:-1])
            tree.add_version(tree.node_from_event(start), copies[node.node_id])
    restore.adopt_tree(made, made.variables, tree, IN_FORMER_CHAT)
    _mark(made, nodes, copies)
    if active := [node for node in chat.tree.active_path if node.node_id in copies]:
        made.switch(copies[active[-1].node_id])
    if cut:
        chat.delete(nodes[0].turn, below=True)
    return made


def _nodes(chat: ChatBase, turn: TurnRef, *, subtree: bool) -> Sequence[Node[Turn]]:
    """Return the nodes to copy, parents first."""
    node, _ = chat.find_turn(turn)
    nodes = (
        [item for item in chat.tree.nodes() if node in chat.tree.path(item)] if subtree else list(chat.tree.path(node))
    )
    versions = (version for item in nodes for version in _versions(item, subtree=subtree))
    if running := next((version for version in versions if not version.done.done()), None):
        raise BadUsage(f"{short_id(running.turn_id)} is still running.", fix="Wait for it, or stop it first.")
    return nodes


def _versions(node: Node[Turn], *, subtree: bool) -> tuple[Turn, ...]:
    """Return the versions of a node that are copied, the current one last."""
    if node.turn is None:
        return ()
    others = tuple(version for version in node.versions if version is not node.turn) if subtree else ()
    return (*others, node.turn)


def _copied(turn: Turn, node: Node[Turn], places: dict[str, str]) -> list[Event]:
    """Return the events of a turn with new ids of the turn and its place; its calls keep theirs."""
    here = places.setdefault(node.node_id, new_id("n"))
    parent, above = "", node.parent
    while above is not None and not parent:
        parent, above = places.get(above.node_id, ""), above.parent

    def placed(event: Event) -> Event:
        """Return the start at its new place, and without its cell: that makes versions in the former chat."""
        if not isinstance(event, TurnStarted):
            return event
        return replace(event, turn_id=turn_id, node_id=here, parent_id=parent, child_id="", cell_id="", told_from="")

    turn_id = new_id("turn")
    return [placed(event) for event in turn.log]


def _start(events: Sequence[Event]) -> TurnStarted:
    return next(event for event in events if isinstance(event, TurnStarted))


def _mark(made: ChatBase, nodes: Sequence[Node[Turn]], copies: dict[str, Turn]) -> None:
    """Hide and pin the copies of what is hidden and pinned."""
    for node in nodes:
        if (copy := copies.get(node.node_id)) and node.hidden:
            made.hide(copy)
        if copy and node.pinned:
            made.pin(copy)


async def _write(made: ChatBase, events: Sequence[Event], turn_id: str) -> None:
    """Write the events of a copied turn to the journal, as those of a turn that ran."""
    hide = redactor_for(made.plugins, turn_id)
    await TurnWriter(journal(), made.chat_id, turn_id, hide=hide).write(*events)
