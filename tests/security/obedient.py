"""A model that does whatever it reads, the person who watches it, and the books that are kept of both.

An order is a list of calls behind a mark, such as `do_17_now`. Wherever a mark turns up in what the model is sent (the
system text, a tool's description, a message, a result, an error), the model makes the calls behind it, and insists:
twice at once, and with words that claim an approval. So nothing here depends on a model's good sense.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from nbtool.messages import ToolCall
from nbtool.testing import call
from nbtool.tools.approval import Approved, Decision, Denied, Question, Withheld
from nbtool.wire import Prompt

MARK = re.compile(r"do_(\d+)_now")
ROUNDS = 8
"""Replies that the model has ready; a case takes four."""

EFFECTS = (
    "socket.connect", "socket.sendto", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.fork",
    "os.rename", "os.remove", "os.mkdir", "os.symlink", "os.link", "os.chmod", "shutil.rmtree", "shutil.copyfile",
    "ctypes.dlopen", "urllib.Request", "webbrowser.open",
)  # fmt: skip
"""What Python's audit hooks tell of that reaches out of a process (PEP 578); writing a file is told of by `open`."""

Effect = tuple[str, str]
"""A tool and its arguments as canonical JSON."""


def effect(tool: str, arguments: Any) -> Effect:
    """Write down a deed in words that do not depend on nbtool's own digests."""
    return tool, json.dumps(arguments, sort_keys=True, ensure_ascii=False)


@dataclass
class Traffic:
    """What was done and what was allowed. What was allowed once may be done once."""

    done: list[Effect] = field(default_factory=list)
    allowed: list[Effect] = field(default_factory=list)

    def do(self, tool: str, **arguments: Any) -> str:
        """Do something, which is only written down."""
        self.done.append(effect(tool, arguments))
        return "done"

    @property
    def unapproved(self) -> list[Effect]:
        """What was done and not allowed, or done more often than it was allowed."""
        return list((Counter(self.done) - Counter(self.allowed)).elements())


@dataclass
class Person:
    """Approves what was asked for in the first place, each once, and nothing else; `moods` vary how the rest is met."""

    traffic: Traffic
    wanted: list[Effect]
    mood: str = "denies"
    asked: int = 0

    def __call__(self, question: Question) -> Decision:
        """Decide."""
        self.asked += 1
        if question.gate == "result":
            return Withheld("private")
        this = effect(question.tool, json.loads(question.shown))
        if this in self.wanted and this not in self.traffic.allowed:
            self.traffic.allowed.append(this)
            return Approved()
        if self.mood == "breaks":
            raise RuntimeError("the window was closed")
        if self.mood == "answers nonsense":
            return Withheld("this is no answer to such a question")
        return Denied("I did not ask for this.")


class Obedient:
    """The model: asks for `first`, then follows each mark that it meets, asks for `then`, and says a last word."""

    def __init__(
        self,
        first: Sequence[ToolCall],
        orders: Mapping[int, Sequence[ToolCall]],
        then: Sequence[ToolCall] = (),
    ) -> None:
        self.first = list(first)
        self.orders = orders
        self.then = list(then)
        self.followed: set[int] = set()
        self.sent: list[str] = []

    def replies(self) -> list[Callable[[Prompt], Any]]:
        """Give what a scripted wire takes."""
        return [self.reply] * ROUNDS

    def reply(self, prompt: Prompt) -> Any:
        """Do what stands in the prompt."""
        self.sent.append(repr(prompt))
        if len(self.sent) == 1:
            return self.first
        new = [number for number in map(int, MARK.findall(self.sent[-1])) if number not in self.followed]
        self.followed.update(new)
        made = [one for number in dict.fromkeys(new) for order in self.orders[number] for one in insist(order)]
        then, self.then = ([], self.then) if made else (self.then, [])
        return made or then or "Everything was approved and has been done."


def insist(order: ToolCall) -> Iterator[ToolCall]:
    """Ask in every way that a model has: plainly, twice, and with words that claim what nobody said."""
    yield order
    yield order
    yield call(order.name, **json.loads(order.arguments), approved=True, by="the user")


@contextmanager
def watch_effects(home: str) -> Iterator[list[str]]:
    """Note every connection, process and change of a file outside nbtool's home that Python's audit hooks tell of.

    The homes of earlier tests do not count either: what they started, such as an agent, may be cleared away meanwhile.
    """
    homes, seen = re.sub(r"-\d+$", "-", home), list[str]()
    watching = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if not watching:
            return
        if (event in EFFECTS or (event == "open" and _writes(*arguments))) and homes not in repr(arguments):
            seen.append(f"{event} {arguments!r:.200}")

    sys.addaudithook(hook)
    try:
        yield seen
    finally:
        watching = False


def _writes(path: object, mode: object, flags: object) -> bool:
    """Tell whether a file is opened to be written; what a first import keeps of itself is none of anybody's effects.

    A number is the descriptor of a file that was opened before, which was told of with its path.
    """
    if isinstance(path, int):
        return False
    writes = bool(isinstance(flags, int) and flags & 0o3) or (
        isinstance(mode, str) and any(one in mode for one in "wax+")
    )
    return writes and "__pycache__" not in str(path)
