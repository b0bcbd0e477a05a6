"""Write a conversation as JSON, and read it back: the tree and every event.

A file is untrusted input. It is converted to plain values: nothing runs, nothing is imported or fetched, no approval is
carried over, and the turns are marked as imported. Two things are not written: data that only the provider can read
(signatures, encrypted reasoning), and deleted turns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from nbtool.blocks.sanitize import escape_invisible
from nbtool.chat.conversation import restore
from nbtool.chat.conversation.tree import Node, Tree
from nbtool.chat.export.visibility import imported_notice, shareable_events
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, NbtoolError
from nbtool.event_json import dump_event, load_events
from nbtool.events import TreeChanged, TurnEnded, TurnStarted
from nbtool.ids import is_id
from nbtool.text import count_of, shorten

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT = "nbtool.conversation"
VERSION = 1

MAX_BYTES = 256 * 1024 * 1024
"""Maximum bytes of an imported file."""

MAX_TURNS = 100_000
"""Maximum turns of an imported conversation."""

FINAL_STATUSES = ("completed", "cancelled", "error", "timeout")


@dataclass(frozen=True, slots=True)
class NodeData:
    """A node of the tree in the file: `turns` are the ids of its versions, `current` is the selected one."""

    node_id: str
    parent_id: str
    cell_id: str
    hidden: bool
    pinned: bool
    turns: list[str]
    current: str


@dataclass(frozen=True, slots=True)
class ConversationFile:
    """The contents of a file: nodes, parents first; `tip` is the end of the active branch; the events of each turn."""

    format: Literal["nbtool.conversation"]
    version: int
    tip: str
    nodes: list[NodeData]
    turns: dict[str, list[dict[str, Any]]]


def dump_conversation(tree: Tree[Turn], plugins: Sequence[object] = ()) -> str:
    """Return a conversation as JSON, without running turns and without the values that plugins redact."""
    nodes = list(_nodes(tree))
    ended_turns = {version.turn_id: version for node in nodes for version in _ended_turns(node)}
    line = [node for node in tree.active_path if _ended_turns(node)]
    data = {
        "format": FORMAT,
        "version": VERSION,
        "tip": line[-1].node_id if line else "",
        "nodes": [_node_data(node) for node in nodes],
        "turns": {
            turn_id: [json.loads(dump_event(event)) for event in shareable_events(turn, plugins)]
            for turn_id, turn in ended_turns.items()
        },
    }
    text = json.dumps(data, ensure_ascii=False, indent=1)
    return (text if escape_invisible(text) == text else "".join(map(_escaped, text))) + "\n"


def load_conversation(data: bytes | str) -> Tree[Turn]:
    """Return the tree of a conversation in the format of `dump_conversation`; the input is untrusted.

    Raises:
        BadUsage: the format is wrong, newer than this nbtool, or inconsistent.
    """
    file = _file(data)
    rebuilt: Tree[Turn] = Tree()
    turns = {turn_id: _turn(turn_id, events) for turn_id, events in file.turns.items()}
    for node in file.nodes:
        for turn_id in node.turns:
            began = TurnStarted(turn_id, "", turns[turn_id].prompt, 0.0, node.cell_id, node.node_id, node.parent_id)
            rebuilt.add_version(rebuilt.node_from_event(began), turns[turn_id])
    for node in file.nodes:
        for op, wanted in (("hide", node.hidden), ("pin", node.pinned)):
            if wanted:
                rebuilt.apply(TreeChanged(op, node.node_id))  # type: ignore[arg-type]  # both are operations
        rebuilt.apply(TreeChanged("switch", node.node_id, node.current))
    rebuilt.apply(TreeChanged("branch", file.tip))
    return rebuilt


def _nodes(tree: Tree[Turn]) -> Iterator[Node[Turn]]:
    return (node for node in tree.nodes() if _ended_turns(node))


def _ended_turns(node: Node[Turn]) -> list[Turn]:
    return [version for version in node.versions if version.done.done()]


def _node_data(node: Node[Turn]) -> dict[str, Any]:
    above = node.parent
    while above and not _ended_turns(above):
        above = above.parent
    turns = [version.turn_id for version in _ended_turns(node)]
    current = node.turn.turn_id if node.turn else ""
    return {
        "node_id": node.node_id,
        "parent_id": above.node_id if above else "",
        "cell_id": node.cell_id,
        "hidden": node.hidden,
        "pinned": node.pinned,
        "turns": turns,
        "current": current if current in turns else turns[-1],
    }


def _escaped(letter: str) -> str:
    return letter if escape_invisible(letter) == letter else json.dumps(letter)[1:-1]


def _file(data: bytes | str) -> ConversationFile:
    from pydantic import ValidationError  # noqa: PLC0415 - only where a file is read
    from pydantic_core import from_json as parsed  # noqa: PLC0415 - the same

    if len(data) > MAX_BYTES:
        raise BadUsage(f"The file is larger than {MAX_BYTES >> 20} MiB.")
    try:
        plain = parsed(data, allow_inf_nan=False)
        if isinstance(plain, dict) and type(plain.get("version")) is int and plain["version"] > VERSION:
            raise BadUsage(f"The file is of a newer nbtool (format {plain['version']}).", fix="Update nbtool.")
        file = _adapter().validate_json(data, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = shorten(".".join(map(str, first["loc"])), 100) or "the file"
        raise _invalid(f"at {where!r}: {shorten(first['msg'], 100)}") from None
    except (ValueError, RecursionError) as error:
        raise _invalid(f"it is not JSON: {shorten(str(error), 100)}") from None
    _check(file)
    return file


def _check(file: ConversationFile) -> None:
    """Check that the nodes form a tree and that every turn occurs exactly once."""
    node_ids: set[str] = set()
    turn_ids: list[str] = []
    for node in file.nodes:
        if node.node_id in node_ids or not is_id(node.node_id):
            raise _invalid(f"the node id {shorten(node.node_id, 64)!r} is duplicate or invalid")
        if node.parent_id and node.parent_id not in node_ids:
            raise _invalid(f"the node {shorten(node.parent_id, 64)!r} does not precede its children")
        if node.current not in node.turns:
            raise _invalid(f"the current turn of node {node.node_id!r} is not one of its turns")
        node_ids.add(node.node_id)
        turn_ids += node.turns
    if file.version != VERSION or len(turn_ids) > MAX_TURNS:
        raise _invalid(f"it has format {file.version} and {count_of(len(turn_ids), 'turn')}")
    if (
        len(set(turn_ids)) != len(turn_ids)
        or set(turn_ids) != file.turns.keys()
        or (file.tip and file.tip not in node_ids)
    ):
        raise _invalid("its nodes and its turns do not match")


def _turn(turn_id: str, items: list[dict[str, Any]]) -> Turn:
    try:
        events = load_events(items)
        turn = restore.restore_turn([*events[:1], imported_notice(), *events[1:]], is_trusted=False)
    except NbtoolError as error:
        raise _invalid(f"the turn {shorten(turn_id, 64)!r}: {error.message}") from None
    starts = [event for event in events if isinstance(event, TurnStarted)]
    if not is_id(turn_id) or len(starts) != 1 or starts[0] is not events[0] or turn.turn_id != turn_id:
        raise _invalid(f"the turn {shorten(turn_id, 64)!r} has an invalid beginning")
    ends = [event for event in events if isinstance(event, TurnEnded)]
    if len(ends) > 1 or any(event.status not in FINAL_STATUSES for event in ends):
        raise _invalid(f"the turn {turn_id!r} has an invalid end")
    return turn


def _invalid(what: str) -> BadUsage:
    return BadUsage(
        f"Not a conversation exported by nbtool: {escape_invisible(what)}.", fix="`%chat export json` writes one."
    )


@cache
def _adapter() -> TypeAdapter[ConversationFile]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - only where a file is read

    return TypeAdapter(ConversationFile)
