"""One session with one server: a task of its own on nbtool's loop, from the greeting to the last clean-up.

The task enters and leaves everything that the session is made of, as anyio's cancel scopes demand; calls come from
other tasks of the same loop. Nothing that a server does reaches further than its own session.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError as Stopped
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, TextIO

from nbtool.errors import BadUsage, McpFailed, ToolFailed
from nbtool.loop import core
from nbtool.tools.mcp import keeper
from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.content import value_of
from nbtool.tools.mcp.listing import MAX_TOOLS, Listed, called, listed
from nbtool.tools.plain import visible
from nbtool.tools.render import error_text

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import Transport
    from mcp.types import LoggingMessageNotificationParams
    from mcp.types import Tool as McpTool

CLOSE_SECONDS = 8.0
"""Seconds that a session is given to end; the server itself has a second before it is killed."""

HTTP_SECONDS = 30.0
"""Seconds to reach a server, and to say something to it."""

LIST_SECONDS = 10.0
"""Seconds in which a server lists its tools once more before a call."""

MAX_NOTICES = 20
"""Notices about one server that are kept."""

_log = logging.getLogger("nbtool.mcp")


class Session:
    """A session with one server; it begins at once."""

    def __init__(self, spec: ServerSpec) -> None:
        require_mcp()
        self.spec = spec
        self.notices: list[str] = []
        self._client: Client | None = None
        self._ended: McpFailed | None = None
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed in _live
        self._closing = asyncio.Event()
        self._opened: Future[dict[str, Listed]] = Future()
        self._life = core().spawn(self._live())

    def opened(self, left: float, seconds: float) -> dict[str, Listed]:
        """Wait for what is `left` of the `seconds` until the server has greeted and listed its tools.

        Raises:
            McpFailed: it cannot be started or reached, says no, or has not answered in time; then it is stopped.
        """
        try:
            return self._opened.result(left)
        except NotYet:
            self._life.cancel()
            raise McpFailed(
                f"{called(self.spec.name)} did not answer `initialize` within {seconds:g} s.",
                fix="It was stopped; see whether its command runs in a terminal.",
            ) from None

    def begin_close(self) -> None:
        """Let the session end, and do not wait for it."""
        core().call_soon(self._closing.set)

    def close(self) -> None:
        """End the session and the server's processes; a second time changes nothing."""
        self.begin_close()
        if not core().is_current():
            try:
                self._life.exception(CLOSE_SECONDS)
            except NotYet:
                self._life.cancel()
            except Stopped:  # it had not answered in time, and its keeper sees to the rest
                return

    async def listed(self) -> dict[str, Listed]:
        """List the tools as they are now; raises McpFailed."""
        client = self._running()
        try:
            async with asyncio.timeout(LIST_SECONDS):
                return await self._list(client)
        except TimeoutError:
            raise McpFailed(f"{called(self.spec.name)} did not list its tools within {LIST_SECONDS:g} s.") from None
        except Exception as error:
            raise self._failure(error) from error

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool and give what it answers; raises McpFailed, or ToolFailed in the tool's own words."""
        try:
            result = await self._running().call_tool(name, arguments)
        except Exception as error:
            raise self._failure(error) from error
        return value_of(result)

    def _running(self) -> Client:
        if self._client is None:
            raise self._ended or McpFailed(f"{called(self.spec.name)} is closed.", fix="Start it anew.")
        return self._client

    async def _live(self) -> None:
        with self._said:
            try:
                async with self._connected() as client:
                    tools = await self._list(client)
                    self._client = client
                    self._opened.set_result(tools)
                    await self._closing.wait()
            except Exception as error:  # noqa: BLE001 - whatever a server brings about is its own failure
                failure = self._failure(error)
                if not self._opened.done():  # pragma: no branch - what fails as it closes has nobody left to tell
                    self._opened.set_exception(failure)
            finally:
                self._client = None

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        from mcp import Client  # noqa: PLC0415 - loaded only where there is a server

        async with AsyncExitStack() as stack:
            transport = _over_http(self.spec, stack) if self.spec.url else _on_stdio(self.spec, self._said)
            yield await stack.enter_async_context(Client(await transport, logging_callback=self._heard, cache=None))

    async def _list(self, client: Client) -> dict[str, Listed]:
        found: list[McpTool] = []
        cursor = None
        for _ in range(MAX_TOOLS):
            page = await client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or len(found) > MAX_TOOLS:
                break
        return listed(self.spec.name, found)

    async def _heard(self, params: LoggingMessageNotificationParams) -> None:
        """Hear a log message; those of the keeper tell of lines that are no messages."""
        if params.logger == "nbtool" and len(self.notices) < MAX_NOTICES:
            line = visible(str(params.data))[:200]
            self.notices.append(f"{called(self.spec.name)} printed a line that is no message: {line!r}")
            _log.warning(self.notices[-1])

    def _failure(self, error: BaseException) -> ToolFailed:
        """Make one error of ours of whatever came; where the session has ended with it, say so and let it go."""
        from mcp import MCPError  # noqa: PLC0415 - loaded only where there is a server
        from mcp.types import CONNECTION_CLOSED  # noqa: PLC0415 - the same

        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ToolFailed):
            return error
        if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
            return McpFailed(f"{called(self.spec.name)} says: {visible(error.message)[:2_000]}")
        if not isinstance(error, MCPError) and str(error):
            return McpFailed(f"{called(self.spec.name)} failed: {error_text(error)}")
        self._ended = McpFailed(f"{called(self.spec.name)} has ended.", fix=_end_of(self._said))
        self._client = None
        self._closing.set()
        return self._ended


