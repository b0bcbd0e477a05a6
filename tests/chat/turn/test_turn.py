from __future__ import annotations

import asyncio
import threading
import weakref
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.turn import Turn
from nbtool.chat.turn import turn as module
from nbtool.messages import user
from nbtool.testing import ScriptedWire, call
from nbtool.threads.threadless import SharedLoop, Suspension

SECONDS = 15


async def fail(_: Turn) -> None:
    raise RuntimeError("lost")


async def exit_inside(_: Turn) -> None:
    raise SystemExit(3)


async def be_cancelled(_: Turn) -> None:
    raise asyncio.CancelledError


def test_a_turn_that_cannot_start_has_ended_with_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    suspended = Suspension(asyncio.new_event_loop(), wait=print)
    suspended.loop.close()
    monkeypatch.setattr(module, "background_loop", lambda: SharedLoop(suspended))
    turn = Turn(user("Hello"), "tiny", work=fail)

    with pytest.raises(RuntimeError, match="closed") as raised:
        turn.start()

    assert turn.done.result(0) is turn
    assert (turn.status, turn.error) == ("error", raised.value)


def test_a_turn_that_was_interrupted_while_it_started_has_ended_only_when_its_work_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began, release = threading.Event(), threading.Event()

    async def work(_: Turn) -> None:
        began.set()
        release.wait(SECONDS)

    class InterruptedSet(weakref.WeakSet[Turn]):
        """Interrupts its caller once, while the turn is running already."""

        def add(self, item: Turn) -> None:
            if not began.is_set():
                item._schedule()
                began.wait(SECONDS)
                raise KeyboardInterrupt

    turn = Turn(user("Hello"), "tiny", work=work)
    monkeypatch.setattr(module, "_started_turns", InterruptedSet())
    with pytest.raises(KeyboardInterrupt):
        turn.start()

    assert not turn.done.done()
    release.set()
    assert turn.done.result(SECONDS).status == "cancelled"


@pytest.mark.parametrize(
    ("work", "status", "error"),
    [(fail, "error", "RuntimeError"), (exit_inside, "error", "SystemExit"), (be_cancelled, "cancelled", "NoneType")],
)
def test_a_turn_is_done_whatever_its_work_raises(work: Any, status: str, error: str) -> None:
    turn = Turn(user("Hello"), "tiny", work=work).start()

    assert turn.done.result(240) is turn
    assert (turn.status, type(turn.error).__name__) == (status, error)


def test_the_notices_of_a_turn_are_those_shown_to_the_user() -> None:
    turn = Chat(wire=ScriptedWire([call("missing")] * 3), max_rounds=1).send("Go.")
    actual = [notice.text for notice in turn.notices]

    shown = [block["text"] for block in turn.transcript().document()["blocks"] if block["kind"] == "notice"]
    assert actual
    assert actual == shown
