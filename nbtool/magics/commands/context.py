"""The context of a command, and what commands share."""

from __future__ import annotations

import textwrap
from argparse import Namespace as Flags
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from nbtool.blocks.sanitize import escape_invisible
from nbtool.chat.chat import Chat
from nbtool.chat.map_chats import latest_map_chat
from nbtool.chat.model import Model
from nbtool.chat.recording.file import Recording
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.ids import short_id
from nbtool.magics.flags.config import NbTool
from nbtool.magics.kernel.cell_messages import takes_next_cell
from nbtool.magics.kernel.page_lines import LINE_WIDTH
from nbtool.magics.names.namespace import NotebookNamespace
from nbtool.magics.notebook.cell_context import CellContext
from nbtool.magics.notebook.inserted_cell import CellSource

if TYPE_CHECKING:
    from nbtool.magics.cell.notebook_session import ServedNotebook
    from nbtool.magics.views.served import ServedView
    from nbtool.mcp_server.http_server import KernelServer


class Kernel(Protocol):
    """The conversations of one kernel by name, its shell, the names of its notebook, and the settings of all cells.

    `listed` are the models from a provider's last listing, `recording` is the file of turns to replay, and `magic` is
    the name of the magics.
    """

    magic: str
    chats: dict[str, Chat]
    shell: Any
    names: NotebookNamespace
    settings: NbTool
    model_list: list[str]
    recording: Recording | None

    server: KernelServer | None
    """The server of `%chat serve`."""

    served_before: str
    """What the clients of the server that was stopped last called and received; empty if none was."""

    served_notebook: ServedNotebook | None
    """The cells of the notebook, if tools for them are served."""

    served_view: ServedView | None
    """Where the calls of clients are shown."""

    current: str
    """The chat of cells and commands without `-c`."""

    def send(self, flags: Flags, body: str, cells: CellContext | None = None, *, fixes: int = 0) -> None:
        """Run a cell with these flags of `%%chat` and this body; its prompt contains `cells` of the notebook."""

    def has_chat(self, name: str) -> bool:
        """Whether this kernel has a conversation of this name, or the notebook a `Chat`."""

    def use(self, name: str) -> None:
        """Make a chat the current one."""

    def chat(self, name: str) -> Chat:
        """Return the conversation of this name; it is created on first use."""

    def default_model(self, name: str) -> Model:
        """Return the model of a chat when no cell has chosen one with `-m`."""


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The conversation that a command applies to, its name, and the kernel; `is_named`: by `-c`."""

    kernel: Kernel
    name: str = "main"
    is_named: bool = False

    @property
    def chat(self) -> Chat:
        """The conversation."""
        return self.kernel.chat(self.name)

    @property
    def cells(self) -> CellSource:
        """Writes cells about the conversation."""
        return CellSource(self.name, self.kernel.magic)

    def restart_chat(self) -> Chat:
        """Create a new conversation under this name, with the model of the former one and nothing else.

        Raises:
            BadUsage: a turn of the former one is still running.
        """
        former = self.kernel.chats.get(self.name)
        if former:
            former.check_idle()
            del self.kernel.chats[self.name]
            self.chat.model = former.model
        return self.chat


NOT_ADDED = "Nothing here takes a new cell, so it is printed."


def add_cell(context: CommandContext, source: str, what: str, advice: str) -> str:
    """Write a new cell below, and return what to say of it: with its source where no front end shows the cell.

    `what` is the subject of the sentence, `advice` what the person does with the cell.
    """
    context.kernel.shell.set_next_input(source)
    if takes_next_cell(context.kernel.shell):
        return f"{what} was added as a new cell below. {advice}"
    return f"{what} is below. {NOT_ADDED} {advice}\n\n{escape_invisible(source.rstrip())}"


Run = Callable[[CommandContext, list[str]], str]
"""Runs a command with its arguments and returns its output; its docstring is its help, of which Tab shows one line."""


def format_table(*rows: tuple[str, Any]) -> str:
    """Format rows of name and value as two columns."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def format_sentences(*rows: tuple[str, str]) -> str:
    """Format rows of name and text as two columns; a longer text goes on below its beginning, not below the name."""
    indent = " " * (max(len(name) for name, _ in rows) + 2)
    wrap = partial(
        textwrap.fill,
        width=LINE_WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,  # such as a path, which stays one word to copy
    )
    texts = [wrap(text) or indent for _, text in rows]
    return "\n".join(name + text[len(name) :] for (name, _), text in zip(rows, texts, strict=True))


def find_turn(chat: Chat, args: list[str]) -> Turn:
    """Return the turn that the first argument selects by number or id; without one, the last turn of the active line.

    Raises:
        BadUsage: there is no such turn, or the chat is empty.
    """
    turns = [node.turn for node in chat.tree.active_path if node.turn]
    if args:
        return chat.tree.get(args[0])[1]
    if not turns:
        fix = f"Write a prompt in a `%%chat` cell first. {describe_maps()}".strip()
        raise BadUsage("This chat is empty.", fix=fix)
    return turns[-1]


def describe_empty(text: str = "This chat is empty.") -> str:
    """Return that a chat has no turns, and where those of the maps of this kernel are."""
    return f"{text}\n{maps}" if (maps := describe_maps()) else text


def describe_maps() -> str:
    """Return where the turns of the maps of this kernel are; empty if there were none."""
    if not (latest := latest_map_chat()):
        return ""
    return f"The turns of the latest map are in {short_id(latest)}: `%chat history list` lists such chats."
