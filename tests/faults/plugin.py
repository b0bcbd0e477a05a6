"""Counts what the tests of a campaign injected and survived; loaded by `python -m tests.faults`.

A test says how many faults it injects with pytest's own `record_property`: under the id of a row, or under `injected`
for every row it belongs to. One that says nothing is one fault.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

from tests.faults.rows import ROWS

OUT = "NBTOOL_FAULTS_OUT"
"""The environment variable that names the file for the figures."""

CHOSEN = "NBTOOL_FAULTS_ROWS"
"""The environment variable that names the rows, all of them where it is empty."""

_counts: dict[str, dict[str, int]] = defaultdict(lambda: {"tests": 0, "injected": 0, "survived": 0, "violations": 0})
_skipped: dict[str, int] = defaultdict(int)
_chosen = [row_id for row_id in os.environ.get(CHOSEN, "").split(",") if row_id]
_out = Path(os.environ[OUT]) if OUT in os.environ else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of these files that belong to no row that was chosen."""
    rows = [row for row in ROWS if not _chosen or row.row_id in _chosen]
    wanted = {item: None for item in items if any(row.holds(item.nodeid) for row in rows)}
    config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
    items[:] = list(wanted)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take note of a test that ran; one that could not be set up is a violation, too."""
    if report.when != "call" and report.passed:
        return
    said = dict(report.user_properties)
    for row in ROWS:
        if not row.holds(report.nodeid):
            continue
        if report.skipped:
            _skipped[row.row_id] += 1
            continue
        injected = int(str(said.get(row.row_id, said.get("injected", 1))))
        count = _counts[row.row_id]
        count["tests"] += 1
        count["injected"] += injected
        count["survived"] += injected if report.passed else 0
        count["violations"] += 0 if report.passed else 1


def pytest_sessionfinish() -> None:
    """Write the figures."""
    if _out:
        rows = {row_id: {**count, "skipped": _skipped[row_id]} for row_id, count in _counts.items()}
        _out.parent.mkdir(parents=True, exist_ok=True)
        _out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