async def _on_stdio(spec: ServerSpec, said: TextIO) -> Transport:
    """Let the keeper run the command; it gets its environment by name, and none of it stands in a list of processes."""
    from mcp import StdioServerParameters, stdio_client  # noqa: PLC0415 - loaded only where there is a server

    environment = spec.environment
    command = shutil.which(spec.command, path=environment.get("PATH")) or spec.command
    args = ["-I", "-S", keeper.__file__, ",".join(environment), command, *spec.args]
    return stdio_client(
        StdioServerParameters(command=sys.executable, args=args, env=environment, cwd=spec.folder), errlog=said
    )


async def _over_http(spec: ServerSpec, stack: AsyncExitStack) -> Transport:
    import httpx2  # noqa: PLC0415 - loaded only where there is a server
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - the same

    http = httpx2.AsyncClient(
        headers={name: value.get_secret_value() for name, value in spec.headers.items()},
        timeout=httpx2.Timeout(HTTP_SECONDS, read=None),  # each question has a deadline of its own
        event_hooks={"response": [_bounded]},
    )
    return streamable_http_client(spec.url, http_client=await stack.enter_async_context(http))


async def _bounded(response: Any) -> None:
    """Let a body that is one message be no larger than a message may be; streams are bounded event by event."""
    import httpx2  # noqa: PLC0415 - loaded only where there is a server

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for data in whole:
                size += len(data)
                if size > keeper.MAX_MESSAGE:
                    raise httpx2.DecodingError(f"a message of more than {keeper.MAX_MESSAGE} bytes")
                yield data

        async def aclose(self) -> None:
            await whole.aclose()

    whole = response.stream
    if "application/json" in response.headers.get("content-type", ""):
        response.stream = Bounded()


def _end_of(said: TextIO) -> str:
    """Give the last line that the server wrote to stderr; its keeper wrote it down when the server ended."""
    said.seek(0)
    lines = [visible(line) for line in said.read().splitlines() if line.strip()]
    return f"Its last words: {lines[-1][:500]}" if lines else ""


def require_mcp() -> None:
    """Load what sessions need: here, for the loop must not wait while it is loaded.

    Raises:
        BadUsage: the package `mcp` is not installed.
    """
    try:
        import jsonschema  # type: ignore[import-untyped]  # noqa: F401, PLC0415 - loaded by the first answer otherwise
        import mcp  # noqa: F401, PLC0415 - the same
    except ImportError as error:
        raise BadUsage(f"MCP servers need the package `mcp` ({error}).", fix="Install nbtool-chat[mcp].") from error
