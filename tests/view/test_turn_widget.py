from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
import threading
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtool.errors import AlreadyDecided, BadUsage
from nbtool.events import (
    CallAsked,
    CallDelta,
    CallFinished,
    Event,
    RequestStarted,
    TextDelta,
    TurnEnded,
    TurnParked,
    TurnStarted,
)
from nbtool.messages import Media, Usage, user
from nbtool.view.actions import ActionId
from nbtool.view.assets import STATIC
from nbtool.view.lazy_module import MAX_LAZY_BYTES, load_lazy_module
from nbtool.view.page_messages import BindRequest
from nbtool.view.turn_widget import TurnWidget
from tests.samples import PNG

BUNDLE_LIMIT = 20_000
"""Bytes of the page's script and style sheet, gzipped."""


class Clock:
    """A clock that stands still, and keeps what is to be done later."""

    def __init__(self) -> None:
        self.later: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return 0.0

    def call_later(self, delay: float, callback: Callable[[], object]) -> Any:
        self.later.append((delay, callback))
        return self

    def cancel(self) -> None:
        self.later.pop()


class Page:
    """A widget whose messages are collected in place of a comm, and a loop that does what is posted when told to."""

    def __init__(self, *, refuse: bool = False, clock: Clock | None = None) -> None:
        self.sent: list[dict[str, Any]] = []
        self.decided: list[tuple[str, dict[str, Any]]] = []
        self.stops = 0
        self.stopped_calls: list[str] = []
        self.buffers: list[bytes] = []
        self.acts: list[ActionId] = []
        self._posted: list[Callable[[], None]] = []
        self._refuse = refuse
        self._count = 0
        self.widget = TurnWidget(
            "t", decide=self._decide, stop=self._stop, post=self._posted.append, bind=self._bind,
            run_action=self._act, stop_call=self.stopped_calls.append, clock=clock,
        )  # fmt: skip
        self.widget.send = self._send

    def says(self, kind: str, **values: Any) -> bool:
        self._count += 1
        envelope = {"v": 1, "turn": "t", "nonce": self.widget.nonce, "id": f"p-{self._count}", "kind": kind}
        return self.widget.receive({**envelope, **values})

    def work(self) -> None:
        while self._posted:
            self._posted.pop(0)()

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.sent if message["kind"] == kind]

    def _decide(self, digest: str, verdict: dict[str, Any]) -> None:
        if self._refuse:
            raise AlreadyDecided("This call was decided by input.")
        self.decided.append((digest, verdict))

    def _send(self, content: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        self.sent.append(content)
        self.buffers += buffers or []

    def _stop(self) -> None:
        self.stops += 1

    def _act(self, act: ActionId) -> str:
        if self._refuse:
            raise BadUsage("This turn has no tool calls.")
        self.acts.append(act)
        return f"%%chat --{act} t"

    def _bind(self, asked: BindRequest) -> str:
        if self._refuse:
            raise BadUsage("prices stands for something else here.")
        return asked.name or "price_1_result"


def feed_page(page: Page, *events: Event) -> None:
    async def feed() -> None:
        for event in events:
            page.widget.feed(event)

    asyncio.run(feed())


def start() -> list[Event]:
    return [TurnStarted("t", "practice:default", user("hi"), 1.0), RequestStarted(1)]


def end() -> TurnEnded:
    return TurnEnded("completed", "Hello", Usage(3, 4), 1, 0, 1.0)


def test_a_burst_of_deltas_leaves_in_few_messages_and_nothing_is_lost() -> None:
    page = Page()

    feed_page(page, *start(), *(TextDelta("word ") for _ in range(20_000)), end())

    messages = page.of("patches")
    assert len(messages) <= 3
    assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))
    patches = [patch for message in messages for patch in message["patches"]]
    opened = [patch["block"]["text"] for patch in patches if isinstance(patch, dict) and patch["op"] == "open"]
    text = "".join([*opened, *(patch[1] for patch in patches if isinstance(patch, list))])
    assert text == "word " * 20_000


def test_a_question_is_sent_at_once() -> None:
    page = Page()

    feed_page(page, *start(), CallDelta("0", name="price", call_id="c1"), CallAsked("c1", "run", "d1", "price", "{}"))

    last = page.of("patches")[-1]["patches"]
    assert [patch["set"]["status"] for patch in last if patch["op"] == "head"] == ["waiting"]


