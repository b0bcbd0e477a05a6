"""A server of 2025-11-25 whose tool has to be called as a task; what it does with a call is the call's argument.

The package `mcp` has no such server, so it is written by hand. A file named by the first argument gets a line for each
request about a task.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

LOG, OFFERS, ALWAYS = Path(sys.argv[1]), sys.argv[2:] != ["without"], sys.argv[2:] == ["always"]
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOL = {
    "name": "work",
    "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}},
    "execution": {"taskSupport": "required"},
}
TASKS = {"tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **more}


class Work:
    """One call, which goes a step on with each question about it."""

    def __init__(self, what: str) -> None:
        self.what, self.steps = what, 0

    def state(self) -> dict[str, Any]:
        times = {"createdAt": "2026-11-29T10:00:00Z", "lastUpdatedAt": "2026-11-29T10:00:00Z", "ttl": None}
        return {"taskId": "t1", "pollInterval": 1, **times, **self.status()}

    def status(self) -> dict[str, Any]:
        if self.what == "endless" or self.steps < 3:
            return {"status": "working", "statusMessage": f"step {self.steps}"}
        if self.what == "asking":
            return {"status": "input_required", "statusMessage": "one question"}
        ends = {"failing": ("failed", "the disk is full"), "cancelled": ("cancelled", "the night is over")}
        status, message = ends.get(self.what, ("completed", "ready"))
        return {"status": status, "statusMessage": message}

    def result(self) -> dict[str, Any]:
        if self.what == "asking":
            say(id="form", method="elicitation/create", params={"message": "Whose?", "requestedSchema": FORM})
            while "method" in (answer := json.loads(sys.stdin.readline())):
                pass
            return text(json.dumps(answer["result"].get("content")))
        return text("the disk is full", isError=True) if self.what == "failing" else text(f"did {self.what}")


def main() -> None:
    work = Work("")
    for line in sys.stdin:
        said = json.loads(line)
        method, number, params = said.get("method", ""), said.get("id"), said.get("params") or {}
        if number is None:
            continue
        if method == "initialize":
            able = {"tools": {}, **(TASKS if OFFERS else {})}
            about = {"name": "earlier", "version": "1"}
            say(id=number, result={"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": about})
        elif method == "tools/list":
            say(id=number, result={"tools": [{**TOOL, "execution": {}} if ALWAYS else TOOL]})
        elif method == "tools/call" and ("task" in params or ALWAYS):
            work = Work(params["arguments"]["what"])
            say(id=number, result=text("did it") if work.what == "at-once" else {"task": work.state()})
        elif method.startswith("tasks/"):
            work.steps += 1
            with LOG.open("a") as log:
                log.write(f"{method.removeprefix('tasks/')} {params['taskId']}\n")
            say(id=number, result=work.result() if method == "tasks/result" else work.state())
        else:
            say(id=number, error={"code": -32601, "message": "this tool has to be called as a task"})


if __name__ == "__main__":
    main()
