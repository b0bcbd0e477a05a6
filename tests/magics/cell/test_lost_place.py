"""A question whose place in the page goes away, or was never drawn: it is shown again, or its turn is parked."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread
from typing import Any

import pytest

from nbtool.chat.turn import Turn
from nbtool.events import CallAsked, Event, TurnEnded
from nbtool.magics.cell.approver import SCROLL_TO_CELL, PlaceSeconds
from nbtool.tools.approval import Approved
from nbtool.turn_place import TurnPlace
from tests.magics.parking import ParkingChat, wait_end, when_asked

LONG = 20.0
AT_ONCE = PlaceSeconds(removed=0.01, again=0.01, unseen=0.01, notice=0.01)
"""No page gets time to draw anything: what a test reports is all that comes."""


def place_of(*reports: Any) -> TurnPlace:
    place = TurnPlace()
    for report in reports:
        place.report("page", report)
    return place


def is_parked(chat: ParkingChat, turn: Turn) -> bool:
    """Whether a turn waits after its cell; then it is approved, and ends."""
    was_parked = turn.status == "parked"
    chat.chat.approvals.decide(chat.waiting, Approved())
    assert wait_end(turn).text == "Done."
    return was_parked


@pytest.mark.promise("seen-question")
def test_a_question_whose_output_was_cleared_is_shown_again_and_answered_there() -> None:
    seconds = replace(AT_ONCE, again=LONG)
    chat, place, shown = ParkingChat(), place_of("hello", "gone"), list[str]()

    def show_again() -> None:
        shown.append("again")
        place.report("page", "hello")
        chat.chat.approvals.decide(chat.waiting, Approved())

    turn = chat.park(mode="ask", place=place, show_again=show_again, place_seconds=seconds)

    assert shown == ["again"]
    assert (turn.status, turn.text) == ("completed", "Done.")


@pytest.mark.promise("seen-question")
def test_a_question_that_cannot_be_shown_any_more_parks_its_turn() -> None:
    chat = ParkingChat()

    turn = chat.park(mode="ask", place=place_of("hello", "gone"), place_seconds=AT_ONCE)

    assert is_parked(chat, turn)


@pytest.mark.promise("seen-question")
def test_a_view_that_is_rendered_again_at_once_is_not_shown_twice() -> None:
    seconds = replace(AT_ONCE, removed=LONG)
    chat, place, shown = ParkingChat(), place_of("hello", "gone"), list[str]()
    turn = chat.chat.compose("Pay.")
    asked = when_asked(turn, 1)
    turn.add_listener(lambda _: asked.is_set() and place.report("page", "hello"))
    turn.add_listener(lambda _: chat.chat.approvals.pending() and chat.chat.approvals.decide(chat.waiting, Approved()))

    chat.wait(turn, mode="ask", place=place, show_again=lambda: shown.append("again"), place_seconds=seconds)

    assert (turn.status, shown) == ("completed", [])


@pytest.mark.promise("seen-question")
def test_a_page_that_has_not_shown_the_question_gets_no_line_of_input_and_its_turn_is_parked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(prompt: str) -> str:
        raise AssertionError(prompt)

    monkeypatch.setattr("builtins.input", refuse)
    chat = ParkingChat()

    turn = chat.park(mode="ask", place=place_of("present"), can_input=True, place_seconds=AT_ONCE)

    assert is_parked(chat, turn)


@pytest.mark.promise("seen-question")
def test_a_page_that_has_not_shown_the_question_says_scroll_to_the_cell_until_it_is_seen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seconds = replace(AT_ONCE, unseen=LONG)
    chat, place = ParkingChat(), place_of("present")
    turn = chat.chat.compose("Pay.")

    def look_and_answer(_: Event) -> None:
        if asked.is_set() and place.state == "present":
            Thread(target=scroll, daemon=True).start()

    def scroll() -> None:
        while SCROLL_TO_CELL not in "".join(printed):
            printed.append(capsys.readouterr().out)
        place.report("page", "hello")
        chat.chat.approvals.decide(chat.waiting, Approved())

    printed, asked = list[str](), when_asked(turn, 1)
    turn.add_listener(look_and_answer)
    chat.wait(turn, mode="ask", place=place, place_seconds=seconds)

    assert turn.status == "completed"
    assert capsys.readouterr().out.strip() == "{'text/plain': ''}"  # the line goes


@pytest.mark.promise("seen-question")
def test_what_nobody_saw_in_time_is_parked_and_what_somebody_saw_is_denied() -> None:
    unseen, seen = ParkingChat(), ParkingChat()
    seconds = replace(AT_ONCE, unseen=LONG)

    parked = unseen.park(mode="ask", place=place_of("present"), place_seconds=seconds, timeout=0.5)
    was_parked = parked.status == "parked"
    denied = seen.park(mode="ask", place=place_of("hello"), place_seconds=seconds, timeout=0.2)

    assert was_parked
    assert wait_end(parked).calls[0].status == "denied"  # nobody answered the parked one either
    assert (denied.status, denied.calls[0].status) == ("completed", "denied")


@pytest.mark.promise("seen-question")
def test_waiting_for_somebody_to_see_the_question_is_nobodys_time() -> None:
    seconds = replace(AT_ONCE, unseen=0.4)
    chat = ParkingChat()

    turn = chat.park(mode="ask", place=place_of("present"), place_seconds=seconds)
    assert is_parked(chat, turn)

    (end,) = (event for event in turn.log if isinstance(event, TurnEnded))
    (asked,) = (event for event in turn.log if isinstance(event, CallAsked))
    assert asked.digest
    assert end.waited < 0.3
    assert end.seconds < 0.4
