"""What a view says of a parked turn where there is no page."""

from __future__ import annotations

import pytest

from nbtool.magics.views.static import Lines, Quiet
from nbtool.tools.approval import Approved
from tests.magics.parking import Desk, ended


def test_that_a_turn_waits_is_said_even_where_nothing_else_is(capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk()
    turn = desk.park()

    Quiet().park(turn)

    said = capsys.readouterr().out
    assert f"%chat approve {desk.waiting[:12]}`" in said
    assert f"%chat deny {desk.waiting[:12]} REASON" in said
    turn.stop()


def test_what_comes_after_the_cell_is_not_said_aloud_at_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk()
    turn = desk.chat.compose("Pay.")
    view = Lines()
    turn.listen(view.feed)
    desk.wait(turn)
    view.park(turn)
    before = capsys.readouterr().out

    desk.chat.desk.decide(desk.waiting, Approved())
    ended(turn)
    view.show_media(())

    assert "pay wants to run" in before
    assert capsys.readouterr().out == ""
