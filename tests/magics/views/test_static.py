"""What a view says of a parked turn where there is no page."""

from __future__ import annotations

import pytest

from nbtool.magics.views.static import NullView, TerminalView
from nbtool.tools.approval import Approved
from tests.magics.parking import ParkingChat, wait_end


def test_that_a_turn_waits_is_announced_even_where_nothing_else_is(capsys: pytest.CaptureFixture[str]) -> None:
    parking = ParkingChat()
    turn = parking.park()

    NullView().on_parked(turn)

    said = capsys.readouterr().out
    assert f"%chat approve {parking.waiting[:12]}`" in said
    assert f"%chat deny {parking.waiting[:12]} REASON" in said
    turn.abort()


def test_what_comes_after_the_cell_is_not_announced_at_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    parking = ParkingChat()
    turn = parking.chat.compose("Pay.")
    view = TerminalView()
    turn.add_listener(view.feed)
    parking.wait(turn)
    view.on_parked(turn)
    before = capsys.readouterr().out

    parking.chat.approvals.decide(parking.waiting, Approved())
    wait_end(turn)
    view.show_media(())

    assert "pay wants to run" in before
    assert capsys.readouterr().out == ""
