"""A cell that is run again: what waits for a person is stopped and named, what runs is not."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from nbtool.chat.chat import Chat, wait_for_turn
from nbtool.chat.turn import Turn
from nbtool.chat.turn_settings import TurnSettings
from nbtool.magics.cell.approver import CellApprover
from nbtool.magics.cell.reruns import CellRerun, former_run_note
from nbtool.testing import ScriptedWire, call
from nbtool.tools.tool import tool
from nbtool.turn_place import TurnPlace
from tests.magics.parking import SECONDS, payment_replies


@tool
def pay(amount: int) -> int:
    "Pay an amount."
    return amount


def composed(chat: Chat, cell_id: str, mode: Any = "ask") -> tuple[Turn, CellRerun]:
    """Give a turn of a cell, on a page that is connected, and what follows whether the cell is run again."""
    turn = chat.compose("Pay.", settings=TurnSettings(cell_id=cell_id))
    rerun = CellRerun(turn, chat)
    place = TurnPlace()
    place.report("page", "hello")
    ways: dict[str, Any] = {"place": place, "can_park": True, "on_question": rerun.on_question}
    turn.approver = CellApprover(turn, chat.approvals, mode, **ways)
    turn.add_listener(rerun.feed)
    return turn, rerun


@pytest.mark.parametrize("replies", [payment_replies(), [[call("pay", amount=1), call("pay", amount=2)], "Done."]])
def test_a_question_of_a_cell_that_is_run_again_stops_the_turn_and_the_next_run_says_so(replies: list[Any]) -> None:
    chat = Chat(wire=ScriptedWire(replies), tools=[pay])
    turn, rerun = composed(chat, "cell_1")

    rerun.request()
    wait_for_turn(turn)

    assert (turn.status, rerun.has_stopped, chat.approvals.pending()) == ("cancelled", True, ())
    assert {one.shown for one in turn.calls} == {"The call did not run, because the turn was stopped."}
    assert former_run_note("cell_2") == ""
    assert "while `pay`" in former_run_note("cell_1")
    assert former_run_note("cell_1") == ""


def test_a_turn_that_nobody_is_asked_about_runs_to_its_end() -> None:
    chat = Chat(wire=ScriptedWire(payment_replies()), tools=[pay])
    turn, rerun = composed(chat, "cell_1", "auto")

    rerun.request()
    wait_for_turn(turn)

    assert (turn.status, rerun.has_stopped) == ("completed", False)


def test_a_call_that_runs_beside_a_question_is_not_stopped() -> None:
    started, release = threading.Event(), threading.Event()

    @tool(run="auto")
    async def measure() -> str:
        "Measure something."
        started.set()
        await asyncio.to_thread(release.wait, SECONDS)
        return "measured"

    chat = Chat(wire=ScriptedWire([[call("measure"), call("pay", amount=1)], "Done."]), tools=[pay, measure])
    turn, rerun = composed(chat, "cell_1")

    def run_again() -> None:
        started.wait(SECONDS)
        rerun.request()
        release.set()

    threading.Thread(target=run_again).start()
    wait_for_turn(turn)

    assert [(one.name, one.status) for one in turn.calls] == [("measure", "ok"), ("pay", "cancelled")]
    assert rerun.has_stopped
