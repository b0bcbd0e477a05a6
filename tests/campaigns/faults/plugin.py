"""Counts what the tests of a campaign injected and survived; loaded by `python -m tests.campaigns.faults`.

A test says how many faults it injects with pytest's own `record_property`: under the id of a row, or under `injected`
for every row it belongs to. One of hypothesis injects its examples. One that says nothing is one fault.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns import bounds
from tests.campaigns.faults.rows import ROWS

OUT = "NBTOOL_FAULTS_OUT"
"""The environment variable that names the file for the figures."""

CHOSEN = "NBTOOL_FAULTS_ROWS"
"""The environment variable that names the rows, all of them where it is empty."""

LANES_OF_PROCESS = "nbtool_lanes"
"""The key under which a process of pytest-xdist returns the lanes of its tests."""

EXAMPLES = re.compile(r"- (\d+) passing,")
"""What hypothesis says of a phase of a test."""

_counts: dict[str, dict[str, float]] = defaultdict(
    lambda: {"tests": 0, "injected": 0, "survived": 0, "violations": 0, "skipped": 0, "seconds": 0.0}
)
_lanes: dict[str, dict[str, int]] = {}
"""How many tests each row has, by lane."""

_chosen = [row_id for row_id in os.environ.get(CHOSEN, "").split(",") if row_id]
_out = Path(os.environ[OUT]) if OUT in os.environ else None

__all__ = ["CHOSEN", "OUT", "bounds"]  # the bounds are read now: a test's own environment has none of our variables


@pytest.hookimpl(tryfirst=True)  # before what belongs to other lanes is left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of these files that belong to no row that was chosen; count those of each lane."""
    rows = [row for row in ROWS if not _chosen or row.row_id in _chosen]
    wanted = {item: None for item in items if any(row.holds(item.nodeid) for row in rows)}
    config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
    items[:] = list(wanted)
    for row in rows:
        _lanes[row.row_id] = dict(Counter(_lane(item) for item in items if row.holds(item.nodeid)))
        _lanes[row.row_id].pop("shots", None)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take note of a test that ran; one that could not be set up is a violation, too."""
    rows = [row for row in ROWS if row.holds(report.nodeid)]
    for row in rows:
        _counts[row.row_id]["seconds"] += report.duration
    if report.when != "call" and report.passed:
        return
    for row in rows:
        count = _counts[row.row_id]
        if report.skipped:
            count["skipped"] += 1
            continue
        injected = _injected(report, row.row_id)
        count["tests"] += 1
        count["injected"] += injected
        count["survived"] += injected if report.passed else 0
        count["violations"] += 0 if report.passed else 1


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over how many tests each lane has: only the processes collect them."""
    _lanes.update(getattr(node, "workeroutput", {}).get(LANES_OF_PROCESS, {}))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the figures; of several processes, only the one that receives the reports of all."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output[LANES_OF_PROCESS] = _lanes
    elif _out:
        _out.parent.mkdir(parents=True, exist_ok=True)
        found = {row_id: {**_counts[row_id], "lanes": lanes} for row_id, lanes in _lanes.items()}
        _out.write_text(json.dumps(found, indent=1), encoding="utf-8")


def _lane(item: pytest.Item) -> str:
    return next((name for name in ("shots", "weekly", "nightly") if item.get_closest_marker(name)), "quick")


def _injected(report: pytest.TestReport, row_id: str) -> int:
    said = dict(report.user_properties)
    examples = sum(map(int, EXAMPLES.findall(getattr(report, "_hypothesis_stats", ""))))
    return int(str(said.get(row_id, said.get("injected", examples or 1))))
