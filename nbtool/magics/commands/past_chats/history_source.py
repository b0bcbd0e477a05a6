"""The data of the explorer: a conversation of this kernel, or a past one from the journal."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from nbtool.blocks.history import usage_totals as summing
from nbtool.blocks.history.conversation_search import search
from nbtool.blocks.history.protocol import Detail, Index, SavedHistory, SearchHit, Totals
from nbtool.blocks.history.saved_history import saved_history
from nbtool.blocks.history.static_history import mimebundle
from nbtool.blocks.history.timeline import TimedLog, timed_log
from nbtool.blocks.history.tree_rows import tree_rows
from nbtool.blocks.history.turn_steps import detail, media
from nbtool.blocks.media import displayable_bytes
from nbtool.chat.conversation.tree import Tree
from nbtool.chat.journal import journal, queries
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, JournalError
from nbtool.events import Event
from nbtool.ids import short_id
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.commands.turns.branches import name_branch
from nbtool.magics.notebook.inserted_cell import id_word
from nbtool.magics.notebook.turn_code import turn_code
from nbtool.view.actions import ActionId, actions_at
from nbtool.view.explorer_messages import CellRequest


class HistorySource:
    """The history of a conversation; `past` is the id of one that only the journal holds."""

    def __init__(self, context: CommandContext, tree: Tree[Turn] | None = None, *, chat_id: str = "") -> None:
        self._context = context
        self._tree = tree
        self.chat_id = chat_id

    @property
    def tree(self) -> Tree[Turn]:
        """The current state of the conversation."""
        return self._context.chat.tree if self._tree is None else self._tree

    @property
    def actions(self) -> tuple[ActionId, ...]:
        """The actions that are available; a past conversation has to be continued first."""
        return actions_at("past") if self.chat_id else actions_at("explorer", "call", "toolbar")

    def index(self) -> Index:
        """Return the tree as rows, and the totals of its active line."""
        line = self.tree.active_path
        index = tree_rows(self.tree.roots, {node.node_id for node in line})
        index["line_totals"] = summing.line_totals(node.turn for node in line if node.turn)
        return index

    def detail(self, turn_id: str) -> Detail:
        """Return one turn; raises BadUsage if it does not exist."""
        turn = self._turn(turn_id)
        return detail(turn, _timed_log(turn))

    def search(self, text: str) -> list[SearchHit]:
        """Return the turns that contain the text."""
        return search(self._turns(), text)

    def totals(self) -> Totals:
        """Return the usage totals of the conversation."""
        return summing.totals(self._turns())

    def media(self, turn_id: str, key: str) -> bytes | None:
        """Return the bytes of an image or a sound of a turn; raises BadUsage if the turn does not exist."""
        return displayable_bytes(media(self._turn(turn_id)).get(key))

    def cell(self, request: CellRequest) -> str:
        """Return the source of the cell for an action.

        Raises:
            BadUsage: the action is not available for this conversation or turn.
        """
        if request.action not in self.actions:
            raise BadUsage("This is a past chat.", fix=f"`%chat open {short_id(self.chat_id)}` continues it.")
        if request.action == "go_on":
            return self._context.cells.action("go_on", past=id_word(self.chat_id))
        if request.action == "export":
            return self._context.cells.action("export")
        return self._cell_for(request, self._turn(request.turn_id))

    def name_branch(self, turn_id: str, name: str) -> str:
        """Make the branch of a turn a chat of its own with this name; return what was done.

        Raises:
            BadUsage: it is a past chat, the turn does not exist, or the name is not free.
        """
        if self.chat_id:
            raise BadUsage("This is a past chat.", fix=f"`%chat open {short_id(self.chat_id)}` continues it.")
        return name_branch(self._context, turn_id, name)

    def bundle(self) -> dict[str, str]:
        """Return the whole history as static HTML and plain text."""
        return mimebundle(self.index(), self.totals(), {turn.turn_id: turn for turn in self._turns()})

    def saved(self, title: str, turn: str) -> SavedHistory:
        """Return the whole history as data for a page without a kernel; `turn` is opened first."""
        documents = {item.turn_id: item.transcript().document() for item in self._turns() if item.done.done()}
        return saved_history(self.index(), self.totals(), documents, title=title, turn=turn)

    def _cell_for(self, request: CellRequest, turn: Turn) -> str:
        match request.action:
            case "code":
                names = self._context.kernel.shell.user_ns
                return turn_code(turn, self._context.chat, names, request.call_id).text
            case "bind":
                reference = shlex.quote(self._reference(turn, request.call_id))
                return self._context.cells.action("bind", turn, reference=reference)
            case action:
                return self._context.cells.action(action, turn, round=max(request.round, 1))

    def _reference(self, turn: Turn, call_id: str) -> str:
        for call in turn.calls:
            if call.call_id == call_id and call.reference.isidentifier():
                return call.reference
        raise BadUsage("This call has no stored result.", fix="`%chat tools` lists the available ones.")

    def _turn(self, turn_id: str) -> Turn:
        return self.tree.get(turn_id)[1]

    def _turns(self) -> Iterator[Turn]:
        return (turn for node in self.tree.nodes() for turn in node.versions)


def _timed_log(turn: Turn) -> TimedLog:
    """Return the events of a turn with their times, from the kernel or from the journal."""
    if len(turn.event_times) >= len(turn.log):
        return timed_log(turn)
    times_by_key: defaultdict[tuple[object, ...], list[float]] = defaultdict(list)
    with suppress(JournalError):
        for at, event in journal().read(lambda connection: queries.event_times(connection, turn.turn_id)):
            times_by_key[_key(event)].append(at)
    for times in times_by_key.values():
        times.reverse()
    return [(times.pop() if (times := times_by_key[_key(event)]) else None, event) for event in turn.log]


def _key(event: Event) -> tuple[object, ...]:
    return event.kind, getattr(event, "call_id", ""), getattr(event, "round", 0), getattr(event, "gate", "")
