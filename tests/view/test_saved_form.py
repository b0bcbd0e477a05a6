"""What a notebook that is saved while a widget runs keeps in its place: when it is built, and where it goes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from nbtool.events import CallAsked, CallDecided, CallDelta, Event, RequestStarted, TextDelta, TurnStarted
from nbtool.messages import user
from nbtool.view.map_widget import MapWidget
from nbtool.view.saved_form import (
    BYTES_PER_SECOND,
    COST_FACTOR,
    DISPLAY_SECONDS,
    MESSAGE_SECONDS,
    Form,
    SavedForm,
)
from nbtool.view.turn_widget import TurnWidget
from tests.view.test_map_widget import DATA

NOT_ENDED = "This turn had not ended when the notebook was saved."


class Timer:
    """What is to be done at a time, unless it is cancelled."""

    def __init__(self, at: float, callback: Callable[[], object]) -> None:
        self.at, self.callback, self.is_cancelled = at, callback, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], object]) -> Any:
        self._timers.append(Timer(self.now + delay, callback))
        return self._timers[-1]

    @property
    def later(self) -> list[float]:
        """When something is to be done."""
        return [timer.at for timer in self._timers if not timer.is_cancelled]

    def move(self, seconds: float) -> None:
        """Let time pass, and do what is due."""
        self.now += seconds
        due = [one for one in self._timers if one.at <= self.now and not one.is_cancelled]
        self._timers = [one for one in self._timers if one.at > self.now]
        for timer in due:
            timer.callback()


class Builder:
    """A form that is built on request; `delivered` is what came of it."""

    def __init__(self, clock: Clock, form: Form | None = None) -> None:
        self.form = {"text/plain": "so far"} if form is None else form
        self.threads: list[threading.Thread] = []
        self.delivered: list[Form] = []
        self._is_there = asyncio.Event()
        self.saved_form = SavedForm(lambda: self._build, self._deliver, clock)

    def _build(self) -> Form:
        self.threads.append(threading.current_thread())
        return self.form

    def _deliver(self, form: Form) -> None:
        self.delivered.append(form)
        self._is_there.set()

    async def next(self) -> Form:
        """Wait for the next form."""
        await self._is_there.wait()
        self._is_there.clear()
        return self.delivered[-1]


def test_what_is_needed_at_once_is_built_at_once_and_not_on_the_loop() -> None:
    async def build() -> tuple[Form, Builder]:
        builder = Builder(Clock())
        builder.saved_form.renew(0)
        return await builder.next(), builder

    form, builder = asyncio.run(build())

    assert form == {"text/plain": "so far"}
    assert threading.main_thread() not in builder.threads


def test_many_changes_are_one_form_and_a_form_comes_seconds_after_the_former_one() -> None:
    async def stream() -> list[int]:
        clock = Clock()
        builder = Builder(clock)
        counts = []
        for _ in range(3):
            for _ in range(1_000):
                builder.saved_form.renew(MESSAGE_SECONDS)
            counts.append(len(clock.later))
            clock.move(100.0)
            await builder.next()
        return [*counts, len(builder.delivered)]

    assert asyncio.run(stream()) == [1, 1, 1, 3]


def test_the_larger_a_form_the_longer_it_is_kept() -> None:
    async def due() -> float:
        clock = Clock()
        builder = Builder(clock, {"text/html": "x" * 3 * BYTES_PER_SECOND, "text/plain": ""})
        builder.saved_form.renew(0)
        await builder.next()
        builder.saved_form.renew(MESSAGE_SECONDS)
        return clock.later[0]

    assert 3 + MESSAGE_SECONDS <= asyncio.run(due()) < 3 + MESSAGE_SECONDS + COST_FACTOR


def test_changes_while_a_form_is_built_are_in_one_more() -> None:
    async def change() -> list[Form]:
        builder = Builder(Clock())
        for _ in range(5):
            builder.saved_form.renew(0)
        await builder.next()
        await builder.next()
        await asyncio.sleep(0)
        return builder.delivered

    assert asyncio.run(change()) == [{"text/plain": "so far"}] * 2


def test_after_the_end_nothing_is_built_and_nothing_comes() -> None:
    async def stop() -> Builder:
        clock = Clock()
        builder = Builder(clock)
        builder.saved_form.renew(MESSAGE_SECONDS)
        builder.saved_form.stop()
        clock.move(100.0)
        builder.saved_form.renew(0)
        await asyncio.sleep(0)
        return builder

    builder = asyncio.run(stop())

    assert (builder.threads, builder.delivered) == ([], [])


class Page:
    """A widget of a turn, what it sends to its page, and the updates of its display."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.sent: list[dict[str, Any]] = []
        self.updates: list[Form] = []
        self.is_there = asyncio.Event()
        self.widget = TurnWidget(
            "turn_1", decide=lambda *_: None, stop=lambda: None, post=lambda call: call(), clock=self.clock
        )
        self.widget.send = lambda content, _buffers=None: self._note(self.sent, content)
        self.widget.update_output = lambda form: self._note(self.updates, form)

    def says(self, kind: str, **values: Any) -> None:
        envelope = {"v": 1, "turn": "turn_1", "nonce": self.widget.nonce, "id": f"p-{kind}", "kind": kind}
        assert self.widget.receive({**envelope, **values})

    def feed(self, *events: Event) -> None:
        for event in events:
            self.widget.feed(event)

    async def next(self) -> Form:
        """Wait for the next form, wherever it goes."""
        await self.is_there.wait()
        self.is_there.clear()
        return self.forms[-1] if self.forms else self.updates[-1]

    @property
    def forms(self) -> list[Form]:
        return [message["data"] for message in self.sent if message["kind"] == "form"]

    def _note(self, where: list[Any], what: Any) -> None:
        where.append(what)
        if where is self.updates or what["kind"] == "form":
            self.is_there.set()


