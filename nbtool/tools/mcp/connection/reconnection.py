"""Reconnect to a server: after a session has ended, the next request starts another, with increasing delays.

Only connecting and listing are retried. A call is sent once: its outcome is unknown if its session ends.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from nbtool.clock import monotonic
from nbtool.errors import McpFailed, ToolFailed
from nbtool.policy import site_policy
from nbtool.text import count_of, left_out, shorten
from nbtool.tools.mcp.catalog.tool_list import RemoteTool, ToolListing, no_list, server_label
from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.connection.failures import SessionLost
from nbtool.tools.mcp.connection.session import Session
from nbtool.tools.mcp.questions.elicitation import MAX_QUESTIONS, UNASKED, Answer, cancel, decline
from nbtool.tools.mcp.questions.login_prompt import LOGIN_SECONDS
from nbtool.tools.mcp.stdio.stdio_messages import LEFT_OUT
from nbtool.tools.tool import Progress
from nbtool.tools.values.sanitize import single_line

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import ElicitRequestParams, ElicitResult, LoggingMessageNotificationParams

MAX_WAIT = 1.0
"""Maximum seconds of a delay that a call waits for; if more is left it fails at once and reports when to retry."""

MAX_NOTICES = 20
"""Maximum number of stored notices about one server."""

MAX_PROGRESS = 1_000
"""Maximum number of progress notifications and log messages shown per call."""

MAX_PROGRESS_TEXT = 200
"""Maximum number of characters of each."""

MAX_READ = 10 * MAX_PROGRESS_TEXT
"""Maximum number of characters of such a text that are processed."""

T = TypeVar("T")
Check = Callable[[ToolListing], None]
Report = Callable[[Progress], object]
OnListed = Callable[[ToolListing], object]

_log = logging.getLogger("nbtool.mcp")


class Connection:
    """A server that is reconnected after its session was lost.

    Raises:
        PolicyRefused: the administrator's policy does not allow its address or its command.
    """

    def __init__(self, spec: ServerSpec, seconds: float, on_listed: Callable[[], OnListed | None]) -> None:
        if spec.url:
            site_policy().check_mcp_url(spec.url)
        else:
            site_policy().check_mcp_command(spec.command, spec.args)
        self.spec = spec
        self._on_listed = on_listed
        self._listing: asyncio.Task[None] | None = None
        self._is_listing_old = False
        self._has_listed = False
        self.notices: list[str] = []
        self._seconds = seconds
        self._session = Session(spec, self._on_log, self._on_refused, self._on_asked, self._on_changed)
        self._lock = asyncio.Lock()
        self._failures = 0
        self._retry_at = 0.0
        self._last_failure = ""
        self._is_closed = False
        self._process = os.getpid()
        self._calls: dict[object, _CallProgress] = {}

    @property
    def instructions(self) -> str:
        """The server's instructions for the model, from the current session."""
        return self._session.instructions

    def open(self, remaining: float, seconds: float) -> ToolListing:
        """Wait for the first session; raises McpFailed."""
        tools = self._session.wait_until_open(remaining, seconds)
        self._has_listed = tools.is_answered
        return tools

    def retry_now(self) -> None:
        """Let the next request connect without a delay."""
        self._failures, self._retry_at = 0, 0.0

    @property
    def when_open(self) -> Future[ToolListing]:
        """Done once the first session has listed its tools, or failed."""
        return self._session.when_open

    def begin_close(self) -> None:
        """Start closing the session without waiting, and do not reconnect."""
        self._is_closed = True
        self._session.begin_close()

    def close(self) -> None:
        """Close the session, and stop the server if it was started here."""
        self._is_closed = True
        self._session.close()

    async def list_tools(self) -> ToolListing:
        """List the current tools, in a new session if the previous one has ended; raises McpFailed."""
        return (await self._session_and_tools())[1]

    async def call(
        self, tool: RemoteTool, arguments: dict[str, Any], check: Check, report: Report, answer: Answer | None = None
    ) -> Any:
        """List the tools, pass them to `check`, and call one; the call is never repeated.

        `answer` answers what the server asks meanwhile; without it, that is declined.

        Raises:
            McpFailed: the server cannot be reached, or `check` raises it.
            ToolFailed: the tool failed, with its own message.
        """
        session, tools = await self._session_and_tools()
        check(tools)
        key, progress = object(), _CallProgress(report, answer)
        self._calls[key] = progress
        try:
            return await session.call(tool, arguments, progress.on_progress, progress.answer)
        except SessionLost:
            session.mark_lost()
            raise
        finally:
            del self._calls[key]
            progress.close()

    async def request(self, send: Callable[[Client], Awaitable[T]], doing: str) -> T:
        """Send a request other than a call, in a new session if the previous one has ended; see `Session.request`."""
        return (await self._in_live_session(lambda session: session.request(send, doing)))[1]

    async def _session_and_tools(self) -> tuple[Session, ToolListing]:
        session, tools = await self._in_live_session(lambda session: session.list_tools())
        if tools.is_answered:
            self._has_listed = True
        elif self._has_listed:  # a faulty answer does not take the tools away that it had
            raise McpFailed(no_list(self.spec.name))
        return session, tools

    async def _in_live_session(self, work: Callable[[Session], Awaitable[T]]) -> tuple[Session, T]:
        """Do something that may be repeated in the session, and in a new one if that has ended."""
        if os.getpid() != self._process:  # pragma: no cover - runs in forked children only, see tests/test_fork.py
            raise McpFailed(
                f"{server_label(self.spec.name)} belongs to the parent process; this process is a fork of it.",
                fix="Start it here with `mcp_servers`.",
            )
        session = await self._live_session()
        try:
            return session, await work(session)
        except SessionLost:
            session.mark_lost()
        session = await self._live_session()
        return session, await work(session)

    async def _live_session(self) -> Session:
        """Return a live session, starting one if there is none."""
        async with self._lock:
            if self._is_closed:
                raise McpFailed(f"{server_label(self.spec.name)} is closed.", fix="Start it again with `mcp_servers`.")
            if self._session.is_live:
                return self._session
            await self._wait_before_retry()
            session = Session(self.spec, self._on_log, self._on_refused, self._on_asked, self._on_changed)
            try:
                await self._wait_until_open(session)
            except ToolFailed as error:
                session.stop()
                self._failures += 1
                limits = self.spec.limits
                delay = min(limits.max_delay, limits.initial_delay * 2 ** (self._failures - 1))
                self._retry_at = monotonic() + delay
                self._last_failure = str(error)
                raise
            except BaseException:
                session.stop()
                raise
            self._session, self._failures = session, 0
            self._add_notice(f"{server_label(self.spec.name)} was reconnected in a new session.")
            return session

    async def _wait_until_open(self, session: Session) -> None:
        future = asyncio.wrap_future(session.when_open)
        login = 2 * LOGIN_SECONDS if self.spec.login_prompt and self.spec.login_prompt.can_ask else 0.0
        done, _ = await asyncio.wait({future}, timeout=self._seconds + login)
        if not done:
            raise session.timeout_error(self._seconds)
        future.result()

    async def _wait_before_retry(self) -> None:
        """Wait until the next attempt is due, or fail if that takes too long."""
        remaining = self._retry_at - monotonic()
        if remaining > MAX_WAIT:
            raise McpFailed(self._last_failure, fix=f"Retry in {math.ceil(remaining)} s.")
        if remaining > 0:
            await asyncio.sleep(remaining)

    def _on_log(self, params: LoggingMessageNotificationParams) -> None:
        """Process a log message; those of the stdio process report stdout lines that are not messages."""
        if params.logger == LEFT_OUT and type(params.data) is int:
            for progress in self._calls.values():
                progress.left_out += params.data
            return
        text = _truncate(self.spec.without_secrets(str(params.data)))
        if params.logger == "nbtool":
            self._add_notice(f"{server_label(self.spec.name)} printed a line that is not a message: {text!r}")
        elif len(self._calls) == 1:  # with several calls it cannot be attributed
            (progress,) = self._calls.values()
            progress.add(f"[{params.level}] {text}", None)
        else:
            _log.info("%s (%s): %s", server_label(self.spec.name), params.level, text)

    def _on_changed(self) -> None:
        """List the tools again after the server said that they changed: once for any number of notifications."""
        self._is_listing_old = True
        if self._listing is None or self._listing.done():
            self._listing = asyncio.ensure_future(self._list_changes())

    async def _list_changes(self) -> None:
        while self._is_listing_old and not self._is_closed:
            self._is_listing_old = False
            try:
                tools = await self.list_tools()
            except McpFailed as error:
                self._add_notice(str(error))
                return
            if on_listed := self._on_listed():
                on_listed(tools)
            await asyncio.sleep(self.spec.limits.initial_delay)

    async def _on_asked(self, params: ElicitRequestParams) -> ElicitResult:
        """Answer a question of the server that names no call: during several, in the one that runs for longest."""
        for progress in self._calls.values():
            return await progress.answer(params)
        self._add_notice(UNASKED.format(server=server_label(self.spec.name)))
        return decline()

    def _on_refused(self, size: str) -> None:
        self._add_notice(
            f"{server_label(self.spec.name)} sent a message {size} outside of a call; it was not read, and the"
            " stream of its notifications was closed."
        )

    def note(self, what: str) -> None:
        """Add a notice that begins with the server's name, unless it is there."""
        if (notice := f"{server_label(self.spec.name)} {what}") not in self.notices:
            self._add_notice(notice)

    def _add_notice(self, notice: str) -> None:
        if len(self.notices) < MAX_NOTICES:
            self.notices.append(notice)
            _log.warning(notice)


