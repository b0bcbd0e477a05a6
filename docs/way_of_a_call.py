"""Write docs/way-of-a-call.md: what happens to one call, step by step, from a trace of a turn that makes it.

Usage: python docs/way_of_a_call.py [--check]
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "way-of-a-call.md"
PACKAGE = ROOT / "nbtool"

STEPS = (
    "tools/calls/approval_request.py", "tools/calls/bound_call.py", "tools/calls/call_run.py", "tools/calls/result.py",
    "tools/calls/run_gate.py", "tools/calls/runtime.py", "tools/calls/tool_calling.py", "tools/execution/runner.py",
)  # fmt: skip
"""The files whose functions are told; what these call elsewhere is a detail of them."""

NO_STEPS = ("Return ", "Whether ", "Yield ")
"""What the docstrings of functions begin with that do nothing but answer."""

HEAD = """# The way of a call

What happens to one call of a tool, from the end of the reply that makes it to the next request, in order: the tool asks
for approval, a person approves, and it runs on the thread that called. Each function that does something is listed
where it is first called, each event where it is emitted. `make modules` writes this page from a trace of such a turn.

| where | what happens |
|---|---|
"""


class Trace:
    """The functions with a docstring, and the events, between the end of a reply and the next request, in order."""

    def __init__(self, first: CodeType, last: CodeType, emit: CodeType) -> None:
        self.rows: list[str] = []
        self._first, self._last, self._emit = first, last, emit
        self._is_on, self._is_over, self._seen = False, False, set[CodeType]()

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call; a function for `sys.setprofile`."""
        code = frame.f_code
        if event != "call" or self._is_over:
            return
        self._is_on = self._is_on or code is self._first
        self._is_over = self._is_on and code is self._last
        if self._is_on and code is self._emit:
            self.rows.append(f"| → | **`{type(frame.f_locals['event']).__name__}`** |")
        elif self._is_on and code not in self._seen and (text := describe(code)):
            self._seen.add(code)
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
            if text and not text.startswith(NO_STEPS) and "property" not in decorators:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                found[first] = text.split("; ")[0].rstrip(".")
    return found


def trace() -> Trace:
    """Run a turn that makes two calls, and return the trace of the second: what is made once is made before."""
    os.environ["NBTOOL_HOME"] = tempfile.mkdtemp()
    from nbtool import Approved, Chat, tool  # noqa: PLC0415 - its home is set first
    from nbtool.chain.request import Requests  # noqa: PLC0415 - likewise
    from nbtool.chat.event_sink import EventSink  # noqa: PLC0415 - likewise
    from nbtool.testing import ScriptedApprover, ScriptedWire, call  # noqa: PLC0415 - likewise
    from nbtool.tools.calls.tool_calling import ToolCalling  # noqa: PLC0415 - likewise

    @tool(run="ask_always")
    def price(ticker: str) -> float:
        """Return the price of a ticker."""
        return 10.0 if ticker else 0.0

    traced = Trace(ToolCalling.on_after_request.__code__, Requests._prepare.__code__, EventSink.emit.__code__)
    is_second = threading.Event()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if is_second.is_set():
            traced.note(frame, event, argument)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        for ticker in ("A", "B"):
            approver = ScriptedApprover([Approved()])
            with ScriptedWire([call("price", ticker=ticker), "Done."]) as wire:
                Chat(wire=wire, tools=[price], approver=approver).send("What is it?")
            is_second.set()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return traced


def page() -> str:
    """Return the page."""
    return HEAD + "\n".join(trace().rows) + "\n"


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
