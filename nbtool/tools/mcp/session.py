"""One session with one server: a task on nbtool's loop, from initialization to clean-up.

The task enters and exits all context managers of the session, as anyio's cancel scopes require; calls come from other
tasks of the same loop. A failure of a server affects only its own session.
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
from nbtool.tools.mcp import stdio_process
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

OnLog = Callable[["LoggingMessageNotificationParams"], object]
OnRefused = Callable[[str], object]
"""Receives the size of a message that was not read because it belongs to no request and is too large."""


class Session:
    """A session with one server; it starts at once, and is not restarted after it has ended."""

    def __init__(self, spec: ServerSpec, on_log: OnLog, on_refused: OnRefused) -> None:
        require_mcp()
        self.spec = spec
        self.instructions = ""
        self.when_open: Future[dict[str, RemoteTool]] = Future()
        self._on_log = on_log
        self._on_refused = on_refused
        self._client: Client | None = None
        self._stderr = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed in _live
        self._closing = asyncio.Event()
        self._task = background_loop().submit(self._run())

    @property
    def is_live(self) -> bool:
        """Whether requests can be sent; a server that has exited is noticed at the next request."""
        return self._client is not None

    def wait_until_open(self, remaining: float, seconds: float) -> dict[str, RemoteTool]:
        """Wait for what is `remaining` of the `seconds` until the server has initialized and listed its tools.

        Raises:
            McpFailed: it cannot be started or reached, returns an error, or times out; then it is stopped.
        """
        try:
            return self.when_open.result(remaining)
        except NotYet:
            self.stop()
            raise self.timeout_error(seconds) from None

    def timeout_error(self, seconds: float) -> McpFailed:
        """Return the error of a server that did not initialize in time."""
        return McpFailed(
            f"{server_label(self.spec.name)} did not answer `initialize` within {seconds:g} s.",
            fix="Check its url, and that the server is running."
            if self.spec.url
            else "It was stopped; check that its command runs in a terminal.",
        )

    def stop(self) -> None:
        """Stop the session without waiting."""
        self._task.cancel()

    def mark_lost(self) -> None:
        """Refuse new requests, and end; called on nbtool's loop."""
        self._client = None
        self._closing.set()

    def begin_close(self) -> None:
        """Start closing the session without waiting."""
        background_loop().call_soon(self._closing.set)

    def close(self) -> None:
        """Close the session and the server's processes; idempotent."""
        self.begin_close()
        if not background_loop().is_current():
            try:
                self._task.exception(self.spec.limits.close_seconds)
            except NotYet:
                self.stop()
            except Stopped:  # it did not respond in time, and its stdio process does the rest
                return

    async def list_tools(self) -> dict[str, RemoteTool]:
        """List the current tools.

        Raises:
            SessionLost: the session has ended.
            McpFailed: the server returned an error, or timed out.
        """
        from nbtool.tools.mcp.http import exchange  # noqa: PLC0415 - loaded only if there is a server

        client, seconds = self._running(), self.spec.limits.list_seconds
        with exchange() as current:
            try:
                async with asyncio.timeout(seconds):
                    return await self._list(client)
            except TimeoutError:
                raise McpFailed(
                    f"{server_label(self.spec.name)} did not list its tools within {seconds:g} s."
                ) from None
            except Exception as error:
                raise self._failure(error, current, is_call=False) from error

    async def call(self, name: str, arguments: dict[str, Any], on_progress: ProgressFnT) -> Any:
        """Call a tool, once, and return its result.

        Raises:
            SessionLost: the session ended; the message says so if the tool may have started.
            McpFailed: the server returned an error, or an invalid response.
            ToolFailed: the tool failed, with its own message.
        """
        from nbtool.tools.mcp.http import exchange  # noqa: PLC0415 - loaded only if there is a server

        client = self._running()
        with exchange() as current:
            try:
                # not `Client.call_tool`: if a schema has changed, that would list the tools and call again
                result = await client.session.call_tool(name, arguments, progress_callback=on_progress)
            except Exception as error:
                raise self._failure(error, current, is_call=True) from error
        return await asyncio.to_thread(result_value, result)

    def _running(self) -> Client:
        if self._client is None:
            raise SessionLost(f"{server_label(self.spec.name)} is closed.", fix="Start it again with `mcp_servers`.")
        return self._client

    async def _run(self) -> None:
        from nbtool.tools.mcp.http import exchange  # noqa: PLC0415 - loaded only if there is a server

        with self._stderr:
            try:
                with exchange() as current:
                    async with self._connect() as client:
                        self.instructions = client.instructions or ""
                        tools = await self._list(client)
                        self._client = client
                        self.when_open.set_result(tools)
                        await self._closing.wait()
            except Exception as error:  # noqa: BLE001 - any failure is the server's own
                if not self.when_open.done():  # pragma: no branch - a failure during closing is not reported
                    self.when_open.set_exception(
                        await self._with_transport_hint(self._failure(error, current, is_call=False), current)
                    )
            finally:
                self._client = None

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        from mcp import Client  # noqa: PLC0415 - loaded only if there is a server

        async with AsyncExitStack() as stack:
            transport = (
                _over_http(self.spec, stack, self._on_refused) if self.spec.url else _on_stdio(self.spec, self._stderr)
            )
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
        raise McpFailed(f"{server_label(self.spec.name)} listed its tools in more than {MAX_PAGES} pages.")

    async def _with_transport_hint(self, failure: ToolFailed, current: Exchange) -> ToolFailed:
        """Add a hint to the error of a URL that does not open a session: it may use another transport."""
        from nbtool.tools.mcp.http import sse_hint, uses_sse  # noqa: PLC0415 - loaded only if there is a server

        if self.spec.url and await uses_sse(self.spec, current):
            problem, fix = sse_hint()
            return McpFailed(f"{server_label(self.spec.name)} {problem}", fix=fix)
        return failure

    def _failure(self, error: BaseException, current: Exchange, *, is_call: bool) -> ToolFailed:
        from nbtool.tools.mcp.failures import to_tool_failure  # noqa: PLC0415 - loaded only if there is a server

        return to_tool_failure(error, self.spec, current, self._stderr, is_call=is_call)


