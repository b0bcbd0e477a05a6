"""A process under a policy, with every attempt to get around one rule: what came of each, and what was sent."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from IPython.utils.capture import capture_output

from nbtool import Chat
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError
from nbtool.messages import ToolCall
from nbtool.tools.approval import Approved, Decision, Question, Released
from tests.chaos import ChaosServer
from tests.security.model import model, sent_text
from tests.shells import new_shell

SENTINEL = "SENTINEL"


@dataclass
class World:
    """A folder with the policy, a real IPython with nbtool, and the server of the current attempt."""

    folder: Path
    shell: Any
    server: ChaosServer | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    def cell(self, source: str) -> str:
        """Run a cell, and return what it shows, with its error."""
        with capture_output() as captured:
            result = self.shell.run_cell(source)
        error = result.error_before_exec or result.error_in_exec
        return f"{captured.stdout}{captured.stderr}{f'{type(error).__name__}: {error}' if error else ''}"

    @contextmanager
    def model(self, *replies: str | ToolCall) -> Iterator[str]:
        """Serve a model that says these replies; yield its address, and keep what it was sent."""
        with model(*replies) as self.server:
            os.environ["OLLAMA_HOST"] = self.server.url
            yield self.server.url
            os.environ.pop("OLLAMA_HOST", None)

    @property
    def sent(self) -> str:
        """What the last model received."""
        return sent_text(self.server) if self.server else ""


Attempt = Callable[[World], object]
ATTEMPTS: dict[str, Attempt] = {}


def attempt(function: Attempt) -> Attempt:
    """Add an attempt under the name of its function."""
    ATTEMPTS[function.__name__] = function
    return function


def outcome_of(turn: Turn) -> str:
    """Return all that a turn says of itself: its text, its error, its calls and its notices."""
    calls = [f"{call.name} {call.status} {call.shown} {call.reason}" for call in turn.calls]
    notices = [getattr(event, "text", "") for event in turn.log if event.kind == "notice"]
    return "\n".join([turn.status, turn.text, str(turn.error or ""), *calls, *notices])


def chat_with(url: str, **kwargs: Any) -> Chat:
    """Return a chat with the model of an attempt."""
    return Chat("ollama:tiny", base_url=url, **kwargs)


def approve_all(question: Question) -> Decision:
    """Approve and release everything, as a script without a person does."""
    return Approved() if question.gate == "run" else Released()


def main(policy: Callable[[World], str]) -> None:
    """Write the policy, make every attempt, and print what came of them as JSON."""
    folder = Path(sys.argv[1])
    shell = new_shell()
    world = World(folder, shell)
    Path(os.environ["NBTOOL_POLICY"]).write_text(policy(world))  # it is read when it is first needed
    shell.run_line_magic("load_ext", "nbtool")
    found: dict[str, dict[str, Any]] = {}
    for name, make_attempt in ATTEMPTS.items():
        world.server = None
        try:
            outcome = str(make_attempt(world))
        except NbtoolError as error:
            outcome = f"{type(error).__name__}: {error}"
        requests = len(world.server.requests) if world.server else 0
        found[name] = {"outcome": outcome, "sent": world.sent, "requests": requests}
    (folder / "found.json").write_text(json.dumps({"attempts": found, "notes": world.notes}))