def test_the_first_piece_is_sent_at_once_and_the_timer_sends_the_rest() -> None:
    page = Page()

    async def stream() -> int:
        page.widget.feed(TextDelta("a"))
        page.widget.feed(TextDelta("b"))
        first = len(page.sent)
        while len(page.sent) < 2:
            await asyncio.sleep(0)
        return first

    first = asyncio.run(stream())

    assert first == 1
    assert page.sent[1]["patches"] == [["b0", "b"]]


def test_hello_is_noticed_on_the_hearing_thread_and_answered_on_the_loop() -> None:
    page = Page()
    feed_page(page, *start(), TextDelta("Hello"))
    sent_before = len(page.sent)

    received = threading.Thread(target=page.says, args=("hello",))
    received.start()
    received.join()

    assert page.widget.turn_place.state == "seen"
    assert len(page.sent) == sent_before
    page.work()
    assert [message["kind"] for message in page.sent[sent_before:]] == ["snapshot", "ack"]


def test_a_snapshot_holds_what_was_not_sent_yet_and_the_next_patches_follow_it() -> None:
    page = Page()

    async def stream() -> None:
        page.widget.feed(TextDelta("a"))
        page.widget.feed(TextDelta("b"))
        page.says("resync")
        page.work()
        page.widget.feed(TextDelta("c"))
        page.widget.flush()

    asyncio.run(stream())

    (snapshot,) = page.of("snapshot")
    assert snapshot["document"]["blocks"][0]["text"] == "ab"
    assert page.of("patches")[-1] == {
        "v": 1, "kind": "patches", "seq": snapshot["seq"] + 1,
        "patches": [["b0", "c"]],
    }  # fmt: skip


def test_a_decision_is_handed_on_once_and_acknowledged() -> None:
    page = Page()

    page.says("approve", digest="d1", remember="tool")
    page.work()

    assert page.decided == [("d1", {"verdict": "approved", "remember": "tool", "arguments": None})]
    assert page.of("decided") == [{"v": 1, "kind": "decided", "id": "p-1", "digest": "d1", "ok": True, "text": ""}]
    assert page.of("ack") == [{"v": 1, "kind": "ack", "id": "p-1"}]


def test_a_message_that_arrives_in_two_ways_counts_once() -> None:
    page = Page()
    message = {"v": 1, "turn": "t", "nonce": page.widget.nonce, "id": "p-9", "kind": "stop"}

    received = [page.widget.receive(message), page.widget.receive(message)]
    page.work()

    assert received == [True, False]
    assert page.stops == 1


def test_a_decision_that_comes_too_late_is_reported() -> None:
    page = Page(refuse=True)

    page.says("deny", digest="d1", reason="no")
    page.work()

    (actual,) = page.of("decided")
    assert (actual["ok"], actual["text"]) == (False, "This call was decided by input.")


def test_a_ping_gets_its_pong() -> None:
    page = Page()

    page.says("ping")
    page.work()

    assert page.sent == [{"v": 1, "kind": "pong", "id": "p-1"}]


@pytest.mark.parametrize("wrong", [{"nonce": "guessed"}, {"turn": "another"}, {"v": 2}, {"extra": 1}])
def test_a_message_that_is_not_for_this_turn_is_dropped_without_an_answer(wrong: dict[str, Any]) -> None:
    page = Page()

    received = page.says("approve", digest="d1", **wrong)
    page.work()

    assert not received
    assert page.sent == []
    assert page.decided == []


