"""The state of the magics: the conversations of one kernel, and the names of its notebook."""

from __future__ import annotations

import difflib
import shlex
from argparse import Namespace as Flags
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtool.chat.chat import Chat
from nbtool.chat.journal.chat_use import use_chat
from nbtool.chat.model import Model
from nbtool.chat.recording.file import Recording
from nbtool.errors import BadUsage, NbtoolError
from nbtool.ids import short_id
from nbtool.magics.cell.cell_skills import CellSkills
from nbtool.magics.cell.run import dry_run, repeated_turn, run_cell
from nbtool.magics.commands import dispatch
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.commands.past_chats.reopen import reopen_chat_of
from nbtool.magics.env_question import with_consent
from nbtool.magics.flags.cell_settings import apply_for_cell
from nbtool.magics.flags.chat_settings import DEFAULT_MODEL, ChatSettings
from nbtool.magics.flags.config import NbTool
from nbtool.magics.flags.flag_parser import MAX_LINE, parse, split_words
from nbtool.magics.flags.flag_table import cell_parser
from nbtool.magics.kernel.page_lines import wrap_for_page
from nbtool.magics.names.namespace import NotebookNamespace
from nbtool.magics.notebook.cell_context import CellContext
from nbtool.magics.notebook.own_magic import MISPLACED
from nbtool.text import count_of
from nbtool.tools.calls.traceback import name_files_by
from nbtool.wire.framing.known_secrets import hide_secrets

if TYPE_CHECKING:
    from nbtool.magics.cell.notebook_session import ServedNotebook
    from nbtool.magics.views.served import ServedView
    from nbtool.mcp_server.http_server import KernelServer

DEFAULT_CHAT = "main"
"""The chat of cells without `-c`, until `%chat open NAME` names another."""


