"""What pages report in each way in which an output goes, and what the cell does with a question then."""

from __future__ import annotations

from itertools import product
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.magics.cell.approver import PlaceSeconds
from nbtool.tools.approval import Approved
from nbtool.turn_place import REPORTS, PlaceState, Report, TurnPlace
from tests.magics.parking import ParkingChat, wait_end, when_asked
from tests.places.ways import (
    CALM_COMMANDS,
    EFFECTS,
    FRONTS,
    OUTCOMES,
    PHASES,
    WAYS,
    Effect,
    Front,
    Outcome,
    Phase,
    Way,
    rows,
)

LONG, SHORT = 20.0, 0.01
STATES: dict[Effect, PlaceState] = {
    "stays": "seen",
    "drawn again": "seen",
    "cleared": "gone",
    "collapsed": "seen",
    "not drawn": "present",
    "removed": "gone",
    "page left": "seen",
    "kernel ended": "seen",
}
"""What the kernel knows of the place after what a page reports in the ways of an effect."""


def report(way: Way, place: TurnPlace) -> None:
    """Report what a page does when the way is gone."""
    for one in way.reports or ():
        place.report("page", one)


def place_of(way: Way) -> TurnPlace:
    """Give the place of a turn that a page has drawn, or has and has not drawn."""
    place = TurnPlace()
    place.report("page", "present")
    if way.reports is not None:
        place.report("page", "hello")
    return place


@pytest.mark.promise("seen-question")
def test_every_way_has_a_row_in_each_phase_and_front_end() -> None:
    assert OUTCOMES.keys() == set(EFFECTS) == STATES.keys() == {way.effect for way in WAYS}
    assert all(OUTCOMES[effect].keys() == set(PHASES) for effect in EFFECTS)
    assert len({way.name for way in WAYS}) == len(WAYS)
    assert {(phase, front) for _, phase, front, _ in rows()} == set(product(PHASES, FRONTS))
    assert len(rows()) == sum(len(way.fronts) for way in WAYS) * len(PHASES)
    assert all(all((outcome.seen, outcome.can, outcome.file)) for *_, outcome in rows())


def test_a_command_takes_an_output_away_or_does_not() -> None:
    assert CALM_COMMANDS.isdisjoint(command for way in WAYS for command in way.commands)


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize(("way", "phase", "front", "outcome"), rows(), ids=lambda one: getattr(one, "name", None))
def test_what_the_page_reports_leads_to_what_the_kernel_knows(
    way: Way, phase: Phase, front: Front, outcome: Outcome
) -> None:
    place = place_of(way)

    report(way, place)

    assert place.state == STATES[way.effect]
    assert outcome is OUTCOMES[way.effect][phase]
    assert front in way.fronts


reports = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(sorted(REPORTS))), max_size=12)


@settings(max_examples=200)
@given(reported=reports)
def test_a_turn_is_where_the_best_of_its_pages_last_had_it(reported: list[tuple[str, Report]]) -> None:
    place = TurnPlace()

    for page, one in reported:
        place.report(page, one)

    shown = {page: one for page, one in reported if one != "present"}  # the last that each page says of its views
    has_it = {page for page, _ in reported} - shown.keys()
    best = "seen" if "hello" in shown.values() else "present" if has_it else "gone" if shown else "not_drawn"
    assert place.state == best
    assert place.was_gone is any(one == "gone" for _, one in reported)


@settings(max_examples=50)
@given(reported=reports, again=st.sampled_from(sorted(REPORTS)))
def test_a_report_that_comes_twice_changes_nothing(reported: list[tuple[str, Report]], again: Report) -> None:
    once, twice = TurnPlace(), TurnPlace()
    for page, one in reported:
        once.report(page, one)
        twice.report(page, one)
        twice.report(page, one)

    assert (once.state, once.was_gone) == (twice.state, twice.was_gone)
    once.report("a", again)
    twice.report("a", again)
    assert once.state == twice.state


QUESTIONS = [
    (way, outcome)
    for way, phase, front, outcome in rows()
    if phase == "question" and front == min(way.fronts) and outcome.machine != "nothing"
]


@pytest.mark.promise("seen-question")
@pytest.mark.parametrize(("way", "outcome"), QUESTIONS, ids=[way.name for way, _ in QUESTIONS])
def test_a_question_is_answered_where_it_is_seen_or_its_turn_is_parked(way: Way, outcome: Outcome) -> None:
    chat, place, shown = ParkingChat(), place_of(way), list[str]()
    turn = chat.chat.compose("Pay.")
    asked = when_asked(turn, 1)

    def act() -> None:
        asked.wait(LONG)
        report(way, place)
        if outcome.machine in ("answered", "waits"):
            answer()

    def show_again() -> None:
        shown.append("again")
        if way.effect == "cleared":  # the page draws it in the cell that is there
            place.report("page", "hello")
            answer()

    def answer() -> None:
        while not chat.chat.approvals.pending():
            asked.wait(SHORT)
        chat.chat.approvals.decide(chat.waiting, Approved())

    is_lost = way.effect == "removed"
    seconds = PlaceSeconds(
        removed=LONG if way.effect == "drawn again" else SHORT,
        again=SHORT if is_lost else LONG,
        unseen=SHORT,
        notice=SHORT,
    )
    Thread(target=act, daemon=True).start()
    chat.wait(turn, mode="ask", place=place, show_again=show_again, place_seconds=seconds)

    was_parked = turn.status == "parked"
    if was_parked:
        answer()
    assert wait_end(turn).text == "Done."
    assert (was_parked, bool(shown)) == (outcome.machine == "parked", outcome.machine == "shown again" or is_lost)
