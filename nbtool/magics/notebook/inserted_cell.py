"""The source of cells that act on a turn: a page inserts them below, and the person reviews and runs them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from nbtool.blocks.sanitize import escape_invisible
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.ids import is_id, short_id
from nbtool.text import shorten
from nbtool.view.actions import ACTIONS, ActionId

MAX_SHOWN = 60
"""Characters of what is no id that an error shows."""


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
        """Return a `%chat` line; raises as `action`."""
        return _checked(f"%{self._chat_words}{words and f' {words}'}")

    def action(self, action: ActionId, turn: Turn | None = None, **words: object) -> str:
        """Return the cell that does an action of the table, on a turn or with other words that it takes.

        Raises:
            BadUsage: a name or id in it contains a line break, or is like a flag; they may come from a forged history.
        """
        line, _, body = ACTIONS[action].cell.partition("\n")
        named = {"turn": id_word(turn.turn_id)} if turn else {}
        line = _checked(line.format(chat=self._chat_words, **named, **words))
        if not (body and turn):
            return line
        text = turn.text if body == "{reply}" else turn.prompt.text
        return f"{line}\n{escape_invisible(text)}"

    @property
    def _chat_words(self) -> str:
        """The name of the magic, with the chat unless it is the main one."""
        if self.chat.startswith("-"):
            raise BadUsage(
                f"The chat {shorten(self.chat, MAX_SHOWN)!r} cannot be named in a cell: it reads like a flag."
            )
        return self.magic if self.chat == "main" else f"{self.magic} -c {shlex.quote(self.chat)}"


def _checked(line: str) -> str:
    """Return a line of a cell; raises BadUsage if it would be more than one."""
    if not line.isprintable():
        raise BadUsage("This cannot be written as one line.", fix="Remove the line break or control character.")
    return line


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
