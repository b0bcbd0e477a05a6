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
from collections.abc import AsyncIterator, Callable
from concurrent.futures import CancelledError as Stopped
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, TextIO

from nbtool.errors import BadUsage, McpFailed, ToolFailed
from nbtool.loop import core
from nbtool.tools.mcp import supervisor
from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.content import value_of
from nbtool.tools.mcp.errors import SessionLost
from nbtool.tools.mcp.tool_list import MAX_PAGES, Listed, called, listed

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import Transport
    from mcp.shared.dispatcher import ProgressFnT
    from mcp.types import LoggingMessageNotificationParams

    from nbtool.tools.mcp.http import Exchange

CLOSE_SECONDS = 8.0
"""Seconds that a session is given to end; the server itself has a second before it is killed."""

LIST_SECONDS = 10.0
"""Seconds in which a server lists its tools once more before a call."""

OnLog = Callable[["LoggingMessageNotificationParams"], object]


class Session:
    """A session with one server; it begins at once, and when it has ended it does not come back."""

    def __init__(self, spec: ServerSpec, on_log: OnLog) -> None:
        require_mcp()
        self.spec = spec
        self.instructions = ""
        self.opened: Future[dict[str, Listed]] = Future()
        self._on_log = on_log
        self._client: Client | None = None
        self._stderr = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed in _live
        self._end = ("", "")
        self._closing = asyncio.Event()
        self._life = core().spawn(self._live())

    @property
    def is_live(self) -> bool:
        """Whether questions can be asked; that a server has gone is seen when one is."""
        return self._client is not None

    def wait_until_open(self, left: float, seconds: float) -> dict[str, Listed]:
        """Wait for what is `left` of the `seconds` until the server has greeted and listed its tools.

        Raises:
            McpFailed: it cannot be started or reached, says no, or has not answered in time; then it is stopped.
        """
        try:
            return self.opened.result(left)
        except NotYet:
            self.stop()
            raise self.unanswered(seconds) from None

    def unanswered(self, seconds: float) -> McpFailed:
        """Make the error of a server that did not greet in time."""
        return McpFailed(
            f"{called(self.spec.name)} did not answer `initialize` within {seconds:g} s.",
            fix="It was stopped; see whether its command runs in a terminal.",
        )

    def stop(self) -> None:
        """End the session where it is, and do not wait for it."""
        self._life.cancel()

    def retire(self) -> None:
        """Take no more questions, and end; on nbtool's loop."""
        self._client = None
        self._closing.set()

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
                self.stop()
            except Stopped:  # it had not answered in time, and its keeper sees to the rest
                return

    async def listed(self) -> dict[str, Listed]:
        """List the tools as they are now.

        Raises:
            SessionLost: the session has ended.
            McpFailed: the server says no, or not in time.
        """
        from nbtool.tools.mcp.http import exchange  # noqa: PLC0415 - loaded only where there is a server

        client = self._running()
        with exchange() as noted:
            try:
                async with asyncio.timeout(LIST_SECONDS):
                    return await self._list(client)
            except TimeoutError:
                raise McpFailed(f"{called(self.spec.name)} did not list its tools within {LIST_SECONDS:g} s.") from None
            except Exception as error:
                raise self._failure(error, noted, is_call=False) from error

    async def call(self, name: str, arguments: dict[str, Any], on_progress: ProgressFnT) -> Any:
        """Call a tool, once, and give what it answers.

        Raises:
            SessionLost: the session ended; where the server may have begun, the text says so.
            McpFailed: the server says no, or its answer cannot be read.
            ToolFailed: the tool failed, in its own words.
        """
        from nbtool.tools.mcp.http import exchange  # noqa: PLC0415 - loaded only where there is a server

        client = self._running()
        with exchange() as noted:
            try:
                # not `Client.call_tool`: where a schema changed meanwhile, that would list the tools and call again
                result = await client.session.call_tool(name, arguments, progress_callback=on_progress)
            except Exception as error:
                raise self._failure(error, noted, is_call=True) from error
        return await asyncio.to_thread(value_of, result)

    def _running(self) -> Client:
        if self._client is None:
            raise SessionLost(f"{called(self.spec.name)} is closed.", fix="Start it again with `mcp_servers`.")
        return self._client

    async def _live(self) -> None:
        from nbtool.tools.mcp.http import exchange  # noqa: PLC0415 - loaded only where there is a server

        with self._stderr:
            try:
                with exchange() as noted:
                    async with self._connected() as client:
                        self.instructions = client.instructions or ""
                        tools = await self._list(client)
                        self._client = client
                        self.opened.set_result(tools)
                        await self._closing.wait()
            except Exception as error:  # noqa: BLE001 - whatever a server brings about is its own failure
                if not self.opened.done():  # pragma: no branch - what fails as it closes has nobody left to tell
                    self.opened.set_exception(await self._advised(self._failure(error, noted, is_call=False), noted))
            finally:
                self._client = None

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        from mcp import Client  # noqa: PLC0415 - loaded only where there is a server

        async with AsyncExitStack() as stack:
            transport = _over_http(self.spec, stack) if self.spec.url else _on_stdio(self.spec, self._stderr)
            yield await stack.enter_async_context(Client(await transport, logging_callback=self._log, cache=None))

    async def _log(self, params: LoggingMessageNotificationParams) -> None:
        self._on_log(params)

    async def _list(self, client: Client) -> dict[str, Listed]:
        found: dict[str, Listed] = {}
        cursor = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            found = listed(self.spec.name, page.tools, found)
            cursor = page.next_cursor
            if cursor is None:
                return found
        raise McpFailed(f"{called(self.spec.name)} lists its tools in more than {MAX_PAGES} pages.")

    async def _advised(self, failure: ToolFailed, noted: Exchange) -> ToolFailed:
        """Say more of an address that does not open a session: it may speak another transport."""
        from nbtool.tools.mcp.http import speaks_sse, sse_advice  # noqa: PLC0415 - loaded only where there is a server

        if self.spec.url and await speaks_sse(self.spec, noted):
            what, fix = sse_advice()
            return McpFailed(f"{called(self.spec.name)} {what}", fix=fix)
        return failure

    def _failure(self, error: BaseException, noted: Exchange, *, is_call: bool) -> ToolFailed:
        from nbtool.tools.mcp.failures import failure_of  # noqa: PLC0415 - loaded only where there is a server

        return failure_of(error, self.spec, noted, self._stderr, is_call=is_call)


