"""A recording with turns on workers: what it has is replayed here, and the other turns are added to it here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from nbtool.chat.batch.answers import Answer, AnswerPort, AnswerSource
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.turn_facts import error_of
from nbtool.chat.recording.recorder import TurnRecorder
from nbtool.chat.turn import Turn
from nbtool.errors import NbtoolError
from nbtool.threads.caller_thread import CallerThread

PrepareRecorded = Callable[[PromptItem, str, CallerThread], tuple[Turn, TurnRecorder]]


@dataclass
class RecordedSource:
    """Answers from a recording, and by another source what that has not.

    `prepare` returns the turn of a prompt as it would run here, and its recorder; `read` the value of a turn.
    """

    source: AnswerSource
    prepare: PrepareRecorded
    read: Callable[[Turn], Any]
    _recorders: dict[int, TurnRecorder] = field(default_factory=dict)
    _stores: set[asyncio.Task[None]] = field(default_factory=set)

    async def answer(self, prompts: Sequence[tuple[PromptItem, str]], port: AnswerPort) -> None:
        """Replay what is recorded, and have the source answer the others, which are recorded when they come."""
        left = [pair for pair in prompts if not await self._replay(*pair, port)]
        await self.source.answer(left, replace(port, add=partial(self._begin_store, port)))
        if self._stores:
            await asyncio.wait(self._stores)

    def stop(self) -> None:
        """Stop the source."""
        self.source.stop()

    async def clean_up(self) -> None:
        """Clean up the source."""
        await self.source.clean_up()

    @property
    def remains(self) -> Sequence[str]:
        """What remains elsewhere."""
        return self.source.remains

    async def _replay(self, prompt_item: PromptItem, key: str, port: AnswerPort) -> bool:
        """Answer a prompt if its turn is recorded, or if only such turns may be used."""
        if port.stop_reason():
            return False
        answer = Answer(prompt_item.index, prompt_item.label, prompt_item.prompt)
        try:
            turn, recorder = self.prepare(prompt_item, key, port.caller_thread)
        except NbtoolError as error:
            port.add(replace(answer, error=error))
            return True
        await recorder.hash_objects()
        await recorder.find((), tuple, cell_id=key)
        if not recorder.match and recorder.mode != "only":
            self._recorders[prompt_item.index] = recorder
            return False
        turn.start()
        await asyncio.wrap_future(turn.done)
        port.add(self._complete(answer, turn))
        return True

    def _complete(self, answer: Answer, turn: Turn) -> Answer:
        if turn.status != "completed":
            return replace(answer, turn=turn, error=error_of(turn))
        try:
            return replace(answer, turn=turn, value=self.read(turn))
        except NbtoolError as unreadable:
            return replace(answer, turn=turn, error=unreadable)

    def _begin_store(self, port: AnswerPort, answer: Answer) -> None:
        """Add an answer once its turn is recorded."""
        task = asyncio.create_task(self._store(port, answer))
        self._stores.add(task)
        task.add_done_callback(self._stores.discard)

    async def _store(self, port: AnswerPort, answer: Answer) -> None:
        recorder = self._recorders.pop(answer.index, None)
        if recorder and answer.turn:
            await recorder.store(answer.turn)
        port.add(answer)
