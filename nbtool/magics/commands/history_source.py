"""A conversation as the explorer asks for it: of this kernel, or a past one of the journal."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from nbtool.blocks.history import totals as summing
from nbtool.blocks.history.protocol import Detail, Found, Index, Totals
from nbtool.blocks.history.rows import index
from nbtool.blocks.history.search import search
from nbtool.blocks.history.static import bundle
from nbtool.blocks.history.turn import detail, media
from nbtool.blocks.media import sent
from nbtool.chat.journal import journal, queries
from nbtool.chat.tree import Tree
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, JournalError
from nbtool.events import Event, TurnStatus
from nbtool.magics.command_context import Here
from nbtool.magics.commands.exports import code_for
from nbtool.messages import Message
from nbtool.view.explorer_messages import CELL_DEEDS, CellWanted

HERE_ACTS = tuple(deed for deed in CELL_DEEDS if deed != "go_on")
"""What a cell can do with a conversation of this kernel."""

PAST_ACTS = ("go_on",)
"""What a cell can do with one that no kernel holds: go on with it, and then all else."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A turn of a journal, with the times that the journal knows; see `blocks.history.told.Told`."""

    turn_id: str
    prompt: Message
    model: str
    status: TurnStatus
    log: Sequence[Event]
    moments: Sequence[float | None]
    difference: object | None = None


class Explored:
    """The history of a conversation; `past` is the id of one that the journal alone holds."""

    def __init__(self, here: Here, tree: Tree[Turn] | None = None, *, past: str = "") -> None:
        self._here = here
        self._tree = tree
        self._past = past

    @property
    def tree(self) -> Tree[Turn]:
        """The conversation as it stands now."""
        return self._here.chat.tree if self._tree is None else self._tree

    @property
    def acts(self) -> tuple[str, ...]:
        """What cells can do with it."""
        return PAST_ACTS if self._past else HERE_ACTS

    def index(self) -> Index:
        """Give the tree as rows."""
        return index(self.tree.roots, {node.node_id for node in self.tree.line})

    def detail(self, turn_id: str) -> Detail:
        """Give one turn; raises BadUsage where there is none."""
        return detail(_timed(self._turn(turn_id)))

    def search(self, text: str) -> list[Found]:
        """Give the turns that hold these words."""
        return search(self._turns(), text)

    def totals(self) -> Totals:
        """Sum up what the conversation took."""
        return summing.totals(self._turns())

    def media(self, turn_id: str, key: str) -> bytes | None:
        """Give the bytes of an image or a sound of a turn; raises BadUsage where there is no such turn."""
        return sent(media(self._turn(turn_id)).get(key))

    def cell(self, wanted: CellWanted) -> str:
        """Write the cell that does this.

        Raises:
            BadUsage: it cannot be done with this conversation or this turn.
        """
        if wanted.deed not in self.acts:
            raise BadUsage("This is a past chat.", fix=f"`%chat open {self._past}` goes on with it.")
        if wanted.deed == "go_on":
            return self._here.cells.line(f"open {self._past}")
        return self._written(wanted, self._turn(wanted.turn_id))

    def bundle(self) -> dict[str, str]:
        """Give all of it as static HTML and plain text."""
        return bundle(self.index(), self.totals(), {turn.turn_id: turn for turn in self._turns()})

    def _written(self, wanted: CellWanted, turn: Turn) -> str:
        match wanted.deed:
            case "rerun" | "execute" | "resume" | "edit":
                return self._here.cells.said_again(wanted.deed, turn, from_round=wanted.round)
            case "code":
                return code_for(self._here, turn, wanted.call_id).text
            case "bind":
                reference = self._reference(turn, wanted.call_id)
                return self._here.cells.line(f"bind {shlex.quote(reference)}")
            case _:
                return self._here.cells.about(wanted.deed, turn)

    def _reference(self, turn: Turn, call_id: str) -> str:
        for call in turn.calls:
            if call.call_id == call_id and call.reference:
                return call.reference
        raise BadUsage("This call left no result that is kept.", fix="`%chat vars` lists what there is.")

    def _turn(self, turn_id: str) -> Turn:
        return self.tree.found(turn_id)[1]

    def _turns(self) -> Iterator[Turn]:
        return (turn for node in self.tree.nodes() for turn in node.versions)


def _timed(turn: Turn) -> Turn | Timed:
    """Give a turn with the times of its events: its own, or those of the journal."""
    if len(turn.moments) >= len(turn.log):
        return turn
    known: defaultdict[tuple[object, ...], list[float]] = defaultdict(list)
    with suppress(JournalError):
        for at, event in journal().read(lambda connection: queries.moments(connection, turn.turn_id)):
            known[_key(event)].append(at)
    for times in known.values():
        times.reverse()
    moments = [known[_key(event)].pop() if known[_key(event)] else None for event in turn.log]
    return Timed(turn.turn_id, turn.prompt, turn.model, turn.status, turn.log, moments, turn.difference)


def _key(event: Event) -> tuple[object, ...]:
    return event.kind, getattr(event, "call_id", ""), getattr(event, "round", 0), getattr(event, "gate", "")
