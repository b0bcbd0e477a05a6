"""Run a tool in the right thread or loop, and stop it.

Async tools run on their own loop, those of nbtool on nbtool's. Synchronous ones run on the caller's thread, where the
notebook's own code runs, in a worker thread, or in a user's executor. Exceptions of a tool are part of its outcome; a
tool that cannot be stopped is abandoned and reported as still running.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from nbtool.clock import monotonic
from nbtool.events import CallStatus
from nbtool.threads.caller_thread import CallerLoop, CallerThread
from nbtool.threads.thread_pool import Outcome
from nbtool.tools.execution.async_loop import is_tool_loop_free, run_on_tool_loop
from nbtool.tools.execution.dask_ticket import StartedOnLostWorker
from nbtool.tools.execution.executors import ExecutorRunner
from nbtool.tools.execution.start_check import CheckedFunction
from nbtool.tools.execution.threads import STOP_GRACE_SECONDS, CallerThreadRunner, Runner, WorkerThreadRunner
from nbtool.tools.tool import Progress, Tool
from nbtool.tools.values.lazy_iterators import contains_iterators, take_iterators

PROGRESS_INTERVAL = 0.1
"""Minimum seconds between two progress reports; faster ones are joined."""

STEP_GRACE = 0.5
"""Seconds for the current step of a generator that cannot be interrupted to end after a stop."""

MAX_STEPS = 1_000_000
"""Maximum number of values that a generator tool may yield."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of a run; `timeout` is in seconds from its start, None if it has no deadline."""

    timeout: float | None = None
    stop_grace: float = STOP_GRACE_SECONDS
    progress_interval: float = PROGRESS_INTERVAL
    max_steps: int = MAX_STEPS


@dataclass(frozen=True, slots=True)
class BlockedLoop:
    """Reported if another function, named here, blocked the loop of async tools."""

    name: str


ReportProgress = Callable[[Progress | BlockedLoop], Coroutine[Any, Any, None]]
Remaining = Literal["nothing", "running", "perhaps", "lost"]


@dataclass(frozen=True, slots=True)
class ReturnValue:
    """Yielded last by an async generator tool, which cannot return: its result is `value` only."""

    value: Any


@dataclass(slots=True)
class ToolRun:
    """How a run ended, and what remains of it: nothing; `task`, which could not be stopped; or it is unknown."""

    status: CallStatus
    outcome: Outcome
    task: asyncio.Task[Outcome] | None = None
    remaining: Remaining = "nothing"


async def run_tool(  # noqa: PLR0913 - what a run needs, by keyword
    tool: Tool,
    function: partial[Any],
    *,
    caller_thread: CallerThread,
    report: ReportProgress,
    runner: Runner | None = None,
    limits: RunLimits = RunLimits(),
    is_unchanged: Callable[[], bool] | None = None,
    stop_request: asyncio.Future[None] | None = None,
) -> ToolRun:
    """Run a tool's function until it ends, its deadline is over, `stop_request` is done, or this task is cancelled.

    `runner` is that of `runner_for`, where it is known before. If it may not start at once, `is_unchanged` is called
    right before it starts; if it returns False, the function does not run and the outcome's error is
    `ChangedBeforeStart`. Cancellation does not propagate: the status is `cancelled`, `unknown` if the tool could not be
    stopped, or `not_run` if it was still waiting for its thread.
    """
    loop = asyncio.get_running_loop()
    started = asyncio.Event()
    runner = runner or runner_for(tool, caller_thread)
    if limits.timeout is not None:  # only a deadline needs the time of the start
        runner.on_start = partial(_set_threadsafe, loop, started)
    if tool.is_async:
        started.set()
    is_checked = is_unchanged and not _starts_at_once(tool, runner, caller_thread.caller_loop)
    checked = CheckedFunction(function, is_unchanged) if is_unchanged and is_checked else function
    inputs = (*function.args, *function.keywords.values())
    task = asyncio.create_task(_run_to_end(tool, checked, inputs, runner, report, limits, caller_thread.caller_loop))
    try:
        await _wait_for_end({task, *([stop_request] if stop_request else [])}, started, limits.timeout)
    except asyncio.CancelledError:
        remaining = await _stop(task, runner, limits.stop_grace)
        return ToolRun(
            _cancelled_status(tool, runner) if remaining == "nothing" else "unknown", Outcome(), task, remaining
        )
    if not task.done():
        status: CallStatus = "stopped" if stop_request and stop_request.done() else "timed_out"
        return ToolRun(status, Outcome(), task, await _stop(task, runner, limits.stop_grace))
    outcome = task.result()
    if outcome.is_interrupt:
        return ToolRun(_cancelled_status(tool, runner), outcome)
    if isinstance(outcome.error, StartedOnLostWorker):
        return ToolRun("unknown", Outcome(), remaining="lost")
    return ToolRun("error" if outcome.error else "ok", outcome)


