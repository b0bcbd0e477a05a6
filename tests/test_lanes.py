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
    marks: tuple[pytest.Mark, ...] = ()

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.marks if mark.name == name), None)


def table(test: str, cases: int, *marks: pytest.MarkDecorator) -> list[Named]:
    return [Named(f"tests/test_a.py::{test}[{case}]", tuple(mark.mark for mark in marks)) for case in range(cases)]


@pytest.mark.parametrize("case", range(MOST_CASES + 30))
def test_a_long_table(case: int) -> None:
    assert case < MOST_CASES + 30


def test_of_a_long_table_a_sample_stays_and_of_a_short_one_every_case() -> None:
    assert len(find_rest([*table("test_long", 100), *table("test_short", MOST_CASES)])) == 100 - MOST_CASES


@pytest.mark.parametrize("mark", [pytest.mark.every_case, pytest.mark.nightly, pytest.mark.weekly])
def test_a_test_of_one_lane_is_not_sampled(mark: pytest.MarkDecorator) -> None:
    assert find_rest(table("test_long", 100, mark)) == []


@pytest.mark.parametrize("number", [1, 20])
def test_a_test_may_name_the_number_of_its_cases(number: int) -> None:
    assert len(find_rest(table("test_long", 100, pytest.mark.sampled(number)))) == 100 - number


def test_a_test_that_names_a_number_is_sampled_in_a_folder_of_which_every_case_runs() -> None:
    assert len(find_rest(table("test_long", 100, pytest.mark.every_case, pytest.mark.sampled(1)))) == 99


def test_a_new_case_takes_the_place_of_one_other_at_most() -> None:
    known, grown = table("test_long", 100), table("test_long", 101)

    chosen = set(known) - set(find_rest(known))
    assert len(chosen - (set(grown) - set(find_rest(grown)))) <= 1


def test_the_normal_lane_leaves_the_others_to_the_nightly_one() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "rest and nightly", LONG]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert listed.count(f"{LONG}[") == 30