def test_a_message_that_arrives_on_many_threads_at_once_counts_once() -> None:
    page = Page()
    message = {"v": 1, "turn": "t", "nonce": page.widget.nonce, "kind": "approve", "digest": "d"}
    accepted: list[bool] = []
    for number in range(50):
        barrier = threading.Barrier(4)

        def receive(number: int = number, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            accepted.append(page.widget.receive({**message, "id": f"p-{number}"}))

        threads = [threading.Thread(target=receive) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    page.work()

    assert accepted.count(True) == len(page.decided) == 50


def test_two_widgets_never_share_a_nonce() -> None:
    assert Page().widget.nonce != Page().widget.nonce


def test_in_the_end_the_snapshot_holds_the_turn_and_a_static_twin_takes_the_widgets_place() -> None:
    page = Page()

    feed_page(page, *start(), TextDelta("Hello"), end())
    bundle = page.widget.finish()
    page.widget.close()

    assert page.widget.snapshot["head"]["status"] == "completed"
    assert set(bundle) == {"application/vnd.nbtool.turn+json", "text/html", "text/plain"}
    assert "<p>Hello</p>" in bundle["text/html"]


def test_a_result_gets_a_name_and_the_page_is_informed_of_which() -> None:
    page = Page()

    page.says("bind", call_id="c1")
    page.work()

    (actual,) = page.of("bound")
    assert actual == {
        "v": 1, "kind": "bound", "id": "p-1", "call_id": "c1", "ok": True, "name": "price_1_result", "text": "",
    }  # fmt: skip


def test_a_name_that_is_taken_is_reported() -> None:
    page = Page(refuse=True)

    page.says("bind", call_id="c1", name="prices")
    page.work()

    (actual,) = page.of("bound")
    assert (actual["ok"], actual["name"], actual["text"]) == (False, "", "prices stands for something else here.")


def test_a_parked_turn_is_in_the_snapshot_for_a_page_that_is_reloaded() -> None:
    page = Page()

    feed_page(page, *start(), CallDelta("0", name="price", call_id="c1"), CallAsked("c1", "run", "d1", "price", "{}"))
    feed_page(page, TurnParked("d1", 2.0))

    assert page.widget.snapshot["head"]["status"] == "parked"
    assert page.widget.snapshot["blocks"][0]["question"]["digest"] == "d1"


def test_a_card_takes_over_and_shows_what_waits_and_what_comes() -> None:
    before = Page()
    feed_page(before, *start(), TextDelta("Let me look."), CallDelta("0", name="price", call_id="c1"))
    feed_page(before, CallAsked("c1", "run", "d1", "price", "{}"))
    card = TurnWidget(
        "t", decide=lambda *_: None, stop=lambda: None, post=lambda run: run(), transcript=before.widget.transcript,
        first_block=1,
    )  # fmt: skip

    card.resume()
    shown = card.snapshot["blocks"]
    page = Page()
    page.widget = card
    feed_page(page, TurnParked("d1", 2.0), RequestStarted(2), TextDelta("Done."), end())

    assert [block["kind"] for block in shown] == ["call"]
    assert [block["kind"] for block in card.document["blocks"]] == ["call", "text"]
    assert "Let me look." not in card.finish()["text/html"]


def test_a_widget_is_closed_at_once_where_no_page_has_shown_it() -> None:
    page = Page()
    feed_page(page, *start(), end())

    page.widget.close_when_replaced((page.widget.place, page.widget.finish()))

    assert page.widget.comm is None
    assert not page.of("left")


def test_a_widget_is_closed_once_its_page_shows_what_stays() -> None:
    page = Page()
    page.says("hello")
    page.work()
    feed_page(page, *start(), end())

    page.widget.close_when_replaced(("w", {"text/plain": "Hello"}))
    actual = page.of("left")
    is_open = page.widget.comm is not None
    page.says("took")
    page.work()

    assert actual == [{"v": 1, "kind": "left", "pages": ["p"], "places": []}]
    assert (is_open, page.widget.comm) == (True, None)


def test_a_page_that_connects_in_mid_stream_and_requests_a_snapshot_receives_the_totals() -> None:
    page = Page()
    page.says("hello")
    page.widget.receive({"v": 1, "turn": "t", "nonce": page.widget.nonce, "id": "new-1", "kind": "resync"})
    page.work()
    feed_page(page, *start(), end())

    page.widget.close_when_replaced(("w", {"text/plain": "Hello"}))

    (actual,) = page.of("left")
    assert (actual["pages"], len(actual["places"])) == (["new", "p"], 1)


def test_a_page_that_connects_after_the_end_receives_the_totals_and_a_closed_one_is_not_waited_for() -> None:
    clock = Clock()
    page = Page(clock=clock)
    page.says("hello")
    page.work()
    feed_page(page, *start(), end())
    page.widget.close_when_replaced(("w", {"text/plain": "Hello"}))

    for number, kind in enumerate(("hello", "took")):
        page.widget.receive({"v": 1, "turn": "t", "nonce": page.widget.nonce, "id": f"new-{number}", "kind": kind})
        page.work()
    (seconds, close), is_open = clock.later[-1], page.widget.comm is not None
    close()

    assert [message["pages"] for message in page.of("left")] == [["p"], ["new", "p"]]
    assert page.of("left")[-1]["places"] == [{"was": "w", "data": {"text/plain": "Hello"}}]
    assert page.widget.seen
    assert (seconds, is_open, page.widget.comm) == (4.0, True, None)


@pytest.mark.parametrize("name", MAX_LAZY_BYTES)
def test_a_later_module_is_sent_to_a_page_that_asks_packed_and_by_its_version(name: str) -> None:
    page = Page()

    page.says(name)
    page.work()

    (actual,) = page.of("rich")
    text = gzip.decompress(page.buffers[0])
    assert text == (STATIC / f"{name}.js").read_bytes()
    assert actual["version"] == hashlib.sha256(text).hexdigest()[:16]
    assert actual["version"] in (STATIC / "widget.js").read_text(encoding="utf-8")


def test_the_later_modules_travel_with_a_widget_whose_page_cannot_ask() -> None:
    page = Page()

    page.widget.embed_lazy_modules()

    assert [gzip.decompress(module["packed"]) for module in page.widget.rich] == [
        (STATIC / f"{name}.js").read_bytes() for name in ("rich", "formulas")
    ]


def test_what_the_page_asks_to_do_with_the_turn_is_answered_with_a_cell() -> None:
    page = Page()

    page.says("act", action="rerun")
    page.work()

    assert page.acts == ["rerun"]
    assert page.of("cell") == [{"v": 1, "kind": "cell", "id": "p-1", "ok": True, "text": "%%chat --rerun t"}]
    assert page.of("ack")[0]["id"] == "p-1"


def test_one_call_is_stopped_and_the_turn_goes_on() -> None:
    page = Page()

    page.says("stop_call", call_id="call_1")
    page.work()

    assert (page.stopped_calls, page.stops) == (["call_1"], 0)
    assert page.of("ack")[0]["id"] == "p-1"


def test_a_cell_that_cannot_be_written_is_refused_with_the_reason() -> None:
    page = Page(refuse=True)

    page.says("act", action="code")
    page.work()

    (cell,) = page.of("cell")
    assert (cell["ok"], cell["text"]) == (False, "This turn has no tool calls.")


def test_the_head_shows_what_no_event_contains() -> None:
    page = Page()

    async def tell() -> None:
        page.widget.update_head(why="named by -m", version=1, versions=2, acts=["rerun"])

    asyncio.run(tell())

    details = "0 calls · model from named by -m"
    assert page.of("patches")[-1]["patches"] == [
        {
            "op": "head",
            "set": {"why": "named by -m", "version": 1, "versions": 2, "acts": ["rerun"], "details": details},
        }
    ]


def test_what_travels_with_every_widget_is_small_and_what_is_fetched_once_is_bounded() -> None:
    size = sum(len(gzip.compress((STATIC / name).read_bytes(), 9)) for name in ("widget.js", "widget.css"))

    assert size <= BUNDLE_LIMIT
    for name, limit in MAX_LAZY_BYTES.items():
        assert len(load_lazy_module(name).gzipped) <= limit


def test_the_sizes_in_the_docs_are_those_of_the_files() -> None:
    page = (Path(__file__).parents[2] / "docs" / "compatibility.md").read_text(encoding="utf-8")
    said = re.search(
        r"script is (\d+) KB gzipped.*? requests another (\d+) KB once.*? another (\d+) KB with the first formula",
        page,
        re.DOTALL,
    )
    sizes = [
        sum(len(gzip.compress((STATIC / name).read_bytes(), 9)) for name in names) / 1000
        for names in (("widget.js", "widget.css"), ("rich.js",), ("formulas.js",))
    ]

    assert said is not None
    assert [abs(int(kb) - size) < 5 for kb, size in zip(said.groups(), sizes, strict=True)] == [True, True, True]


def test_the_bytes_of_an_image_are_sent_to_a_page_that_asks_for_them_by_their_key() -> None:
    page = Page()
    image = Media("image/png", PNG)
    feed_page(
        page, TurnStarted("t", "m", user("hi", image), 1.0), CallFinished("c", "draw", 1, "ok", "", media=(image,))
    )
    (key,) = page.widget.transcript.media

    page.says("media", key=key)
    page.says("media", key="0" * 32)
    for forged in ("../x", key.upper() if key.upper() != key else "g" * 32, None):
        assert not page.says("media", key=forged)
    page.work()

    assert page.of("media") == [{"v": 1, "kind": "media", "key": key}]
    assert page.buffers == [PNG]
    assert b64encode(PNG).decode() not in str(page.sent)
