"""The normal lane has a sample of each long table, and the others are not lost."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lanes import MOST_CASES, find_rest

ROOT = Path(__file__).parents[1]
LONG = "tests/test_lanes.py::test_a_long_table"


@dataclass(frozen=True)
class Named:
    nodeid: str
    marks: tuple[str, ...] = ()

    def get_closest_marker(self, name: str) -> object | None:
        return name if name in self.marks else None


def table(test: str, cases: int, *marks: str) -> list[Named]:
    return [Named(f"tests/test_a.py::{test}[{case}]", marks) for case in range(cases)]


@pytest.mark.parametrize("case", range(MOST_CASES + 30))
def test_a_long_table(case: int) -> None:
    assert case < MOST_CASES + 30


def test_of_a_long_table_a_sample_stays_and_of_a_short_one_every_case() -> None:
    assert len(find_rest([*table("test_long", 100), *table("test_short", MOST_CASES)])) == 100 - MOST_CASES


@pytest.mark.parametrize("mark", ["every_case", "nightly", "weekly"])
def test_a_test_of_one_lane_is_not_sampled(mark: str) -> None:
    assert find_rest(table("test_long", 100, mark)) == []


def test_a_new_case_takes_the_place_of_one_other_at_most() -> None:
    known, grown = table("test_long", 100), table("test_long", 101)

    kept = set(known) - set(find_rest(known))
    assert len(kept - (set(grown) - set(find_rest(grown)))) <= 1


@pytest.mark.parametrize(
    ("expression", "count"),
    [("not nightly and not weekly", MOST_CASES), ("rest and nightly", 30), ("not weekly", MOST_CASES + 30)],
)
def test_the_lanes_have_each_case_once(expression: str, count: int) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", expression, LONG]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert listed.count(f"{LONG}[") == count
