"""Serve the notebook's tools and variables to programs outside: `serve`."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage
from nbtool.magics.cell.notebook_session import ServedNotebook, uses_cells
from nbtool.magics.commands.context import CommandContext, Kernel, format_table
from nbtool.magics.views.served import MAX_RUNNING, ServedView, chat_name
from nbtool.text import count_of

if TYPE_CHECKING:
    from nbtool.mcp_server.client_calls import Client
    from nbtool.mcp_server.http_server import KernelServer

BRIDGE = "nbtool-mcp"
MISSING = "`%chat serve` needs the package mcp."
INSTALL = "Run `%pip install mcp`."
INTRODUCTION = (
    "Programs on this machine can now use {tools} and {variables} of this notebook (these through the tools ListVars "
    "and ReadVar), through the same approvals as a model, until `%chat serve --stop` or the end of the kernel."
)
BELOW = (
    "Their calls and questions appear on one card below, also while other cells run. "
    "Your functions run in worker threads. After the page was loaded again, `%chat serve` shows the card again."
)


BEFORE = "Until it was stopped:"
NOTHING_SERVED = (
    "Nothing is served now. Start with what is to be served: `%chat serve -t FUNCTION -v VARIABLE --read VARIABLE` "
    "(`-v`: by reference only)."
)


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise BadUsage instead of exiting the process."""
        raise BadUsage(f"%chat serve: {message}.", fix="`%chat serve -t FUNCTION -v VARIABLE --read VARIABLE`")

    def options(self) -> tuple[str, ...]:
        """Return all options, for Tab."""
        return tuple(option for action in self._actions for option in action.option_strings)


def serve(context: CommandContext, args: list[str]) -> str:
    """Serve tools and variables to other programs.

    `serve -t NAME -v NAME --read NAME`, as a Model Context Protocol server on this machine. `serve` alone shows its
    state, and `serve --stop` ends it.
    """
    flags = _parser().parse_args(args)
    kernel = context.kernel
    if flags.stop:
        if not kernel.server:
            return "This notebook is not served."
        kernel.server.stop()
        kernel.served_before = f"{BEFORE}\n{format_table(*_client_rows(kernel.server))}"
        kernel.server = kernel.served_notebook = kernel.served_view = None
        return "Stopped: no program can connect any more."
    names = (*flags.tool, *flags.var, *flags.read)
    if kernel.server and not names:
        if kernel.served_notebook:
            kernel.served_notebook.reopen()
        print(describe_server(kernel.server))  # noqa: T201 - above the calls
        if kernel.served_view:
            kernel.served_view.reopen()
        return ""
    if not names:
        return "\n\n".join(filter(None, [NOTHING_SERVED, kernel.served_before]))

    def fill(chat: Chat) -> None:
        kernel.names.add_tools(chat, flags.tool)
        kernel.names.expose(chat, flags.var)
        kernel.names.expose(chat, flags.read, read=True)

    start_serving(kernel, fill, seconds=flags.answer_within, port=flags.port)
    return ""


def describe_server(server: KernelServer) -> str:
    """Describe a server: its address, its clients, and what they received."""
    rows = [
        ("address", server.address.url),
        ("refused", f"{count_of(server.access.refused, 'request')} without the token, or of a web page"),
        *_client_rows(server),
    ]
    return format_table(*rows)


def _client_rows(server: KernelServer) -> list[tuple[str, str]]:
    """Return a row for each client, with what it called and received."""
    clients = server.handlers.clients.values()
    return [
        ("clients", "" if clients else "none"),
        *((f"  {one_line(client.name, 40)}", _describe_calls(client)) for client in clients),
    ]


def describe_client(client: Client) -> str:
    """Return how many calls a client made, what came of them, and how much was returned to it."""
    totals = client.totals
    without = [f"{number:,} {status.replace('_', ' ')}" for status, number in totals.outcomes.items() if status != "ok"]
    outcomes = f" ({', '.join(without)})" if without else ""
    refused = f", {totals.refused:,} refused before" if totals.refused else ""
    waiting = f", {client.waiting:,} under way" if client.waiting else ""
    noun = "image or sound" if totals.media == 1 else "images and sounds"
    media = f", {totals.media:,} {noun}" if totals.media else ""
    count = totals.message_characters
    messages = f", and {count_of(count, 'character')} of messages about calls without a result" if count else ""
    returned = f"{count_of(totals.characters, 'character')}{media} returned{messages}"
    return f"{count_of(totals.calls, 'call')}{outcomes}{refused}{waiting}, {returned}"


def _describe_calls(client: Client) -> str:
    """Return the same with the tools that a client called and the variables that it read."""
    tools, variables = client.totals.tools, client.totals.variables
    parts = [describe_client(client)]
    parts += [f"called {_names(tools)}"] if tools else []
    parts += [f"read {_names(variables)}"] if variables else []
    return "; ".join(parts)


