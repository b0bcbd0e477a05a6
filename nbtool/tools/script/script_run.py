"""One run of a script: its thread, its calls, its output, and how it is stopped."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any

from nbtool.clock import monotonic
from nbtool.errors import ToolFailed
from nbtool.ids import new_id
from nbtool.messages import ToolCall
from nbtool.threads.threadless import result_of
from nbtool.tools.calls.call_run import run_call
from nbtool.tools.calls.runtime import RunningCall, ToolRuntime
from nbtool.tools.script.script_compiler import BUILTINS, MAIN_NAME, OWN_NAMES, SCRIPT_FILE
from nbtool.tools.tool import Tool
from nbtool.tools.toolset import Toolset
from nbtool.tools.values.model_text import format_error, printed_text, render
from nbtool.turn_state import Call

SCRIPT_SECONDS = 60.0
"""Seconds that a script may run, without its calls and their approvals."""

MAX_PRINTED = 50_000
"""Maximum number of characters that a script may print."""

MAX_INLINE_CHARS = 1_000
"""Number of characters above which a plain value is passed to the next tool as a reference instead of JSON."""


class _ScriptStopped(BaseException):
    """Stops a script; no `except` of a script catches it."""


class _ScriptText(str):
    """A text that the model wrote in the script itself, in which references are resolved."""

    __slots__ = ()


class ScriptRun:
    """A running script."""

    def __init__(
        self, call: RunningCall, loop: asyncio.AbstractEventLoop, *, excluded: str, seconds: float = SCRIPT_SECONDS
    ) -> None:
        self._call = call
        self._seconds = seconds
        self._loop = loop
        self._runtime = replace(call.runtime, tools=_TransientVariables(call.runtime.tools))
        self._tools = {name: tool for name, tool in call.runtime.tools.tools().items() if name != excluded}
        self._printed: list[str] = []
        self._remaining_chars = MAX_PRINTED
        self._deadline = monotonic() + seconds
        self._call_started: float | None = None
        self._task: asyncio.Task[Any] | None = None
        self._is_stopped = False

    @property
    def remaining_seconds(self) -> float:
        """Seconds left for the script; not counted while it waits for a call."""
        return self._deadline - (self._call_started or monotonic())

    def stop(self) -> None:
        """Stop the script at its next line, and the call that it waits for; called on the loop's thread."""
        self._is_stopped = True
        if self._task:
            self._task.cancel()

    def execute(self, code: CodeType) -> Any:
        """Run the script on this thread; return its output and its value.

        Raises:
            ToolFailed: it raised, with the line; or it was stopped.
        """
        functions = {name.replace("-", "_"): self._make_function(tool) for name, tool in self._tools.items()}
        builtins = {**BUILTINS, "print": self._print, "ToolFailed": ToolFailed}
        names: dict[str, Any] = {"__builtins__": builtins, **functions, OWN_NAMES: _ScriptText}
        exec(code, names)
        try:
            value = self._run_traced(names[MAIN_NAME])
        except _ScriptStopped:
            raise ToolFailed(self.output(f"The script took more than {self._seconds:g} s and was stopped.")) from None
        except Exception as error:
            raise ToolFailed(self.output(_error_with_line(error))) from error
        if not self._printed:
            return value
        return self.output("" if value is None else render(value).text)

    def _run_traced(self, main: Callable[[], Any]) -> Any:
        """Run the script with the trace function; coverage does not see what it calls, down to `_call_tool`."""
        previous = sys.gettrace()
        sys.settrace(self._trace)
        try:
            return main()
        finally:
            sys.settrace(previous)

    def output(self, last: str) -> str:
        """Return the output so far, and a last line."""
        return "".join([*self._printed, last]).rstrip("\n")

    def _print(self, *values: Any, sep: str = " ", end: str = "\n") -> None:  # pragma: no cover - traced
        text = f"{sep.join(printed_text(value, MAX_PRINTED) for value in values)}{end}"
        if self._remaining_chars > 0:
            marker = (
                "" if len(text) <= self._remaining_chars else f"\n[more than {MAX_PRINTED} characters were printed]\n"
            )
            self._printed.append(text[: self._remaining_chars] + marker)
        self._remaining_chars -= len(text)

    def _trace(self, frame: FrameType, _event: str, _: Any) -> Callable[..., Any] | None:  # pragma: no cover - traced
        """Check at every line of the script whether to stop: a thread cannot be stopped from outside."""
        if frame.f_code.co_filename != SCRIPT_FILE:
            return None
        self._check_stop()
        return self._trace

    def _check_stop(self) -> None:  # pragma: no cover - traced
        if self._is_stopped or self.remaining_seconds <= 0:
            raise _ScriptStopped

    def _make_function(self, tool: Tool) -> Callable[..., Any]:
        order = list(tool.parameters.schema.get("properties", ()))

        def function(*positional: Any, **keywords: Any) -> Any:  # pragma: no cover - traced
            positional_by_name = dict(zip(order, positional, strict=False))
            if len(positional) > len(order) or positional_by_name.keys() & keywords.keys():
                raise TypeError(f"{tool.name}({', '.join(order)}) was called with other arguments")
            return self._call_tool(tool, {**positional_by_name, **keywords})

        function.__name__ = function.__qualname__ = tool.name
        return function

    def _call_tool(self, tool: Tool, arguments: dict[str, Any]) -> Any:  # pragma: no cover - traced
        """Make a call from the script's thread, wait for it, and return its raw value."""
        self._check_stop()
        self._call_started = start = monotonic()
        try:
            record = result_of(asyncio.run_coroutine_threadsafe(self._run_on_loop(tool, arguments), self._loop))
        except CancelledError:
            raise _ScriptStopped from None
        finally:
            self._deadline += monotonic() - start
            self._call_started = None
        if record.status != "ok":
            raise ToolFailed(f"{tool.name}: {record.shown}")
        if record.is_unreadable:
            self._call.record.received_unreadable = True
        return _released_value(record, self._runtime)

    async def _run_on_loop(self, tool: Tool, arguments: dict[str, Any]) -> Call:
        if self._is_stopped:
            raise asyncio.CancelledError
        self._task = asyncio.current_task()
        names: list[str] = []
        received_unreadable = self._call.record.received_unreadable
        runtime = replace(self._runtime, has_unreadable_input=received_unreadable, is_nested=True)
        variables = self._runtime.variables

        def refer(value: Any) -> str:
            name, description = variables.reserve_name("script"), "Passed on by a script."
            names.append(variables.store_result(name, value, description=description, readable=not received_unreadable))
            return f"$VAR_REF{{{{{names[-1]}}}}}"

        try:
            text = (
                _arguments_json(arguments, refer, references_only=received_unreadable)
                if tool.resolves_references
                else json.dumps(arguments)
            )
            call = ToolCall(tool.name, text, call_id=new_id("call"), runnable=True)
            if nested := self._runtime.run_nested:
                return await nested(call, runtime, self._call.round)
            return await run_call(call, runtime, round=self._call.round)
        finally:
            self._task = None
            for name in names:
                variables.remove(name)


