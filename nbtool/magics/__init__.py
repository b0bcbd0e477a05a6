"""A cell speaks: the magics `%%chat` and `%chat`. The only place that knows IPython."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from nbtool.chat.chat import Chat
from nbtool.errors import NbtoolError
from nbtool.magics import cell, line
from nbtool.magics.namespace import Namespace
from nbtool.magics.options import cell_parser, parse


@magics_class
class ChatMagics(Magics):
    """The conversations of one kernel, by name, and the two magics that lead to them."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.chats: dict[str, Chat] = {}
        self._notebook = shell.user_ns
        self._names = Namespace(shell.user_ns)
        self._parser = cell_parser()

    @no_var_expand
    @line_cell_magic
    def chat(self, line_text: str, body: str | None = None) -> None:
        """Talk with a language model that uses this notebook's functions and objects as tools."""
        _in_one_line(lambda: self._cell(line_text, body) if body is not None else self._line(line_text))

    def chat_named(self, name: str) -> Chat:
        """Give the conversation of this name; made when first asked for."""
        if name not in self.chats:
            self.chats[name] = Chat(notebook=self._notebook)
        return self.chats[name]

    def _cell(self, line_text: str, body: str) -> None:
        flags = parse(self._parser, line_text)
        if flags.help:
            print(self._parser.format_help())  # noqa: T201 - what the person asked to see
            return
        if flags.new:
            self.chats.pop(flags.chat, None)
        chat = self.chat_named(flags.chat)
        if flags.dry_run:
            cell.rehearse(self.shell, chat, self._names, flags, body)
        else:
            cell.speak(self.shell, chat, self._names, flags, body)

    def _line(self, line_text: str) -> None:
        words = shlex.split(line_text)
        if words[:1] in (["-h"], ["--help"]):
            print(self._parser.format_help())  # noqa: T201 - what the person asked to see
            return
        name = "main"
        if words[:1] in (["-c"], ["--chat"]):
            _, name, *words = words
        if said := line.run(self.chat_named(name), words):
            print(said)  # noqa: T201 - what the person asked to see


def _help_needs_no_body(lines: list[str]) -> list[str]:
    """Let `%%chat --help` stand alone in its cell: IPython refuses a cell magic whose body is empty."""
    said = "".join(lines).split()
    if said[:1] == ["%%chat"] and len(said) == 2 and said[1] in ("-h", "--help"):
        return ["%chat --help\n"]
    return lines


def _in_one_line(deed: Callable[[], None]) -> None:
    """Run a magic; what goes wrong on the person's side is one red line, no traceback."""
    try:
        deed()
    except NbtoolError as error:
        raise UsageError(str(error)) from None
    except cell.TurnFailed:
        raise
    except ValueError as error:
        raise UsageError(f"The line cannot be read ({error}).") from None


def load(shell: Any) -> None:
    """Register the magics, and say in one line which model was found and why."""
    taken = {kind for kind, magics in shell.magics_manager.magics.items() if "chat" in magics}
    if taken and not _are_ours(shell):
        raise UsageError("Another extension already has a magic called chat; nbtool does not take it over.")
    shell.register_magics(ChatMagics)
    if _help_needs_no_body not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(_help_needs_no_body)
    model = Chat().model
    print(f"nbtool: {model.name} ({model.why})", file=sys.stdout)  # noqa: T201 - the one line of loading


def unload(shell: Any) -> None:
    """Take the magics away again."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("chat", None)
    if _help_needs_no_body in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(_help_needs_no_body)
    shell.magics_manager.registry.pop(ChatMagics.__name__, None)


def _are_ours(shell: Any) -> bool:
    return ChatMagics.__name__ in shell.magics_manager.registry


__all__ = ["ChatMagics", "load", "unload"]
