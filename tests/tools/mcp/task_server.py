"""A server whose calls become tasks (SEP-2663), made with the package; what it does with a call is the call's argument.

A file named by the first argument gets a line for each request about a task.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolRequestParams, CallToolResult, EmptyResult, RequestParams, Result, TextContent
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict

LOG = Path(sys.argv[1])
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TIMES = {"createdAt": "2026-11-29T10:00:00Z", "lastUpdatedAt": "2026-11-29T10:00:00Z", "ttlMs": None}


class Created(Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str = "working"
    status_message: str | None = None
    created_at: str = TIMES["createdAt"] or ""
    last_updated_at: str = TIMES["lastUpdatedAt"] or ""
    ttl_ms: int | None = None
    poll_interval_ms: int = 1


class TaskParams(RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


class State(Result):
    model_config = ConfigDict(extra="allow")
    result_type: Literal["complete"] = "complete"


def text(said: str) -> dict[str, Any]:
    result = CallToolResult(content=[TextContent(type="text", text=said)])
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def form(key: str) -> dict[str, Any]:
    params = {"message": f"Whose {key}?", "requestedSchema": FORM, "mode": "form"}
    return {key: {"method": "elicitation/create", "params": params}}


class Tasks(Extension):
    """Keeps one task, which goes one step on with each question about it."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.what, self.polls, self.given = "", 0, dict[str, Any]()

    async def intercept_tool_call(self, params: CallToolRequestParams, ctx: Any, call_next: Any) -> Any:
        self.what, self.polls, self.given = str((params.arguments or {}).get("what")), 0, {}
        note(f"call {self.what}")
        if self.what == "at-once" or ctx.session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return await call_next(ctx)
        return Created(task_id="t1", status_message="queued")

    def methods(self) -> list[MethodBinding]:
        handlers: dict[str, Callable[..., Any]] = {"get": self.get, "update": self.update, "cancel": self.cancel}
        return [MethodBinding(f"tasks/{name}", TaskParams, handler) for name, handler in handlers.items()]

    async def get(self, _: Any, params: TaskParams) -> State:
        self.polls += 1
        note(f"get {params.task_id}")
        return State(**{"taskId": params.task_id, "pollIntervalMs": 1, **TIMES, **self.state()})

    def state(self) -> dict[str, Any]:
        step, given = self.polls, self.given.get("seat")
        ends: dict[tuple[str, bool], dict[str, Any]] = {
            ("later", step == 3): {"status": "completed", "result": text("#42")},
            ("failing", step == 2): {"status": "failed", "error": {"code": -32000, "message": "the disk is full"}},
            ("own error", step == 2): {"status": "completed", "result": {**text("not today"), "isError": True}},
            ("cancelled", step == 2): {"status": "cancelled", "statusMessage": "the night is over"},
            ("asking", bool(given)): {"status": "completed", "result": text(json.dumps((given or {}).get("content")))},
            ("asking", not given): {"status": "input_required", "inputRequests": form("seat")},
            ("asking without end", True): {"status": "input_required", "inputRequests": form(f"seat {step}")},
            ("asking for a model", True): {
                "status": "input_required", "inputRequests": {"a": {"method": "sampling/createMessage"}},
            },
        }  # fmt: skip
        return ends.get((self.what, True)) or {"status": "working", "statusMessage": f"step {step}"}

    async def update(self, _: Any, params: TaskParams) -> EmptyResult:
        self.given |= params.input_responses or {}
        note(f"update {','.join(self.given)}")
        return EmptyResult()

    async def cancel(self, _: Any, params: TaskParams) -> EmptyResult:
        note(f"cancel {params.task_id}")
        return EmptyResult()


def note(line: str) -> None:
    with LOG.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


server = MCPServer("later", extensions=[Tasks()])


@server.tool(structured_output=False)
def work(what: str) -> str:
    """Work."""
    return f"did {what}"


if __name__ == "__main__":
    server.run("stdio")
