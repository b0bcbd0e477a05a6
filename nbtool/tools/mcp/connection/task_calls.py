"""Calls that a server answers later, as tasks: the client asks about one until it has a result.

As of 2026-07-28 a server may answer any call with a task, which may need input of the person:
https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md. As of 2025-11-25 the client
asks for a task, here where a tool requires that; the server asks the person by a request of its own:
https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from mcp import MCPError
from mcp.client.extension import ClientExtension, ResultClaim
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    EmptyResult,
    Request,
    RequestParams,
    Result,
    TaskMetadata,
)

from nbtool.errors import McpFailed
from nbtool.text import count_of, shorten
from nbtool.tools.mcp.connection.answer_repair import TASK, repair_answer
from nbtool.tools.mcp.questions.elicitation import MAX_INPUT_ROUNDS, MAX_QUESTIONS, Answer
from nbtool.tools.values.sanitize import single_line

if TYPE_CHECKING:
    from mcp import Client, ClientSession
    from mcp.client.extension import ClaimContext
    from mcp.shared.dispatcher import ProgressFnT

IDENTIFIER = "io.modelcontextprotocol/tasks"

TASK_VERSION = "2025-11-25"
"""The version of the protocol with tasks of its own; the next one has them as an extension."""

POLL_SECONDS = 1.0
"""Seconds between two questions about a task, where its server names none."""

MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.05, 30.0
"""The least and the most seconds between two questions, whatever the server names."""

CANCEL_SECONDS = 2.0
"""Seconds for a server to acknowledge that a task is cancelled."""

MAX_STATUS = 500
"""Maximum length of a server's message about a task, in characters."""


class TaskCreated(Result):
    """The answer to a call that has become a task."""

    result_type: Literal["task"] = "task"
    task_id: str
    poll_interval_ms: float | None = None
    status_message: str | None = None


class TaskState(Result):
    """What a server says of a task; `input_requests` need an answer, `result` or `error` is its end."""

    task_id: str
    status: Literal["working", "input_required", "completed", "cancelled", "failed"]
    status_message: str | None = None
    poll_interval_ms: float | None = None
    poll_interval: float | None = None
    input_requests: dict[str, dict[str, Any]] | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class TaskParams(RequestParams):
    """The task that a request is about, with answers to what it asked if there are some."""

    task_id: str
    input_responses: dict[str, Any] | None = None


class TaskRequest(Request[TaskParams, Literal["tasks/get", "tasks/cancel", "tasks/update", "tasks/result"]]):
    """A request about a task."""

    name_param: ClassVar[str | None] = "taskId"


class TaskExtension(ClientExtension):
    """Says to servers that calls may become tasks."""

    identifier = IDENTIFIER

    def claims(self) -> list[ResultClaim[TaskCreated]]:
        """Return the shape of the answer of a call that has become a task."""
        return [ResultClaim(result_type="task", model=TaskCreated, resolve=_refuse)]


async def _refuse(_: TaskCreated, context: ClaimContext) -> CallToolResult:
    raise McpFailed(
        f"The call of {context.tool_name} has become a task, which is finished elsewhere."
    )  # pragma: no cover


async def finish_task(
    session: ClientSession, created: TaskCreated, answer: Answer, on_progress: ProgressFnT
) -> CallToolResult:
    """Ask about a task until it ends, and return the result of its call; a task that is not awaited is cancelled.

    Raises:
        McpFailed: the task was cancelled by its server, or needs what nbtool does not give.
        mcp.MCPError: it failed with an error of the server.
    """
    try:
        return await _follow(session, created, answer, on_progress)
    except BaseException as error:
        if not isinstance(error, McpFailed | MCPError):
            await _cancel(session, created.task_id)
        raise


async def _follow(
    session: ClientSession, created: TaskCreated, answer: Answer, on_progress: ProgressFnT
) -> CallToolResult:
    answered: set[str] = set()
    wait, message, polls = created.poll_interval_ms, created.status_message, 0
    while True:
        if message:
            await on_progress(float(polls), None, shorten(single_line(message), MAX_STATUS))
        await asyncio.sleep(_seconds(wait))
        polls += 1
        params = TaskParams(task_id=created.task_id)
        state = await session.send_request(TaskRequest(method="tasks/get", params=params), TaskState)
        match state.status:
            case "completed":
                return CallToolResult.model_validate(repair_answer("tools/call", state.result or {}))
            case "failed":
                raise _failure(state.error or {})
            case "cancelled":
                raise _cancelled(state)
            case "input_required":
                await _give_input(session, state, answer, answered)
        wait, message = state.poll_interval_ms, state.status_message if state.status_message != message else None


