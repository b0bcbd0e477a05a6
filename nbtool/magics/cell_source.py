"""Cells that do something with a turn: a page puts them below, and a person looks at them and runs them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

from nbtool.blocks.sanitize import escape_invisible
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage

RerunKind = Literal["rerun", "edit", "execute", "resume"]

_FLAGS: dict[RerunKind, str] = {"rerun": "--rerun", "edit": "--edit", "execute": "--re-execute", "resume": "--resume"}


@dataclass(frozen=True, slots=True)
class CellSource:
    """Writes cells about one conversation, `chat`, with the magics as they are called in this kernel."""

    chat: str = "main"
    magic: str = "chat"

    @property
    def cell_magic(self) -> str:
        """What a cell begins with that says something in this conversation."""
        return f"%{self.line()}"

    def line(self, words: str = "") -> str:
        """Write a line of administration.

        Raises:
            BadUsage: a name or an id in it would begin another line; they may come from a history that was forged.
        """
        chat = "" if self.chat == "main" else f" -c {shlex.quote(self.chat)}"
        line = f"%{self.magic}{chat}{words and f' {words}'}"
        if not line.isprintable():
            raise BadUsage("This cannot be written as one line.", fix="It holds a line break or a control character.")
        return line

    def turn_command(self, command: str, turn: Turn) -> str:
        """Write the line that does `word` with a turn."""
        return self.line(f"{command} {turn.turn_id}")

    def rerun_cell(self, kind: RerunKind, turn: Turn, *, from_round: int = 0) -> str:
        """Write the cell that says a turn once more: as it was, edited, with its tools run again, or to its end."""
        first = f" --from {from_round}" if kind in ("rerun", "execute") and from_round > 1 else ""
        prompt = f"\n{escape_invisible(turn.prompt.text)}" if kind == "edit" else ""
        return f"%{self.line(f'{_FLAGS[kind]} {turn.turn_id}{first}')}{prompt}"
