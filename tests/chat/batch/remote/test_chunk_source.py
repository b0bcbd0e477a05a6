"""How the limits of a map are divided among its chunks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from nbtool.chat.batch import MapSettings
from nbtool.chat.batch.answers import Answer, AnswerPort
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.remote import Chunk, ChunkSource, HomeTurns, Sealed, seal
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


@pytest.mark.parametrize(
    ("slots", "per_minute", "share", "most"),
    [(4, 120, 30.0, 4), (4, None, None, 4), (4, 2, 1.0, 2), (64, 1, 1.0, 1), (0, 120, 15.0, 8)],
)
def test_chunks_under_way_have_equal_shares_of_the_limit_of_a_minute(
    slots: int, per_minute: int | None, share: float | None, most: int
) -> None:
    engine, answers = CountingEngine(slots), list[Answer]()
    settings = MapSettings(on=engine, per_minute=per_minute, chunk=1)

    async def run() -> None:
        engine.loop = asyncio.get_running_loop()
        source: Any = ChunkSource(
            engine,  # type: ignore[arg-type]  # what this needs of one
            settings,
            seal({}, {}),
            list,
            HomeTurns(engine, lambda turn: turn),  # type: ignore[arg-type]
            lambda: "chat",
        )
        prompts = [(PromptItem(index, None, f"p{index}"), f"k{index}") for index in range(12)]
        await source.answer(prompts, AnswerPort(answers.append, lambda: None, lambda _: None, CallerThread()))

    asyncio.run(run())

    assert {chunk.per_minute for chunk in engine.chunks} == {share}
    assert len(answers) == len(engine.chunks) == 12
    assert engine.most <= most
