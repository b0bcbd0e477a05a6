"""Send any number of prompts in constant memory: a chunk at a time, each answer to a sink as it arrives."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from nbtool.chat.batch.answers import Answer
from nbtool.chat.batch.batch import Batch
from nbtool.chat.batch.map_counts import MapCounts
from nbtool.chat.batch.progress import ProgressDisplay
from nbtool.chat.batch.prompts import PromptItem, prompt_bytes
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.batch.sinks.answer_sink import AnswerSink
from nbtool.chat.batch.status_line import status_line
from nbtool.map_progress import CONTINUE_FIX, MapProgress, MapState
from nbtool.messages import Usage

CHUNK = 1_000
"""Prompts in memory at a time; the next ones are read when all of them are answered."""

PROVIDER_CHUNK = 50_000
"""The same for `batch="provider"`: as many as a provider takes at a time."""

CHUNK_BYTES = 32 * 1024 * 1024
"""Bytes of prompts in memory at a time: of longer ones fewer are read, at least one."""

GARBAGE_BYTES = 16 * 1024 * 1024
"""Bytes of answered prompts and their values after which garbage is collected: turns contain reference cycles, and
Python looks for these by the number of objects, whatever their size."""

MakeBatch = Callable[[Sequence[PromptItem]], Batch]


@dataclass(frozen=True, slots=True)
class MapTotals(MapProgress):
    """What came of a streamed map: its progress at the end.

    `answered_before` had an answer already, whose usage is not counted. `failed` are also those that were not sent
    again because a call had started in an earlier map. `unsent` were not answered, because their turn was stopped.
    `remains` is what is left at the provider of `batch="provider"`, in words.
    """

    remains: tuple[str, ...] = ()

    def __str__(self) -> str:
        return status_line(self)


def run_streamed_map(
    items: Iterable[PromptItem],
    sink: AnswerSink,
    make_batch: MakeBatch,
    *,
    settings: MapSettings | None = None,
    continue_fix: str = CONTINUE_FIX,
) -> MapTotals:
    """Send prompts, and write each answer to the sink as soon as it has arrived.

    An interrupt cancels the running prompts and is raised again when their answers are written. `continue_fix` says
    what a person can do once it was stopped.

    Raises:
        nbtool.errors.LimitReached: a limit of all prompts together was reached; the other answers are written.
    """
    return _StreamedMap(sink, make_batch, continue_fix, settings or MapSettings()).run(items)


class _StreamedMap:
    """One run over all chunks, with what is shown of it."""

    def __init__(self, sink: AnswerSink, make_batch: MakeBatch, continue_fix: str, settings: MapSettings) -> None:
        self._sink, self._make_batch = sink, make_batch
        self._chunk = PROVIDER_CHUNK if settings.batch else CHUNK
        self._spent = Usage()  # by the batches that have ended
        self._remains: tuple[str, ...] = ()
        self._batch: Batch | None = None
        self._is_stopped = False
        self._garbage_bytes = 0
        self._lock = threading.Lock()
        self._counts = MapCounts(None, max_tokens=settings.tokens, max_usd=settings.usd)
        self._display = ProgressDisplay(
            self._progress, self._stop, is_shown=settings.progress, continue_fix=continue_fix
        )

    def run(self, items: Iterable[PromptItem]) -> MapTotals:
        """Send all prompts and return what came of them."""
        self._counts.begin()
        self._display.open()
        error: BaseException | None = None
        try:
            with self._display.waiting() as poll:
                for chunk in _chunks(items, self._chunk):
                    self._answer_chunk(chunk, poll)
                    del chunk  # not in memory while the next ones are read
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._display.close(error)
        progress = self._counts.progress(self._spent, state="completed")
        return MapTotals(
            **{field.name: getattr(progress, field.name) for field in fields(progress)}, remains=self._remains
        )

    def _answer_chunk(self, chunk: Sequence[PromptItem], poll: Callable[[], None]) -> None:
        left = self._sink.unanswered(chunk)
        self._counts.add_answered_before(len(chunk) - len(left))
        poll()
        if left:
            self._send_chunk(left, poll)

    def _send_chunk(self, chunk: Sequence[PromptItem], poll: Callable[[], None]) -> None:
        batch, written = self._begin_batch(chunk), set[int]()
        try:
            for answers in batch.arrivals(poll):
                self._write(batch, answers, written)
        except BaseException as error:
            self._end_early(batch, written, writes_rest=isinstance(error, KeyboardInterrupt))
            raise
        else:
            self._clean_up(batch)
        finally:
            self._end_batch(batch)
        if batch.stop_reason:
            raise batch.stop_reason

    def _end_early(self, batch: Batch, written: set[int], *, writes_rest: bool) -> None:
        """Cancel what runs and wait for its end: a map that begins at once would send it again."""
        batch.cancel()
        answers = batch.wait().answers
        if writes_rest:
            self._write(batch, [answer for answer in answers if answer.index not in written], written)
            self._clean_up(batch)

    def _write(self, batch: Batch, answers: Sequence[Answer], written: set[int]) -> None:
        """Write the answers of prompts that were sent; the others have none."""
        sent = [answer for answer in answers if answer.error is None or answer.error is not batch.stop_reason]
        if sent:
            batch.hold(sent)
            self._sink.write(sent)
        written.update(answer.index for answer in sent)
        for answer in answers:
            self._counts.add_answer(answer, is_unsent=batch.is_unsent(answer))
        self._release(batch, answers)
        self._display.update()

    def _release(self, batch: Batch, answers: Sequence[Answer]) -> None:
        """Free the memory of answers that were written."""
        batch.release(answers)
        self._garbage_bytes += sum(prompt_bytes(answer.prompt) + sys.getsizeof(answer.value) for answer in answers)
        if self._garbage_bytes >= GARBAGE_BYTES:
            self._garbage_bytes = 0
            gc.collect()

    def _clean_up(self, batch: Batch) -> None:
        """Have the provider of the batch delete what is written now."""
        batch.clean_up()
        self._remains += batch.remains

    def _begin_batch(self, chunk: Sequence[PromptItem]) -> Batch:
        batch = self._make_batch(chunk)
        with self._lock:
            self._batch = batch
            is_stopped = self._is_stopped
        if is_stopped:  # between two chunks
            batch.cancel()
        return batch

    def _end_batch(self, batch: Batch) -> None:
        with self._lock:
            self._spent += batch.usage
            self._batch = None

    def _stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            batch = self._batch
        if batch:
            batch.cancel()

    def _progress(self, state: MapState, reason: str) -> MapProgress:
        return self._counts.progress(self._usage(), wait_seconds=self._wait_seconds(), state=state, reason=reason)

    def _usage(self) -> Usage:
        with self._lock:
            return self._spent + self._batch.usage if self._batch else self._spent

    def _wait_seconds(self) -> float:
        batch = self._batch
        return batch.wait_seconds if batch else 0.0


def _chunks(items: Iterable[PromptItem], count: int) -> Iterator[list[PromptItem]]:
    """Yield prompts, as many at a time as may be in memory."""
    chunk: list[PromptItem] = []
    size = 0
    for item in items:
        chunk.append(item)
        size += prompt_bytes(item.prompt)
        if len(chunk) == count or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
