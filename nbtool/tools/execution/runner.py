"""Where a tool runs, and how it ends.

Asynchronous tools run on a loop of their own, those of nbtool on nbtool's. Synchronous ones run on the lent thread,
where the notebook's own code runs, in a worker thread of their own, or at an executor of the person's. Whatever a tool
raises stays in its outcome; a tool that cannot be stopped is left behind and said to be still running.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from nbtool.events import CallStatus
from nbtool.loop import LentThread
from nbtool.thread_pool import Outcome
from nbtool.tools.execution.async_loop import on_tool_loop
from nbtool.tools.execution.executors import InExecutor
from nbtool.tools.execution.threads import GRACE, InWorker, OnLent, Place
from nbtool.tools.tool import Progress, Tool

PROGRESS_INTERVAL = 0.1
"""Seconds between two reports of progress; what comes faster is joined."""

STEP_GRACE = 0.5
"""Seconds in which the step of a generator that cannot be interrupted may end by itself once it was stopped."""

MAX_STEPS = 1_000_000
"""Values that a generator tool may yield."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """Reported where another function, named here, blocked the loop of asynchronous tools."""

    name: str


Report = Callable[[Progress | Blocked], Coroutine[Any, Any, None]]
Left = Literal["nothing", "running", "perhaps"]


@dataclass(frozen=True, slots=True)
class Returned:
    """Yielded last by a tool that is an async generator, which cannot return: its result is `value` alone."""

    value: Any


@dataclass(slots=True)
class Ended:
    """How a run ended, and what is left of it: nothing; `task`, which could not be stopped; perhaps something."""

    status: CallStatus
    outcome: Outcome
    task: asyncio.Task[Outcome] | None = None
    left: Left = "nothing"


async def run_tool(
    tool: Tool,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    *,
    lent: LentThread,
    report: Report,
    timeout: float | None = None,
) -> Ended:
    """Run a tool to its end, its deadline (seconds from when it begins), or until this task is cancelled.

    Cancelling is not passed on: the outcome says `cancelled`, or `unknown` where the tool could not be stopped.
    """
    loop = asyncio.get_running_loop()
    begun = asyncio.Event()
    heard = () if timeout is None else (partial(_set_soon, loop, begun),)  # nobody else asks when it begins
    place = place_of(tool, lent, *heard)
    if tool.is_async:
        begun.set()
    task = asyncio.create_task(_whole(tool, arguments, keywords, place, report))
    try:
        in_time = await _wait(task, begun, timeout)
    except asyncio.CancelledError:
        left = await _stop(task, place)
        return Ended("cancelled" if left == "nothing" else "unknown", Outcome(), task, left)
    if not in_time:
        return Ended("timed_out", Outcome(), task, await _stop(task, place))
    outcome = task.result()
    if outcome.by_person:
        return Ended("cancelled", outcome)
    return Ended("error" if outcome.error else "ok", outcome)


def place_of(tool: Tool, lent: LentThread, begun: Callable[[], None] = lambda: None) -> Place:
    """Say where a tool's synchronous work is done."""
    if tool.executor:
        return InExecutor(tool.executor, begun)
    return InWorker(begun) if tool.thread or not lent.is_served else OnLent(lent, begun)