async def _on_stdio(spec: ServerSpec, stderr: TextIO) -> Transport:
    """Let the keeper run the command; it gets its environment by name, and none of it stands in a list of processes."""
    from mcp import StdioServerParameters, stdio_client  # noqa: PLC0415 - loaded only where there is a server

    environment = spec.environment
    command = shutil.which(spec.command, path=environment.get("PATH")) or spec.command
    args = ["-I", "-S", supervisor.__file__, ",".join(environment), command, *spec.args]
    return stdio_client(
        StdioServerParameters(command=sys.executable, args=args, env=environment, cwd=spec.folder), errlog=stderr
    )


async def _over_http(spec: ServerSpec, stack: AsyncExitStack) -> Transport:
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - loaded only where there is a server

    from nbtool.tools.mcp.http import http_client, public_url  # noqa: PLC0415 - the same

    http = await stack.enter_async_context(http_client(spec))
    return streamable_http_client(public_url(spec), http_client=http, max_sse_event_size=None)  # bounded in `http`


def require_mcp() -> None:
    """Load what sessions need: here, for the loop must not wait while it is loaded.

    Raises:
        BadUsage: the package `mcp` is not installed.
    """
    try:
        import jsonschema  # type: ignore[import-untyped]  # noqa: F401, PLC0415 - loaded by the first answer otherwise
        import mcp  # noqa: F401, PLC0415 - the same

        import nbtool.tools.mcp.failures  # noqa: F401, PLC0415 - the same

        _keep_off_stderr()
    except ImportError as error:
        raise BadUsage(f"MCP servers need the package `mcp` ({error}).", fix="Install nbtool-chat[mcp].") from error


def _keep_off_stderr() -> None:
    """Let what the package logs go to handlers that a person set up, and not to stderr where there are none.

    It logs a traceback for each message that is none, and a server can send as many of them as it likes.
    """
    for name in ("mcp", "client"):
        logger = logging.getLogger(name)
        if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            logger.addHandler(logging.NullHandler())
