"""A person's file that names the scripted agent as Claude Code, and what the agent has seen."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbtool.settings import data_dir

AGENT = Path(__file__).parent / "scripted_agent.py"

CALL = {"name": "mcp__notebook__add", "_meta": {"claudeCode": {"toolName": "mcp__notebook__add"}}}
"""What Claude's adapter reports of a call of the notebook's tool `add`."""

YES = {"kind": "allow_once", "name": "Yes", "optionId": "yes"}
ALWAYS = {"kind": "allow_always", "name": "Always", "optionId": "always"}
NO = {"kind": "reject_once", "name": "No", "optionId": "no"}


class Scripted:
    """The scripted agent of a test; `entries` are the lines of its log."""

    def __init__(self, folder: Path, script: dict[str, Any]) -> None:
        self.script, self.log = folder / "script.json", folder / "agent.log"
        self.change(script)
        args = json.dumps([str(AGENT), str(self.script), str(self.log)])
        text = f"[claude]\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n"
        (data_dir() / "agents.toml").write_text(text)

    def change(self, script: dict[str, Any]) -> None:
        """Set what the agent does when it is started next."""
        self.script.write_text(json.dumps(script))

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What the agent has logged so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def all_of(self, key: str) -> list[Any]:
        """The values of a key in the log, in order."""
        return [entry[key] for entry in self.entries if key in entry]

    def requests(self, method: str) -> list[dict[str, Any]]:
        """The parameters of the requests and notifications of a method."""
        return [entry["params"] for entry in self.entries if entry.get("method") == method]

    def prompts(self) -> list[str]:
        """The texts of the prompts that it has got."""
        return ["".join(one.get("text", "") for one in params["prompt"]) for params in self.requests("session/prompt")]


def tool_call(call_id: str = "t1", **fields: Any) -> dict[str, Any]:
    """The report of a call of the notebook's tool `add`."""
    return {"update": {"sessionUpdate": "tool_call", "toolCallId": call_id, "title": "add", **CALL, **fields}}


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended, and that nobody has taken note of, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:  # it has ended, perhaps while it is read
        return False


MakeAgent = Callable[..., Scripted]
