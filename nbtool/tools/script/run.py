"""One run of a script: its thread, the calls it makes, what it prints, and how it is stopped."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any

from nbtool.errors import ToolFailed
from nbtool.messages import ToolCall, new_id
from nbtool.tools.calls.record import CallRecord
from nbtool.tools.calls.run import Bench, RunningCall
from nbtool.tools.script.compile import BUILTINS, FILE, MAIN, OWN
from nbtool.tools.tool import Tool
from nbtool.tools.toolset import Toolset
from nbtool.tools.values.render import error_text, render

SCRIPT_SECONDS = 60.0
"""Seconds that a script may take for itself; the calls that it makes, and whoever is asked about them, do not count."""

MAX_PRINTED = 50_000
"""Characters that a script may print."""

MAX_WRITTEN = 1_000
"""Characters from which on a plain value goes from one tool to the next as a reference, not as JSON."""


class _Stopped(BaseException):
    """Ends a script from outside; no `except` of a script catches it."""


class _Own(str):
    """A text that the model wrote in the script itself, so that the references in it are meant."""

    __slots__ = ()


class ScriptRun:
    """A script at work."""

    def __init__(self, call: RunningCall, loop: asyncio.AbstractEventLoop, *, without: str) -> None:
        self._call = call
        self._loop = loop
        self._bench = replace(call.bench, tools=_Unkept(call.bench.tools))
        self._tools = {name: tool for name, tool in call.bench.tools.tools().items() if name != without}
        self._printed: list[str] = []
        self._room = MAX_PRINTED
        self._deadline = time.monotonic() + SCRIPT_SECONDS
        self._calling: float | None = None
        self._task: asyncio.Task[Any] | None = None
        self._is_stopped = False

    @property
    def left(self) -> float:
        """Seconds that are left for the script; they stand still while it waits for a call."""
        return self._deadline - (self._calling or time.monotonic())

    def stop(self) -> None:
        """End the script at its next line, and the call that it waits for; on the loop's thread."""
        self._is_stopped = True
        if self._task:
            self._task.cancel()

    def execute(self, code: CodeType) -> Any:
        """Run the script on this thread and give what it printed, and its value.

        Raises:
            ToolFailed: it raised, with the line; or it was stopped.
        """
        functions = {name.replace("-", "_"): self._function(tool) for name, tool in self._tools.items()}
        builtins = {**BUILTINS, "print": self._print, "ToolFailed": ToolFailed}
        names: dict[str, Any] = {"__builtins__": builtins, **functions, OWN: _Own}
        exec(code, names)
        try:
            value = self._traced(names[MAIN])
        except _Stopped:
            raise ToolFailed(self.told(f"The script took more than {SCRIPT_SECONDS:g} s and was stopped.")) from None
        except Exception as error:
            raise ToolFailed(self.told(_where(error))) from error
        if not self._printed:
            return value
        return self.told("" if value is None else render(value).text)

    def _traced(self, main: Callable[[], Any]) -> Any:
        """Run the script under our own eyes: what it calls, down to `_made`, coverage does not see."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            return main()
        finally:
            sys.settrace(before)

    def told(self, last: str) -> str:
        """Give what was printed so far, and a last line."""
        return "".join([*self._printed, last]).rstrip("\n")

    def _print(self, *values: Any, sep: str = " ", end: str = "\n") -> None:  # pragma: no cover - traced
        text = f"{sep.join(map(str, values))}{end}"
        if self._room > 0:
            cut = "" if len(text) <= self._room else f"\n[more than {MAX_PRINTED} characters were printed]\n"
            self._printed.append(text[: self._room] + cut)
        self._room -= len(text)

    def _trace(self, frame: FrameType, _event: str, _: Any) -> Callable[..., Any] | None:  # pragma: no cover - traced
        """Look around at every line of the script: a thread cannot be stopped from outside."""
        if frame.f_code.co_filename != FILE:
            return None
        self._look_around()
        return self._trace

    def _look_around(self) -> None:  # pragma: no cover - traced
        if self._is_stopped or self.left <= 0:
            raise _Stopped

    def _function(self, tool: Tool) -> Callable[..., Any]:
        order = list(tool.parameters.schema.get("properties", ()))

        def function(*given: Any, **named: Any) -> Any:  # pragma: no cover - traced
            by_place = dict(zip(order, given, strict=False))
            if len(given) > len(order) or by_place.keys() & named.keys():
                raise TypeError(f"{tool.name}({', '.join(order)}) was called with other arguments")
            return self._made(tool, {**by_place, **named})

        function.__name__ = function.__qualname__ = tool.name
        return function

    def _made(self, tool: Tool, arguments: dict[str, Any]) -> Any:  # pragma: no cover - traced
        """Make a call from the script's thread, wait for it, and give its raw value."""
        self._look_around()
        self._calling = began = time.monotonic()
        try:
            record = asyncio.run_coroutine_threadsafe(self._within(tool, arguments), self._loop).result()
        except CancelledError:
            raise _Stopped from None
        finally:
            self._deadline += time.monotonic() - began
            self._calling = None
        if record.status != "ok":
            raise ToolFailed(f"{tool.name}: {record.shown}")
        if record.is_closed:
            self._call.record.took_closed = True
        return _released(record, self._bench)

    async def _within(self, tool: Tool, arguments: dict[str, Any]) -> CallRecord:
        if self._is_stopped:
            raise asyncio.CancelledError
        self._task = asyncio.current_task()
        names: list[str] = []
        took_closed = self._call.record.took_closed
        bench, variables = replace(self._bench, from_closed=took_closed), self._bench.variables

        def refer(value: Any) -> str:
            name, what = variables.next_name("script"), "Passed on by a script."
            names.append(variables.remember(name, value, description=what, readable=not took_closed))
            return f"$VAR_REF{{{{{names[-1]}}}}}"

        try:
            text = _written(arguments, refer, only=took_closed) if tool.resolve else json.dumps(arguments)
            call = ToolCall(tool.name, text, call_id=new_id("call"), args=json.loads(text), runnable=True)
            return await self._bench.make(call, bench, self._call.round)
        finally:
            self._task = None
            for name in names:
                variables.remove(name)


