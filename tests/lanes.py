"""Which cases of a long table run in the normal lane: a sample, always the same, of each test with more than a few.

The others are marked `nightly` and `rest`: `make nightly` and `make lane LANE=coverage` run them, and so does pytest
where a case is named. A case is chosen by the digest of its id, so that a new one takes the place of one other at
most, and a table of several axes is not cut along one of them.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

MOST_CASES = 3
"""Cases of one test in the normal lane, unless it is marked `sampled` with a number."""

OTHER_LANES = ("nightly", "weekly")
"""Marks of tests whose cases all belong to another lane than the normal one."""


class Case(Protocol):
    """What is needed of `pytest.Item`."""

    @property
    def nodeid(self) -> str:
        """File, test and the id of the case in brackets."""

    def get_closest_marker(self, name: str) -> Any:
        """Return the mark of this name, if the case has it."""


_Case = TypeVar("_Case", bound=Case)


def find_rest(cases: Iterable[_Case], most: int = MOST_CASES) -> list[_Case]:
    """Return the cases beyond the sample of each test."""
    tables: dict[str, list[_Case]] = defaultdict(list)
    for case in cases:
        if _is_sampled(case):
            tables[case.nodeid.partition("[")[0]].append(case)
    return [case for table in tables.values() for case in sorted(table, key=_digest)[_number(table[0], most) :]]


def _is_sampled(case: Case) -> bool:
    """A test that names its number of cases is sampled, also in a folder of which every case runs otherwise."""
    if any(case.get_closest_marker(name) for name in OTHER_LANES):
        return False
    return bool(case.get_closest_marker("sampled") or not case.get_closest_marker("every_case"))


def _number(case: Case, most: int) -> int:
    mark = case.get_closest_marker("sampled")
    return int(mark.args[0]) if mark else most


def _digest(case: Case) -> str:
    return hashlib.sha256(case.nodeid.encode()).hexdigest()
