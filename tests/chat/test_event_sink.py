from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nbtool import Chat, tool
from nbtool.chat.event_sink import EventSink
from nbtool.chat.journal import Journal, TurnWriter, database, journal
from nbtool.events import (
    CallDelta,
    CallFinished,
    CallReady,
    CallStarted,
    Event,
    MessageAppended,
    Notice,
    ReplyFinished,
    RequestStarted,
    TextDelta,
)
from nbtool.messages import Message, Usage, user
from nbtool.testing import ScriptedWire, call

READY = CallReady("c", "look", 1, "{}")
STARTED = CallStarted("c", 1.0, "loop")
ENDED = CallFinished("c", "look", 1, "ok", "it")
REPLY = ReplyFinished(1, Message("assistant"), "tools", Usage(), complete=True)


class SinkHarness:
    """A door with a journal before it and a listener behind it; `seen` is what was told, and what was on disk then."""

    def __init__(self, book: Journal, *, is_ours: bool = True) -> None:
        self.book = book
        self.seen: list[str] = []
        self.ahead: list[str] = []
        self.received = asyncio.Event()
        self.door = EventSink(TurnWriter(book, "chat", "turn"), self.dispatch, only_builtin_plugins=is_ours)

    def dispatch(self, event: Event) -> None:
        self.seen.append(event.kind)
        if event.kind not in self.written() and not event.kind.endswith("_delta"):
            self.ahead.append(event.kind)
        self.received.set()

    def written(self) -> list[object]:
        return [event["kind"] for event in self.book.events("turn")]

    async def emit(self, *events: Event) -> None:
        for event in events:
            await self.door.emit(event)


def run_sink(book: Journal, work: Callable[[SinkHarness], Awaitable[object]], *, is_ours: bool = True) -> SinkHarness:
    async def inside() -> SinkHarness:
        hall = SinkHarness(book, is_ours=is_ours)
        await work(hall)
        return hall

    return asyncio.run(inside())


@pytest.fixture
def book(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.sqlite")


@pytest.mark.promise("written-first")
def test_what_comes_before_an_effect_is_on_disk_before_it(book: Journal) -> None:
    async def work(hall: SinkHarness) -> None:
        await hall.emit(REPLY, MessageAppended(user("x")), READY)
        assert hall.written() == hall.seen == []
        await hall.emit(STARTED)
        assert hall.written() == hall.seen

    hall = run_sink(book, work)

    assert hall.seen == ["reply_finished", "message_appended", "call_ready", "call_started"]
    assert hall.ahead == []


@pytest.mark.promise("written-first")
def test_a_plugin_of_a_person_acts_upon_nothing_that_is_not_on_disk(book: Journal) -> None:
    async def work(hall: SinkHarness) -> None:
        await hall.emit(REPLY)
        assert hall.written() == ["reply_finished"]
        await hall.emit(READY, STARTED, ENDED)
        assert hall.written() == ["reply_finished", "call_ready", "call_started", "call_finished"]

    assert run_sink(book, work, is_ours=False).ahead == []


@pytest.mark.promise("written-first")
def test_a_start_that_an_earlier_one_announced_waits_for_nothing(book: Journal) -> None:
    async def work(hall: SinkHarness) -> None:
        await hall.emit(replace(STARTED, announces=("d",)))
        assert hall.written() == ["call_started"]
        await hall.emit(ENDED, replace(STARTED, call_id="d", announced=True))
        assert hall.written() == hall.seen == ["call_started"]
        await hall.emit(RequestStarted(2))

    hall = run_sink(book, work)

    assert hall.seen == hall.written() == ["call_started", "call_finished", "call_started", "request_started"]


def test_an_event_that_nothing_comes_after_is_written_alone(book: Journal) -> None:
    async def work(hall: SinkHarness) -> None:
        await hall.emit(ENDED)
        async with asyncio.timeout(240):
            await hall.received.wait()

    hall = run_sink(book, work)

    assert hall.seen == hall.written() == ["call_finished"]


def test_a_delta_overtakes_nothing(book: Journal) -> None:
    hall = run_sink(book, lambda hall: hall.emit(READY, CallDelta("0"), ENDED, TextDelta("Hi"), CallDelta("0")))

    assert hall.seen == ["call_ready", "call_delta", "call_finished", "text_delta", "call_delta"]
    assert hall.ahead == []


def test_a_writer_that_is_cancelled_takes_no_event_of_others_along(book: Journal) -> None:
    async def work(hall: SinkHarness) -> None:
        await hall.emit(ENDED)
        task = asyncio.ensure_future(hall.emit(RequestStarted(1)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        await hall.emit(Notice("after"))
        assert task.cancelled()

    assert run_sink(book, work).seen == ["call_finished", "request_started", "notice"]


def test_events_of_calls_at_the_same_time_keep_their_order(book: Journal) -> None:
    async def work(hall: SinkHarness) -> None:
        await asyncio.gather(*(hall.emit(CallReady(f"c{n}", "look", 1, "{}"), Notice(str(n))) for n in range(20)))

    run_sink(book, work)
    texts = [event["text"] for event in book.events("turn") if event["kind"] == "notice"]

    assert texts == [str(n) for n in range(20)]


def test_a_listener_that_fails_is_reported_to_the_emitter(book: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: SinkHarness, event: Event) -> None:
        raise ValueError(event.kind)

    monkeypatch.setattr(SinkHarness, "dispatch", refuse)

    with pytest.raises(ValueError, match="notice"):
        run_sink(book, lambda hall: hall.emit(Notice("x")))


def test_a_round_waits_for_the_disk_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    journal.cache_clear()
    writes: list[int] = []
    write = database.Store._write

    def counting(self: database.Store, together: list[database._Write]) -> None:
        writes.append(sum(len(one.rows) for one in together))
        write(self, together)

    monkeypatch.setattr(database.Store, "_write", counting)
    double = tool(lambda n: 2 * n, name="double", run="auto")
    counts = []
    for _ in range(5):  # on a busy machine a deferred event may be written alone
        writes.clear()
        turn = Chat(wire=ScriptedWire([call("double", n=1), call("double", n=2), "Done."]), tools=[double]).send("Go")
        counts.append(len(writes))
        assert turn.text == "Done."
    journal.cache_clear()

    # began and, perhaps together, the first request; for each of two rounds: the call, the next request; the end
    assert min(counts) in (6, 7)
