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
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import CancelledError as Stopped
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from nbtool.errors import BadUsage, McpFailed, ToolFailed
from nbtool.threads.loop import background_loop
from nbtool.tools.mcp.catalog.entries import LISTED
from nbtool.tools.mcp.catalog.result_content import result_value
from nbtool.tools.mcp.catalog.tool_list import MAX_PAGES, RemoteTool, ToolListing, parse_tools, server_label
from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.connection.exchange import Exchange, exchange
from nbtool.tools.mcp.connection.failures import SessionLost
from nbtool.tools.mcp.questions.elicitation import Answer, complete_call
from nbtool.tools.mcp.stdio import stdio_process

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import Transport
    from mcp.shared.dispatcher import ProgressFnT
    from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, LoggingMessageNotificationParams

    from nbtool.tools.mcp.connection.http_transport import WrapTransport

T = TypeVar("T")
OnLog = Callable[["LoggingMessageNotificationParams"], object]
OnRefused = Callable[[str], object]
"""Receives the size of a message that was not read because it belongs to no request and is too large."""


class Session:
    """A session with one server; it starts at once, and is not restarted after it has ended."""

    def __init__(
        self,
        spec: ServerSpec,
        on_log: OnLog,
        on_refused: OnRefused,
        on_asked: Answer,
        on_changed: Callable[[], object] = lambda: None,
    ) -> None:
        require_mcp()
        self.spec = spec
        self._on_changed = on_changed
        self._has_changed_early = False
        self._on_asked = on_asked
        self.instructions = ""
        self.when_open: Future[ToolListing] = Future()
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

    def wait_until_open(self, remaining: float, seconds: float) -> ToolListing:
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

    async def list_tools(self) -> ToolListing:
        """List the current tools; raises as `request`."""
        return await self.request(self._list, "list its tools")

    async def request(self, send: Callable[[Client], Awaitable[T]], doing: str) -> T:
        """Send a request other than a call and return its result; `doing` is what the server is to do, for errors.

        Raises:
            SessionLost: the session has ended.
            McpFailed: the server returned an error, or timed out.
        """
        client, seconds = self._running(), self.spec.limits.list_seconds
        with exchange() as current:
            try:
                async with (
                    self.spec.login_prompt.within(seconds) if self.spec.login_prompt else asyncio.timeout(seconds)
                ):
                    return await send(client)
            except TimeoutError:
                raise McpFailed(f"{server_label(self.spec.name)} did not {doing} within {seconds:g} s.") from None
            except Exception as error:
                raise self._failure(error, current, is_call=False) from error

    async def call(
        self, tool: RemoteTool, arguments: dict[str, Any], on_progress: ProgressFnT, answer: Answer | None = None
    ) -> Any:
        """Call a tool, once, and return its result; `answer` answers what the server asks before it completes the call.

        Raises:
            SessionLost: the session ended; the message says so if the tool may have started.
            McpFailed: the server returned an error, or an invalid response.
            ToolFailed: the tool failed, with its own message.
        """
        client = self._running()
        with exchange() as current:
            try:
                # not `Client.call_tool`: if a schema has changed, that would list the tools and call again
                call = partial(client.session.call_tool, tool.name, arguments, progress_callback=on_progress)
                answer = answer or self._on_asked
                if (result := await _send_as_task(client, tool, arguments, on_progress)) is None:
                    result = await complete_call(partial(call, allow_claimed=True), answer)
                result = await _finish(client, result, answer, on_progress)
            except Exception as error:
                raise self._failure(error, current, is_call=True) from error
        return await asyncio.to_thread(result_value, result, self.spec.name, tool.output_schema)

    def _running(self) -> Client:
        if self._client is None:
            raise SessionLost(f"{server_label(self.spec.name)} is closed.", fix="Start it again with `mcp_servers`.")
        return self._client

    async def _run(self) -> None:
        with self._stderr:
            try:
                with exchange() as current:
                    async with self._connect() as client:
                        self.instructions = client.instructions or ""
                        tools = await self._list(client)
                        self._client = client
                        self.when_open.set_result(tools)
                        if self._has_changed_early:
                            self._on_changed()
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
        async with AsyncExitStack() as stack:
            try:
                client = await self._open(stack, "auto" if self.spec.prefers_newest else "legacy")
            except Exception as error:
                if self.spec.prefers_newest or not _lacks_handshake(error):
                    raise
                await stack.aclose()
                self._stderr.truncate(0)
                client = await self._open(stack, "auto")
            subscription = asyncio.ensure_future(self._follow_changes(client))
            stack.callback(subscription.cancel)
            yield client

    async def _open(self, stack: AsyncExitStack, mode: str) -> Client:
        """Open a client that negotiates the protocol in a mode of the package.

        A handshake is preferred: only after one can a server ask the person during a call, by a request of its own. A
        server that knows the newest protocol alone, or whose entry asks for it, is asked what it supports (`auto`).
        """
        from mcp import Client  # noqa: PLC0415 - loaded only if there is a server

        from nbtool.tools.mcp.connection.repairing_transport import repairing  # noqa: PLC0415 - the same
        from nbtool.tools.mcp.connection.task_calls import TaskExtension  # noqa: PLC0415 - the same

        opened = await (
            _over_http(self.spec, stack, self._on_refused) if self.spec.url else _on_stdio(self.spec, self._stderr)
        )
        connect = partial(
            Client,
            logging_callback=self._log,
            elicitation_callback=self._elicit,
            cache=None,
            extensions=[TaskExtension()],
        )
        return await stack.enter_async_context(connect(repairing(opened), message_handler=self._notice, mode=mode))

    async def _elicit(self, context: object, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG002 - the names of the protocol
        return await self._on_asked(params)

    async def _notice(self, message: object) -> None:
        """Handle a notification of a server of an older protocol, which sends them unasked."""
        from mcp.types import ToolListChangedNotification  # noqa: PLC0415 - loaded only if there is a server

        if isinstance(message, ToolListChangedNotification):
            self._tell_change()

    def _tell_change(self) -> None:
        """Say that the tools have changed; before the session is open, when it is: until then nothing can be listed."""
        if self._client is None:
            self._has_changed_early = True
        else:
            self._on_changed()

    async def _follow_changes(self, client: Client) -> None:
        """Subscribe to changes of the tool list at a server of the newest protocol, as long as it lets us."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415 - the same

        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (tools and tools.list_changed):
            return
        with suppress(Exception):  # without it, changes are found by the listing before each call
            async with client.listen(tools_list_changed=True) as subscription:
                async for _ in subscription:
                    self._tell_change()

    async def _log(self, params: LoggingMessageNotificationParams) -> None:
        self._on_log(params)

    async def _list(self, client: Client) -> ToolListing:
        parsed = ToolListing()
        cursor = None
        for _ in range(MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            parsed = parse_tools(self.spec.name, (page.meta or {}).get(LISTED), parsed)
            cursor = page.next_cursor
            if cursor is None:
                return parsed
        raise McpFailed(f"{server_label(self.spec.name)} listed its tools in more than {MAX_PAGES} pages.")

    async def _with_transport_hint(self, failure: ToolFailed, current: Exchange) -> ToolFailed:
        """Add a hint to the error of a URL that does not open a session: it may use another transport."""
        from nbtool.tools.mcp.connection.http_transport import sse_hint, uses_sse  # noqa: PLC0415 - loaded only if there is a server

        if self.spec.url and await uses_sse(self.spec, current):
            problem, fix = sse_hint()
            return McpFailed(f"{server_label(self.spec.name)} {problem}", fix=fix)
        return failure

    def _failure(self, error: BaseException, current: Exchange, *, is_call: bool) -> ToolFailed:
        from nbtool.tools.mcp.connection.failures import to_tool_failure  # noqa: PLC0415 - loaded only if there is a server

        return to_tool_failure(error, self.spec, current, self._stderr, is_call=is_call)


async def _send_as_task(
    client: Client, tool: RemoteTool, arguments: dict[str, Any], on_progress: ProgressFnT
) -> CallToolResult | None:
    """Return the answer to a call that has to be a task by the protocol of 2025-11-25; None for any other."""
    from nbtool.tools.mcp.connection.task_calls import call_as_task, can_require_tasks  # noqa: PLC0415 - loaded only if there is a server

    if not (tool.needs_task and can_require_tasks(client)):
        return None
    return await call_as_task(client.session, tool.name, arguments, on_progress)


async def _finish(client: Client, result: Any, answer: Answer, on_progress: ProgressFnT) -> Any:
    """Return the result of a call, and wait for it where the call has become a task, even one that nobody asked for."""
    from nbtool.tools.mcp.connection.task_calls import TaskCreated, finish_earlier_task, finish_task  # noqa: PLC0415 - loaded only if there is a server

    if isinstance(result, TaskCreated):
        return await finish_task(client.session, result, answer, on_progress)
    return await finish_earlier_task(client.session, result, on_progress)


def _lacks_handshake(error: BaseException) -> bool:
    """Whether a server refused the handshake, as one does that knows the newest protocol alone."""
    from mcp import MCPError  # noqa: PLC0415 - loaded only if there is a server
    from mcp.types import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND  # noqa: PLC0415 - the same
    from mcp_types import UNSUPPORTED_PROTOCOL_VERSION  # noqa: PLC0415 - the same

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    refusals = (UNSUPPORTED_PROTOCOL_VERSION, METHOD_NOT_FOUND, INVALID_REQUEST, INVALID_PARAMS)
    return isinstance(error, MCPError) and error.code in refusals


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

    from nbtool.tools.mcp.connection.http_transport import http_client, public_url  # noqa: PLC0415 - the same

    http = await stack.enter_async_context(http_client(spec, on_refused, await _login_of(spec)))
    return streamable_http_client(public_url(spec), http_client=http, max_sse_event_size=None)  # bounded in `http`


async def _login_of(spec: ServerSpec) -> WrapTransport:
    """Return what adds a person's login to the requests of a session, where the configuration says so."""
    if not spec.uses_oauth or spec.login_prompt is None:
        return lambda transport: transport
    from nbtool.tools.mcp.connection.oauth import LoginTransport, open_login  # noqa: PLC0415 - loaded only for a login

    provider = await open_login(spec, spec.login_prompt)
    return lambda transport: LoginTransport(transport, spec, provider)


def require_mcp() -> None:
    """Import the packages of a session in advance, so that the import does not block the loop.

    Raises:
        BadUsage: the package `mcp` is not installed.
    """
    try:
        import jsonschema  # type: ignore[import-untyped]  # noqa: F401, PLC0415 - otherwise loaded by the first response
        import mcp  # noqa: F401, PLC0415 - the same

        import nbtool.tools.mcp.connection.failures  # noqa: PLC0415 - the same
        import nbtool.tools.mcp.connection.task_calls  # noqa: F401, PLC0415 - the same

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
