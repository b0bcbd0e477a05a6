"""Write docs/way-of-a-call.md: what happens to one call, step by step, from a trace of a turn that makes it.

Usage: python docs/way_of_a_call.py [--check]
"""

from __future__ import annotations

import ast
import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "way-of-a-call.md"
PACKAGE = ROOT / "nbtool"

STEPS = (
    "tools/calls/approval_request.py", "tools/calls/bound_call.py", "tools/calls/call_run.py", "tools/calls/result.py",
    "tools/calls/run_gate.py", "tools/calls/runtime.py", "tools/calls/tool_calling.py", "tools/execution/runner.py",
    "chat/conversation/restore.py",
)  # fmt: skip
"""The files whose functions are told; what these call elsewhere is a detail of them."""

NO_STEPS = ("Return ", "Whether ", "Yield ")
"""What the docstrings of functions begin with that do nothing but answer."""

HEAD = """# The way of a call

What happens to one call of a tool, from the end of the reply that makes it to the next request, in order: the tool asks
for approval, a person approves, and it runs on the thread that called. Each function that does something is listed
where it is first called, each event where it is emitted; the other ways list what the first one does not have.
`make docs` writes this page from traces of such turns. Whatever ends a call, `run_call` catches it and gives the
call its one outcome, which `emit_outcome` writes; calls of a stopped turn whose `run_call` was not entered yet get
theirs in `ToolCalling._stop`, and those of a kernel that was killed in `_missing_outcomes`, when the turn is read.
"""

TABLE = """
## {title}

| where | what happens |
|---|---|
{rows}
"""


class Trace:
    """The functions with a docstring, and the events, between two functions, in order; without those `seen` before."""

    def __init__(self, first: CodeType, last: CodeType, emit: CodeType, seen: set[CodeType]) -> None:
        self.rows: list[str] = []
        self.seen = seen
        self._first, self._last, self._emit = first, last, emit
        self._no_steps = () if seen else NO_STEPS
        self._is_on, self._is_over = False, False

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call; a function for `sys.setprofile`."""
        code = frame.f_code
        if event != "call" or self._is_over:
            return
        self._is_on = self._is_on or code is self._first
        self._is_over = self._is_on and code is self._last
        if self._is_on and code is self._emit:
            self.rows.append(f"| → | **`{type(frame.f_locals['event']).__name__}`** |")
        elif self._is_on and code not in self.seen and (text := describe(code)):
            self.seen.add(code)
            if text.startswith(self._no_steps):
                return
            path = Path(code.co_filename).relative_to(ROOT).as_posix()
            self.rows.append(f"| `{path}:{code.co_firstlineno}` | `{code.co_qualname}`: {text} |")


@cache
def describe(code: CodeType) -> str:
    """Return the first sentence about a function of one of the files; empty for any other one."""
    path = Path(code.co_filename)
    if not path.is_relative_to(PACKAGE) or path.relative_to(PACKAGE).as_posix() not in STEPS:
        return ""
    return _docstrings(path).get(code.co_firstlineno, "")


@cache
def _docstrings(path: Path) -> dict[int, str]:
    """Return the first sentence about each function that is no property, by its first line."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = [ast.unparse(one) for one in node.decorator_list]
            text = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
            if text and "property" not in decorators:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                found[first] = text.split("; ")[0].rstrip(".")
    return found


def sections() -> Iterator[tuple[str, Trace]]:
    """Run turns, each with a call, and yield their traces; what is made once is made in a turn before."""
    os.environ["NBTOOL_HOME"] = tempfile.mkdtemp()
    from nbtool import Approved, Chat, Denied, tool  # noqa: PLC0415 - its home is set first
    from nbtool.chain.engine import Engine  # noqa: PLC0415 - likewise
    from nbtool.chain.request import Requests  # noqa: PLC0415 - likewise
    from nbtool.chat.conversation import restore  # noqa: PLC0415 - likewise
    from nbtool.chat.event_sink import EventSink  # noqa: PLC0415 - likewise
    from nbtool.chat.turn import Turn  # noqa: PLC0415 - likewise
    from nbtool.events import CallStarted  # noqa: PLC0415 - likewise
    from nbtool.testing import ScriptedApprover, ScriptedWire, call  # noqa: PLC0415 - likewise
    from nbtool.tools.calls.tool_calling import ToolCalling  # noqa: PLC0415 - likewise

    @tool(run="ask_always")
    def price(ticker: str) -> float:
        """Return the price of a ticker."""
        return 10.0 if ticker else 0.0

    @tool(run="auto")
    async def stop() -> None:
        """Stop the turn, and wait for that."""
        turns[-1].cancel()
        await asyncio.Event().wait()

    turns, seen, tracer = list[Turn](), set[CodeType](), Tracer()

    def send(decision: Any) -> None:
        chat = Chat(wire=ScriptedWire([call("price", ticker="A"), "Done."]), tools=[price])
        turns.append(chat.send("What is it?", approver=ScriptedApprover([decision])))

    def send_and_stop() -> None:
        chat = Chat(wire=ScriptedWire([call("stop")]), tools=[stop])
        turns.append(chat.compose("What is it?"))
        turns[-1].start().done.result()

    first, last, emit = ToolCalling.on_after_request.__code__, Requests._prepare.__code__, EventSink.emit.__code__
    send(Approved())
    for title, decision in (("Approved", Approved()), ("Denied", Denied("no"))):
        yield title, tracer.follow(Trace(first, last, emit, seen), partial(send, decision))
    at_end = Trace(first, Engine._close.__code__, emit, seen)
    yield (
        "The turn stopped while it runs",
        tracer.follow(at_end, send_and_stop),
    )
    log = turns[1].log
    started = next(at for at, event in enumerate(log) if isinstance(event, CallStarted))
    restored = Trace(restore.restore_turn.__code__, send.__code__, emit, seen)
    yield (
        "The kernel killed while it runs, and the turn read",
        tracer.follow(restored, partial(restore.restore_turn, log[: started + 1])),
    )


class Tracer:
    """Passes what all threads do to a trace, while there is one."""

    def __init__(self) -> None:
        self._trace: Trace | None = None
        threading.setprofile(self._note)  # of threads that start from here on
        sys.setprofile(self._note)

    def follow(self, trace: Trace, work: Callable[[], object]) -> Trace:
        """Do some work with a trace, and return the trace."""
        self._trace = trace
        work()
        self._trace = None
        return trace

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        if self._trace:
            self._trace.note(frame, event, argument)


def page() -> str:
    """Return the page."""
    return HEAD + "".join(TABLE.format(title=title, rows="\n".join(one.rows)) for title, one in sections())


def main() -> int:
    """Write the page, or check that it is up to date."""
    made = page()
    if "--check" in sys.argv:
        if PAGE.read_text("utf-8") != made:
            print(f"{PAGE.relative_to(ROOT)} is out of date: run python docs/way_of_a_call.py.")  # noqa: T201 - a program
            return 1
        return 0
    PAGE.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
