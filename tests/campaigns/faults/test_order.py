"""The tests that need no browser, in other orders: none may rest on what ran before it."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.campaigns.bounds import up_to
from tests.campaigns.faults.shuffled import SEED

ROOT = Path(__file__).parents[3]
PASSES = 10
"""How often each file runs, each time among others."""

TOGETHER = 30
"""Files in one process."""

APART = {"browser", "notebooks", "campaigns", "fuzzing", "servers", "packaging"}
"""Folders of tests that drive other processes and share nothing."""

COUNT = re.compile(r"(\d+) passed")

Tell = Callable[[str, object], None]


@pytest.mark.weekly
@pytest.mark.timeout(8 * 3600)
def test_the_suite_passes_in_any_order(record_property: Tell) -> None:
    runs = [(number, files) for number in range(PASSES) for files in groups(number)]
    passed, failed = 0, []
    for at in up_to(len(runs)):
        number, files = runs[at]
        said = run(files, seed=f"{number} {at}")
        passed += sum(map(int, COUNT.findall(said)))
        failed += [
            f"{line}  [{SEED}='{number} {at}']" for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))
        ]
    record_property("injected", passed + len(failed))

    assert failed == []


def groups(seed: int) -> list[list[str]]:
    """Return all files in a random order, some at a time."""
    found = sorted((ROOT / "tests").rglob("test_*.py"))
    names = [str(path.relative_to(ROOT)) for path in found if not APART & set(path.relative_to(ROOT).parts)]
    random.Random(seed).shuffle(names)
    return [names[at : at + TOGETHER] for at in range(0, len(names), TOGETHER)]


def run(files: list[str], seed: str) -> str:
    """Run files in an order of their own, and give the last of what pytest says."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.campaigns.faults.shuffled",
        "-p",
        "no:cacheprovider",
        *files,
    ]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, SEED: seed}, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout[-2_000:] + done.stderr[-2_000:]
    return done.stdout
