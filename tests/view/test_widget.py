from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Callable
from typing import Any

import pytest

from nbtool.errors import AlreadyDecided
from nbtool.events import CallAsked, CallDelta, Event, RequestStarted, TextDelta, TurnEnded, TurnStarted
from nbtool.messages import Usage, user
from nbtool.view.widget import STATIC, TurnWidget

BUNDLE_LIMIT = 25_000
"""Bytes of the page's script and style sheet, gzipped."""


class Page:
    """A widget whose messages are collected in place of a comm, and a loop that does what is posted when told to."""

    def __init__(self, *, refuse: bool = False) -> None:
        self.sent: list[dict[str, Any]] = []
        self.decided: list[tuple[str, dict[str, Any]]] = []
        self.stops = 0
        self._posted: list[Callable[[], None]] = []
        self._refuse = refuse
        self._count = 0
        self.widget = TurnWidget("t", decide=self._decide, stop=self._stop, post=self._posted.append)
        self.widget.send = self.sent.append

    def says(self, kind: str, **values: Any) -> bool:
        self._count += 1
        envelope = {"v": 1, "turn": "t", "nonce": self.widget.nonce, "id": f"p-{self._count}", "kind": kind}
        return self.widget.hear({**envelope, **values})

    def work(self) -> None:
        while self._posted:
            self._posted.pop(0)()

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.sent if message["kind"] == kind]

    def _decide(self, digest: str, verdict: dict[str, Any]) -> None:
        if self._refuse:
            raise AlreadyDecided("This call was decided by input.")
        self.decided.append((digest, verdict))

    def _stop(self) -> None:
        self.stops += 1


def fed(page: Page, *events: Event) -> None:
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

    fed(page, *start(), *(TextDelta("word ") for _ in range(20_000)), end())

    messages = page.of("patches")
    assert len(messages) <= 3
    assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))
    text = "".join(
        patch["block"]["text"] if patch["op"] == "open" else patch["text"]
        for message in messages
        for patch in message["patches"]
        if patch["op"] in ("open", "extend")
    )
    assert text == "word " * 20_000


def test_a_question_is_sent_at_once() -> None:
    page = Page()

    fed(page, *start(), CallDelta("0", name="price", call_id="c1"), CallAsked("c1", "run", "d1", "price", "{}"))

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
    assert page.sent[1]["patches"] == [{"op": "extend", "id": "b0", "field": "text", "text": "b"}]


def test_hello_is_noticed_on_the_hearing_thread_and_answered_on_the_loop() -> None:
    page = Page()
    fed(page, *start(), TextDelta("Hello"))
    sent_before = len(page.sent)

    heard = threading.Thread(target=page.says, args=("hello",))
    heard.start()
    heard.join()

    assert page.widget.heard_hello.is_set()
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
        "patches": [{"op": "extend", "id": "b0", "field": "text", "text": "c"}],
    }  # fmt: skip


def test_a_decision_is_handed_on_once_and_acknowledged() -> None:
    page = Page()

    page.says("approve", digest="d1", remember="tool")
    page.work()

    assert page.decided == [("d1", {"verdict": "approved", "remember": "tool", "arguments": None})]
    assert page.of("decided") == [{"v": 1, "kind": "decided", "id": "p-1", "digest": "d1", "ok": True, "text": ""}]
    assert page.of("ack") == [{"v": 1, "kind": "ack", "id": "p-1"}]


def test_a_message_that_arrives_by_two_roads_counts_once() -> None:
    page = Page()
    message = {"v": 1, "turn": "t", "nonce": page.widget.nonce, "id": "p-9", "kind": "stop"}

    heard = [page.widget.hear(message), page.widget.hear(message)]
    page.work()

    assert heard == [True, False]
    assert page.stops == 1


def test_a_decision_that_comes_too_late_is_told_so() -> None:
    page = Page(refuse=True)

    page.says("deny", digest="d1", reason="no")
    page.work()

    (told,) = page.of("decided")
    assert (told["ok"], told["text"]) == (False, "This call was decided by input.")


def test_a_ping_gets_its_pong() -> None:
    page = Page()

    page.says("ping")
    page.work()

    assert page.sent == [{"v": 1, "kind": "pong", "id": "p-1"}]


@pytest.mark.parametrize("wrong", [{"nonce": "guessed"}, {"turn": "another"}, {"v": 2}, {"extra": 1}])
def test_a_message_that_is_not_for_this_turn_is_dropped_without_an_answer(wrong: dict[str, Any]) -> None:
    page = Page()

    heard = page.says("approve", digest="d1", **wrong)
    page.work()

    assert not heard
    assert page.sent == []
    assert page.decided == []


def test_two_widgets_never_share_a_nonce() -> None:
    assert Page().widget.nonce != Page().widget.nonce


def test_in_the_end_the_snapshot_holds_the_turn_and_a_static_twin_takes_the_widgets_place() -> None:
    page = Page()

    fed(page, *start(), TextDelta("Hello"), end())
    bundle = page.widget.finish()
    page.widget.close()

    assert page.widget.snapshot["head"]["status"] == "completed"
    assert set(bundle) == {"text/html", "text/plain"}
    assert "<p>Hello</p>" in bundle["text/html"]


def test_the_script_of_the_page_is_small() -> None:
    size = sum(len(gzip.compress((STATIC / name).read_bytes(), 9)) for name in ("widget.js", "widget.css"))

    assert size <= BUNDLE_LIMIT