def _set_soon(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    loop.call_soon_threadsafe(event.set)


async def _wait(task: asyncio.Task[Outcome], begun: asyncio.Event, timeout: float | None) -> bool:
    if timeout is None:
        await asyncio.wait({task})
        return True
    beginning = asyncio.create_task(begun.wait())
    try:
        await asyncio.wait({task, beginning}, return_when=asyncio.FIRST_COMPLETED)
        done, _ = await asyncio.wait({task}, timeout=timeout)
    finally:
        beginning.cancel()
    return bool(done)


async def _stop(task: asyncio.Task[Outcome], place: Place) -> Left:
    """Stop a run; says what is left of it."""
    found = place.stop()
    if found == "out_of_reach":
        await _wait_uncancelled(task, STEP_GRACE)  # a step of a generator may end, and no other follows
        return "nothing" if task.done() and place.has_refused else "running"
    if found != "interrupted":
        task.cancel()
    await _wait_uncancelled(task, GRACE)
    if not task.done():
        return "running"
    return "perhaps" if found == "uncertain" else "nothing"


async def _wait_uncancelled(task: asyncio.Task[Outcome], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not task.done() and (left := end - time.monotonic()) > 0:
        with suppress(asyncio.CancelledError):  # a second one changes nothing about the tool
            await asyncio.wait({task}, timeout=left)


async def _whole(
    tool: Tool, arguments: Sequence[Any], keywords: Mapping[str, Any], place: Place, report: Report
) -> Outcome:
    """Call the function and follow whatever it gives to its end; nothing is raised."""
    function, reported = partial(tool.function, *arguments, **keywords), _from_any_loop(report)
    try:
        if tool.is_async:
            outcome = await _on_its_loop(tool, partial(_awaited, function, reported), report)
        else:
            outcome = await place.do(function)
            if inspect.isawaitable(outcome.value) or inspect.isasyncgen(outcome.value):
                value = outcome.value
                outcome = await _on_its_loop(tool, partial(_awaited, lambda: value, reported), report)
        given = (*arguments, *keywords.values())
        if any(outcome.value is one for one in given):
            return outcome  # a generator that is handed back is not the tool's own
        if outcome.error is None and inspect.isgenerator(outcome.value):
            return await _steps(outcome.value, place, _Yields(report))
        return outcome
    except BaseException as error:  # noqa: BLE001 - SystemExit and its like must not reach the loop
        return Outcome(error=error)


async def _on_its_loop(tool: Tool, work: Callable[[], Awaitable[Any]], report: Report) -> Outcome:
    """Run asynchronous work: nbtool's own here, a person's on the loop of tools; one that blocked that is named."""
    if tool.is_ours:
        return Outcome(await work())
    outcome, blocker = await on_tool_loop(work, tool.name)
    if blocker:
        await report(Blocked(blocker))
    return outcome


async def _awaited(function: Callable[[], Any], report: Report) -> Any:
    value = function()
    if inspect.isawaitable(value):
        value = await value
    return await _async_steps(value, _Yields(report)) if inspect.isasyncgen(value) else value


def _from_any_loop(report: Report) -> Report:
    """Give a report that can be awaited on another loop than this one."""
    home = asyncio.get_running_loop()

    async def reported(progress: Progress | Blocked) -> None:
        if asyncio.get_running_loop() is home:
            await report(progress)
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(report(progress), home))

    return reported


async def _steps(steps: Iterator[Any], place: Place, yields: _Yields) -> Outcome:
    def step() -> tuple[bool, Any]:
        try:
            return False, next(steps)
        except StopIteration as stop:
            return True, stop.value

    while True:
        outcome = await place.do(step)
        if outcome.error:
            return outcome
        is_last, value = outcome.value
        if is_last:
            await yields.flush()
            return Outcome(value if value is not None else yields.joined())
        await yields.take(value)


async def _async_steps(steps: AsyncIterator[Any], yields: _Yields) -> Any:
    async for value in steps:
        if isinstance(value, Returned):
            await yields.flush()
            return value.value
        await yields.take(value)
    await yields.flush()
    return yields.joined()


class _Yields:
    """What a generator tool yields: progress, and pieces of its result."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._pieces: list[Any] = []
        self._unsaid: list[str] = []
        self._fraction: float | None = None
        self._last = 0.0
        self._count = 0

    async def take(self, value: Any) -> None:
        self._count += 1
        if self._count > MAX_STEPS:
            raise RuntimeError(f"the tool yielded more than {MAX_STEPS} values")
        if isinstance(value, Progress):
            self._fraction = value.fraction if value.fraction is not None else self._fraction
            self._unsaid.append(f"{value.text}\n" if value.text else "")
        else:
            self._pieces.append(value)
            self._unsaid.append(value if isinstance(value, str) else "")
        if time.monotonic() - self._last >= PROGRESS_INTERVAL:
            await self.flush()

    async def flush(self) -> None:
        if self._unsaid:
            text, self._unsaid, self._last = "".join(self._unsaid), [], time.monotonic()
            await self._report(Progress(text, self._fraction))

    def joined(self) -> Any:
        """Give what was yielded as one result: texts joined, anything else as a list."""
        if self._pieces and all(isinstance(piece, str) for piece in self._pieces):
            return "".join(self._pieces)
        return self._pieces or None
