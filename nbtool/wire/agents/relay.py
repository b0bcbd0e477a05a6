"""The tools of a turn for its agent: a server of the Model Context Protocol on loopback, for one bridge with the token.

The agent starts `relay_bridge.py` as a server on standard input and output, which connects here. A call is handed to
the turn that runs, and answered with what a model would get for it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtool.errors import NbtoolError
from nbtool.messages import ToolResult
from nbtool.secret import Secret
from nbtool.settings import data_dir
from nbtool.wire.agents import relay_bridge
from nbtool.wire.agents.process import MAX_MESSAGE
from nbtool.wire.agents.profiles import SERVER_NAME
from nbtool.wire.base import ToolSpec

if TYPE_CHECKING:
    from acp.schema import McpServerStdio
    from mcp import types
    from mcp.server import Server

TOKEN_SECONDS = 5.0
"""Seconds that a connection has to send the token."""

MAX_TOKEN = 256
"""Maximum bytes of the first line of a connection."""

MAX_STRANGERS = 8
"""Maximum connections at a time that have not sent the token yet; a further one is closed."""

ADDRESS_FOLDER = "relays"

Answer = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]


class ToolRelay:
    """Serves `tools`; `call` runs a call and returns its result."""

    def __init__(self, tools: tuple[ToolSpec, ...], call: Answer) -> None:
        self.tools, self._call = tools, call
        self.token = Secret(secrets.token_urlsafe(32))
        self._listener: asyncio.Server | None = None
        self._file: Path | None = None
        self._connections: set[asyncio.Task[Any]] = set()
        self._strangers = 0

    async def start(self) -> McpServerStdio:
        """Listen, and return the server as an agent starts it: its arguments name a file, and not the token."""
        from acp.schema import McpServerStdio  # noqa: PLC0415 - part of the extra

        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=MAX_MESSAGE)
        port = self._listener.sockets[0].getsockname()[1]
        self._file = _write_address(port, self.token)
        args = ["-I", "-S", relay_bridge.__file__, str(self._file)]
        return McpServerStdio(name=SERVER_NAME, command=sys.executable, args=args, env=[])

    async def close(self) -> None:
        """Stop listening, and end every connection; what waits for a call is cancelled."""
        if self._file:
            self._file.unlink(missing_ok=True)
        if self._listener:
            self._listener.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._strangers >= MAX_STRANGERS:
            writer.close()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self._strangers += 1
            try:
                is_known = await self._is_known(reader)
            finally:
                self._strangers -= 1
            if is_known:
                await _run_server(make_server(self), reader, writer)
        finally:
            writer.close()

    async def _is_known(self, reader: asyncio.StreamReader) -> bool:
        """Whether a connection sends the token in its first line, in time."""
        line = b""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(TOKEN_SECONDS):
                while not line.endswith(b"\n") and len(line) < MAX_TOKEN and (byte := await reader.read(1)):
                    line += byte
        return secrets.compare_digest(line.strip(), self.token.get_secret_value().encode())

    async def answer(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Run a call; an error of nbtool is a result that says so."""
        try:
            return as_call_result(await self._call(name, arguments))
        except NbtoolError as error:
            return as_call_result(ToolResult(name, str(error), is_error=True))


def make_server(relay: ToolRelay) -> Server[Any]:
    """Return a server of the tools of a relay."""
    from mcp import types  # noqa: PLC0415 - part of the extra
    from mcp.server import Server  # noqa: PLC0415 - the same

    async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[as_mcp_tool(tool) for tool in relay.tools])

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await relay.answer(params.name, params.arguments or {})

    return Server("nbtool", on_list_tools=list_tools, on_call_tool=call_tool)


def as_mcp_tool(tool: ToolSpec) -> types.Tool:
    """Return a tool as an agent lists it."""
    from mcp import types  # noqa: PLC0415 - part of the extra

    return types.Tool(name=tool.name, description=tool.description, input_schema=dict(tool.parameters))


def as_call_result(result: ToolResult) -> types.CallToolResult:
    """Return the result of a call as an agent receives it: the text and the images that a model would get."""
    from mcp import types  # noqa: PLC0415 - part of the extra

    content: list[types.ContentBlock] = [types.TextContent(type="text", text=result.text)]
    for media in result.media:
        data = base64.b64encode(media.data or b"").decode("ascii")
        if media.mime.startswith("image/"):
            content.append(types.ImageContent(type="image", data=data, mime_type=media.mime))
        elif media.mime.startswith("audio/"):
            content.append(types.AudioContent(type="audio", data=data, mime_type=media.mime))
    return types.CallToolResult(content=content, is_error=result.is_error)


def as_arguments(arguments: Mapping[str, Any]) -> str:
    """Return the arguments of a call as the text that a model would write."""
    return json.dumps(dict(arguments), ensure_ascii=False)


class _Lines:
    """The lines of a connection in the form of files, as the server of the package reads and writes them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def __aiter__(self) -> AsyncIterator[str]:
        with suppress(ValueError, OSError):  # a line above the limit: the connection ends
            while line := await self._reader.readline():
                yield line.decode("utf-8", "replace")

    async def write(self, text: str) -> None:
        self._writer.write(text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        with suppress(OSError):
            await self._writer.drain()


async def _run_server(server: Server[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - part of the extra

    lines: Any = _Lines(reader, writer)
    async with stdio_server(lines, lines) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _write_address(port: int, token: Secret) -> Path:
    """Write the file of a listener for its owner alone, from its first byte on."""
    folder = data_dir() / ADDRESS_FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for stale in folder.glob("*.json"):
        if not _is_running(stale.name.partition("-")[0]):
            stale.unlink(missing_ok=True)
    path = folder / f"{os.getpid()}-{secrets.token_hex(8)}.json"
    text = json.dumps({"port": port, "token": token.get_secret_value()})
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _is_running(pid: str) -> bool:
    """Whether a process exists; a file stays behind when a kernel is killed."""
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:  # pragma: no cover - a process of another user has taken the number
        return False
    return True
