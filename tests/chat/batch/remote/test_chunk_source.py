"""How many chunks of a map are under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from nbtool.chat.batch import MapSettings
from nbtool.chat.batch.answers import Answer, AnswerPort
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.remote import Chunk, ChunkSource, HomeRates, HomeTurns, Sealed, seal
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.threads.caller_thread import CallerThread


class CountingEngine:
    """Takes tasks, returns no answers, and counts how many are under way at most."""

    repeats = False

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._running: list[Future[Any]] = []
        self.chunks: list[Chunk] = []
        self.most = 0

    def count_slots(self) -> int:
        return self._slots

    def share(self, value: Any) -> Any:
        return value

    def listen(self, _: Callable[..., None]) -> None:
        """Do nothing."""

    def line(self) -> Any:
        return None

    def submit(self, _: Callable[..., Any], __: Sealed, sealed: Sealed, ___: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.chunks.append(sealed.open()["chunk"])
        self._running = [one for one in self._running if not one.done()] + [future]
        self.most = max(self.most, len(self._running))
        asyncio.run_coroutine_threadsafe(self._end(future), self.loop)
        return future

    async def _end(self, future: Future[Any]) -> None:
        for _ in range(100):  # the other senders submit theirs meanwhile
            await asyncio.sleep(0)
        future.set_result(None)

    def is_open(self) -> bool:
        return True

    def is_loss(self, _: BaseException) -> bool:
        return True

    def close(self) -> None:
        """Do nothing."""

    loop: asyncio.AbstractEventLoop


@pytest.mark.parametrize(("slots", "most"), [(4, 4), (64, 8), (0, 8)])
def test_as_many_chunks_are_under_way_as_there_are_slots_up_to_the_concurrency(slots: int, most: int) -> None:
    engine, answers = CountingEngine(slots), list[Answer]()
    settings = MapSettings(on=engine, chunk=1)

    async def run() -> None:
        engine.loop = asyncio.get_running_loop()
        source: Any = ChunkSource(
            engine,  # type: ignore[arg-type]  # what this needs of one
            settings,
            seal({}, {}),
            list,
            HomeTurns(engine, lambda turn: turn, HomeRates(SharedBackoff())),  # type: ignore[arg-type]
            lambda: "chat",
        )
        prompts = [(PromptItem(index, None, f"p{index}"), f"k{index}") for index in range(12)]
        await source.answer(prompts, AnswerPort(answers.append, lambda: None, lambda _: None, CallerThread()))

    asyncio.run(run())

    assert len(answers) == len(engine.chunks) == 12
    assert engine.most <= most
