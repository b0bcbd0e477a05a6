from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.campaigns.faults.__main__ import _lanes
from tests.campaigns.faults.rows import ROWS, Row

ROOT = Path(__file__).parents[3]


def alternatives(pattern: str) -> list[str]:
    """Give the patterns of a pattern with a group in the names of files, one for each of the group."""
    file, colons, name = pattern.partition("::")
    group = re.search(r"\(([^()]*)\)", file)
    if not group:
        return [pattern]
    return [f"{file[: group.start()]}{one}{file[group.end() :]}{colons}{name}" for one in group[1].split("|")]


def test_the_rows_are_numbered_without_a_gap() -> None:
    assert [row.row_id for row in ROWS] == [f"C{number}" for number in range(1, 28)]


@pytest.mark.parametrize("row", [row for row in ROWS if row.tests], ids=lambda row: row.row_id)
def test_every_pattern_of_a_row_finds_a_test(row: Row) -> None:
    names = [
        f"{file.relative_to(ROOT).as_posix()}::{name}"
        for file in ROOT.glob("tests/**/test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.M)
    ]
    patterns = [part for pattern in row.tests for part in alternatives(pattern)]
    unused = [pattern for pattern in patterns if not any(re.match(pattern, name) for name in names)]

    assert unused == []


def test_a_row_says_which_lanes_were_run_to_their_end() -> None:
    quick = {"lane": "quick", "tests": 1, "skipped": 1, "lanes": {"quick": 2, "nightly": 22}}
    nightly = {"lane": "nightly", "tests": 18, "skipped": 0, "lanes": {"quick": 2, "nightly": 22}}

    assert _lanes([quick], {"quick", "nightly"}) == "quick (nightly not run yet)"
    assert _lanes([quick, nightly], {"quick", "nightly"}) == "quick, nightly (stopped after 18 of 22 tests)"
    assert _lanes([{**quick, "lanes": ["quick"]}], {"quick"}) == "quick"
