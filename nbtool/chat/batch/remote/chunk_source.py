"""At home: send chunks of prompts to an engine, and receive their answers.

At most as many chunks are under way as the engine has slots, and in all of them together at most `concurrency` prompts
run at a time. A limit of requests per minute is divided among the chunks that may be under way.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nbtool.chat.batch.answers import Answer, AnswerPort
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.remote.call_claim import NOT_REPEATED_FIX, lost_after_calls, perhaps_lost_after_calls
from nbtool.chat.batch.remote.chunk import Chunk, divide
from nbtool.chat.batch.remote.engine import WorkerEngine
from nbtool.chat.batch.remote.home_questions import HomeQuestions
from nbtool.chat.batch.remote.lost_prompts import LostPrompts
from nbtool.chat.batch.remote.packed_answer import PackedAnswer, pack_versions, unpack_error
from nbtool.chat.batch.remote.sealed import Sealed, seal
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.journal import TurnWriter, journal, queries, redactor_for
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, Cancelled, JournalError, NbtoolError, WorkerLost

STOP_SECONDS = 5.0
"""Seconds that a stopped batch waits for the answers of its running chunks."""

CHECK_SECONDS = 1.0
"""Seconds between two looks at whether the engine was closed."""

STILL_RUNNING = "The prompts were cancelled; a worker may still run this one."

Prompts = Sequence[tuple[PromptItem, str]]


@dataclass
class ChunkSource:
    """Answers the prompts of one batch on an engine.

    `function` runs on a worker, with the description of the chat, a chunk and the link. `read` returns the value of a
    turn; `chat_id` is the chat that the turns are journalled under, and it may take a while. With `has_tools` a prompt
    whose worker is lost may have had effects. `find_completed` returns the turns that were completed since a time,
    by key, from the journal of this process: workers of this machine write there. The `questions` of workers are
    answered at home. `lost` writes to the journal which prompts may have had effects on a worker that was lost.
    """

    engine: WorkerEngine
    settings: MapSettings
    description: Sealed
    function: Callable[..., list[PackedAnswer]]
    read: Callable[[Turn], Any]
    chat_id: Callable[[], str]
    has_tools: bool
    find_completed: Callable[[Collection[str], float], Mapping[str, Turn]]
    questions: HomeQuestions | None = None
    plugins: Sequence[object] = ()
    lost: LostPrompts | None = None
    _chunks: deque[Prompts] = field(default_factory=deque)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _stopping: asyncio.Future[None] | None = None
    _shared: Any = None
    _concurrency: int = 1
    _per_minute: float | None = None
    _since: float = field(default_factory=time.time)

    async def answer(self, prompts: Prompts, port: AnswerPort) -> None:
        """Send all prompts, a chunk at a time per slot, and add their answers as the chunks return."""
        try:
            if self.questions:
                await self.questions.open(port.caller_thread)
            try:
                senders = await asyncio.to_thread(self._divide, prompts)
            except Exception as error:  # noqa: BLE001 - an engine may raise anything
                port.refuse_rest(_closed(self.settings.on, error))
                self._chunks, senders = deque([prompts]), 1
            await asyncio.gather(*(self._send_chunks(port) for _ in range(senders)))
        finally:
            if self._stopping:
                await self._stopping
            if self.questions:
                await self.questions.close()
            await asyncio.to_thread(self.engine.close)

    async def clean_up(self) -> None:
        """Do nothing: workers keep no answers."""

    @property
    def remains(self) -> Sequence[str]:
        """What remains elsewhere: nothing."""
        return ()

    def stop(self) -> None:
        """Send no further chunk, and ask the running ones to stop."""
        if not self._stop.is_set():
            self._stop.set()
            self._stopping = asyncio.ensure_future(asyncio.to_thread(self.engine.stop))

    def _divide(self, prompts: Prompts) -> int:
        """Divide the prompts among the slots of the engine; return how many chunks may be under way."""
        settings = self.settings
        slots = min(self.engine.count_slots() or settings.concurrency, settings.concurrency, len(prompts))
        if settings.per_minute is not None:
            slots = min(slots, settings.per_minute)
            self._per_minute = settings.per_minute / max(1, slots)
        if slots:
            self._concurrency = max(1, settings.concurrency // slots)
            size = min(settings.chunk, -(-len(prompts) // slots))
            self._chunks.extend(divide(prompts, size))
            self._shared = self.engine.share(self.description)
        return slots

    async def _send_chunks(self, port: AnswerPort) -> None:
        while self._chunks:
            prompts = self._chunks.popleft()
            if reason := port.stop_reason():
                answers = _failed_answers(prompts, reason)
            else:
                answers = await self._note_lost(prompts, await self._send(prompts, port), port)
            for answer in answers:
                port.add(answer)

    async def _note_lost(self, prompts: Prompts, answers: list[Answer], port: AnswerPort) -> list[Answer]:
        """Return the answers, with a turn in the journal for each prompt that is not sent again by itself."""
        lost = [one for one in answers if one.turn is None and (one.has_acted or _may_have_run(one.error))]
        if not lost or not self.lost:
            return answers
        noted = await self.lost.note(prompts, lost, port.continued, has_claims=self.engine.repeats)
        by_index = {one.index: one for one in noted}
        return [by_index.get(one.index, one) for one in answers]

    async def _send(self, prompts: Prompts, port: AnswerPort) -> list[Answer]:
        """Send one chunk and return its answers; none if its prompts are to be sent again."""
        try:
            future = await asyncio.to_thread(self._submit, prompts, port.continued)
        except NbtoolError as error:
            return _failed_answers(prompts, error)
        except Exception as error:  # noqa: BLE001 - an engine may raise anything
            port.refuse_rest(_closed(self.settings.on, error))
            return _failed_answers(prompts, port.stop_reason() or error)
        try:
            packed = await self._wait_for(future)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - a task may raise anything
            recovered = await asyncio.to_thread(self._recover_answers, prompts)
            rest = [one for one in prompts if one[0].index not in recovered]
            return [*recovered.values(), *(await asyncio.to_thread(self._failed, rest, error) if rest else [])]
        answers = await asyncio.to_thread(self._unpack, prompts, packed, port.stop_reason())
        await self._keep_turns([one.turn for one in answers if one.turn], await asyncio.to_thread(self.chat_id))
        if self.has_tools:
            await asyncio.to_thread(self.engine.withdraw_claims, [one.index for one, _ in prompts])
        return answers

    def _submit(self, prompts: Prompts, continued: Mapping[str, Sequence[Turn]]) -> Future[list[PackedAnswer]]:
        bare = [(PromptItem(one.index, None, one.prompt), key) for one, key in prompts]
        chunk = Chunk(
            self.chat_id(),
            self._since,
            bare,
            self._concurrency,
            has_claims=self.has_tools and self.engine.repeats,
            per_minute=self._per_minute,
            continued={key: pack_versions(continued[key]) for _, key in prompts if key in continued},
        )
        sealed = seal({"chunk": chunk}, {"chunk": "A prompt"})
        if chunk.has_claims:
            self.engine.offer_claims(chunk.indexes)
        return self.engine.submit(self.function, self._shared, sealed, self.engine.link())

    async def _wait_for(self, future: Future[list[PackedAnswer]]) -> list[PackedAnswer]:
        """Wait for a chunk; after a stop for a few seconds only, in which it returns what it has."""
        loop, finished = asyncio.get_running_loop(), asyncio.Event()

        def notify(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed: nothing waits
                loop.call_soon_threadsafe(finished.set)

        future.add_done_callback(notify)
        waits = [asyncio.ensure_future(finished.wait()), asyncio.ensure_future(self._stop.wait())]
        try:
            while not (finished.is_set() or self._stop.is_set()) and self.engine.is_open():
                await asyncio.wait(waits, timeout=CHECK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if self._stop.is_set() and not finished.is_set():
                await asyncio.wait(waits[:1], timeout=STOP_SECONDS)
        finally:
            for wait in waits:
                wait.cancel()
            future.cancel()  # no effect if it has ended
        return future.result(0)

    def _failed(self, prompts: Prompts, error: BaseException) -> list[Answer]:
        """Return the answers of a chunk that failed as a whole; prompts that can be sent again are."""
        if isinstance(error, KeyboardInterrupt) or (
            self._stop.is_set() and isinstance(error, CancelledError | TimeoutError)
        ):  # a terminal interrupts the processes of a pool too
            return self._still_running(prompts, error)
        if isinstance(error, NbtoolError):
            return _failed_answers(prompts, error)
        if not self.engine.is_loss(error):
            return _failed_answers(prompts, _engine_error(error, may_have_run=self.has_tools))
        if self.engine.repeats and len(prompts) > 1 and not isinstance(error, CancelledError):
            self._chunks.extendleft([one] for one in reversed(prompts))  # alone, so that one prompt ends no other
            return []
        if not self.has_tools:
            return _failed_answers(prompts, _lost())
        return _failed_answers(prompts, lost_after_calls() if self.engine.repeats else perhaps_lost_after_calls())

    def _still_running(self, prompts: Prompts, error: BaseException) -> list[Answer]:
        """Return the answers of a stopped chunk that did not return; a call of some of its prompts may have started."""
        indexes = [one.index for one, _ in prompts]
        is_unstarted = isinstance(error, CancelledError) and isinstance(
            self.settings.on, ThreadPoolExecutor | ProcessPoolExecutor
        )
        without_calls: Collection[int] = indexes if is_unstarted or not self.has_tools else []
        if not without_calls:
            with suppress(Exception):  # the scheduler is gone
                without_calls = self.engine.take_claims(indexes)
        stopped = Cancelled(STILL_RUNNING)
        return [_answer(one, error=stopped, has_acted=one.index not in without_calls) for one, _ in prompts]

    def _unpack(
        self, prompts: Prompts, packed: Sequence[PackedAnswer], stop_reason: NbtoolError | None
    ) -> list[Answer]:
        returned = {one.index: one for one in packed}
        answers = [self._read(one, returned.get(one.index), stop_reason) for one, _ in prompts]
        lost = {one.index for one in answers if isinstance(one.error, WorkerLost)}
        recovered = self._recover_answers([one for one in prompts if one[0].index in lost])
        return [recovered.get(one.index, one) for one in answers]

    def _recover_answers(self, prompts: Prompts) -> dict[int, Answer]:
        """Return the answers that a lost worker has in the journal of this process, by the indexes of their prompts."""
        recovered: dict[int, Answer] = {}
        with suppress(JournalError):
            turns = self.find_completed({key for _, key in prompts}, self._since) if prompts else {}
            for one, key in prompts:
                if key in turns:
                    recovered[one.index] = self._value_of(one, turns[key])
        return recovered

    def _read(self, one: PromptItem, packed: PackedAnswer | None, stop_reason: NbtoolError | None) -> Answer:
        if packed is None:
            return _answer(one, error=_lost())
        error = unpack_error(packed.error) if packed.error else None
        if packed.is_unsent:
            return _answer(one, error=stop_reason or error)
        try:
            turn = packed.restore_turn(error)
        except NbtoolError as unreadable:
            return _answer(one, error=error or unreadable)
        if error or turn is None:
            return _answer(one, turn=turn, error=error or _lost())
        return self._value_of(one, turn)

    def _value_of(self, one: PromptItem, turn: Turn) -> Answer:
        try:
            return _answer(one, turn=turn, value=self.read(turn))
        except NbtoolError as unreadable:
            return _answer(one, turn=turn, error=unreadable)

    async def _keep_turns(self, turns: Sequence[Turn], chat_id: str) -> None:
        """Write turns of workers to the journal of this process, unless it is the worker's own."""
        try:
            known = await asyncio.to_thread(_known_turns, turns)
        except JournalError:
            known = set()
        for turn in turns:
            if turn.turn_id not in known:
                hide = redactor_for(self.plugins, turn.turn_id)
                await TurnWriter(journal(), chat_id, turn.turn_id, hide=hide).write(*turn.log)


