"""Calls that take long, as tasks: a client that knows the extension asks for the result, and may be away meanwhile.

A call that waits for a person may take minutes, and clients give up on a request before that. See
https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.types import INVALID_PARAMS, CallToolResult, ClientCapabilities
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from nbtool.tools.mcp.connection.task_calls import IDENTIFIER, TaskParams

INLINE_SECONDS = 1.0
"""Seconds in which a call is answered at once; one that takes longer becomes a task."""

POLL_MS = 500
"""Milliseconds between two questions about a task, as clients are told."""

KEPT_SECONDS = 3600.0
"""How long the result of a task that has ended is kept."""

MAX_TASKS = 200
"""Maximum number of tasks that are kept; the oldest that have ended are forgotten before."""

WAITING = "The call is under way. A person may have to approve it in the notebook."


@dataclass(slots=True)
class _Task:
    client: str
    run: asyncio.Task[CallToolResult]
    message: str = WAITING
    created: str = field(default_factory=lambda: _now())
    updated: str = field(default_factory=lambda: _now())
    ended: float = 0.0


class CallTasks:
    """The tasks of all clients; one client does not see those of another name.

    A call that takes more than `inline_seconds` becomes a task; of those that have ended, the latest `most` are kept.
    """

    def __init__(self, inline_seconds: float = INLINE_SECONDS, most: int = MAX_TASKS) -> None:
        self.inline_seconds, self.most = inline_seconds, most
        self._tasks: dict[str, _Task] = {}

    @property
    def count(self) -> int:
        """How many tasks are kept, those that have ended included."""
        return len(self._tasks)

    def register(self, server: Server[Any], name_of: Any) -> None:
        """Answer the requests about tasks; `name_of` returns the client of a request."""
        self._name_of = name_of
        server.extensions[IDENTIFIER] = {}
        for method, handler in (("get", self._get), ("cancel", self._cancel), ("update", self._update)):
            server.add_request_handler(f"tasks/{method}", TaskParams, handler)

    async def run(
        self, context: ServerRequestContext[Any], client: str, call: Coroutine[Any, Any, CallToolResult]
    ) -> CallToolResult | dict[str, Any]:
        """Return the result of a call, or the task that it has become: where its client can ask for that later."""
        if not _knows_tasks(context):
            return await call
        running = asyncio.ensure_future(call)
        try:
            done, _ = await asyncio.wait({running}, timeout=self.inline_seconds)
        except asyncio.CancelledError:  # the client gave up, which cancels the call
            running.cancel()
            raise
        if done:
            return await running
        return self._keep(client, running)

    def note(self, running: asyncio.Task[Any] | None, text: str) -> None:
        """Keep what a call says of its progress, for the client of its task."""
        for task in self._tasks.values():
            if task.run is running and text:
                task.message, task.updated = text, _now()

    def _keep(self, client: str, running: asyncio.Task[CallToolResult]) -> dict[str, Any]:
        self._forget_ended()
        task_id, task = secrets.token_urlsafe(24), _Task(client, running)
        self._tasks[task_id] = task
        running.add_done_callback(lambda _: self._end(task))
        return {"resultType": "task", **_describe(task_id, task)}

    def _end(self, task: _Task) -> None:
        task.ended, task.updated = time.monotonic(), _now()
        if not task.run.cancelled():
            task.run.exception()  # is told to the client that asks

    def _forget_ended(self) -> None:
        oldest = time.monotonic() - KEPT_SECONDS
        ended = [task_id for task_id, task in self._tasks.items() if task.ended]
        too_many = len(self._tasks) - self.most + 1
        for number, task_id in enumerate(ended):
            if number < too_many or self._tasks[task_id].ended < oldest:
                del self._tasks[task_id]

    async def _get(self, context: ServerRequestContext[Any], params: TaskParams) -> dict[str, Any]:
        task = self._find(context, params)
        return {"resultType": "complete", **_describe(params.task_id, task)}

    async def _cancel(self, context: ServerRequestContext[Any], params: TaskParams) -> dict[str, Any]:
        self._find(context, params).run.cancel()
        return {}

    async def _update(self, context: ServerRequestContext[Any], params: TaskParams) -> dict[str, Any]:
        self._find(context, params)
        return {}

    def _find(self, context: ServerRequestContext[Any], params: TaskParams) -> _Task:
        """Return the task of a request; one of another client is as unknown as none."""
        task = self._tasks.get(params.task_id)
        if task is None or task.client != self._name_of(context):
            raise MCPError(INVALID_PARAMS, "There is no such task.")
        return task


def _knows_tasks(context: ServerRequestContext[Any]) -> bool:
    """Whether the client of a request can ask for its result later."""
    capability = ClientCapabilities(extensions={IDENTIFIER: {}})
    session = context.session
    return session.protocol_version in MODERN_PROTOCOL_VERSIONS and session.check_client_capability(capability)


def _describe(task_id: str, task: _Task) -> dict[str, Any]:
    """Return a task as its client reads it, with its result if it has ended."""
    state: dict[str, Any] = {"status": "working", "statusMessage": task.message}
    if task.run.cancelled():
        state = {"status": "cancelled"}
    elif task.run.done():
        state = _ended(task.run)
    return {
        "taskId": task_id, "createdAt": task.created, "lastUpdatedAt": task.updated,
        "ttlMs": int(KEPT_SECONDS * 1000) if task.ended else None, "pollIntervalMs": POLL_MS, **state,
    }  # fmt: skip


def _ended(run: asyncio.Task[CallToolResult]) -> dict[str, Any]:
    if error := run.exception():
        code, text = (error.code, str(error)) if isinstance(error, MCPError) else (-32603, "The call failed.")
        return {"status": "failed", "error": {"code": code, "message": text}}
    return {"status": "completed", "result": run.result().model_dump(by_alias=True, mode="json", exclude_none=True)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