async def _on_stdio(spec: ServerSpec, stderr: TextIO) -> Transport:
    """Run the command under the stdio process; its arguments, which others can list, hold no environment values."""
    from mcp import StdioServerParameters, stdio_client  # noqa: PLC0415 - loaded only if there is a server

    environment = spec.environment
    command = shutil.which(spec.command, path=environment.get("PATH")) or spec.command
    program = [stdio_process.__file__, str(spec.limits.max_message), ",".join(environment)]
    args = ["-I", "-S", *program, command, *spec.args]
    return stdio_client(
        StdioServerParameters(command=sys.executable, args=args, env=environment, cwd=spec.folder), errlog=stderr
    )


async def _over_http(spec: ServerSpec, stack: AsyncExitStack, on_refused: OnRefused) -> Transport:
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - loaded only if there is a server

    from nbtool.tools.mcp.http import http_client, public_url  # noqa: PLC0415 - the same

    http = await stack.enter_async_context(http_client(spec, on_refused))
    return streamable_http_client(public_url(spec), http_client=http, max_sse_event_size=None)  # bounded in `http`


def require_mcp() -> None:
    """Import the packages of a session in advance, so that the import does not block the loop.

    Raises:
        BadUsage: the package `mcp` is not installed.
    """
    try:
        import jsonschema  # type: ignore[import-untyped]  # noqa: F401, PLC0415 - otherwise loaded by the first response
        import mcp  # noqa: F401, PLC0415 - the same

        import nbtool.tools.mcp.failures  # noqa: F401, PLC0415 - the same

        _keep_off_stderr()
    except ImportError as error:
        raise BadUsage(f"MCP servers need the package `mcp` ({error}).", fix="Run `%pip install mcp`.") from error


def _keep_off_stderr() -> None:
    """Send the package's logs to the user's handlers only, not to stderr if there are none.

    It logs a traceback for each invalid message, and a server can send any number of them.
    """
    for name in ("mcp", "client"):
        logger = logging.getLogger(name)
        if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            logger.addHandler(logging.NullHandler())
