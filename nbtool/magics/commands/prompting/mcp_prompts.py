"""The prompts of MCP servers: `prompt`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nbtool.blocks.sanitize import escape_invisible, one_line
from nbtool.errors import BadUsage
from nbtool.magics.commands.context import CommandContext, add_cell, format_table
from nbtool.magics.flags.flag_parser import mentions

if TYPE_CHECKING:
    from nbtool.tools.mcp.catalog.prompts import RemotePrompt
    from nbtool.tools.mcp.server import McpServer

NO_SERVERS = "No MCP server is connected in this notebook."
CONNECT = "`lab = mcp_servers(…)` connects one."
ADVICE = "It is this server's text: read it, then run it."
UNMENTIONED = "{advice} Its {names} are no mentions any more: nothing is exposed or offered by them."

_MENTION_START = re.compile(r"([&$])(?=`)")


def prompt(context: CommandContext, args: list[str]) -> str:
    """Write a prompt of an MCP server into a new cell.

    `prompt NAME [KEY=VALUE …]`: it is not sent before you run the cell. `prompt` alone lists the prompts.

    Raises:
        BadUsage: there is no such prompt, or its arguments are wrong.
        McpFailed: the server fails.
    """
    servers = list(_servers(context.kernel.shell.user_ns))
    if not servers:
        raise BadUsage(NO_SERVERS, fix=CONNECT)
    prompts = [(server, item) for server in servers for item in server.prompts()]
    if not args:
        rows = [(one_line(item.usage, 200), one_line(item.description, 200)) for _, item in prompts]
        return format_table(*rows) if rows else "The MCP servers of this notebook have no prompts."
    name, *words = args
    server, chosen = _find(name, prompts)
    text = server.get_prompt(chosen.name, _arguments(chosen, words))
    found = mentions(text)
    plain = _MENTION_START.sub(r"\1 ", escape_invisible(text))  # a mention would expose what it names
    names = ", ".join(one_line(variable, 60) for variable in (*found.variables, *found.tools))
    advice = UNMENTIONED.format(advice=ADVICE, names=names) if names else ADVICE
    what = f"The prompt of {one_line(server.name, 100)}"
    return add_cell(context, f"{context.cells.cell_magic}\n{plain}", what, advice)


def _servers(names: Mapping[str, Any]) -> Iterator[McpServer]:
    """Return the MCP servers of the notebook's variables, each once, without running code of other objects."""
    from nbtool.tools.mcp import McpServer, McpServers  # noqa: PLC0415 - only where a command asks for them

    found: dict[int, McpServer] = {}
    for value in tuple(names.values()):
        if issubclass(type(value), McpServers):
            found.update((id(server), server) for server in value.servers)
        elif issubclass(type(value), McpServer):
            found[id(value)] = value
    yield from found.values()


def _find(name: str, prompts: list[tuple[McpServer, RemotePrompt]]) -> tuple[McpServer, RemotePrompt]:
    """Return the prompt of a name, or of `SERVER.NAME`.

    Raises:
        BadUsage: there is none, or several servers have one.
    """
    matches = [(server, item) for server, item in prompts if name in (item.name, f"{server.name}.{item.name}")]
    if len(matches) == 1:
        return matches[0]
    available = ", ".join(f"{server.name}.{item.name}" for server, item in matches or prompts)
    problem = "Several MCP servers have" if matches else "No MCP server of this notebook has"
    raise BadUsage(f"{problem} a prompt {name!r}.", fix=f"Prompts: {one_line(available, 500) or 'none'}.")


def _arguments(chosen: RemotePrompt, words: list[str]) -> dict[str, str]:
    """Return the arguments of `KEY=VALUE` words.

    Raises:
        BadUsage: one is missing, unknown, or has no `=`.
    """
    given = dict(word.partition("=")[::2] for word in words)
    unknown = [word for word in given if word not in (*chosen.required, *chosen.optional)]
    missing = [name for name in chosen.required if name not in given]
    if unknown or missing or any("=" not in word for word in words):
        raise BadUsage("The arguments do not fit this prompt.", fix=f"`%chat prompt {one_line(chosen.usage, 500)}`")
    return given
