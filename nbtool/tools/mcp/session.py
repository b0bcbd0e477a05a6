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
from nbtool.loop import background_loop
from nbtool.tools.mcp import supervisor
from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.content import result_value
from nbtool.tools.mcp.errors import SessionLost
from nbtool.tools.mcp.tool_list import MAX_PAGES, RemoteTool, parse_tools, server_label

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
        self.when_open: Future[dict[str, RemoteTool]] = Future()
        self._on_log = on_log
        self._client: Client | None = None
        self._stderr = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed in _live
        self._exit_report = ("", "")
        self._closing = asyncio.Event()
        self._task = background_loop().submit(self._run())

    @property
    def is_live(self) -> bool:
        """Whether questions can be asked; that a server has gone is seen when one is."""
        return self._client is not None

    def wait_until_open(self, remaining: float, seconds: float) -> dict[str, RemoteTool]:
        """Wait for what is `remaining` of the `seconds` until the server has greeted and listed its tools.

        Raises:
            McpFailed: it cannot be started or reached, says no, or has not answered in time; then it is stopped.
        """
        try:
            return self.when_open.result(remaining)
        except NotYet:
            self.stop()
            raise self.timeout_error(seconds) from None

    def timeout_error(self, seconds: float) -> McpFailed:
        """Make the error of a server that did not greet in time."""
        return McpFailed(
            f"{server_label(self.spec.name)} did not answer `initialize` within {seconds:g} s.",
            fix="It was stopped; see whether its command runs in a terminal.",
        )

    def stop(self) -> None:
        """End the session where it is, and do not wait for it."""
        self._task.cancel()

    def mark_lost(self) -> None:
        """Take no more questions, and end; on nbtool's loop."""
        self._client = None
        self._closing.set()

    def begin_close(self) -> None:
        """Let the session end, and do not wait for it."""
        background_loop().call_soon(self._closing.set)

    def close(self) -> None:
        """End the session and the server's processes; a second time changes nothing."""
        self.begin_close()
        if not background_loop().is_current():
            try:
                self._task.exception(CLOSE_SECONDS)
            except NotYet:
                self.stop()
            except Stopped:  # it had not answered in time, and its keeper sees to the rest
                return

    async def list_tools(self) -> dict[str, RemoteTool]:
        """List the tools as they are now.

        Raises:
            SessionLost: the session has ended.
            McpFailed: the server says no, or not in time.
        """
        from nbtool.tools.mcp.http import exchange  # noqa: PLC0415 - loaded only where there is a server

        client = self._running()
        with exchange() as current:
            try:
                async with asyncio.timeout(LIST_SECONDS):
                    return await self._list(client)
            except TimeoutError:
                raise McpFailed(
                    f"{server_label(self.spec.name)} did not list its tools within {LIST_SECONDS:g} s."
                ) from None
            except Exception as error:
                raise self._failure(error, current, is_call=False) from error

    async def call(self, name: str, arguments: dict[str, Any], on_progress: ProgressFnT) -> Any:
        """Call a tool, once, and give what it answers.

        Raises:
            SessionLost: the session ended; where the server may have begun, the text says so.
            McpFailed: the server says no, or its answer cannot be read.
            ToolFailed: the tool failed, in its own words.
        """
        from nbtool.tools.mcp.http import exchange  # noqa: PLC0415 - loaded only where there is a server

        client = self._running()
        with exchange() as current:
            try:
                # not `Client.call_tool`: where a schema changed meanwhile, that would list the tools and call again
                result = await client.session.call_tool(name, arguments, progress_callback=on_progress)
            except Exception as error:
                raise self._failure(error, current, is_call=True) from error
        return await asyncio.to_thread(result_value, result)

    def _running(self) -> Client:
        if self._client is None:
            raise SessionLost(f"{server_label(self.spec.name)} is closed.", fix="Start it again with `mcp_servers`.")
        return self._client

    async def _run(self) -> None:
        from nbtool.tools.mcp.http import exchange  # noqa: PLC0415 - loaded only where there is a server

        with self._stderr:
            try:
                with exchange() as current:
                    async with self._connect() as client:
                        self.instructions = client.instructions or ""
                        tools = await self._list(client)
                        self._client = client
                        self.when_open.set_result(tools)
                        await self._closing.wait()
            except Exception as error:  # noqa: BLE001 - whatever a server brings about is its own failure
                if not self.when_open.done():  # pragma: no branch - what fails as it closes has nobody left to tell
                    self.when_open.set_exception(
                        await self._with_transport_hint(self._failure(error, current, is_call=False), current)
                    )
            finally:
                self._client = None

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        from mcp import Client  # noqa: PLC0415 - loaded only where there is a server

        async with AsyncExitStack() as stack:
            transport = _over_http(self.spec, stack) if self.spec.url else _on_stdio(self.spec, self._stderr)
            yield await stack.enter_async_context(Client(await transport, logging_callback=self._log, cache=None))

    async def _log(self, params: LoggingMessageNotificationParams) -> None:
        self._on_log(params)

    async def _list(self, client: Client) -> dict[str, RemoteTool]:
        parsed: dict[str, RemoteTool] = {}
        cursor = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            parsed = parse_tools(self.spec.name, page.tools, parsed)
            cursor = page.next_cursor
            if cursor is None:
                return parsed
        raise McpFailed(f"{server_label(self.spec.name)} lists its tools in more than {MAX_PAGES} pages.")

    async def _with_transport_hint(self, failure: ToolFailed, current: Exchange) -> ToolFailed:
        """Say more of an address that does not open a session: it may speak another transport."""
        from nbtool.tools.mcp.http import sse_hint, uses_sse  # noqa: PLC0415 - loaded only where there is a server

        if self.spec.url and await uses_sse(self.spec, current):
            problem, fix = sse_hint()
            return McpFailed(f"{server_label(self.spec.name)} {problem}", fix=fix)
        return failure

    def _failure(self, error: BaseException, current: Exchange, *, is_call: bool) -> ToolFailed:
        from nbtool.tools.mcp.failures import to_tool_failure  # noqa: PLC0415 - loaded only where there is a server

        return to_tool_failure(error, self.spec, current, self._stderr, is_call=is_call)


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
