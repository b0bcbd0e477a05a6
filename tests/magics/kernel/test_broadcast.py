from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool.magics.kernel.broadcast import MAX_MESSAGE, BroadcastListener, can_ask_for_line
from nbtool.magics.kernel.cell_messages import can_ask_for_input, cell_id, has_front_end, listener_for
from nbtool.magics.kernel.page_channel import PageChannel
from tests.one_thread import one_thread


class Browser:
    """The channels of a browser, and what is posted to them."""

    def __init__(self) -> None:
        self.open: dict[str, Callable[[str], None]] = {}

    def __call__(self, name: str, receive: Callable[[str], None]) -> _Channel:
        self.open[name] = receive
        return _Channel(self, name)

    def post(self, name: str, text: str) -> None:
        if receive := self.open.get(name):
            receive(text)


class _Channel:
    def __init__(self, browser: Browser, name: str) -> None:
        self._browser, self._name = browser, name

    def close(self) -> None:
        del self._browser.open[self._name]


class LiteShell:
    """The shell of JupyterLite, as far as it is asked here."""

    def __init__(self, **content: Any) -> None:
        message = {"content": content, "metadata": {"cellId": "c1"}}

        class Kernel:
            def get_parent(self) -> dict[str, Any]:
                return message

        self.kernel = Kernel()


@pytest.fixture
def in_browser() -> Iterator[None]:
    with one_thread():
        yield


def test_a_widget_receives_what_is_posted_to_its_own_channel_until_it_is_closed() -> None:
    browser, received = Browser(), []
    listener = BroadcastListener(browser)
    listener.open("w1", received.append)
    listener.poll()

    browser.post("nbtool.w1", json.dumps({"kind": "hello"}))
    browser.post("nbtool.w2", json.dumps({"kind": "stop"}))
    listener.close("w1")
    listener.close("w1")
    browser.post("nbtool.w1", json.dumps({"kind": "late"}))

    assert received == [{"kind": "hello"}]


@pytest.mark.parametrize(
    "text", ["no JSON", "[" * 100_000, " " * (MAX_MESSAGE + 1) + "{}"], ids=["text", "deep", "long"]
)
def test_what_is_no_message_is_dropped(text: str) -> None:
    browser, received = Browser(), []
    BroadcastListener(browser).open("w1", received.append)

    browser.post("nbtool.w1", text)

    assert received == []


@pytest.mark.usefixtures("in_browser")
def test_the_kernel_of_jupyterlite_names_its_cell_and_receives_clicks_but_has_no_way_to_the_cells() -> None:
    shell = LiteShell()

    assert cell_id(shell) == "c1"
    assert has_front_end(shell)
    assert isinstance(listener_for(shell.kernel), BroadcastListener)
    assert not PageChannel(shell).open()


def test_a_line_of_input_needs_the_page_and_the_service_worker(tmp_path: Path) -> None:
    with one_thread():
        assert not can_ask_for_input(LiteShell(allow_stdin=True))
    assert can_ask_for_line(LiteShell(allow_stdin=True).kernel, tmp_path)
    assert not can_ask_for_line(LiteShell(allow_stdin=False).kernel, tmp_path)
