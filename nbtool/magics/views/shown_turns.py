"""The outputs of finished turns in this kernel: each shows how many versions there are, also those of other cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.magics.notebook.turn_output import version_fields

MAX_SHOWN = 64
"""Outputs that are kept up to date, the latest ones; an older one shows the versions of when it ended."""


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A finished turn in the output of a cell: the handle of its display, and the turn as blocks."""

    turn: Turn
    handle: Any
    transcript: Transcript


class ShownTurns:
    """Outputs by the ids of their turns; `max_shown` of them."""

    def __init__(self, max_shown: int = MAX_SHOWN) -> None:
        self._shown: dict[str, ShownTurn] = {}
        self._max_shown = max_shown

    def add(self, shown: ShownTurn) -> None:
        """Add the output of a turn, in place of an earlier one in the same cell."""
        cell = shown.turn.cell_id
        former = [key for key, one in self._shown.items() if cell and one.turn.cell_id == cell]
        for key in former:
            del self._shown[key]
        self._shown[shown.turn.turn_id] = shown
        while len(self._shown) > self._max_shown:
            del self._shown[next(iter(self._shown))]

    def update_versions(self, turn: Turn, chat: Chat) -> None:
        """Show the number of versions in the outputs of the other versions of a turn."""
        for version in chat.tree.find(turn.turn_id).versions:
            shown = self._shown.get(version.turn_id)
            if shown is None or version is turn:
                continue
            shown.transcript.update_head(**version_fields(version, chat))
            bundle = turn_mimebundle(shown.transcript.document(), shown.transcript.media)
            shown.handle.update(bundle, raw=True)
