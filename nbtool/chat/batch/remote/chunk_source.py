"""At home: send the prompts of a batch to an engine in chunks, stop them, and say what is lost.

Chunks keep a failure small: what a lost worker had not returned is one chunk, and of that only the prompts without an
answer, which arrive one by one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from nbtool.chat.batch.answers import Answer, AnswerPort
from nbtool.chat.batch.earlier_maps.earlier_turns import NextStep, choose_step
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.remote.chunk import Chunk, divide
from nbtool.chat.batch.remote.engine import WorkerEngine
from nbtool.chat.batch.remote.home_turns import HomeTurns, SentPrompt, continued_versions
from nbtool.chat.batch.remote.lost_worker import lost_after_calls, lost_before_calls, lost_in_call
from nbtool.chat.batch.remote.packed_error import PackedError, pack_versions, unpack_error
from nbtool.chat.batch.remote.sealed import Sealed, seal
from nbtool.chat.batch.settings import MapSettings
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, Cancelled, NbtoolError, WorkerLost
from nbtool.ids import new_id

STOP_SECONDS = 5.0
"""Seconds that a stopped batch waits for the answers of its running chunks."""

CHECK_SECONDS = 1.0
"""Seconds between two looks at whether the engine was closed."""

STILL_RUNNING = "The prompts were cancelled; a worker may still run this one."

Prompts = Sequence[tuple[PromptItem, str]]


@dataclass
class ChunkSource:
    """Answers the prompts of one batch on an engine; `turns` is what is known of them here.

    `function` runs on a worker, with the description of the chat, a chunk and the line home. `chat_id` is the chat that
    the turns are journalled under, and it may take a while. Calls of the `free_tools` have no effects.
    """

    engine: WorkerEngine
    settings: MapSettings
    description: Sealed
    function: Callable[..., PackedError | None]
    turns: HomeTurns
    chat_id: Callable[[], str]
    free_tools: frozenset[str] = frozenset()
    _chunks: deque[Prompts] = field(default_factory=deque)
    _continued: dict[str, Sequence[Turn]] = field(default_factory=dict)
    _resent: set[str] = field(default_factory=set)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _shared: Any = None
    _concurrency: int = 1

    async def answer(self, prompts: Prompts, port: AnswerPort) -> None:
        """Send all prompts, a chunk at a time per slot; their answers are added as they arrive."""
        try:
            chat_id = await asyncio.to_thread(self.chat_id)
            self._continued.update(port.continued)
            self.turns.open(chat_id, port)
            try:
                senders = await asyncio.to_thread(self._divide, prompts)
            except Exception as error:  # noqa: BLE001 - an engine may raise anything
                port.refuse_rest(_closed(self.settings.on, _describe(error)))
                self._chunks, senders = deque([prompts]), 1
            await asyncio.gather(*(self._send_chunks(port, chat_id) for _ in range(senders)))
        finally:
            await self.turns.close()
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
            self.turns.stop()

    def _divide(self, prompts: Prompts) -> int:
        """Divide the prompts among the slots of the engine; return how many chunks may be under way."""
        settings = self.settings
        slots = min(self.engine.count_slots() or settings.concurrency, settings.concurrency, len(prompts))
        if slots:
            self._concurrency = max(1, settings.concurrency // slots)
            size = min(settings.chunk, -(-len(prompts) // slots))
            self._chunks.extend(divide(prompts, size))
            self._shared = self.engine.share(self.description)
            self.engine.listen(self.turns.receive)
        return slots

    async def _send_chunks(self, port: AnswerPort, chat_id: str) -> None:
        while self._chunks:
            prompts = self._chunks.popleft()
            if reason := port.stop_reason():
                for prompt, _ in prompts:
                    port.add(_answer(prompt, error=reason))
            else:
                await self._send(Chunk(new_id("chunk"), chat_id, prompts, self._concurrency), port)

    async def _send(self, chunk: Chunk, port: AnswerPort) -> None:
        """Send one chunk, and answer or send again what came back without an answer."""
        self.turns.add_chunk(chunk.chunk_id, chunk.prompts)
        error: BaseException | None = None
        try:
            future = await asyncio.to_thread(self._submit, chunk)
        except NbtoolError as refused:
            error = refused
        except Exception as raised:  # noqa: BLE001 - an engine may raise anything
            port.refuse_rest(_closed(self.settings.on, _describe(raised)))
            error = port.stop_reason() or raised
        else:
            error = await self._wait_for(future)
            if not await asyncio.to_thread(self.engine.is_open):
                port.refuse_rest(_closed(self.settings.on, "it was closed"))
        again = []
        for left in await self.turns.end_chunk(chunk.chunk_id):
            if answer := self._left_answer(left, error, is_alone=len(chunk.prompts) == 1):
                port.add(answer)
            else:
                again.append([(left.item, left.key)])  # alone, so that one prompt ends no other
        self._chunks.extendleft(reversed(again))

    def _submit(self, chunk: Chunk) -> Future[PackedError | None]:
        bare = [(PromptItem(prompt.index, None, prompt.prompt), key) for prompt, key in chunk.prompts]
        continued = {key: pack_versions(self._continued[key]) for _, key in bare if key in self._continued}
        sent = Chunk(chunk.chunk_id, chunk.chat_id, bare, chunk.concurrency, continued)
        sealed = seal({"chunk": sent}, {"chunk": "A prompt"})
        return self.engine.submit(self.function, self._shared, sealed, self.engine.line())

    async def _wait_for(self, future: Future[PackedError | None]) -> BaseException | None:
        """Wait for a chunk, after a stop for a few seconds only; return why it gave no more answers, if it says."""
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
        try:
            packed = future.result(0)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - a task may raise anything
            return error
        return unpack_error(packed) if packed else None

    def _left_answer(self, left: SentPrompt, error: BaseException | None, *, is_alone: bool) -> Answer | None:
        """Return the answer of a prompt that came back without one; None if it is sent again."""
        versions = continued_versions(left, self._continued)
        turn = versions[0] if left.turns and versions else None
        step: NextStep = choose_step(versions, self.free_tools) if versions else "send"
        if step in ("send", "continue") and self._may_resend(left, error, is_alone=is_alone):
            self._resent.add(left.key)
            if step == "continue":
                self._continued[left.key] = versions
            return None
        return _answer(left.item, turn=turn, error=self._error_of(error, left, step), has_acted=left.has_acted)

    def _may_resend(self, left: SentPrompt, error: BaseException | None, *, is_alone: bool) -> bool:
        """Whether another worker takes a prompt: its own was lost, or began it again after it was."""
        if not self.engine.repeats or self._stop.is_set() or left.key in self._resent:
            return False
        if error is None:
            return True
        return self.engine.is_loss(error) and not isinstance(error, CancelledError) and not is_alone

    def _error_of(self, error: BaseException | None, left: SentPrompt, step: NextStep) -> BaseException:
        """Return the error of a prompt that is not sent again by itself."""
        if self._stop.is_set() and (error is None or isinstance(error, CancelledError | TimeoutError)):
            return Cancelled(STILL_RUNNING)
        if isinstance(error, KeyboardInterrupt):  # a terminal interrupts the processes of a pool too
            return Cancelled(STILL_RUNNING)
        if isinstance(error, NbtoolError):
            return error
        if left.has_acted:
            return lost_after_calls() if step == "continue" else lost_in_call()
        return lost_before_calls() if error is None or self.engine.is_loss(error) else _engine_error(error)


def _answer(prompt_item: PromptItem, **fields: Any) -> Answer:
    return Answer(prompt_item.index, prompt_item.label, prompt_item.prompt, **fields)


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _closed(on: object, reason: str) -> WorkerLost:
    """Return the error of prompts that were not sent because the engine takes no task."""
    return WorkerLost(
        f"The {type(on).__name__} takes no more tasks ({reason}). This prompt was not sent.",
        fix="Map again with a new one: prompts with an answer are not sent again.",
    )


def _engine_error(error: BaseException) -> NbtoolError:
    """Return the error of a task that did not get as far as nbtool, or could not go on."""
    if isinstance(error, ImportError):
        return BadUsage(
            f"The workers cannot import what a task needs ({error}).", fix="Install nbtool there, of this version."
        )
    return BadUsage(f"The task failed ({type(error).__name__}: {error}).", fix="See the log of the worker.")