def start() -> list[Event]:
    return [TurnStarted("turn_1", "m", user("hi"), 1.0), RequestStarted(1)]


def ask() -> list[Event]:
    return [CallDelta("0", name="price", call_id="c1"), CallAsked("c1", "run", "d1", "price", '{"ticker": "AAA"}')]


@pytest.mark.parametrize("greeting", ["present", "hello"])
def test_a_page_that_writes_the_file_gets_the_text_so_far_and_its_display_is_left_alone(greeting: str) -> None:
    async def stream() -> Page:
        page = Page()
        page.feed(*start(), TextDelta("Once upon"))
        page.says(greeting, notebook="stories/case.ipynb")
        await page.next()
        page.feed(TextDelta(" a time"))
        page.clock.move(100.0)
        await page.next()
        return page

    page = asyncio.run(stream())

    first, last = page.forms
    assert page.updates == []
    assert "Once upon" in first["text/plain"]
    for media_type in ("text/plain", "text/html"):
        assert "Once upon a time" in last[media_type]
        assert NOT_ENDED in last[media_type]
        assert "%chat open turn_1" in last[media_type]
    assert last.keys() == {"text/plain", "text/html"}  # nothing that would pass for a finished turn


def test_elsewhere_the_display_is_updated_seconds_after_the_start() -> None:
    async def stream() -> tuple[int, Page]:
        page = Page()
        page.says("hello")
        page.feed(*start(), TextDelta("Once upon a time"))
        page.clock.move(DISPLAY_SECONDS - 1)
        early = len(page.updates)
        page.clock.move(1)
        await page.next()
        return early, page

    early, page = asyncio.run(stream())

    assert (early, len(page.updates), page.forms) == (0, 1, [])
    assert "Once upon a time" in page.updates[0]["text/plain"]
    assert NOT_ENDED in page.updates[0]["text/html"]


def test_a_question_is_there_at_once_and_no_display_is_updated_until_it_is_decided() -> None:
    async def wait() -> Page:
        page = Page()
        page.says("hello")
        page.feed(*start(), *ask())
        page.clock.move(0)
        await page.next()
        page.feed(TextDelta("of a reply"))
        page.clock.move(100.0)
        await asyncio.sleep(0)
        return page

    page = asyncio.run(wait())

    assert len(page.updates) == 1
    assert "Approval needed: Run price(" in page.updates[0]["text/plain"]
    assert page.clock.later == []


def test_after_the_decision_the_display_is_updated_again() -> None:
    async def decide() -> int:
        page = Page()
        page.feed(*start(), *ask())
        await page.next()
        page.feed(CallDecided("c1", "run", "d1", "approved", "button"), TextDelta("more"))
        page.clock.move(100.0)
        await page.next()
        return len(page.updates)

    assert asyncio.run(decide()) == 2


def test_a_map_keeps_how_far_it_is_and_how_to_go_on() -> None:
    async def run() -> Form:
        is_there = asyncio.Event()
        sent: list[dict[str, Any]] = []
        widget = MapWidget(DATA, stop=lambda: None, post=lambda call: call())
        widget.send = lambda content, _buffers=None: (
            sent.append(content),
            content["kind"] == "form" and is_there.set(),
        )
        widget.receive({"v": 1, "nonce": widget.nonce, "id": "p-1", "kind": "present", "notebook": "case.ipynb"})
        await is_there.wait()
        return next(message["data"] for message in sent if message["kind"] == "form")

    form = asyncio.run(run())

    for media_type in ("text/plain", "text/html"):
        assert "0 of 10 prompts" in form[media_type]
        assert "had not all been answered when the notebook was saved" in form[media_type]
