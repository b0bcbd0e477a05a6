from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.campaigns.soak.soak import CALLS, soak

ROOT = Path(__file__).parents[3]
MOST = 32_000
"""KB that a process may grow by once everything is loaded."""

MOST_A_TURN = 4.0
"""KB that a turn may keep for ever, where there are so many that it can be told from noise."""

MANY = 5_000
"""Turns from which on it can."""

Tell = Callable[[str, object], None]


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_many_turns_in_a_script_leave_no_memory_thread_or_file_behind(record_property: Tell) -> None:
    command = [sys.executable, "-m", "benchmarks.memory", "2000"]
    record_property("injected", 2_000)

    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)

    assert found["kb"] <= MOST
    assert found["threads"] <= 0
    assert found["files"] <= 0


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_many_cells_in_one_kernel_leave_nothing_behind(record_property: Tell) -> None:
    check(turns=400, settled=100, tell=record_property)


@pytest.mark.weekly
@pytest.mark.timeout(4 * 3600)
def test_fifty_thousand_calls_in_one_kernel_leave_nothing_behind(record_property: Tell) -> None:
    check(turns=12_500, settled=500, tell=record_property)


def check(turns: int, settled: int, tell: Tell) -> None:
    found = soak(turns, settled)
    tell("injected", found.calls)

    assert found.calls == CALLS * (found.turns + settled)
    assert found.failures == found.calls // 10
    assert found.kb <= MOST, found
    assert found.turns < MANY or found.kb_a_turn <= MOST_A_TURN, found
    assert (found.threads, found.comms, found.tasks) == (0, 0, 0), found
    assert found.files <= 3, found  # a connection that is kept open comes and goes
    assert found.slower <= 1.5, found
