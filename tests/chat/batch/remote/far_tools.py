"""Tools and a model for tests of workers: other processes import them from here."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from nbtool import Chat, tool
from nbtool.chain.hooks import ReplyContext
from nbtool.messages import ToolCall
from nbtool.tools.approval import Approved, Decision, Question
from tests.chaos import DONE, Received, Step, event, finish, head, text


@tool(run="auto")
def note(path: str, n: int) -> str:
    """Write a line."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{n}\n")
    return f"noted {n}"


@tool
def note_asked(path: str, n: int) -> str:
    """Write a line, if that is approved."""
    return note(path, n)


@tool(run="auto")
def note_and_die(path: str, n: int) -> str:
    """Write a line; with 13, kill the process, the first time only."""
    is_first = f"{n}" not in (Path(path).read_text(encoding="utf-8").split() if Path(path).exists() else ())
    note(path, n)
    if n == 13 and is_first:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"noted {n}"


@tool(run="auto")
def where() -> int:
    """Say in which process this runs."""
    return os.getpid()


@tool(run="auto")
def same(n: int) -> int:
    """Return a number."""
    return n


@tool
def asked(n: int) -> str:
    """Need an approval."""
    return f"did {n}"


@tool(run="auto", result="always")
def checked(n: int) -> str:
    """Return what needs a release."""
    return f"found {n}"


class Deadly:
    """A plugin that kills its process after a reply of this text; with `once`, a file, the first time only."""

    def __init__(self, text: str, once: Path | None = None) -> None:
        self.text = text
        self.once = once

    def on_after_request(self, reply: ReplyContext) -> None:
        """Kill the process."""
        if reply.reply.text == self.text and not (self.once and self.once.exists()):
            if self.once:
                self.once.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def approve(_: Question) -> Decision:
    """Approve everything."""
    return Approved()


def prompt_of(request: Received) -> str:
    """Return the prompt of the turn that a request belongs to."""
    asked = [message for message in request.json["messages"] if message["role"] == "user"]
    return str(asked[-1]["content"]).partition("\n")[0]


def result_in(request: Received) -> str | None:
    """Return the result that a request tells the model, if it tells one."""
    last = request.json["messages"][-1]
    return last["content"] if last["role"] == "tool" else None


def say(answer: str) -> Sequence[Step]:
    """Return the steps of a reply."""
    return [head(), text(answer), finish(), DONE]


def ask_for(call: ToolCall) -> Sequence[Step]:
    """Return the steps of a reply that asks for a call."""
    delta = {"index": 0, "id": "call_0", "function": {"name": call.name, "arguments": call.arguments}}
    return [head(), event({"choices": [{"delta": {"tool_calls": [delta]}}]}), finish("tool_calls"), DONE]


@tool(run="auto")
def send_elsewhere(url: str) -> str:
    """Send a prompt to another server."""
    return Chat("tiny", base_url=url, api_key="key").send("hi").text


@tool(run="auto")
def numbers(n: int) -> list[int]:
    """Return many numbers."""
    return list(range(1_000 * n))