class KernelChats:
    """The conversations of one kernel, by name, and the settings of all of them.

    `listed` are the models from a provider's last listing, `recording` is the file of turns to replay, and `magic` is
    the name of the magics.
    """

    def __init__(self, shell: Any, settings: NbTool, magic: str = "chat") -> None:
        self.chats: dict[str, Chat] = {}
        self.shell = shell
        self.magic = magic
        self.settings = settings
        self.names = NotebookNamespace(shell.user_ns)
        self.parser = cell_parser()
        self.model_list: list[str] = []
        self.recording: Recording | None = None
        self.server: KernelServer | None = None
        self.served_before = ""
        self.served_notebook: ServedNotebook | None = None
        self.served_view: ServedView | None = None
        self.current = DEFAULT_CHAT
        self._applied: dict[str, ChatSettings] = {}
        self._executed: set[str] = set()
        self._from_notebook: set[str] = set()
        self._replaced: dict[str, Chat] = {}
        self._skills = CellSkills()
        name_files_by(self._cell_name)

    def _cell_name(self, path: str) -> str:
        """Return the name of the cell of a source file, as IPython does; empty for any other file."""
        return " ".join(self.shell.compile.format_code_name(path) or ())

    def chat(self, name: str) -> Chat:
        """Return the conversation of this name: a `Chat` of the notebook, else one that is created on first use."""
        own = self.notebook_chat(name)
        if own is not None:
            if (former := self.chats.get(name)) is not own:
                self._applied.pop(name, None)
                if former and name not in self._from_notebook:
                    self._replaced[name] = former
            self.chats[name] = own
            self._from_notebook.add(name)
            self.names.attach_notebook(own)
        elif name not in self.chats:
            self.chats[name] = Chat(notebook=self.shell.user_ns)
            self.chats[name].recorder.file = self.recording
            self._applied.pop(name, None)
            self._from_notebook.discard(name)
        chat = self.chats[name]
        chat.recorder.executed = self._executed
        if name not in self._applied:
            self._applied[name] = ChatSettings(chat.model if own is not None else Model())
        self._applied[name].apply(chat, self.settings)
        return chat

    def default_model(self, name: str) -> Model:
        """Return the model of a chat when no cell has chosen one with `-m`."""
        self.chat(name)
        return self._applied[name].default_model(self.settings)

    def notebook_chat(self, name: str) -> Chat | None:
        """Return the `Chat` that the notebook has under a name; None if it has none.

        The object's own code is not run, and a `Chat` whose `__init__` did not run is none.
        """
        value = self.shell.user_ns.get(name)
        if not issubclass(type(value), Chat):  # isinstance would ask the object for its class
            return None
        return value if "recorder" in object.__getattribute__(value, "__dict__") else None

    def has_chat(self, name: str) -> bool:
        """Whether this kernel has a conversation of this name, or the notebook a `Chat`."""
        return name in self.chats or self.notebook_chat(name) is not None

    def use(self, name: str) -> None:
        """Make a chat the one of cells and commands without `-c`.

        Raises:
            BadUsage: there is no chat of this name.
        """
        if name != DEFAULT_CHAT and not self.has_chat(name):
            own = (key for key in self.shell.user_ns if self.notebook_chat(key))
            names = sorted({DEFAULT_CHAT, *self.chats, *own})
            near = difflib.get_close_matches(name, names, n=1)
            fix = (
                f"Did you mean {near[0]}?"
                if near
                else f"`%%chat -c {shlex.quote(name)}` starts one; there are {', '.join(names)}."
            )
            raise BadUsage(f"There is no chat called {name!r}.", fix=fix)
        self.current = name

    def run_cell(self, line_text: str, body: str) -> None:
        """Run `%%chat`."""
        self.send(parse(self.parser, line_text), body)

    def send(self, flags: Flags, body: str, cells: CellContext | None = None, *, fixes: int = 0) -> None:
        """Run a cell with these flags; `cells` are those of the notebook that its prompt contains, besides its own.

        `fixes` is the number of the failed cell that it is about; 0 for none.
        """
        settings = self.settings.for_cell(flags.set) if flags.set else self.settings
        flags = settings.fill(flags)
        flags.cell_context, flags.fixes = cells, fixes
        if flags.help:
            print(self.parser.format_help())  # noqa: T201 - the requested output
            return
        flags.begins_chat = self._begins_chat(flags)
        flags.chat = flags.chat or self.current
        former = self.notebook_chat(flags.chat) or self.chats.get(flags.chat)
        if not former and flags.chat != DEFAULT_CHAT:
            print(f"New chat {flags.chat!r}.")  # noqa: T201 - a notice for the person
        flags.former_turns = former.tree.active_path if former and flags.new else ()
        if former and flags.former_turns:
            former.new()
        try:
            self._run(flags, body, settings)
        except NbtoolError:  # refused before anything was sent
            self._keep_former(former, flags)
            raise
        if flags.dry_run:
            self._keep_former(former, flags)

    def _keep_former(self, former: Chat | None, flags: Flags) -> None:
        """Return to the conversation in whose place nothing was sent."""
        if former and flags.former_turns:
            former.branch(flags.former_turns[-1].turn)

    def _begins_chat(self, flags: Flags) -> bool:
        """Return whether a cell begins the first chat of this kernel, and that is one that the person did not name."""
        if flags.chat or flags.new or self.current != DEFAULT_CHAT or self.notebook_chat(DEFAULT_CHAT):
            return False
        is_repeated = any(turn is not None for turn in (flags.rerun, flags.edit))
        return not is_repeated and not any(chat.tree.roots for chat in self.chats.values())

    def _run(self, flags: Flags, body: str, settings: NbTool) -> None:
        for turn in filter(None, [repeated_turn(flags)]):
            context, note = reopen_chat_of(CommandContext(self, flags.chat), turn)
            flags.chat = context.name
            if note:
                print(wrap_for_page(self.shell, note))  # noqa: T201 - a notice for the person
        chat = self.chat(flags.chat)
        use_chat(chat.chat_id)
        self._report_replaced(flags.chat)
        applied = self._applied[flags.chat]
        with apply_for_cell(applied, chat, self.settings, settings, flags):
            flags.default_model = applied.default_model(settings)
            if flags.model in (None, DEFAULT_MODEL):
                _require_model(chat, settings)
            if flags.dry_run:
                work: Callable[[], object] = partial(dry_run, self.shell, chat, self.names, flags, body, self.magic)
            else:
                work = partial(run_cell, self.shell, chat, self.names, flags, body, self.magic)
            may_ask = flags.approve not in ("deny", "park")
            if self.notebook_chat(flags.chat) is None:
                self._skills.offer(self.shell, chat, is_on=settings.skills, may_ask=may_ask and not flags.dry_run)
            with_consent(self.shell, work, may_ask=may_ask)

    def run_line(self, line_text: str) -> None:
        """Run `%chat`.

        Raises:
            BadUsage: the line is too long, or invalid.
        """
        if line_text.startswith(MISPLACED):
            raise BadUsage(
                f"%%{self.magic} has to be the first line of its cell, with only comments above it; nothing ran.",
                fix="Move the lines above it into a cell of their own.",
            )
        if len(line_text) > MAX_LINE:
            raise BadUsage(
                f"%chat: the line has {count_of(len(line_text), 'character')}, above {MAX_LINE:,}.",
                fix="See `%chat help`.",
            )
        _, words = _extract_chat_name(line_text.split())
        args = split_words(line_text, is_text=bool(words) and dispatch.ends_with_text(words[0]))
        if args[:1] in (["-h"], ["--help"]):
            print(self.parser.format_help())  # noqa: T201 - the requested output
            return
        named, args = _extract_chat_name(args)
        name = self.current if named is None else named
        current = self.current
        output = dispatch.run(CommandContext(self, name, is_named=named is not None), args)
        self._report_replaced(name if self.current == current else self.current)
        if output:
            print(hide_secrets(output))  # noqa: T201 - the requested output, which is saved with the notebook

    def _report_replaced(self, name: str) -> None:
        """Print once that a `Chat` of the notebook took the place of a chat of the cells, and how to find that one."""
        if former := self._replaced.pop(name, None):
            where = (
                f" `%chat open {short_id(former.chat_id)}` continues the earlier one."
                if former.tree.active_path
                else ""
            )
            print(f"{name!r} is now the Chat of this name in the notebook.{where}")  # noqa: T201 - a notice for the person


def _require_model(chat: Chat, settings: NbTool) -> None:
    """Refuse to send the name of a model that was chosen for another host to the address of the settings."""
    address = settings.base_url
    if address and not settings.model and chat.model.model_id is None and chat.model.base_url == address:
        raise BadUsage(
            "`NbTool.base_url` is set, but no model for it.",
            fix='Name one: `%config NbTool.model = "NAME"`. `%chat models` lists those of the server.',
        )


def _extract_chat_name(args: list[str]) -> tuple[str | None, list[str]]:
    """Return the chat that `-c NAME` names, before or after the command, if any, and the other arguments."""
    at = next((at for at, word in enumerate(args) if word in ("-c", "--chat")), -1)
    if at < 0:
        return None, args
    name, rest = args[at + 1 : at + 2], [*args[:at], *args[at + 2 :]]
    if not name or not name[0].strip():
        raise BadUsage("%chat -c takes the name of a chat.", fix="`%chat -c NAME history`")
    if any(word in ("-c", "--chat") for word in rest[:2]):
        raise BadUsage("%chat takes one `-c NAME`, and two were given.", fix="`%chat -c NAME history`")
    return name[0], rest
