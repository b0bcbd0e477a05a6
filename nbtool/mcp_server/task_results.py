"""Calls that take long, as tasks: a client that knows them asks for the result, and may be away meanwhile.

A call that waits for a person may take minutes, and clients give up on a request before that. As of 2026-07-28 the
server makes a task of a call: https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md.
As of 2025-11-25 the client asks for one:
https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from nbtool.tools.mcp.connection.task_calls import IDENTIFIER, TASK_VERSION, TaskParams

INLINE_SECONDS = 1.0
"""Seconds in which a call is answered at once; one that takes longer becomes a task."""

POLL_MS = 500
"""Milliseconds between two questions about a task, as clients are told."""

KEPT_SECONDS = 3600.0
"""How long the result of a task that has ended is kept."""

MAX_TASKS = 200
"""Maximum number of tasks that are kept; the oldest that have ended are forgotten before."""

CANCEL_SECONDS = 5.0
"""Seconds that a call which is cancelled has to end before its client is answered."""

RELATED_TASK = "io.modelcontextprotocol/related-task"
"""Where in the metadata of a result the task is that it belongs to."""

CAPABILITY: Mapping[str, Any] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
"""What clients of 2025-11-25 are told."""

RunCall = Callable[[ServerRequestContext[Any], CallToolRequestParams], Coroutine[Any, Any, CallToolResult]]

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

    def register(self, server: Server[Any], name_of: Any, run_call: RunCall) -> None:
        """Answer the requests about tasks; `name_of` returns the client of a request, `run_call` runs a call."""
        self._name_of, self._run_call = name_of, run_call
        server.extensions[IDENTIFIER] = {}
        handlers = {"get": self._get, "cancel": self._cancel, "update": self._update, "result": self._result}
        for method, handler in handlers.items():
            server.add_request_handler(f"tasks/{method}", TaskParams, handler)
        server.middleware.append(self._begin)

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

    async def _begin(self, ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        """Answer a call of 2025-11-25 that its client wants as a task with that, and say before that this can be asked.

        The package knows no such answer to a call, so this one is not given by a handler.
        """
        if ctx.method == "initialize":
            return _with_capability(await call_next(ctx))
        wants_task = ctx.method == "tools/call" and (ctx.params or {}).get("task") is not None
        if not wants_task or not has_earlier_tasks(ctx):
            return await call_next(ctx)
        params = CallToolRequestParams.model_validate(ctx.params, by_name=False)
        task_id, task = self._add(self._name_of(ctx), asyncio.ensure_future(self._run_call(ctx, params)))
        return {"task": _describe_earlier(task_id, task)}

    def _keep(self, client: str, running: asyncio.Task[CallToolResult]) -> dict[str, Any]:
        return {"resultType": "task", **_describe(*self._add(client, running))}

    def _add(self, client: str, running: asyncio.Task[CallToolResult]) -> tuple[str, _Task]:
        self._forget_ended()
        task_id, task = secrets.token_urlsafe(24), _Task(client, running)
        self._tasks[task_id] = task
        running.add_done_callback(lambda _: self._end(task))
        return task_id, task

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
        if has_earlier_tasks(context):
            return _describe_earlier(params.task_id, task)
        return {"resultType": "complete", **_describe(params.task_id, task)}

    async def _cancel(self, context: ServerRequestContext[Any], params: TaskParams) -> dict[str, Any]:
        task = self._find(context, params)
        if not has_earlier_tasks(context):
            task.run.cancel()
            return {}
        if task.run.done():
            raise MCPError(INVALID_PARAMS, "The task has ended.")
        task.run.cancel()
        await asyncio.wait({task.run}, timeout=CANCEL_SECONDS)
        return _describe_earlier(params.task_id, task)

    async def _result(self, context: ServerRequestContext[Any], params: TaskParams) -> dict[str, Any]:
        """Return the result of a task of 2025-11-25 once it has ended; who gives up on this does not cancel it."""
        task = self._find(context, params)
        await asyncio.wait({task.run})
        if task.run.cancelled():
            raise MCPError(INVALID_PARAMS, "The task was cancelled.")
        state = _ended(task.run)
        if error := state.get("error"):
            raise MCPError(error["code"], error["message"])
        return {**state["result"], "_meta": {RELATED_TASK: {"taskId": params.task_id}}}

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


def _with_capability(result: HandlerResult) -> HandlerResult:
    """Return the answer to the first request, with the tasks that the protocol has which it names."""
    if not isinstance(result, dict) or result.get("protocolVersion") != TASK_VERSION:
        return result
    return {**result, "capabilities": {**result["capabilities"], "tasks": CAPABILITY}}


def has_earlier_tasks(context: ServerRequestContext[Any]) -> bool:
    """Whether the client of a request has agreed with this server on the protocol of 2025-11-25."""
    return context.session.protocol_version == TASK_VERSION and context.session.client_params is not None


def _describe_earlier(task_id: str, task: _Task) -> dict[str, Any]:
    """Return a task as a client of 2025-11-25 reads it; its result is another request."""
    described = _describe(task_id, task)
    result = described.pop("result", {})
    described.pop("error", None)
    status = "failed" if result.get("isError") else described["status"]
    return {
        **described,
        "status": status,
        "ttl": described.pop("ttlMs"),
        "pollInterval": described.pop("pollIntervalMs"),
    }


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
