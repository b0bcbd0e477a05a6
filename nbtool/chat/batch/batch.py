"""Many questions on their way: a few at a time, answers as they come, and in order at the end."""

from __future__ import annotations

import asyncio
import queue
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from html import escape
from typing import Any, Self

from nbtool.chat.batch.progress import ProgressLine
from nbtool.chat.batch.prompts import Asked, Questions
from nbtool.chat.batch.rate_limit import Pace
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.turn import Turn
from nbtool.errors import Cancelled, LimitReached, NbtoolError
from nbtool.loop import CallerThread, background_loop
from nbtool.messages import Message, Usage


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one prompt: its `value`, or the `error`; `is_kept` where the journal had it already.

    `label` is that of its row, `place` counts from 0; a prompt that was never asked has no turn.
    """

    place: int
    label: Any
    prompt: str | Message = field(repr=False)
    value: Any = None
    error: BaseException | None = None
    turn: Turn | None = field(default=None, repr=False)
    is_kept: bool = False


Ask = Callable[[Asked, str], Turn]
Read = Callable[[Turn], Any]


@dataclass(frozen=True, slots=True)
class Asking:
    """How a chat is asked: `ask` prepares the turn of a prompt and its key, `read` takes the value out of one.

    `keys` gives the key of every prompt, and the turns that answered some of them before; it takes its time.
    """

    ask: Ask
    read: Read
    keys: Callable[[Sequence[Asked]], tuple[list[str], Mapping[str, Turn]]]


class Batch:
    """Many prompts on their way, each a turn of its own.

    Iterate over it (`for`, `async for`) to have each `Answer` as it comes; `values` waits and gives them in order: a
    list, or a column beside the one that was asked. Nothing is raised: what failed stands there as its exception, or is
    missing (`NA`) in a column of bool, int or float; `errors` has them all.
    """

    def __init__(self, questions: Questions, asking: Asking, how: MapSettings, pace: Pace) -> None:
        self._questions = questions
        self._asking = asking
        self._how = how
        self._pace = pace
        self._line = ProgressLine(is_shown=how.progress)
        self._waiting: deque[tuple[Asked, str]] = deque()
        self._running: set[Turn] = set()
        self._answers: list[Answer] = []
        self._listeners: list[Callable[[Answer | None], None]] = []
        self._usage = Usage()
        self._failed = self._kept = 0
        self._stopped: NbtoolError | None = None
        self._lent = CallerThread()
        self._work: Future[None] | None = None
        self.done: Future[Batch] = Future()

    @property
    def answers(self) -> list[Answer]:
        """The answers that have come, in the order of the prompts."""
        return sorted(self._answers, key=lambda answer: answer.place)

    @property
    def errors(self) -> list[Answer]:
        """Those that failed."""
        return [answer for answer in self.answers if answer.error]

    @property
    def values(self) -> Any:
        """All values in order, and exceptions for what failed; waits for the last one.

        A column of answers that are all bool, int or float has that dtype; where some failed it is the nullable one.
        """
        answers = self.wait().answers
        return self._questions.shape([answer.error or answer.value for answer in answers])

    @property
    def usage(self) -> Usage:
        """What the prompts have used so far; answers from the journal cost nothing again."""
        return self._usage

    def begin(self) -> Self:
        """Set the questions going on nbtool's own loop; a second time changes nothing."""
        if self._work is None:
            self._work = background_loop().submit(self._all())
            self._work.add_done_callback(self._close)
        return self

    def wait(self) -> Self:
        """Wait for the last answer; synchronous tools run on this thread meanwhile.

        An interrupt cancels what is left and is then raised again; what came is kept.
        """
        if self.done.done():
            self.done.result()
            return self
        self._lent.attach()
        self.begin()
        try:
            self._lent.run_until(self.done)
        except KeyboardInterrupt:
            self.cancel()
            self._lent.run_until(self.done)
            raise
        return self

    def cancel(self) -> None:
        """Ask nothing more and stop what is on its way; what came is kept."""
        self._stopped = self._stopped or Cancelled("The prompts were cancelled.")
        background_loop().call_soon(self._stop_all)

    def __iter__(self) -> Iterator[Answer]:
        """Give each answer as it comes; synchronous tools run in worker threads meanwhile."""
        inbox: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        background_loop().call_soon(lambda: self._listen(inbox.put))
        self.begin()
        while answer := inbox.get():
            yield answer

    async def __aiter__(self) -> AsyncIterator[Answer]:
        """Give each answer as it comes."""
        inbox: asyncio.Queue[Answer | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def pass_on(one: Answer | None) -> None:
            loop.call_soon_threadsafe(inbox.put_nowait, one)

        background_loop().call_soon(lambda: self._listen(pass_on))
        self.begin()
        while answer := await inbox.get():
            yield answer

    def __await__(self) -> Generator[Any, None, Self]:
        try:
            yield from asyncio.shield(asyncio.wrap_future(self.begin().done)).__await__()
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self

    def __len__(self) -> int:
        return len(self._questions.asked)

    def __repr__(self) -> str:
        return f"<Batch: {self._told()}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": f"<div>{escape(self._told())}</div>"}

    async def _all(self) -> None:
        asked = self._questions.asked
        keys, kept = await asyncio.to_thread(self._asking.keys, asked)
        for one, key in zip(asked, keys, strict=True):
            if one.problem:
                self._take(self._answer(one, error=one.problem))
            elif (turn := kept.get(key)) and (answer := self._as_kept(one, turn)):
                self._take(answer)
            else:
                self._waiting.append((one, key))
        await asyncio.gather(*(self._some() for _ in range(min(self._how.concurrency, len(self._waiting)))))

    async def _some(self) -> None:
        """Ask one prompt after another while there are any."""
        while self._waiting:
            one, key = self._waiting.popleft()
            self._take(self._answer(one, error=self._stopped) if self._stopped else await self._asked(one, key))

    async def _asked(self, one: Asked, key: str) -> Answer:
        """Ask one prompt, and again where the provider was busy and nothing was done yet."""
        for attempt in range(1, self._how.retries + 2):
            try:
                turn = self._asking.ask(one, key)
            except NbtoolError as error:
                return self._answer(one, error=error)
            await self._see_through(turn)
            has_acted = any(call.started for call in turn.calls)
            if self._stopped or has_acted or not self._pace.wants_again(turn.error, attempt):
                break
        is_own_limit = bool(turn.end_reason)  # of this turn alone: the others go on
        if turn.status == "error" and isinstance(turn.error, LimitReached) and not is_own_limit:
            self._stopped = self._stopped or LimitReached(f"{turn.error.message} This prompt was not asked.")
        if turn.status != "completed":
            return self._answer(one, turn=turn, error=turn.error or Cancelled(f"The turn was {turn.status}."))
        return self._answer(one, turn=turn, value=self._asking.read(turn))

    async def _see_through(self, turn: Turn) -> None:
        turn.lent = self._lent
        self._running.add(turn)
        try:
            turn.begin()
            if self._stopped:
                turn.cancel()
            await asyncio.wrap_future(turn.done)
            self._usage += turn.usage
        finally:
            self._running.discard(turn)

    def _stop_all(self) -> None:
        for turn in tuple(self._running):
            turn.cancel()

    def _as_kept(self, one: Asked, turn: Turn) -> Answer | None:
        try:
            return self._answer(one, turn=turn, value=self._asking.read(turn), is_kept=True)
        except NbtoolError:
            return None  # what was answered does not fit any more, so it is asked again

    def _answer(self, one: Asked, **came: Any) -> Answer:
        return Answer(one.place, one.label, one.prompt, **came)

    def _take(self, answer: Answer) -> None:
        self._answers.append(answer)
        self._failed += answer.error is not None
        self._kept += answer.is_kept
        self._line.show(f"nbtool: {self._told()}")
        for listener in tuple(self._listeners):
            listener(answer)

    def _listen(self, listener: Callable[[Answer | None], None]) -> None:
        """Tell a listener every answer, those that came already first, and None at the end; on nbtool's own thread."""
        for answer in self._answers:
            listener(answer)
        if self.done.done():
            listener(None)
        else:
            self._listeners.append(listener)

    def _close(self, work: Future[None]) -> None:
        self._line.show(f"nbtool: {self._told()}", is_last=True)
        error = Cancelled("The prompts were cancelled.") if work.cancelled() else work.exception()
        if error:
            self.done.set_exception(error)
        else:
            self.done.set_result(self)
        for listener in self._listeners:
            listener(None)

    def _told(self) -> str:
        """Say how far it is."""
        failed, kept = self._failed, self._kept
        told = [f"{len(self._answers):,} of {len(self):,} prompts"]
        told += [f"{failed:,} failed"] if failed else []
        told += [f"{kept:,} answered before"] if kept else []
        told += [f"{self.usage.total_tokens:,} tokens"] if self.usage.total_tokens else []
        told += [f"waiting {held:.0f} s for the provider"] if (held := self._pace.seconds) >= 1 else []
        return ", ".join(told)
