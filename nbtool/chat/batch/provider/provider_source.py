"""Answer the prompts of a map by batches of their provider.

A batch is noted in the journal before it is handed over, by the ids of its lines, which are hashes of the requests. A
later map with the same requests takes it over, whatever has become of the process that sent it: nothing is handed over
a second time while the first batch may be at the provider.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nbtool.chat.batch.answers import Answer, AnswerPort
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.provider.batch_log import BatchLog
from nbtool.chat.batch.provider.batch_watch import BatchWatch, WatchDelays
from nbtool.chat.batch.provider.line_collector import CaptureRequest, LineBudget, LineCollector, Row
from nbtool.chat.batch.turn_facts import error_of
from nbtool.chat.journal.batch_table import NotedBatch
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, Cancelled, InvalidAnswer, NbtoolError, ProviderError, WireError
from nbtool.ids import new_id
from nbtool.text import count_of
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import report_warning
from nbtool.wire.batches import BatchApi, LineResult, ProviderBatch
from nbtool.wire.transport.server_requests import Undecided

CLOCK_SECONDS = 300.0
"""Seconds by which the clocks of this machine and the provider may differ."""

AGAIN_FIX = "Map again to send it again, in a new batch."

NOT_FOUND_FIX = "Use the key with which it was sent; with `resume=False` the prompts are sent again, and paid again."

PrepareReply = Callable[[PromptItem, str, CallerThread, LineResult], Turn]


@dataclass(slots=True)
class _Handed:
    """A batch at the provider with the rows that it answers.

    `is_earlier`: another map sent it. `is_certain`: it is known to be ours; else only that it is of as many lines, and
    of the time, that was `noted`.
    """

    tag: str
    batch: ProviderBatch
    rows: dict[str, Row]
    file_id: str = ""
    is_earlier: bool = False
    is_certain: bool = True
    noted: NotedBatch | None = None
    settled: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ProviderSource:
    """Answers prompts by batches; see `AnswerSource`.

    `capture` builds the request of a prompt, `prepare` the turn of a result, and `read` returns the value of a turn.
    `place` says where batches are handed over, and `label` whom that is. Batches of earlier maps are taken over if it
    `is_resumed`.
    """

    api: BatchApi
    place: str
    label: str
    capture: CaptureRequest
    prepare: PrepareReply
    read: Callable[[Turn], Any]
    budgets: Sequence[LineBudget] = ()
    is_resumed: bool = True
    concurrency: int = 8
    delays: WatchDelays = field(default_factory=WatchDelays)
    remains: list[str] = field(default_factory=list)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: list[_Handed] = field(default_factory=list)
    _refused: NbtoolError | None = None

    async def answer(self, prompts: Sequence[tuple[PromptItem, str]], port: AnswerPort) -> None:
        """Hand over all prompts, as many batches as they need, and add their answers as the batches end."""
        watch = BatchWatch(self.api, port.note, self.delays, stop=self._stop)
        collector = LineCollector(self.api, self.capture, self.budgets)
        following: list[asyncio.Task[None]] = []
        async for rows in collector.parts(prompts, port):
            left = {row.line.line_id: row for row in rows}
            batches = [*await self._take_over(left, port), await self._hand_over(left, port)]
            following += [asyncio.create_task(self._follow(item, watch, port)) for item in batches if item]
        await asyncio.gather(*following)

    def stop(self) -> None:
        """Hand over no more, and have the provider cancel what it has."""
        self._stop.set()

    async def clean_up(self) -> None:
        """Delete at the provider what is answered and stored here; what cannot be deleted is in `remains`."""
        for handed in self._ended:
            left = await self._log.settle(handed.tag, handed.settled)
            if left or not handed.is_certain:
                continue
            left_there = await self.api.delete(handed.batch, handed.file_id)
            await self._log.forget(handed.tag)
            self.remains += left_there
        self._ended.clear()

    @property
    def _log(self) -> BatchLog:
        return BatchLog(self.place)

    # --- batches of earlier maps ------------------------------------------------------------------------------

    async def _take_over(self, rows: dict[str, Row], port: AnswerPort) -> list[_Handed]:
        """Return the batches of earlier maps that have some of these rows, which are removed."""
        found = await self._log.find(list(rows)) if self.is_resumed else []
        taken = []
        for noted in found:
            own = {line_id: rows.pop(line_id) for line_id in noted.line_ids}
            try:
                handed = await self._find_noted(noted, own)
            except WireError as error:
                self._fail(own.values(), _not_found(error, noted, self.label), port)
                continue
            if handed:
                taken.append(handed)
            else:
                rows.update(own)
        return taken

    async def _find_noted(self, noted: NotedBatch, rows: dict[str, Row]) -> _Handed | None:
        """Return a noted batch as the provider has it; None if it was never created there. Raises a `WireError`."""
        if noted.batch_id:
            batch = await self.api.find(noted.batch_id)
            return _Handed(noted.tag, batch, rows, noted.file_id, is_earlier=True)
        found, is_certain = await self._look_up(noted.tag, noted.at, noted.lines)
        if found:
            await self._log.note_ids(noted.tag, batch_id=found.batch_id)
            return _Handed(noted.tag, found, rows, noted.file_id, is_earlier=True, is_certain=is_certain, noted=noted)
        report_warning(
            f"A map was interrupted while it handed {count_of(noted.lines, 'prompt')} to {self.label}, which has no "
            "such batch: they are sent now.",
            is_repeated=True,
        )
        if noted.file_id:
            self.remains += await self.api.delete_file(noted.file_id)
        await self._log.forget(noted.tag)
        return None

    async def _look_up(self, tag: str, at: float, lines: int) -> tuple[ProviderBatch | None, bool]:
        """Return the batch of which it is not known whether it was created, and whether it is certainly that one."""
        latest = await self.api.list_latest()
        if found := next((listed_batch for listed_batch in latest if listed_batch.tag == tag), None):
            return found, True
        known = set(await self._log.batch_ids())
        similar = (
            listed_batch
            for listed_batch in latest
            if not self.api.keeps_tags
            and listed_batch.batch_id not in known
            and listed_batch.total == lines
            and listed_batch.created >= at - CLOCK_SECONDS
        )
        return min(similar, key=lambda listed_batch: listed_batch.created, default=None), False

    # --- new batches ------------------------------------------------------------------------------------------

    async def _hand_over(self, rows: Mapping[str, Row], port: AnswerPort) -> _Handed | None:
        """Send rows as a new batch; None if there are none, or if they were not sent: then they have their answers."""
        if not rows:
            return None
        if reason := self._refused or (port.stop_reason() if self._stop.is_set() else None):
            self._fail(rows.values(), reason, port)
            return None
        tag = new_id("batch")
        try:
            return await self._create(tag, rows)
        except Undecided as undecided:
            self._refused = undecided.error.changed(
                fix="It is not known whether the batch was taken. Map again: it is looked for first."
            )
        except NbtoolError as error:
            await self._log.forget(tag)
            self._refused = error
        self._fail(rows.values(), self._refused, port)
        return None

    async def _create(self, tag: str, rows: Mapping[str, Row]) -> _Handed:
        lines = [row.line for row in rows.values()]
        await self._log.note(tag, list(rows))
        file_id = await self.api.upload(lines, tag)
        if file_id:
            await self._log.note_ids(tag, file_id=file_id)
        began, is_certain = time.time(), True
        try:
            batch = await self.api.create(lines, file_id, tag)
        except WireError:  # it was refused: the file is of no use
            if file_id:
                self.remains += await self.api.delete_file(file_id)
            raise
        except Undecided:
            found = None
            with suppress(WireError):
                found, is_certain = await self._look_up(tag, began, len(lines))
            if not found:
                raise
            batch = found
        await self._log.note_ids(tag, batch_id=batch.batch_id)
        return _Handed(tag, batch, dict(rows), file_id, is_certain=is_certain)

    # --- answers ----------------------------------------------------------------------------------------------

    async def _follow(self, handed: _Handed, watch: BatchWatch, port: AnswerPort) -> None:
        """Wait for the end of a batch and answer its rows; those that an earlier batch did not run are sent again."""
        try:
            handed.batch = await watch.wait(handed.batch, may_cancel=handed.is_certain)
        except WireError as error:
            self._fail(handed.rows.values(), _not_found(error, handed.batch, self.label), port)
            return
        if not handed.batch.has_ended:
            self._fail(handed.rows.values(), _still_running(handed.batch, self.label), port)
            return
        self._ended.append(handed)
        try:
            unrun = await self._take_results(handed, port)
        except WireError as error:
            self._fail(handed.rows.values(), error, port)
            return
        left = {**handed.rows, **unrun}
        if handed.noted and not handed.is_certain and not self._stop.is_set():
            await self._follow_other(handed.noted, left, watch, port)
            return
        handed.settled += left
        if handed.is_earlier and not self._stop.is_set():
            if again := await self._hand_over(left, port):
                await self._follow(again, watch, port)
            return
        for line_id, row in left.items():
            self._fail([row], _unanswered(handed.batch, self.label, is_unrun=line_id in unrun), port)

    async def _follow_other(self, noted: NotedBatch, rows: dict[str, Row], watch: BatchWatch, port: AnswerPort) -> None:
        """Look for another batch of the same time and size, as one was not ours; send the rows if there is none."""
        try:
            handed = await self._find_noted(noted, rows)
        except WireError as error:
            self._fail(rows.values(), error, port)
            return
        if handed := handed or await self._hand_over(rows, port):
            await self._follow(handed, watch, port)

    async def _take_results(self, handed: _Handed, port: AnswerPort) -> dict[str, Row]:
        """Answer the rows that have a result, which are removed; return those that the provider did not run."""
        unrun: dict[str, Row] = {}
        slots = asyncio.Semaphore(self.concurrency)
        running: set[asyncio.Task[None]] = set()
        strange = 0
        try:
            async for result in self._results(handed.batch):
                row = handed.rows.pop(result.line_id, None)
                if row is None:
                    strange += 1
                    continue
                handed.is_certain = True
                if result.unrun:
                    unrun[result.line_id] = row
                    continue
                await slots.acquire()
                running.add(task := asyncio.create_task(self._answer_row(handed, row, result, port)))
                task.add_done_callback(running.discard)
                task.add_done_callback(lambda _: slots.release())
        finally:
            await asyncio.gather(*running)
        if strange and not handed.is_earlier:
            report_warning(
                f"{self.label} returned {count_of(strange, 'result')} twice or of no prompt in the batch "
                f"{handed.batch.batch_id}: the first one of each prompt counts.",
                is_repeated=True,
            )
        return unrun

    async def _results(self, batch: ProviderBatch) -> AsyncIterator[LineResult]:
        """Yield the results of a batch; none where the provider has deleted them."""
        try:
            async for result in self.api.results(batch):
                yield result
        except ProviderError as error:
            if error.status != 404:
                raise

    async def _answer_row(self, handed: _Handed, row: Row, result: LineResult, port: AnswerPort) -> None:
        prompt_item = row.one
        try:
            turn = self.prepare(prompt_item, row.key, port.caller_thread, result)
            turn.start()
            await asyncio.wrap_future(turn.done)
            is_done = turn.status == "completed"
            value, error = (self.read(turn), None) if is_done else (None, error_of(turn))
        except NbtoolError as failure:
            port.add(Answer(prompt_item.index, prompt_item.label, prompt_item.prompt, error=failure))
            return
        if is_done or isinstance(turn.error, WireError | InvalidAnswer):  # else the answer is there for a later map
            handed.settled.append(row.line.line_id)
        port.add(Answer(prompt_item.index, prompt_item.label, prompt_item.prompt, value=value, error=error, turn=turn))

    def _fail(self, rows: Any, error: BaseException, port: AnswerPort) -> None:
        for row in rows:
            port.add(Answer(row.one.index, row.one.label, row.one.prompt, error=error))


def _not_found(error: WireError, batch: NotedBatch | ProviderBatch, label: str) -> NbtoolError:
    """Return the error of rows whose batch cannot be looked at."""
    if not (isinstance(error, ProviderError) and error.status == 404):
        return error
    return BadUsage(f"{label} does not know the batch {batch.batch_id} for this key.", fix=NOT_FOUND_FIX)


def _still_running(batch: ProviderBatch, label: str) -> Cancelled:
    return Cancelled(
        f"{label} was asked to cancel the batch {batch.batch_id} and has not ended it yet.",
        fix="Map again: the answers that it had are taken then.",
    )


def _unanswered(batch: ProviderBatch, label: str, *, is_unrun: bool) -> NbtoolError:
    """Return the error of a row without a result."""
    if batch.status == "failed":
        reason = f": {batch.reason}" if batch.reason else "."
        return ProviderError(f"{label} refused the batch {batch.batch_id}{reason}", fix="Correct it, and map again.")
    if batch.status == "cancelled":
        return Cancelled(f"The batch {batch.batch_id} was cancelled before this prompt ran.", fix=AGAIN_FIX)
    if batch.status == "expired" or is_unrun:
        message = f"The batch {batch.batch_id} expired at {label} before this prompt ran; it costs nothing."
        return ProviderError(message, fix=AGAIN_FIX)
    return ProviderError(f"{label} returned no result of this prompt in the batch {batch.batch_id}.", fix=AGAIN_FIX)
