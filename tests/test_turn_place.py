"""Where a turn is on the pages of its notebook, by what they report."""

from __future__ import annotations

import asyncio
import threading
from itertools import product

import pytest

from nbtool.turn_place import REPORTS, TRANSITIONS, PlaceState, Report, TurnPlace

AFTER: dict[tuple[Report, ...], PlaceState] = {
    (): "not_drawn",
    ("present",): "present",
    ("hello",): "seen",
    ("gone",): "gone",
    ("present", "hello"): "seen",
    ("hello", "present"): "seen",
    ("present", "gone"): "gone",
    ("hello", "gone"): "gone",
    ("gone", "present"): "gone",
    ("gone", "hello"): "seen",
    ("present", "present"): "present",
    ("hello", "hello"): "seen",
    ("gone", "gone"): "gone",
}


def test_the_table_has_each_pair_of_reports() -> None:
    assert {pair for pair in AFTER if len(pair) == 2} == set(product(REPORTS, repeat=2))
    assert TRANSITIONS.keys() == REPORTS


@pytest.mark.parametrize("reports", AFTER, ids=" ".join)
def test_the_reports_of_one_page_lead_to_its_state(reports: tuple[Report, ...]) -> None:
    place = TurnPlace()

    for report in reports:
        place.report("page", report)

    assert place.state == AFTER[reports]
    assert place.was_gone is ("gone" in reports)


def test_what_one_page_shows_is_seen_whatever_another_one_reports() -> None:
    place = TurnPlace()
    place.report("one", "hello")
    place.report("other", "gone")

    assert place.state == "seen"
    place.report("one", "gone")
    assert place.state == "gone"
    place.report("third", "present")
    assert place.state == "present"


def test_a_loop_waits_for_a_report_of_another_thread() -> None:
    place = TurnPlace()

    async def wait() -> bool:
        asyncio.get_running_loop().call_soon(threading.Thread(target=place.report, args=("page", "hello")).start)
        return await place.wait_for({"seen"}, 240)

    assert asyncio.run(wait())
    assert place._listeners == []


def test_waiting_ends_in_vain_after_its_seconds_and_at_once_where_nothing_has_to_happen() -> None:
    place = TurnPlace()

    assert not asyncio.run(place.wait_for({"seen"}, 0.01))
    assert asyncio.run(place.wait_for({"not_drawn"}, None))
