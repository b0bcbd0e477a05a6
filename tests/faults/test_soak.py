from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST = 32_000
"""KB that a process may grow by between its 500th and its last turn."""


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("turns", [2_000, pytest.param(10_000, marks=pytest.mark.weekly)])
def test_many_turns_leave_no_memory_thread_or_file_behind(
    turns: int, record_property: Callable[[str, object], None]
) -> None:
    command = [sys.executable, "-m", "benchmarks.memory", str(turns)]
    record_property("injected", turns)

    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)

    assert found["kb"] <= MOST
    assert found["threads"] <= 0
    assert found["files"] <= 0
