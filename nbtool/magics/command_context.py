"""Where a command runs, and what the commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from nbtool.chat.chat import Chat
from nbtool.chat.recording.file import Recording
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.magics.cell_source import CellSource
from nbtool.magics.config import NbTool
from nbtool.magics.namespace import NotebookNamespace


class Kernel(Protocol):
    """The conversations of one kernel by name, its shell, the names of its notebook, and what is set for all cells.

    `listed` are the models that a provider named when it was asked last, `recording` is where turns are reused from,
    and `magic` is what the magics are called here.
    """

    magic: str
    chats: dict[str, Chat]
    shell: Any
    names: NotebookNamespace
    settings: NbTool
    model_list: list[str]
    recording: Recording | None

    def chat(self, name: str) -> Chat:
        """Give the conversation of this name; made when first asked for."""


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The conversation that a command is about, its name, and the kernel around it."""

    kernel: Kernel
    name: str = "main"

    @property
    def chat(self) -> Chat:
        """The conversation."""
        return self.kernel.chat(self.name)

    @property
    def cells(self) -> CellSource:
        """Writes cells about the conversation."""
        return CellSource(self.name, self.kernel.magic)

    def restart_chat(self) -> Chat:
        """Give a new conversation this name; of the former one the model stays, and nothing else.

        Raises:
            BadUsage: a turn of the former one has outlived its cell.
        """
        former = self.kernel.chats.get(self.name)
        if former:
            former.check_idle()
            del self.kernel.chats[self.name]
            self.chat.model = former.model
        return self.chat


Command = Callable[[CommandContext, list[str]], str]
"""Carries out the words after its name and gives what it has to say; the first line of its docstring is its help."""


def format_table(*rows: tuple[str, Any]) -> str:
    """Write rows of a name and a value, the values one below the other."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def find_turn(chat: Chat, words: list[str]) -> Turn:
    """Give the turn whose id begins with the first word, the last of the active line when there is none.

    Raises:
        BadUsage: there is no such turn, or nothing was said yet.
    """
    turns = [node.turn for node in chat.tree.active_path if node.turn]
    if words:
        node = chat.tree.find(words[0])
        return next(turn for turn in node.versions if turn.turn_id.startswith(words[0]))
    if not turns:
        raise BadUsage("Nothing was said yet.", fix="Say something in a `%%chat` cell first.")
    return turns[-1]