class _Unkept(Toolset):
    """The tools of a turn for a script, which has their results already: they become no variables but by wish."""

    def __init__(self, whole: Toolset) -> None:
        super().__init__(whole.name)
        self._whole = whole

    def get(self, name: str) -> Tool:
        tool = self._whole.get(name)
        return replace(tool, remembered=bool(tool.store_as))


def _released(record: CallRecord, bench: Bench) -> Any:  # pragma: no cover - traced
    """Give the value of a call; where a person put a text in its place, that text."""
    if not any(decided.gate == "result" and decided.edited for decided in record.decisions):
        return record.result
    return bench.variables.value(record.reference) if record.reference else record.shown


def _written(arguments: Mapping[str, Any], refer: Callable[[Any], str], *, only: bool = False) -> str:
    """Write arguments as JSON: what JSON cannot say, or would take much of it, as a reference.

    `only` references are written by a script that has closed values: any other value may be made of them.
    """
    made = {}
    for name, value in arguments.items():
        if only and value is not None and not isinstance(value, _Own):
            made[name] = refer(value)
            continue
        try:
            plain = _plain(value, refer)
            is_large = not isinstance(value, _Own) and len(json.dumps(plain)) > MAX_WRITTEN
        except RecursionError:
            is_large = True
        made[name] = refer(value) if is_large else plain
    return json.dumps(made)


def _plain(value: Any, refer: Callable[[Any], str]) -> Any:
    """Write one value; texts are told apart: only the model's own can hold references, others are literal."""
    if type(value) is _Own:
        return str(value)
    if type(value) is str:
        return value.replace("$VAR_REF{{", "\\$VAR_REF{{")
    if value is None or type(value) in (bool, int, float):
        return value
    if type(value) in (list, tuple):
        return [_plain(inner, refer) for inner in value]
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: _plain(inner, refer) for key, inner in value.items()}
    return refer(value)


def _where(error: Exception) -> str:
    line = 0
    trace = error.__traceback__
    while trace:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == FILE else line
        trace = trace.tb_next
    text = str(error) if isinstance(error, ToolFailed) else error_text(error)
    return f"Line {line}: {text}"
