"""What the magics work on: the conversations of one kernel, and the names of its notebook."""

from __future__ import annotations

import shlex
from typing import Any

from nbtool.chat.chat import Chat
from nbtool.magics import cell, commands
from nbtool.magics.commands.here import Here
from nbtool.magics.namespace import Namespace
from nbtool.magics.options import cell_parser, parse


class Workbench:
    """The conversations of one kernel, by name."""

    def __init__(self, shell: Any) -> None:
        self.chats: dict[str, Chat] = {}
        self.shell = shell
        self.names = Namespace(shell.user_ns)
        self._parser = cell_parser()

    def chat(self, name: str) -> Chat:
        """Give the conversation of this name; made when first asked for."""
        if name not in self.chats:
            self.chats[name] = Chat(notebook=self.shell.user_ns)
        return self.chats[name]

    def cell(self, line_text: str, body: str) -> None:
        """Carry out `%%chat`."""
        flags = parse(self._parser, line_text)
        if flags.help:
            print(self._parser.format_help())  # noqa: T201 - what the person asked to see
            return
        if flags.new:
            self.chats.pop(flags.chat, None)
        speak = cell.rehearse if flags.dry_run else cell.speak
        speak(self.shell, self.chat(flags.chat), self.names, flags, body)

    def line(self, line_text: str) -> None:
        """Carry out `%chat`."""
        words = shlex.split(line_text)
        if words[:1] in (["-h"], ["--help"]):
            print(self._parser.format_help())  # noqa: T201 - what the person asked to see
            return
        name = "main"
        if words[:1] in (["-c"], ["--chat"]):
            _, name, *words = words
        if said := commands.run(Here(self, name), words):
            print(said)  # noqa: T201 - what the person asked to see
