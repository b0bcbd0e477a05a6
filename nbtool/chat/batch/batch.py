"""A running batch of prompts: limited concurrency, answers on arrival and in order at the end."""

from __future__ import annotations

import asyncio
import queue
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

from nbtool.argument_check import check_arguments
from nbtool.chat.batch.answer_frame import make_frame
from nbtool.chat.batch.answers import Answer, AnswerPort
from nbtool.chat.batch.batch_driver import BatchDriver
from nbtool.chat.batch.earlier_maps.earlier_turns import choose_step, has_started, not_repeated
from nbtool.chat.batch.map_counts import MapCounts, group_failures
from nbtool.chat.batch.progress import ProgressDisplay
from nbtool.chat.batch.prompt_retries import PromptRetries
from nbtool.chat.batch.prompts import PromptItem, PromptSet
from nbtool.chat.batch.rows import FrameLibrary
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.chat.batch.status_line import contents_line, line_html, status_line
from nbtool.chat.batch.turn_facts import error_of, with_calls
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, Cancelled, LimitReached, NbtoolError
from nbtool.map_progress import MapProgress, MapState
from nbtool.messages import Usage
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import POLL_SECONDS, background_loop, run_sync
from nbtool.threads.threadless import new_queue

INTERRUPTED = "The answers so far are in `chat.interrupted_map`; map again to go on."
"""Said of a map that was interrupted."""