def _known_turns(turns: Sequence[Turn]) -> set[str]:
    def find(connection: sqlite3.Connection) -> list[str]:
        return [turn.turn_id for turn in turns if queries.chats_of_turn(connection, turn.turn_id)]

    return set(journal().read(find))


def _answer(one: PromptItem, **fields: Any) -> Answer:
    return Answer(one.index, one.label, one.prompt, **fields)


def _failed_answers(prompts: Prompts, error: BaseException) -> list[Answer]:
    return [_answer(one, error=error) for one, _ in prompts]


def _may_have_run(error: BaseException | None) -> bool:
    return isinstance(error, WorkerLost) and error.may_have_run


def _closed(on: object, error: BaseException) -> WorkerLost:
    """Return the error of prompts that were not sent because the engine takes no task."""
    return WorkerLost(
        f"The {type(on).__name__} takes no more tasks ({type(error).__name__}: {error}). This prompt was not sent.",
        fix="Map again with a new one: prompts with an answer are not sent again.",
    )


def _lost() -> WorkerLost:
    return WorkerLost(
        "The worker ended before it returned this answer.", fix="Map again: prompts with an answer are not sent again."
    )


def _engine_error(error: BaseException, *, may_have_run: bool) -> NbtoolError:
    """Return the error of a task that did not get as far as nbtool, or could not return."""
    if isinstance(error, ImportError):
        return BadUsage(
            f"The workers cannot import what a task needs ({error}).", fix="Install nbtool there, of this version."
        )
    failed = f"The task failed ({type(error).__name__}: {error})."
    if may_have_run:  # a connection that breaks while the answers are on their way says nothing of the calls
        return WorkerLost(f"{failed} What its calls did may be done.", fix=NOT_REPEATED_FIX, may_have_run=True)
    return BadUsage(failed, fix="See the log of the worker.")
