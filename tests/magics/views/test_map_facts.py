from __future__ import annotations

from typing import Any

import pytest

from nbtool.blocks.labels import COST_UNKNOWN
from nbtool.magics.views.map_facts import describe_map
from nbtool.map_progress import MapProgress
from nbtool.messages import Usage


def facts(usage: Usage | None = None, **progress: Any) -> dict[str, str]:
    shown = describe_map(MapProgress(usage or Usage(), **progress))
    return {fact["kind"]: fact["text"] for fact in shown["facts"]}


def test_a_running_map_says_what_is_known() -> None:
    shown = facts(
        Usage(1_000, 200, cost=0.5, is_cost_estimated=True),
        total=1_000, answered=90, failed=2, answered_before=8, per_minute=120.4, wait_seconds=12.0,
    )  # fmt: skip

    assert shown == {
        "wait": "waiting 12 s for the provider",
        "rate": "120 prompts a minute",
        "left": "about 8 min left",
        "failed": "✕ 2 failed",
        "before": "8 answered before",
        "tokens": "1,200 tokens",
        "cost": "about $0.5000",
    }


def test_a_map_that_has_ended_says_how_long_it_took_and_no_rate() -> None:
    shown = facts(total=10, answered=4, unsent=6, per_minute=10.0, seconds=75.0, state="stopped")

    assert shown == {"unsent": "⊘ 6 not answered", "seconds": "1 min 15 s"}


def test_calls_that_nobody_could_be_asked_about_are_counted_and_have_their_fix_at_the_end() -> None:
    running, ended = facts(answered=4, undecided=3), facts(answered=4, undecided=3, state="completed")

    assert running["undecided"] == "3 with calls denied or withheld"
    assert ended["undecided"].startswith(
        "3 with calls denied or withheld: nobody could be asked (pass a function that asks you as `approver=`"
    )


def test_failures_have_their_first_rows() -> None:
    shown = describe_map(MapProgress(Usage(), failed=5, failures=(("Bad.", 5),), failure_rows=(("3", "17", "40"),)))

    assert shown["failures"] == [{"text": "Bad. (rows 3, 17, 40 and 2 more)", "count": 5}]


def test_answers_that_were_cut_short_and_an_overspent_budget_are_facts() -> None:
    shown = facts(Usage(10, 2), answered=4, cut=(("rounds", 2),), max_tokens=10, state="completed")

    assert shown["cut"].startswith("2 cut short by `max_rounds`")
    assert shown["overspend"] == "over the budget: 12 of 10 tokens"


def test_an_unknown_cost_is_written_as_in_the_footer_of_a_turn() -> None:
    assert facts(Usage(10, 2, is_cost_unknown=True))["cost"] == COST_UNKNOWN


@pytest.mark.parametrize(
    ("total", "done", "label"),
    [(None, 1, "1 prompt"), (None, 1_200, "1,200 prompts"), (1_200, 3, "3 of 1,200 prompts")],
)
def test_the_label_counts_what_is_done(total: int | None, done: int, label: str) -> None:
    shown = describe_map(MapProgress(Usage(), total, done))

    assert (shown["label"], shown["done"], shown["total"]) == (label, done, total)


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (3, "about 5 s left"),
        (52, "about 55 s left"),
        (58, "about 1 min left"),
        (200, "about 4 min left"),
        (3_000, "about 50 min left"),
        (7_300, "about 2 h 2 min left"),
        (7_200, "about 2 h left"),
        (100_000, "about 27 h left"),
    ],
)
def test_the_time_left_is_as_exact_as_it_can_be_known(left: int, text: str) -> None:
    assert facts(total=left, per_minute=60.0)["left"] == text


@pytest.mark.parametrize("progress", [{"total": None}, {"total": 5, "answered": 5}])
def test_without_a_total_or_at_the_end_no_time_is_left(progress: dict[str, Any]) -> None:
    assert "left" not in facts(per_minute=60.0, **progress)


def test_a_slow_rate_has_a_decimal() -> None:
    assert facts(per_minute=2.54)["rate"] == "2.5 prompts a minute"


def test_failures_are_passed_on_with_their_numbers() -> None:
    shown = describe_map(MapProgress(Usage(), 5, failures=(("Bad.", 3),), other_failures=2))

    assert shown["failures"] == [{"text": "Bad.", "count": 3}]
    assert shown["other_failures"] == 2


@pytest.mark.parametrize(
    ("progress", "fix"),
    [
        ({"total": 60, "answered": 6, "unsent": 54}, "54 prompts were not sent, or not finished: map again to go on."),
        ({"total": 2, "answered": 1, "unsent": 1}, "1 prompt was not sent, or not finished: map again to go on."),
        ({"unsent": 3}, "3 prompts were read and not sent, or not finished: map again to go on."),
        ({"continue_fix": "a later map begins again"}, "A later map begins again."),
    ],
)
def test_a_stopped_map_says_what_was_not_sent_and_how_to_go_on(progress: dict[str, Any], fix: str) -> None:
    assert describe_map(MapProgress(Usage(), state="stopped", **progress))["fix"] == fix
    assert describe_map(MapProgress(Usage(), state="completed", **progress))["fix"] == ""
