from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from nbtool.blocks.map_protocol import MapData
from nbtool.view.map_messages import MapMessage, parse_message
from nbtool.view.map_widget import MapWidget

DATA: MapData = {
    "status": "running",
    "done": 0,
    "total": 10,
    "label": "0 of 10 prompts",
    "facts": [],
    "failures": [],
    "other_failures": 0,
    "reason": "",
    "fix": "",
}


class Page:
    """A widget whose messages are collected in place of a comm, and a loop that does what is posted when told to."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.stops = 0
        self._posted: list[Callable[[], None]] = []
        self._count = 0
        self.widget = MapWidget(DATA, stop=self._stop, post=self._posted.append)
        self.widget.send = lambda content, _buffers=None: self.sent.append(content)

    def says(self, kind: str, **changes: Any) -> bool:
        self._count += 1
        message = {"v": 1, "nonce": self.widget.nonce, "id": f"p-{self._count}", "kind": kind, **changes}
        return self.widget.receive(message)

    def work(self) -> None:
        while self._posted:
            self._posted.pop(0)()

    def kinds(self) -> list[str]:
        return [message["kind"] for message in self.sent]

    def _stop(self) -> None:
        self.stops += 1


def test_a_hello_is_answered_with_the_map_as_it_is() -> None:
    page = Page()
    page.widget.show({**DATA, "done": 3})
    page.sent.clear()

    page.says("hello")
    page.work()

    assert page.sent == [{"v": 1, "kind": "map", "map": {**DATA, "done": 3}}, {"v": 1, "kind": "ack", "id": "p-1"}]
    assert page.widget.seen


def test_stop_stops_once_whichever_ways_its_message_comes() -> None:
    page = Page()
    page.says("stop", id="p-9")
    page.says("stop", id="p-9")
    page.work()

    assert page.stops == 1
    assert page.sent == [{"v": 1, "kind": "ack", "id": "p-9"}]


def test_nothing_is_sent_where_nothing_has_changed() -> None:
    page = Page()
    page.widget.show(dict(DATA))
    page.widget.show({**DATA, "done": 1})
    page.widget.show({**DATA, "done": 1})

    assert [message["map"]["done"] for message in page.sent] == [1]


def test_it_closes_when_the_page_shows_what_replaces_it() -> None:
    page = Page()
    page.says("hello")
    page.work()
    page.widget.close_when_replaced((page.widget.place, {"text/plain": "ended"}))
    page.says("took")
    page.work()

    assert page.kinds() == ["map", "ack", "left"]
    assert page.widget.comm is None


def test_a_page_that_is_loaded_after_the_end_gets_what_replaces_it() -> None:
    page = Page()
    page.says("hello", id="first-1")
    page.work()
    page.widget.close_when_replaced((page.widget.place, {"text/plain": "ended"}))
    page.says("hello", id="second-1")
    page.work()

    left = page.sent[-2]
    assert left["pages"] == ["second", "first"]
    assert left["places"] == [{"was": page.widget.place, "data": {"text/plain": "ended"}}]


def test_messages_are_handled_on_the_loop_whatever_thread_receives_them() -> None:
    page = Page()
    thread = threading.Thread(target=page.says, args=("stop",))
    thread.start()
    thread.join()

    assert page.stops == 0
    page.work()
    assert page.stops == 1


def test_front_ends_without_widgets_get_a_sentence() -> None:
    assert "shown here when they have ended" in repr(Page().widget)
    assert "shown here when they have ended" in Page().widget.mimebundle()[0]["text/plain"]


def message(**changes: Any) -> dict[str, Any]:
    return {"v": 1, "nonce": "n", "id": "p-1", "kind": "stop", **changes}


def test_a_message_is_read() -> None:
    assert parse_message(message(), nonce="n") == MapMessage("stop", "p-1")


@pytest.mark.parametrize(
    "changes",
    [{"v": 2}, {"nonce": "guessed"}, {"id": "x" * 65}, {"kind": "approve"}, {"kind": None}, {"more": 1}],
    ids=str,
)
def test_what_is_no_message_is_dropped(changes: dict[str, Any]) -> None:
    assert parse_message(message(**changes), nonce="n") is None


@pytest.mark.parametrize("content", [None, "stop", [], {}])
def test_what_is_nothing_of_the_kind_is_dropped(content: Any) -> None:
    assert parse_message(content, nonce="n") is None
