"""Home says what starts on workers: one run of a prompt, and a call once its start is in the journal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from nbtool.chat.batch.answers import Answer, AnswerPort
from nbtool.chat.batch.prompts import PromptItem
from nbtool.chat.batch.remote import HomeRates, HomeTurns, pack_error
from nbtool.chat.batch.remote.worker_message import (
    NO,
    STOP,
    YES,
    WorkerMessage,
    WorkerPlace,
    pack_events,
    pack_message,
    read_message,
)
from nbtool.chat.batch.shared_backoff import SharedBackoff
from nbtool.chat.journal import journal
from nbtool.errors import Cancelled, NbtoolError
from nbtool.events import CallFinished, CallReady, CallStarted, Event, TurnEnded, TurnStarted
from nbtool.messages import Usage, user
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import run_sync

pytestmark = pytest.mark.promise("maps-once")

HERE, THERE = WorkerPlace("w1", "r1"), WorkerPlace("w2", "r2")


class Home:
    """Two prompts of one chunk, what their workers are answered, and what arrives."""

    def __init__(self) -> None:
        self.replies: dict[str, str] = {}
        self.answers: list[Answer] = []
        self.changed = asyncio.Condition()
        self.turns = HomeTurns(self, lambda turn: turn.text, HomeRates(SharedBackoff()), free_tools=["ListVars"])  # type: ignore[arg-type]
        self.turns.open("map_1", AnswerPort(self.answers.append, lambda: None, lambda _: None, CallerThread()))
        self.turns.add_chunk("c1", [(PromptItem(n, None, f"p{n}"), f"k{n}") for n in (0, 1)])
        self.loop = asyncio.get_running_loop()

    def answer(self, _: WorkerPlace, answers: Mapping[str, str]) -> None:
        """Note an answer, as the engine that sends it."""
        asyncio.run_coroutine_threadsafe(self._note(answers), self.loop).result(30)

    async def _note(self, answers: Mapping[str, str]) -> None:
        async with self.changed:
            self.replies.update(answers)
            self.changed.notify_all()

    async def ask(self, place: WorkerPlace, asking: str, **fields: Any) -> str:
        """Say something that is answered, and return the answer."""
        self.say(place, asking=asking, **fields)
        async with self.changed:
            await self.changed.wait_for(lambda: asking in self.replies)
        return self.replies[asking]

    def say(self, place: WorkerPlace, **fields: Any) -> None:
        """Take a message, as it is sent."""
        text = pack_message(WorkerMessage(run=place.run, **fields))
        self.turns.receive([text], place)

    async def begin(self, place: WorkerPlace) -> list[str]:
        """Begin the chunk, and return the keys of its prompts that this run may send."""
        return list(json.loads(await self.ask(place, f"b{place.run}", kind="begin", text="c1")))

    async def start_call(self, place: WorkerPlace, key: str = "k0", turn_id: str = "t1", name: str = "act") -> str:
        """Ask whether a call may start."""
        events = pack_events([*start_of(turn_id, key), CallReady("c", name, 1, "{}"), CallStarted("c", 1.0)])
        asking = f"s{place.run}{key}{turn_id}"
        return await self.ask(place, asking, kind="may_start", key=key, turn_id=turn_id, events=events)


def start_of(turn_id: str, key: str) -> list[Event]:
    return [TurnStarted(turn_id, "tiny", user("p"), 1.0, cell_id=key)]


def kinds_of(turn_id: str) -> list[str]:
    return [str(event["kind"]) for event in journal().events(turn_id)]


def at_home(test: Callable[[Home], Awaitable[None]]) -> None:
    async def run() -> None:
        home = Home()
        await test(home)
        await home.turns.close()

    run_sync(run())


def test_a_call_starts_once_its_start_is_in_the_journal() -> None:
    async def test(home: Home) -> None:
        assert await home.begin(HERE) == ["k0", "k1"]
        assert await home.start_call(HERE) == YES
        assert kinds_of("t1") == ["turn_started", "call_ready", "call_started"]
        assert [one.has_acted for one in await home.turns.end_chunk("c1")] == [True, False]

    at_home(test)


def test_a_second_run_gets_only_prompts_of_which_no_call_started_and_the_first_starts_no_more() -> None:
    async def test(home: Home) -> None:
        await home.begin(HERE)
        assert await home.start_call(HERE) == YES
        assert await home.begin(THERE) == ["k1"]
        assert await home.start_call(HERE, "k1", "t2") == NO
        assert "call_started" not in kinds_of("t2")
        assert await home.start_call(THERE, "k1", "t3") == YES

    at_home(test)


def test_no_call_starts_after_a_stop_or_after_the_chunk_was_given_up() -> None:
    async def test(home: Home) -> None:
        await home.begin(HERE)
        home.turns.stop()
        assert await home.start_call(HERE) == NO
        assert STOP in home.replies
        assert await home.begin(THERE) == []

    async def given_up(home: Home) -> None:
        await home.begin(HERE)
        await home.turns.end_chunk("c1")
        assert await home.start_call(HERE) == NO

    at_home(test)
    at_home(given_up)


def test_the_answer_of_a_run_that_was_taken_for_lost_counts_and_its_error_does_not() -> None:
    async def test(home: Home) -> None:
        await home.begin(HERE)
        await home.start_call(HERE)
        await home.begin(THERE)
        ended = [CallFinished("c", "act", 1, "ok", "1"), TurnEnded("completed", "done", Usage(), 1, 1, 0.1)]
        lost = pack_error(Cancelled("gone"))
        home.say(HERE, kind="answer", key="k1", error=lost)
        home.say(HERE, kind="answer", key="k0", turn_id="t1", events=pack_events(ended))
        await home.ask(HERE, "d", kind="done")
        assert [one.item.index for one in await home.turns.end_chunk("c1")] == [1]
        assert [(one.index, one.value) for one in home.answers] == [(0, "done")]
        assert kinds_of("t1")[-1] == "turn_ended"

    at_home(test)


def test_the_end_of_a_turn_whose_prompt_is_sent_again_is_no_answer() -> None:
    async def test(home: Home) -> None:
        await home.begin(HERE)
        await home.start_call(HERE)
        sent = await home.turns.end_chunk("c1")
        home.turns.add_chunk("c1", [(one.item, one.key) for one in sent])  # as after a worker was taken for lost
        ended = [TurnEnded("completed", "done", Usage(), 1, 1, 0.1)]
        home.say(HERE, kind="answer", key="k0", turn_id="t1", events=pack_events(ended))
        assert await home.begin(THERE) == ["k0", "k1"]
        assert await home.start_call(HERE, "k0", "t4") == NO
        assert home.answers == []

    at_home(test)


def test_calls_that_only_read_do_not_count_and_a_turn_goes_on_from_results_that_arrived() -> None:
    async def test(home: Home) -> None:
        await home.begin(HERE)
        await home.start_call(HERE, name="ListVars")
        await home.start_call(HERE, "k1", "t2")
        home.say(
            HERE, kind="event", key="k1", turn_id="t2", events=pack_events([CallFinished("c", "act", 1, "ok", "1")])
        )
        await home.ask(HERE, "d", kind="done")
        read, acted = await home.turns.end_chunk("c1")
        assert (read.has_acted, acted.has_acted) == (False, True)
        assert [call.status for call in acted.versions()[0].calls] == ["ok"]

    at_home(test)


def test_what_is_no_message_is_dropped_and_events_that_cannot_be_read_start_nothing() -> None:
    async def test(home: Home) -> None:
        await home.begin(HERE)
        home.turns.receive(["", "{}", "[" * 100_000, '{"kind":"other","run":"r1"}'], HERE)
        assert await home.ask(HERE, "a", kind="may_start", key="k0", turn_id="t", events=[{"kind": "nothing"}]) == NO
        assert await home.ask(HERE, "b", kind="may_start", key="of no prompt", turn_id="t") == NO
        home.say(HERE, kind="answer", key="k0", turn_id="t", events=[{"kind": "nothing"}])
        await home.ask(HERE, "d", kind="done")
        assert [type(one.error).__name__ for one in home.answers] == ["UnreadableEvent"]

    at_home(test)


def test_a_message_has_a_maximum_size() -> None:
    message = WorkerMessage("ask", "r1", text="x" * 1_000)
    with pytest.raises(NbtoolError, match="too large to be sent from a worker"):
        pack_message(message, max_size=1_000)

    read = read_message(pack_message(message))
    assert read
    assert read.text == message.text
    assert read_message(pack_message(message), max_size=1_000) is None
