"""The source of cells that act on a turn: a page inserts them below, and the person reviews and runs them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

from nbtool.blocks.sanitize import escape_invisible
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.ids import is_id, short_id
from nbtool.text import shorten

MAX_SHOWN = 60
"""Characters of what is no id that an error shows."""

CODE, SWITCH = "export py --cell", "branch {turn} --switch"
"""The commands that write the calls of a turn as a cell, and that go on from a version."""

RerunKind = Literal["rerun", "edit", "execute", "resume"]

_HOW: dict[RerunKind, str] = {"execute": ":tools", "resume": ":resume"}
"""What follows the turn of `--rerun`."""


@dataclass(frozen=True, slots=True)
class CellSource:
    """Writes the source of cells about one conversation, `chat`, with the actual name of the magics.

    `fixes` is the number of the failed cell that the turn of the cell is about; 0 for none.
    """

    chat: str = "main"
    magic: str = "chat"
    fixes: int = 0

    @property
    def cell_magic(self) -> str:
        """The first line of a cell that sends a prompt in this conversation."""
        return f"%{self.line()}"

    def line(self, words: str = "") -> str:
        """Return a `%chat` line.

        Raises:
            BadUsage: a name or id in it contains a line break, or is like a flag; they may come from a forged history.
        """
        if self.chat.startswith("-"):
            raise BadUsage(
                f"The chat {shorten(self.chat, MAX_SHOWN)!r} cannot be named in a cell: it reads like a flag."
            )
        chat = "" if self.chat == "main" else f" -c {shlex.quote(self.chat)}"
        line = f"%{self.magic}{chat}{words and f' {words}'}"
        if not line.isprintable():
            raise BadUsage("This cannot be written as one line.", fix="Remove the line break or control character.")
        return line

    def turn_command(self, command: str, turn: Turn) -> str:
        """Return the line of a command about the turn, `{turn}` in it or at its end; raises as `id_word`."""
        word = id_word(turn.turn_id)
        return self.line(command.format(turn=word) if "{turn}" in command else f"{command} {word}")

    def rerun_cell(self, kind: RerunKind, turn: Turn, *, from_round: int = 0) -> str:
        """Return the cell that repeats the turn: unchanged, edited, with its tools run again, or resumed."""
        how = f":{from_round}" if kind == "rerun" and from_round > 1 else _HOW.get(kind, "")
        flag = "--edit" if kind == "edit" else "--rerun"
        prompt = f"\n{escape_invisible(turn.prompt.text)}" if kind == "edit" else ""
        return f"%{self.line(f'{flag} {id_word(turn.turn_id)}{how}')}{prompt}"


def id_word(id_: str) -> str:
    """Return an id as a word of a cell.

    Raises:
        BadUsage: it has not the form of one: in a cell it might be a flag. It may come from a forged history.
    """
    if id_.isprintable() and not is_id(id_):  # `line` refuses any other
        raise BadUsage(f"{shorten(repr(id_), MAX_SHOWN)} is not an id, so no cell is written for it.")
    return short_id(id_)


def model_option(name: str) -> str:
    """Return the option that names a model as words of a cell; the name may be a server's, and look like a flag."""
    return f"--model={shlex.quote(name)}" if name.startswith("-") else f"-m {shlex.quote(name)}"
