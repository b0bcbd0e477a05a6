"""Tells coverage which test is running, and keeps how long each took; loaded by `python -m tests.campaigns.mutants`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage

OUT = "NBTOOL_MUTANTS_TIMES"
"""The environment variable that names the file for the seconds of each test that passed."""

_seconds: dict[str, float] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Put what is reached under the name of the test, until the next one begins."""
    measured = Coverage.current()
    if measured:
        measured.switch_context(item.nodeid)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up setting up, running and tearing down; one that fails at any of them is left out for good."""
    if report.passed:
        _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    else:
        _seconds[report.nodeid] = float("inf")


def pytest_sessionfinish() -> None:
    """Write the seconds of the tests that passed."""
    passed = {name: seconds for name, seconds in _seconds.items() if seconds != float("inf")}
    Path(os.environ[OUT]).write_text(json.dumps(passed), encoding="utf-8")
