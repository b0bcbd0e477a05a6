"""Where a tool runs, and how it ends.

Asynchronous tools run on the loop. Synchronous ones run on the lent thread, where the notebook's own code runs, or in
a worker thread of their own. Whatever a tool raises stays in its outcome; a tool that cannot be stopped is left
behind and said to be still running.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol

from nbtool.errors import Cancelled
from nbtool.events import CallStatus
from nbtool.loop import LentThread
from nbtool.tools.tool import Progress, Tool

GRACE = 1.0
"""Seconds that a stopped tool is given to end."""

PROGRESS_INTERVAL = 0.1
"""Seconds between two reports of progress; what comes faster is joined."""

MAX_STEPS = 1_000_000
"""Values that a generator tool may yield."""

Report = Callable[[Progress], Awaitable[None]]
Stopping = Literal["idle", "interrupted", "beyond reach"]


@dataclass(slots=True)
class Outcome:
    """What came of some work. `by_person`: it was interrupted from the keyboard, not by us."""

    value: Any = field(default=None, repr=False)  # a repr of ours never runs the repr of a person's object
    error: BaseException | None = None
    by_person: bool = False


@dataclass(slots=True)
class Ended:
    """How a run ended; `task` goes on where the tool could not be stopped."""

    status: CallStatus
    outcome: Outcome
    task: asyncio.Task[Outcome] | None = None


class Place(Protocol):
    """A thread where synchronous work is done."""

    name: str

    async def do(self, work: Callable[[], Any]) -> Outcome:
        """Do some work there."""

    def stop(self) -> Stopping:
        """Let nothing more begin, interrupt what runs, and say what was found."""


class OnLent:
    """The lent thread. An interrupt that we send is met in the work itself and goes no further."""

    name = "main"

    def __init__(self, lent: LentThread, begun: Callable[[], None]) -> None:
        self._lent = lent
        self._begun = begun
        self._lock = threading.Lock()
        self._is_running = False
        self._is_closed = False
        self._is_interrupting = False

    async def do(self, work: Callable[[], Any]) -> Outcome:
        """Do some work on the lent thread."""
        try:
            return await self._lent.run(lambda: self._guarded(work))
        except Cancelled as interrupt:
            return Outcome(error=interrupt, by_person=True)

    def stop(self) -> Stopping:
        """Interrupt the work that runs."""
        with self._lock:
            self._is_closed = True
            if not self._is_running:
                return "idle"
            self._is_interrupting = True
            if self._lent.interrupt():
                return "interrupted"
            self._is_interrupting = False
            return "beyond reach"

    def _guarded(self, work: Callable[[], Any]) -> Outcome:
        try:
            if not self._enter():
                return Outcome(error=KeyboardInterrupt())
            outcome = _contained(work)
            self._leave()
        except KeyboardInterrupt as interrupt:
            self._is_running = False
            if not self._is_interrupting:
                raise
            return Outcome(error=interrupt)
        return outcome

    def _enter(self) -> bool:
        with self._lock:
            self._is_running = not self._is_closed
        if self._is_running:
            self._begun()
        return self._is_running

    def _leave(self) -> None:
        with self._lock:
            self._is_running = False
        if self._is_interrupting:
            time.sleep(GRACE)  # our interrupt is on its way; it must arrive here and not in the person's own code


class InWorker:
    """A daemon thread for each piece of work, so that one that hangs holds up neither others nor the exit."""

    name = "worker"

    def __init__(self, begun: Callable[[], None]) -> None:
        self._begun = begun
        self._running = 0

    async def do(self, work: Callable[[], Any]) -> Outcome:
        """Do some work in a thread of its own."""
        self._running += 1
        self._begun()
        return await in_worker(work, done=self._leave)

    def stop(self) -> Stopping:
        """Say whether anything runs: a thread cannot be stopped."""
        return "beyond reach" if self._running else "idle"

    def _leave(self) -> None:
        self._running -= 1


def in_worker(work: Callable[[], Any], *, done: Callable[[], None] = lambda: None) -> asyncio.Future[Outcome]:
    """Do some work in a daemon thread, in a copy of the caller's context; `done` is called on the loop afterwards."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Outcome] = loop.create_future()

    def settle(outcome: Outcome) -> None:
        done()
        if not future.done():
            future.set_result(outcome)

    def run() -> None:
        outcome = _contained(work, but=())
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), name="nbtool-tool", daemon=True).start()
    return future


async def off_loop(work: Callable[[], Any], seconds: float) -> Outcome | None:
    """Do some work in a thread, and give None when it takes longer than that."""
    future = in_worker(work)
    await asyncio.wait({future}, timeout=seconds)
    return future.result() if future.done() else None


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
    place = place_of(tool, lent, partial(_set_soon, loop, begun))
    if tool.is_async:
        begun.set()
    task = asyncio.create_task(_whole(tool, arguments, keywords, place, report))
    try:
        in_time = await _wait(task, begun, timeout)
    except asyncio.CancelledError:
        stopped = await _stop(task, place)
        return Ended("cancelled", Outcome()) if stopped else Ended("unknown", Outcome(), task)
    if not in_time:
        stopped = await _stop(task, place)
        return Ended("timed_out", Outcome(), None if stopped else task)
    outcome = task.result()
    if outcome.by_person:
        return Ended("cancelled", outcome)
    return Ended("error" if outcome.error else "ok", outcome)


def place_of(tool: Tool, lent: LentThread, begun: Callable[[], None] = lambda: None) -> Place:
    """Say where a tool's synchronous work is done."""
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


async def _stop(task: asyncio.Task[Outcome], place: Place) -> bool:
    """Stop a run; says whether it has ended."""
    found = place.stop()
    if found == "beyond reach":
        return False
    if found == "idle":
        task.cancel()
    try:
        await asyncio.wait({task}, timeout=GRACE)
    except asyncio.CancelledError:
        return task.done()
    return task.done()


async def _whole(
    tool: Tool, arguments: Sequence[Any], keywords: Mapping[str, Any], place: Place, report: Report
) -> Outcome:
    """Call the function and follow whatever it gives to its end; nothing is raised."""
    try:
        if tool.is_async:
            value = tool.function(*arguments, **keywords)
        else:
            outcome = await place.do(lambda: tool.function(*arguments, **keywords))
            if outcome.error:
                return outcome
            value = outcome.value
        if inspect.isawaitable(value):
            value = await value
        if inspect.isgenerator(value):
            return await _steps(value, place, _Yields(report))
        if inspect.isasyncgen(value):
            value = await _async_steps(value, _Yields(report))
        return Outcome(value)
    except BaseException as error:  # noqa: BLE001 - SystemExit and its like must not reach the loop
        return Outcome(error=error)


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


def _contained(work: Callable[[], Any], *, but: tuple[type[BaseException], ...] = (KeyboardInterrupt,)) -> Outcome:
    try:
        return Outcome(work())
    except but:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a tool raises is its outcome
        return Outcome(error=error)
