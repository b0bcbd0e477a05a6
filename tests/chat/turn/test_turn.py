from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.turn import Turn
from nbtool.messages import user
from nbtool.testing import ScriptedWire, call


def refuse(_: Turn) -> Coroutine[Any, Any, None]:
    raise RuntimeError("no loop")


def interrupt(_: Turn) -> Coroutine[Any, Any, None]:
    raise KeyboardInterrupt


async def fail(_: Turn) -> None:
    raise RuntimeError("lost")


async def exit_inside(_: Turn) -> None:
    raise SystemExit(3)


async def be_cancelled(_: Turn) -> None:
    raise asyncio.CancelledError


def test_a_turn_that_cannot_start_has_ended_with_the_error() -> None:
    turn = Turn(user("Hello"), "tiny", work=refuse)

    with pytest.raises(RuntimeError, match="no loop") as raised:
        turn.start()

    assert turn.done.result(0) is turn
    assert (turn.status, turn.error) == ("error", raised.value)
    assert turn.start() is turn


def test_a_turn_that_is_interrupted_while_it_starts_is_cancelled() -> None:
    turn = Turn(user("Hello"), "tiny", work=interrupt)

    with pytest.raises(KeyboardInterrupt):
        turn.start()

    assert (turn.done.result(0), turn.status, turn.error) == (turn, "cancelled", None)


@pytest.mark.parametrize(
    ("work", "status", "error"),
    [(fail, "error", "RuntimeError"), (exit_inside, "error", "SystemExit"), (be_cancelled, "cancelled", "NoneType")],
)
def test_a_turn_is_done_whatever_its_work_raises(work: Any, status: str, error: str) -> None:
    turn = Turn(user("Hello"), "tiny", work=work).start()

    assert turn.done.result(5) is turn
    assert (turn.status, type(turn.error).__name__) == (status, error)


def test_the_notices_of_a_turn_are_those_shown_to_the_user() -> None:
    turn = Chat(wire=ScriptedWire([call("missing")] * 3), max_rounds=1).send("Go.")
    actual = [notice.text for notice in turn.notices]

    shown = [block["text"] for block in turn.transcript().document()["blocks"] if block["kind"] == "notice"]
    assert actual
    assert actual == shown
