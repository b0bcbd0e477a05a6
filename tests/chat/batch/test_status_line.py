from __future__ import annotations

from typing import Any

import pytest

from nbtool.chat.batch.status_line import (
    APPROVER_FIX,
    UNASKED_FIX,
    contents_line,
    line_html,
    overspend_text,
    status_line,
)
from nbtool.map_progress import MapProgress
from nbtool.messages import Usage

FAILED: dict[str, Any] = {
    "total": 3, "answered": 1, "failed": 2, "failures": (("The tool broke.", 2),), "state": "completed",
}  # fmt: skip


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (
            {"total": 200, "answered": 142, "unsent": 58, "state": "stopped"},
            "142 of 200 prompts, stopped, 58 not answered",
        ),
        (
            {"total": 9, "answered": 2, "unsent": 7, "unknown": 2, "state": "stopped"},
            "2 of 9 prompts, stopped, 7 not answered (2 with a call of unknown outcome)",
        ),
        ({"total": 3, "answered": 1, "failed": 2, "state": "completed"}, "3 of 3 prompts, 2 failed"),
        (FAILED | {"state": "running"}, "3 of 3 prompts, 2 failed"),
        (FAILED, "3 of 3 prompts, 2 failed (The tool broke)"),
        (
            FAILED | {"failed": 1_005, "failures": (("The tool broke.", 2), ("Bad.", 3)), "other_failures": 1_000},
            "1,006 of 3 prompts, 1,005 failed (2: The tool broke; 1,003 with other messages)",
        ),
        (FAILED | {"failure_rows": (("3", "17"),)}, "3 of 3 prompts, 2 failed (rows 3 and 17: The tool broke)"),
        (
            FAILED
            | {"failed": 10, "failures": (("Bad.", 9),), "failure_rows": (("3", "17", "40"),), "other_failures": 1},
            "11 of 3 prompts, 10 failed (rows 3, 17, 40 and 6 more: Bad; 1 with other messages)",
        ),
        (
            FAILED | {"failed": 1, "failures": (("Bad.", 1),), "failure_rows": (("3",),)},
            "2 of 3 prompts, 1 failed (row 3: Bad)",
        ),
        ({"answered": 1, "answered_before": 1_200}, "1,201 prompts, 1,200 answered before"),
        ({"total": 4, "answered": 4, "wait_seconds": 12.0}, "4 of 4 prompts, waiting 12 s for the provider"),
        ({"total": 4, "answered": 4, "wait_seconds": 12.0, "state": "completed"}, "4 of 4 prompts"),
        ({"total": 4, "answered": 4, "undecided": 1}, "4 of 4 prompts, 1 with calls denied or withheld"),
        (
            {"total": 4, "answered": 4, "undecided": 1, "state": "completed"},
            f"4 of 4 prompts, 1 with calls denied or withheld: nobody could be asked ({UNASKED_FIX})",
        ),
        (
            {
                "total": 4,
                "answered": 4,
                "undecided": 1,
                "approver_error": "The approver failed: E",
                "state": "completed",
            },
            f"4 of 4 prompts, 1 with calls denied or withheld; The approver failed: E ({APPROVER_FIX})",
        ),
        (
            {"total": 4, "answered": 4, "cut": (("rounds", 3), ("length", 1)), "state": "completed"},
            "4 of 4 prompts, 4 cut short (3 by `max_rounds`, 1 at the length limit of a reply): "
            "map again with a larger one to go on",
        ),
        ({"total": 4, "answered": 4, "cut": (("rounds", 3),)}, "4 of 4 prompts, 3 cut short by `max_rounds`"),
    ],
)
def test_the_line_says_what_became_of_the_prompts(progress: dict[str, Any], line: str) -> None:
    assert status_line(MapProgress(Usage(), **progress)) == line


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        ({"max_usd": 0.001}, "over the budget: $0.0011 of $0.001"),
        ({"max_usd": 0.001, "max_tokens": 1}, "over the budget: 2 of 1 token and $0.0011 of $0.001"),
        ({"max_usd": 0.0011, "max_tokens": 2}, ""),
        ({"max_usd": 0.001, "state": "running"}, ""),
    ],
)
def test_the_end_says_what_went_over_the_budget(budget: dict[str, Any], text: str) -> None:
    usage = Usage(1, 1, cost=0.0011)

    assert overspend_text(MapProgress(usage, 1, 1, **{"state": "completed", **budget})) == text


def test_the_line_has_the_tokens() -> None:
    assert status_line(MapProgress(Usage(1_000, 200), 1, 1)) == "1 of 1 prompt, 1,200 tokens"


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(1_000, 200, cost=0.0123), ", $0.0123"),
        (Usage(1_000, 200, cost=0.0123, is_cost_estimated=True), ", about $0.0123"),
        (Usage(1_000, 200, is_cost_unknown=True), ""),
    ],
)
def test_the_line_has_the_dollars_where_they_are_known(usage: Usage, cost: str) -> None:
    assert status_line(MapProgress(usage, 1, 1)) == f"1 of 1 prompt, 1,200 tokens{cost}"


@pytest.mark.parametrize(
    ("failed", "line"),
    [(0, "60 prompts: `.values`, `.answers`"), (2, "60 prompts: `.values`, `.answers`, 2 in `.errors`")],
)
def test_what_a_batch_contains_is_named_with_the_number_of_failures(failed: int, line: str) -> None:
    assert contents_line(60, failed) == line


def test_code_in_a_line_is_code_in_html_and_nothing_else_is_markup() -> None:
    assert line_html("`.values` of <b>") == "<div><code>.values</code> of &lt;b&gt;</div>"