def _names(counts: Counter[str]) -> str:
    return ", ".join(f"{one_line(name, 80)} ({number:,})" for name, number in counts.items())


def start_serving(kernel: Kernel, fill: Callable[[Chat], None], *, seconds: float, port: int) -> None:
    """Start the server of a kernel and print what clients need; `fill` adds what is served to a client's chat.

    Raises:
        BadUsage: the notebook is served already, the package is missing, or `fill` or an argument is wrong.
    """
    if kernel.server:
        raise BadUsage("This notebook is served already.", fix="`%chat serve --stop` first.")
    if not 0 < seconds < float("inf"):
        raise BadUsage(
            f"`--answer-within {seconds:g}`: expected a number of seconds greater than 0.",
            fix="Example: --answer-within 300.",
        )
    first = _open_chat(kernel, fill, "")  # a wrong name is refused here, and not in a client
    notebook = ServedNotebook(kernel.shell, kernel.magic, kernel.names.changes)
    view = ServedView(kernel.shell, kernel.magic, notebook.prepare)

    def close() -> None:
        view.close()
        notebook.close()

    try:
        kernel.server = _make_server(kernel, fill, view, seconds, port, close)
    except BadUsage:
        close()
        raise
    kernel.served_notebook, kernel.served_view = notebook, view
    if uses_cells(first):
        notebook.open()
    print("\n\n".join([_introduction(first), _configurations(kernel.server), BELOW]))  # noqa: T201 - above the turns
    view.open()
    kernel.server.start()


def _make_server(
    kernel: Kernel,
    fill: Callable[[Chat], None],
    view: ServedView,
    seconds: float,
    port: int,
    on_stop: Callable[[], object],
) -> KernelServer:
    try:
        from nbtool.mcp_server.client_calls import Client  # noqa: PLC0415 - the extra is imported when used
        from nbtool.mcp_server.handlers import Handlers  # noqa: PLC0415 - the same
        from nbtool.mcp_server.http_server import KernelServer  # noqa: PLC0415 - the same
    except ImportError:
        raise BadUsage(MISSING, fix=INSTALL) from None
    running = asyncio.Semaphore(MAX_RUNNING)

    def open_client(name: str) -> Client:
        chat = _open_chat(kernel, fill, name)
        return Client(name, chat, view, kernel.names.refresh_tools, seconds, running)

    return KernelServer(Handlers(open_client, _version()), port=port, on_stop=on_stop)


def _version() -> str:
    """Return the version of nbtool as it is installed; empty for sources on the path."""
    try:
        return version("nbtool-chat")
    except PackageNotFoundError:
        return ""


def _open_chat(kernel: Kernel, fill: Callable[[Chat], None], client: str) -> Chat:
    """Return the chat of a client, with what is served; without a client, one that nobody uses."""
    name = chat_name(client)
    kernel.chats.pop(name, None)
    chat = kernel.chat(name)
    try:
        fill(chat)
    finally:
        if not client:
            kernel.chats.pop(name, None)
    return chat


def _introduction(chat: Chat) -> str:
    tools, variables = chat.tools.tools(), chat.exposed_variables()
    return INTRODUCTION.format(tools=count_of(len(tools), "tool"), variables=count_of(len(variables), "variable"))


def _configurations(server: KernelServer) -> str:
    """Return what clients need: a command that they start, or the address."""
    command = bridge_command()
    line, text = shlex.quote(command), json.dumps(command, ensure_ascii=False)
    return format_table(
        ("Claude Code", f"claude mcp add notebook -- {line}"),
        ("Codex", f"codex mcp add notebook -- {line}"),
        ("VS Code", f'{{"servers": {{"notebook": {{"type": "stdio", "command": {text}}}}}}}'),
        ("Cursor, others", f'{{"mcpServers": {{"notebook": {{"command": {text}}}}}}}'),
        ("HTTP", f"{server.address.url}, with the token that `{line} --token` prints in a terminal"),
    )


def bridge_command() -> str:
    """Return the command `nbtool-mcp`: with its path, unless the search path leads to the one of this Python."""
    beside = shutil.which(BRIDGE, path=str(Path(sys.executable).parent))
    return BRIDGE if beside is None or shutil.which(BRIDGE) == beside else beside


def _parser() -> _Parser:
    parser = _Parser(prog="%chat serve", add_help=False, allow_abbrev=False)
    for flag, name in (("-t", "--tool"), ("-v", "--var")):
        parser.add_argument(flag, name, action="extend", nargs="+", default=[])
    parser.add_argument("--read", action="extend", nargs="+", default=[])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--answer-within", type=float, default=300.0)
    parser.add_argument("--stop", action="store_true")
    return parser


OPTIONS = _parser().options()