def can_require_tasks(client: Client) -> bool:
    """Whether a server takes calls as tasks by the protocol of 2025-11-25."""
    tasks = client.server_capabilities.tasks
    offered = tasks.requests.tools if tasks and tasks.requests else None
    return client.protocol_version == TASK_VERSION and offered is not None and offered.call is not None


async def call_as_task(
    session: ClientSession, name: str, arguments: dict[str, Any], on_progress: ProgressFnT
) -> CallToolResult:
    """Call a tool as a task of 2025-11-25, and return the server's answer; `finish_earlier_task` returns the result."""
    params = CallToolRequestParams(name=name, arguments=arguments, task=TaskMetadata())
    return await session.send_request(CallToolRequest(params=params), CallToolResult, progress_callback=on_progress)


async def finish_earlier_task(
    session: ClientSession, answer: CallToolResult, on_progress: ProgressFnT
) -> CallToolResult:
    """Return the result of a call that may have become a task of 2025-11-25; one that is not awaited is cancelled.

    Raises: as `finish_task`.
    """
    if (created := (answer.meta or {}).get(TASK)) is None:
        return answer
    state = TaskState.model_validate(created, by_name=False)
    try:
        return await _await_result(session, state, on_progress)
    except BaseException as error:
        if not isinstance(error, McpFailed | MCPError):
            await _cancel(session, state.task_id)
        raise


async def _await_result(session: ClientSession, state: TaskState, on_progress: ProgressFnT) -> CallToolResult:
    """Ask about a task while it works, then for its result: a server that needs input asks while that is awaited."""
    params, message, polls = TaskParams(task_id=state.task_id), state.status_message, 0
    while state.status == "working":
        if message:
            await on_progress(float(polls), None, shorten(single_line(message), MAX_STATUS))
        await asyncio.sleep(_seconds(state.poll_interval))
        polls, earlier = polls + 1, state.status_message
        state = await session.send_request(TaskRequest(method="tasks/get", params=params), TaskState)
        message = state.status_message if state.status_message != earlier else None
    if state.status == "cancelled":
        raise _cancelled(state)
    if message:
        await on_progress(float(polls), None, shorten(single_line(message), MAX_STATUS))
    return await session.send_request(TaskRequest(method="tasks/result", params=params), CallToolResult)


def _cancelled(state: TaskState) -> McpFailed:
    reason = f": {shorten(single_line(state.status_message), MAX_STATUS)}" if state.status_message else "."
    return McpFailed(f"The server cancelled the call, which had become a task{reason}")


async def _give_input(session: ClientSession, state: TaskState, answer: Answer, answered: set[str]) -> None:
    """Answer the questions of a task that were not answered before; no key is used for two."""
    requests = {key: request for key, request in (state.input_requests or {}).items() if key not in answered}
    if not requests:
        return
    if len(requests) > MAX_QUESTIONS or len(answered) >= MAX_INPUT_ROUNDS * MAX_QUESTIONS:
        raise await _refused(session, state, f"The MCP server asked {count_of(len(requests), 'question')} more.")
    if not all(request.get("method") == "elicitation/create" for request in requests.values()):
        problem = "The MCP server asked for something else than input of a form, which nbtool does not give."
        raise await _refused(session, state, problem)
    forms = [ElicitRequest.model_validate(request) for request in requests.values()]
    answers = await asyncio.gather(*(answer(form.params) for form in forms))
    answered.update(requests)
    responses = {
        key: result.model_dump(by_alias=True, mode="json", exclude_none=True)
        for key, result in zip(requests, answers, strict=True)
    }
    params = TaskParams(task_id=state.task_id, input_responses=responses)
    await session.send_request(TaskRequest(method="tasks/update", params=params), EmptyResult)


async def _refused(session: ClientSession, state: TaskState, problem: str) -> McpFailed:
    """Cancel a task that cannot go on, and return its error."""
    await _cancel(session, state.task_id)
    return McpFailed(problem)


async def _cancel(session: ClientSession, task_id: str) -> None:
    """Cancel a task, as far as its server lets us: nobody waits for its result any more."""
    request = TaskRequest(method="tasks/cancel", params=TaskParams(task_id=task_id))
    with suppress(Exception):
        await asyncio.wait_for(asyncio.shield(session.send_request(request, EmptyResult)), CANCEL_SECONDS)


def _seconds(milliseconds: float | None) -> float:
    wanted = POLL_SECONDS if milliseconds is None else milliseconds / 1000
    return min(max(wanted, MIN_POLL_SECONDS), MAX_POLL_SECONDS)


def _failure(error: Mapping[str, Any]) -> MCPError:
    code, message = error.get("code"), error.get("message")
    return MCPError(code if isinstance(code, int) else -32603, str(message or "the task failed"), error.get("data"))