class _TransientVariables(Toolset):
    """The tools of a turn for a script: their results are stored only with `store_as`."""

    def __init__(self, toolset: Toolset) -> None:
        super().__init__(toolset.name)
        self._toolset = toolset

    def get(self, name: str) -> Tool:
        tool = self._toolset.get(name)
        return replace(tool, stores_result=bool(tool.store_as))


def _released_value(record: Call, runtime: ToolRuntime) -> Any:  # pragma: no cover - traced
    """Return the value of a call; if a person replaced its text, that text."""
    if not any(decision.gate == "result" and decision.edited for decision in record.decisions):
        return record.result
    return runtime.variables.value(record.reference) if record.reference else record.shown


def _arguments_json(
    arguments: Mapping[str, Any], make_reference: Callable[[Any], str], *, references_only: bool = False
) -> str:
    """Return arguments as JSON, with references for large values and values without a JSON form.

    `references_only`: the script has unreadable values, and any other value may be derived from them.
    """
    written = {}
    for name, value in arguments.items():
        if references_only and value is not None and not isinstance(value, _ScriptText):
            written[name] = make_reference(value)
            continue
        try:
            json_value = _to_json(value, make_reference)
            is_large = not isinstance(value, _ScriptText) and len(json.dumps(json_value)) > MAX_INLINE_CHARS
        except RecursionError:
            is_large = True
        written[name] = make_reference(value) if is_large else json_value
    return json.dumps(written)


def _to_json(value: Any, make_reference: Callable[[Any], str]) -> Any:
    """Convert one value; only texts written by the model may contain references, others are literal."""
    if type(value) is _ScriptText:
        return str(value)
    if type(value) is str:
        return value.replace("$VAR_REF{{", "\\$VAR_REF{{")
    if value is None or type(value) in (bool, int, float):
        return value
    if type(value) in (list, tuple):
        return [_to_json(item, make_reference) for item in value]
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: _to_json(item, make_reference) for key, item in value.items()}
    return make_reference(value)


def _error_with_line(error: Exception) -> str:
    line = 0
    trace = error.__traceback__
    while trace:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == SCRIPT_FILE else line
        trace = trace.tb_next
    text = str(error) if isinstance(error, ToolFailed) else format_error(error)
    return f"Line {line}: {text}"