def _cancelled_status(tool: Tool, runner: Runner) -> CallStatus:
    """Return the status of a run of which nothing remains: a runner that was stopped starts no work that waited."""
    return "cancelled" if tool.is_async or runner.has_started else "not_run"


def runner_for(tool: Tool, caller_thread: CallerThread) -> Runner:
    """Return the runner for a tool's synchronous work; that of a closed thread starts none."""
    if tool.executor:
        return ExecutorRunner(tool.executor)
    has_place = caller_thread.is_attached or caller_thread.is_closed
    if tool.needs_main_thread and caller_thread.main_thread and not has_place:
        return ExecutorRunner(caller_thread.main_thread)
    is_on_caller = has_place and not tool.thread
    return CallerThreadRunner(caller_thread) if is_on_caller else WorkerThreadRunner()


def _starts_at_once(tool: Tool, runner: Runner, caller_loop: CallerLoop) -> bool:
    return (tool.is_builtin or is_tool_loop_free(caller_loop)) if tool.is_async else runner.is_free


def _set_threadsafe(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    loop.call_soon_threadsafe(event.set)


async def _wait_for_end(ends: set[asyncio.Future[Any]], started: asyncio.Event, timeout: float | None) -> None:
    """Wait until one of these is done, for at most `timeout` seconds after the start."""
    if timeout is None:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        return
    start_task = asyncio.create_task(started.wait())
    try:
        await asyncio.wait({*ends, start_task}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(ends, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        start_task.cancel()


async def _stop(task: asyncio.Task[Outcome], runner: Runner, grace: float) -> Remaining:
    """Stop a run; return what remains of it."""
    stop_result = runner.stop()
    if stop_result == "out_of_reach":
        await _wait_uncancelled(task, STEP_GRACE)  # the current step of a generator may end, and no other starts
        return "nothing" if task.done() and runner.has_refused else "running"
    if stop_result != "interrupted":
        task.cancel()
    await _wait_uncancelled(task, grace)
    if not task.done():
        return "running"
    return "perhaps" if stop_result == "uncertain" else "nothing"


async def _wait_uncancelled(task: asyncio.Task[Outcome], seconds: float) -> None:
    deadline = monotonic() + seconds
    while not task.done() and (remaining := deadline - monotonic()) > 0:
        with suppress(asyncio.CancelledError):  # a second cancellation has no effect on the tool
            await asyncio.wait({task}, timeout=remaining)


async def _run_to_end(  # noqa: PLR0913 - what a run needs
    tool: Tool,
    function: Callable[[], Any],
    inputs: Sequence[Any],
    runner: Runner,
    report: ReportProgress,
    limits: RunLimits,
    caller: CallerLoop,
) -> Outcome:
    """Call the function and run what it returns to its end; raises nothing."""
    report_back = _report_from_any_loop(report)
    try:
        if tool.is_async:
            outcome = await _run_on_loop(tool, partial(_await_value, function, report_back, limits), report, caller)
        else:
            outcome = await runner.run(function)
            if inspect.isawaitable(outcome.value) or inspect.isasyncgen(outcome.value):
                value = outcome.value
                work = partial(_await_value, lambda: value, report_back, limits)
                outcome = await _run_on_loop(tool, work, report, caller)
        if any(outcome.value is item for item in inputs):
            return outcome  # a returned generator is not the tool's own
        if outcome.error is None and inspect.isgenerator(outcome.value):
            outcome = await _run_generator(outcome.value, runner, _GeneratorOutput(report, limits))
        if outcome.error is None and contains_iterators(outcome.value, inputs):
            own = WorkerThreadRunner() if isinstance(runner, ExecutorRunner) else runner
            return await own.run(partial(take_iterators, outcome.value, inputs))
        return outcome
    except BaseException as error:  # noqa: BLE001 - SystemExit and the like must not reach the loop
        return Outcome(error=error)


async def _run_on_loop(
    tool: Tool, work: Callable[[], Awaitable[Any]], report: ReportProgress, caller: CallerLoop
) -> Outcome:
    """Run async work: nbtool's own here, the user's on the tool loop; report what blocked that loop."""
    if tool.is_builtin:
        return Outcome(await work())
    outcome, blocker = await run_on_tool_loop(work, tool.name, caller)
    if blocker:
        await report(BlockedLoop(blocker))
    return outcome


async def _await_value(function: Callable[[], Any], report: ReportProgress, limits: RunLimits) -> Any:
    value = function()
    if inspect.isawaitable(value):
        value = await value
    return await _run_async_generator(value, _GeneratorOutput(report, limits)) if inspect.isasyncgen(value) else value


def _report_from_any_loop(report: ReportProgress) -> ReportProgress:
    """Return a report function that can be awaited on another loop."""
    own_loop = asyncio.get_running_loop()

    async def reported(progress: Progress | BlockedLoop) -> None:
        if asyncio.get_running_loop() is own_loop:
            await report(progress)
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(report(progress), own_loop))

    return reported


async def _run_generator(steps: Iterator[Any], runner: Runner, output: _GeneratorOutput) -> Outcome:
    def step() -> tuple[bool, Any]:
        try:
            return False, next(steps)
        except StopIteration as stop:
            return True, stop.value

    while True:
        outcome = await runner.run(step)
        if outcome.error:
            return outcome
        is_last, value = outcome.value
        if is_last:
            await output.flush()
            return Outcome(value if value is not None else output.result())
        await output.add(value)


async def _run_async_generator(steps: AsyncIterator[Any], output: _GeneratorOutput) -> Any:
    async for value in steps:
        if isinstance(value, ReturnValue):
            await output.flush()
            return value.value
        await output.add(value)
    await output.flush()
    return output.result()


class _GeneratorOutput:
    """The values of a generator tool: progress, and pieces of its result."""

    def __init__(self, report: ReportProgress, limits: RunLimits) -> None:
        self._report = report
        self._limits = limits
        self._values: list[Any] = []
        self._unreported: list[str] = []
        self._fraction: float | None = None
        self._last = 0.0
        self._count = 0

    async def add(self, value: Any) -> None:
        self._count += 1
        if self._count > self._limits.max_steps:
            raise RuntimeError(f"the tool yielded more than {self._limits.max_steps} values")
        if isinstance(value, Progress):
            self._fraction = value.fraction if value.fraction is not None else self._fraction
            self._unreported.append(f"{value.text}\n" if value.text else "")
        else:
            self._values.append(value)
            self._unreported.append(value if isinstance(value, str) else "")
        if monotonic() - self._last >= self._limits.progress_interval:
            await self.flush()

    async def flush(self) -> None:
        if self._unreported:
            text, self._unreported, self._last = "".join(self._unreported), [], monotonic()
            await self._report(Progress(text, self._fraction))

    def result(self) -> Any:
        """Return the yielded values as one result: texts joined, anything else as a list."""
        if self._values and all(isinstance(piece, str) for piece in self._values):
            return "".join(self._values)
        return self._values or None
