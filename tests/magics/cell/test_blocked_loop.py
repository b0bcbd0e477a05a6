"""A cell that waits because something blocks the loop says in one line what that is."""

from __future__ import annotations

import io
import re
import threading
import warnings
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chain.plugin import PLAIN_HOOKS
from nbtool.testing import ScriptedWire, call
from nbtool.threads.loop import BlockedNotice, background_loop, run_sync
from nbtool.tools import tool

SECONDS = 15


class Output(io.StringIO):
    """What a cell prints; once it reports what it waits for, that may go on."""

    def __init__(self, release: threading.Event) -> None:
        super().__init__()
        self.release = release

    def write(self, text: str) -> int:
        if "Waiting" in text:
            self.release.set()
        return super().write(text)


def start_blocked(place: str, release: threading.Event) -> None:
    """Start a turn whose plugin blocks the loop in a hook until `release` is set."""
    reached = threading.Event()

    def block(*_: Any) -> None:
        reached.set()
        release.wait(SECONDS)

    async def block_async(*_: Any) -> None:
        block()

    plugin = type("Blocking", (), {place: block if place in PLAIN_HOOKS else block_async})()

    @tool(run="auto")
    def look() -> str:
        """Look."""
        return "seen"

    Chat(wire=ScriptedWire([call("look"), "Hello"]), tools=[look], plugins=[plugin]).start("Go")
    assert reached.wait(SECONDS)


@pytest.mark.parametrize("place", ["on_before_request", "on_stream_data", "on_event"])
def test_a_cell_says_which_hook_of_another_turn_it_waits_for(
    shell: Any, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    release = threading.Event()
    start_blocked(place, release)
    output = Output(release)
    monkeypatch.setattr("sys.stdout", output)
    shell.run_cell_magic("chat", "-m practice:fast -o turn", "Hello")

    waiting = [line for line in output.getvalue().splitlines() if "Waiting" in line]
    assert len(waiting) == 1
    assert "`block` (line " in waiting[0] or "`block_async` (line " in waiting[0]
    assert shell.user_ns["turn"].status == "completed"


@pytest.mark.parametrize("way", ["a turn", "a call of the loop"])
def test_python_warns_of_it(way: str) -> None:
    release, texts = threading.Event(), list[str]()
    start_blocked("on_event", release)
    chat = Chat(wire=ScriptedWire(["Hello"]))

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        texts.append(str(message))
        release.set()

    async def nothing() -> None:
        pass

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        if way == "a turn":
            chat.send("Hello")
        else:
            run_sync(nothing())

    assert re.match(r"Waiting: `block` \(line \d+\) blocks nbtool's event loop", texts[0])
    assert len(texts) == 1


def test_a_thread_that_waits_for_a_free_loop_says_nothing() -> None:
    texts: list[str] = []
    notice = BlockedNotice(texts.append, blocked_polls=6)

    async def nothing() -> None:
        pass

    for _ in range(4 * 6):
        notice.poll()
        background_loop().submit(nothing()).result(SECONDS)

    assert texts == []


def test_a_thread_that_waits_for_a_blocked_loop_says_so_once() -> None:
    release, texts = threading.Event(), list[str]()
    notice = BlockedNotice(texts.append, blocked_polls=6)
    start_blocked("on_event", release)

    for _ in range(4 * 6):
        notice.poll()
    release.set()

    assert len(texts) == 1