class _CallProgress:
    """What a server reports and asks during one call, within bounds; omitted messages are counted."""

    def __init__(self, report: Report, answer: Answer | None = None) -> None:
        self.left_out = 0  # messages dropped before they reached this process
        self._answer = answer
        self._questions: set[asyncio.Task[ElicitResult]] = set()
        self._report = report
        self._count = 0

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        fraction = progress / total if total and math.isfinite(progress) and math.isfinite(total) else None
        clamped = None if fraction is None else min(max(fraction, 0.0), 1.0)
        text = _truncate(message or "")
        self.add(text if text or clamped is not None else f"{progress:g}", clamped)

    def add(self, text: str, fraction: float | None) -> None:
        self._count += 1
        if self._count <= MAX_PROGRESS:
            self._report(Progress(text, fraction))
        elif self._count == MAX_PROGRESS + 1:
            self._report(Progress(f"(more than {MAX_PROGRESS} progress messages: the rest is not shown)"))

    async def answer(self, params: ElicitRequestParams) -> ElicitResult:
        """Answer a question of the server; its end, or that of the call, withdraws it."""
        if self._answer is None or len(self._questions) >= MAX_QUESTIONS:
            return decline()
        task = asyncio.ensure_future(self._answer(params))
        self._questions.add(task)
        try:
            await asyncio.wait({task})
        finally:
            self._questions.discard(task)
            task.cancel()
        return cancel() if task.cancelled() else task.result()

    def close(self) -> None:
        """Withdraw open questions, and report the number of omitted messages, if any."""
        for task in self._questions:
            task.cancel()
        if (count := self.left_out + max(0, self._count - MAX_PROGRESS)) > 0:
            self._report(
                Progress(f"({count_of(count, 'progress and log message')} {'was' if count == 1 else 'were'} omitted)")
            )


def _truncate(text: str) -> str:
    beginning = single_line(text[:MAX_READ])
    if unread := len(text[MAX_READ:]):
        return f"{beginning[:MAX_PROGRESS_TEXT]}[{left_out(max(0, len(beginning) - MAX_PROGRESS_TEXT) + unread)}]"
    return shorten(beginning, MAX_PROGRESS_TEXT)