class MapInterrupted(KeyboardInterrupt):
    """A person interrupted a map: `batch` has the answers so far. A notebook shows one line, without a traceback."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(INTERRUPTED)
        self.batch = batch

    def _render_traceback_(self) -> list[str]:
        """Return the line that IPython shows."""
        return [f"KeyboardInterrupt: {self}"]


@check_arguments
class Batch:
    """A batch of prompts that are running, each as a turn of its own.

    Iterate over it (`for`, `async for`) to get each `Answer` on arrival; `values` waits and returns the values in
    order: a list, or a column with the index of the input; `batch[0]` waits and is the first `Answer`. Failures are not
    raised: a failed prompt has its exception as its value, or is missing (`NA`) in a column of bool, int or float;
    `errors` has all of them.
    """

    def __init__(
        self, questions: PromptSet, driver: BatchDriver, settings: MapSettings, backoff: SharedBackoff
    ) -> None:
        self._questions, self._driver = questions, driver
        self._settings = settings
        self._backoff = backoff
        self._waiting: deque[tuple[PromptItem, str]] = deque()
        self._running: set[Turn] = set()
        self._answers: dict[int, Answer] = {}
        self._listeners: list[Callable[[Answer | None], None]] = []
        self._usage = Usage()
        self._continued: dict[int, Sequence[Turn]] = {}
        self._limited: set[int] = set()  # prompts that were sent and not answered, because a limit of all was reached
        self._counts = MapCounts(len(questions.items), max_tokens=settings.tokens, max_usd=settings.usd)
        self._display = ProgressDisplay(self._progress, self.cancel, is_shown=settings.progress, is_part=driver.is_part)
        self._stopped: NbtoolError | None = None
        self._caller_thread = CallerThread()
        self._work: Future[None] | None = None
        self.done: Future[Batch] = Future()

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise BadUsage(
            "The answers of a map cannot be copied or saved by pickle together with the prompts that run.",
            fix="Save `batch.values`, which are data, and `del batch`.",
        )

    @property
    def answers(self) -> list[Answer]:
        """The answers so far, in the order of the prompts."""
        return sorted(self._answers.values(), key=lambda answer: answer.index)

    @property
    def errors(self) -> list[Answer]:
        """The answers with an error: of prompts that failed, and of those that were not answered before a stop."""
        return [answer for answer in self.answers if answer.error]

    @property
    def failures(self) -> dict[str, list[Any]]:
        """The labels of the rows in `errors`, by why they failed: one text for failures that differ in numbers and ids.

        In a text `…` stands for what differs.
        """
        return group_failures(self.errors)

    @property
    def values(self) -> Any:
        """All values in order, with exceptions for failed prompts; waits for the last one.

        A column of answers that are all bool, int or float has that dtype, or its nullable form if some failed.
        """
        return self._questions.shape([answer.error or answer.value for answer in self.wait().answers])

    def to_frame(self, library: FrameLibrary | None = None) -> Any:
        """Return the answers as a frame of pandas, or else Polars; waits for the last one.

        A row for each prompt, in order. The fields of answers that are records (a model of pydantic, a dataclass, a
        dict) are columns, other answers are the column `answer`; `error` says why a prompt has none. A frame of pandas
        has the index of the input. Without a `library` it is that of the rows, else the one that is installed.
        """
        return make_frame(self.wait().answers, library or self._questions.library, self._questions.index)

    @property
    def stop_reason(self) -> NbtoolError | None:
        """Why prompts were not sent: a limit of all together, or `cancel`; None while all are sent."""
        return self._stopped

    @property
    def usage(self) -> Usage:
        """The usage of the prompts so far; answers from the journal are not counted."""
        return self._usage

    @property
    def wait_seconds(self) -> float:
        """Seconds until the provider is asked again."""
        return self._backoff.remaining

    @property
    def remains(self) -> tuple[str, ...]:
        """What remains of the prompts and answers at the provider of `batch="provider"`, in words."""
        return tuple(self._driver.source.remains) if self._driver.source else ()

    def clean_up(self) -> None:
        """Have the provider delete what is stored here, where the answers are written elsewhere first."""
        if self._driver.source and self._driver.is_part:
            run_sync(self._driver.source.clean_up())

    def is_unsent(self, answer: Answer) -> bool:
        """Whether a prompt was not sent, or not answered, because the batch was stopped."""
        error = answer.error
        return error is not None and (
            error is self._stopped or isinstance(error, Cancelled) or answer.index in self._limited
        )

    def start(self) -> Self:
        """Start the prompts on nbtool's background loop; idempotent."""
        if self._work is None:
            self._counts.begin()
            self._display.open()
            self._work = background_loop().submit(self._run_all())
            self._work.add_done_callback(self._close)
        return self

    def wait(self) -> Self:
        """Wait for the last answer; synchronous tools run on this thread meanwhile.

        An interrupt cancels the remaining prompts and is then raised again; finished answers are kept.
        """
        if self.done.done():
            self.done.result()
            return self
        self._caller_thread.attach()
        self.start()
        with self._display.waiting() as poll:
            try:
                self._caller_thread.run_until(self.done, on_tick=poll)
            except KeyboardInterrupt:
                self.cancel()
                self._caller_thread.run_until(self.done, on_tick=poll)
                raise
            finally:
                self._driver.end_wait()
        return self

    def cancel(self) -> None:
        """Cancel the running and waiting prompts, and start no more calls; finished answers are kept."""
        self._stopped = self._stopped or Cancelled("The prompts were cancelled.")
        self._caller_thread.close()
        background_loop().call_soon(self._stop_all)

    def hold(self, answers: Sequence[Answer]) -> None:
        """Keep the results of the calls of these answers until `release`."""
        for turn in filter(None, (answer.turn for answer in answers)):
            self._driver.results.hold(turn)

    def release(self, answers: Sequence[Answer]) -> None:
        """Forget answers that are stored elsewhere, and drop the results of their calls."""
        for answer in answers:
            self._answers.pop(answer.index, None)
            if answer.turn:
                self._driver.results.drop(answer.turn)

    def __iter__(self) -> Iterator[Answer]:
        """Yield each answer on arrival; synchronous tools run in worker threads meanwhile."""
        for answers in self.arrivals():
            yield from answers

    def arrivals(self, on_tick: Callable[[], None] = lambda: None) -> Iterator[list[Answer]]:
        """Yield the answers that have arrived since the last time, as lists; otherwise as `__iter__`.

        `on_tick` is called on every poll while this waits. What ended the map is raised after the last one.
        """
        received = new_queue()
        background_loop().call_soon(lambda: self._add_listener(received.put))
        self.start()

        def next_answer() -> Any:
            with self._display.waiting() as poll:
                while True:
                    on_tick()
                    poll()
                    with suppress(queue.Empty):
                        return received.get(timeout=POLL_SECONDS)

        answer = next_answer()
        while answer:
            answers = [answer]
            while not received.empty() and (answer := received.get()):
                answers.append(answer)
            yield answers
            answer = answer and next_answer()
        self._driver.end_wait()
        self.done.result()  # raises what ended it as a whole

    async def __aiter__(self) -> AsyncIterator[Answer]:
        """Yield each answer on arrival."""
        received: asyncio.Queue[Answer | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def pass_on(answer: Answer | None) -> None:
            loop.call_soon_threadsafe(received.put_nowait, answer)

        background_loop().call_soon(lambda: self._add_listener(pass_on))
        self.start()
        while answer := await received.get():
            yield answer
        self.done.result()

    def __await__(self) -> Generator[Any, None, Self]:
        try:
            yield from asyncio.shield(asyncio.wrap_future(self.start().done)).__await__()
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self

    def __len__(self) -> int:
        return len(self._questions.items)

    def __getitem__(self, index: int) -> Answer:
        """Return the answer of a prompt, by its index; waits for the last one."""
        return self.wait()._answers[range(len(self))[index]]

    def __repr__(self) -> str:
        return f"<Batch: {self._status_line()}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        line = contents_line(len(self), len(self.errors)) if self._display.has_view else self._status_line()
        return {"text/plain": repr(self), "text/html": line_html(line)}

    async def _run_all(self) -> None:
        continued = await self._take_known()
        if self._driver.source:
            port = AnswerPort(
                self._receive,
                lambda: self._stopped,
                self._refuse_rest,
                self._caller_thread,
                continued,
                self._counts.note,
            )
            await self._driver.source.answer(tuple(self._waiting), port)
            if not self._driver.is_part:
                await self._driver.source.clean_up()
            return
        await asyncio.gather(*(self._run_worker() for _ in range(min(self._settings.concurrency, len(self._waiting)))))

    async def _take_known(self) -> Mapping[str, Sequence[Turn]]:
        """Add the answers that are known; the other prompts wait. Return the turns that go on, by their keys."""
        items = self._questions.items
        keys, earlier = await asyncio.to_thread(self._driver.keys, items)
        continued = dict(earlier.continued)
        for item, key in zip(items, keys, strict=True):
            if item.problem:
                self._add(self._answer(item, error=item.problem))
            elif key in earlier.refused:
                self._add(self._answer(item, error=not_repeated(), turn_id=earlier.refused[key], has_acted=True))
            elif (turn := earlier.answered.get(key)) and (answer := self._cached_answer(item, turn)):
                self._add(answer)
            else:
                if turn and any(has_started(call, self._driver.free_tools) for call in turn.calls):
                    continued[key] = [turn]
                if versions := continued.get(key):
                    self._continued[item.index] = versions
                self._waiting.append((item, key))
        return continued

    def _receive(self, answer: Answer) -> None:
        """Add an answer that comes from elsewhere."""
        self._usage += answer.turn.usage if answer.turn else Usage()
        if answer.turn:
            self._note_limit(answer.index, answer.turn, answer.error)
        self._add(answer)

    def _note_limit(self, index: int, turn: Turn, error: BaseException | None) -> None:
        """Send no further prompt once a limit of all is reached; one of a turn only concerns no other."""
        if turn.status == "error" and isinstance(error, LimitReached) and not turn.end_reason:
            self._stopped = self._stopped or LimitReached(
                f"{error.message} The other prompts were not sent, or not finished.", fix=error.fix
            )
            self._limited.add(index)

    def _refuse_rest(self, reason: NbtoolError) -> None:
        self._stopped = self._stopped or reason

    async def _run_worker(self) -> None:
        """Send waiting prompts one after another until none is left."""
        while self._waiting:
            prompt_item, key = self._waiting.popleft()
            self._add(
                self._answer(prompt_item, error=self._stopped)
                if self._stopped
                else await self._ask_one(prompt_item, key)
            )

    async def _ask_one(self, prompt_item: PromptItem, key: str) -> Answer:
        """Send one prompt; repeat its turn where only that helps, from what ran."""
        retries = PromptRetries(self._backoff, self._settings.retries)
        while True:
            try:
                earlier = self._continued.get(prompt_item.index, ())
                turn = self._driver.prepare(prompt_item, key, self._caller_thread, retries, earlier)
            except NbtoolError as error:
                return self._answer(prompt_item, error=error)
            await self._wait_for(turn)
            retries.end()
            if self._stopped or not retries.may_repeat_turn(turn.error):
                break
            step = choose_step([turn, *earlier], self._driver.free_tools)
            if step not in ("send", "continue"):
                break
            self._continued[prompt_item.index] = [turn, *earlier] if step == "continue" else earlier
        self._note_limit(prompt_item.index, turn, turn.error)
        if turn.status != "completed":
            return self._answer(prompt_item, turn=turn, error=error_of(turn))
        return self._answer(prompt_item, turn=turn, value=self._driver.read(turn))

    async def _wait_for(self, turn: Turn) -> None:
        self._running.add(turn)
        try:
            turn.start()
            if self._stopped:
                turn.cancel()
            await asyncio.wrap_future(turn.done)
            self._usage += turn.usage
        finally:
            self._running.discard(turn)

    def _stop_all(self) -> None:
        if self._driver.source:
            self._driver.source.stop()
        for turn in tuple(self._running):
            turn.cancel()

    def _cached_answer(self, prompt_item: PromptItem, turn: Turn) -> Answer | None:
        try:
            return self._answer(prompt_item, turn=turn, value=self._driver.read(turn), is_cached=True)
        except NbtoolError:
            return None  # the recorded answer does not fit the type: it is asked for again

    def _answer(self, prompt_item: PromptItem, **fields: Any) -> Answer:
        return Answer(prompt_item.index, prompt_item.label, prompt_item.prompt, **fields)

    def _add(self, answer: Answer) -> None:
        turn, earlier = answer.turn, self._continued.get(answer.index, ())
        answer = with_calls(answer, earlier, self._driver.free_tools)
        answer = answer if self._settings.keep == "turns" else replace(answer, turn=None)
        self._answers[answer.index] = answer
        if turn:
            (self._driver.results.finish if answer.turn else self._driver.results.drop)(turn)
        for version in self._continued.pop(answer.index, ()):
            self._driver.results.drop(version)
        self._counts.add_answer(answer, is_unsent=self.is_unsent(answer))
        self._display.update()
        self._driver.receive(answer)
        for listener in tuple(self._listeners):
            listener(answer)

    def _add_listener(self, listener: Callable[[Answer | None], None]) -> None:
        """Pass every answer to a listener, earlier ones first, and None at the end; on the background thread."""
        for answer in tuple(self._answers.values()):
            listener(answer)
        if self.done.done():
            listener(None)
        else:
            self._listeners.append(listener)

    def _close(self, work: Future[None]) -> None:
        self._driver.release()
        error = Cancelled("The prompts were cancelled.") if work.cancelled() else work.exception()
        self._display.close(error or self._stopped)
        if error:
            self.done.set_exception(error)
        else:
            self.done.set_result(self)
        for listener in self._listeners:
            listener(None)

    def _status_line(self) -> str:
        """Return the progress in one line."""
        is_ended = self._work is not None and self._work.done()
        state: MapState = "stopped" if self._stopped else "completed" if is_ended else "running"
        return status_line(self._progress(state))

    def _progress(self, state: MapState, reason: str = "") -> MapProgress:
        return self._counts.progress(self._usage, wait_seconds=self.wait_seconds, state=state, reason=reason)
