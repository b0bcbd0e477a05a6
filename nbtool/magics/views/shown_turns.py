"""The outputs of finished turns in this kernel, kept up to date when other cells change the conversation.

Each shows how many versions there are, says when it is no longer part of the active branch, and what was put back of
its changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.protocol import Document, NoticeBlock
from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.magics.notebook.turn_output import version_fields

MAX_SHOWN = 64
"""Outputs that are kept up to date, the latest ones; an older one shows the versions of when it ended."""

LEFT = "Not on the current line: later prompts do not see it."
WAY_BACK = " `{command}` goes back here."


def line_note(turn: Turn, cells: CellSource) -> str:
    """Return what is said of a turn that is not on the current line of its chat."""
    return LEFT + WAY_BACK.format(command=cells.action("switch", turn))


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A finished turn in the output of a cell: the handle of its display, its blocks, and cells about its chat."""

    turn: Turn
    handle: Any
    transcript: Transcript
    cells: CellSource = field(default_factory=CellSource)

    def update(self, *, has_left: bool) -> None:
        """Show the turn as it is now."""
        document = self.transcript.document()
        if has_left:
            document = _with_notice(document, line_note(self.turn, self.cells))
        self.handle.update(turn_mimebundle(document, self.transcript.media), raw=True)


class ShownTurns:
    """Outputs by the ids of their turns; `max_shown` of them."""

    def __init__(self, max_shown: int = MAX_SHOWN) -> None:
        self._shown: dict[str, ShownTurn] = {}
        self._left: set[str] = set()
        self._max_shown = max_shown

    def add(self, shown: ShownTurn) -> None:
        """Add the output of a turn, in place of an earlier one in the same cell."""
        cell = shown.turn.cell_id
        former = [key for key, shown_turn in self._shown.items() if cell and shown_turn.turn.cell_id == cell]
        for key in former:
            self._remove(key)
        self._shown[shown.turn.turn_id] = shown
        while len(self._shown) > self._max_shown:
            self._remove(next(iter(self._shown)))

    def update_others(self, turn: Turn, chat: Chat) -> None:
        """Show in the outputs of other turns what a turn changed: the number of its versions, and the active branch."""
        others = {version.turn_id for version in chat.tree.find(turn.turn_id).versions} - {turn.turn_id}
        for turn_id in others & self._shown.keys():
            shown = self._shown[turn_id]
            shown.transcript.update_head(**version_fields(shown.turn, chat))
        self._update(self._change_branch(chat) - {turn.turn_id} | others)

    def update_branch(self, chat: Chat) -> None:
        """Show in the outputs of turns that they left the active branch, or are on it again."""
        self._update(self._change_branch(chat))

    def update_undone(self, turn_id: str, text: str, *, can_undo: bool) -> None:
        """Show in the output of a turn what was put back of its changes, and whether anything is left to be undone."""
        if shown := self._shown.get(turn_id):
            shown.transcript.show_undone(text, can_undo)
            self._update({turn_id})

    def _update(self, turn_ids: set[str]) -> None:
        for turn_id in [key for key in self._shown if key in turn_ids]:
            self._shown[turn_id].update(has_left=turn_id in self._left)

    def _change_branch(self, chat: Chat) -> set[str]:
        """Note which turns are beside the active branch now; return those for which that changed."""
        left = set(self._ids_beside_active(chat))
        changed = (left ^ self._left) & {version.turn_id for node in chat.tree.nodes() for version in node.versions}
        self._left = self._left - changed | left & changed
        return changed

    def _ids_beside_active(self, chat: Chat) -> Iterator[str]:
        """Yield the shown turns of a chat that are not on its active branch."""
        active = set(chat.tree.active_path)
        for node in chat.tree.nodes():
            if node not in active:
                yield from (version.turn_id for version in node.versions if version.turn_id in self._shown)

    def _remove(self, turn_id: str) -> None:
        del self._shown[turn_id]
        self._left.discard(turn_id)


shown_turns = ShownTurns()
"""The outputs of the finished turns of this kernel."""


def _with_notice(document: Document, text: str) -> Document:
    block: NoticeBlock = {"id": "left", "kind": "notice", "text": text, "level": "info"}
    return {**document, "blocks": [*document["blocks"], block]}
