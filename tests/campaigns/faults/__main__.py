"""Run a lane of the fault campaign, print its table, and fail on a violation.

    python -m tests.campaigns.faults [quick|nightly|weekly] [--rows C1,C5] [--minutes M] [--seed N] [--write]

`quick` is what comes with every run of the tests; `nightly` is what takes minutes beside it, `weekly` what takes hours;
`--minutes` bounds each test of the weekly lane, and the figures say how far it came. A row is a process of its own, and
its figures are kept in build/faults as soon as it is done; `--write` adds them to figures.json, which is committed, and
writes the table of docs/reliability.md from it: the latest run of each lane, with date and versions. The seed is that
of hypothesis, and chooses the ways of hostile growth of a night; other tests with a random choice of their own say
theirs in their source.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.campaigns.bounds import MINUTES, SEED
from tests.campaigns.faults.figures import LATEST_RUNS, format_table, read_figures, versions, write_figures
from tests.campaigns.faults.plugin import CHOSEN, OUT
from tests.campaigns.faults.rows import ROWS, Row

ROOT = Path(__file__).parents[3]
LANES = {
    "quick": "not nightly and not weekly and not shots",
    "nightly": "nightly and not weekly",
    "weekly": "weekly",
}
"""pytest's selection of each lane; the lanes are disjoint."""

NOTHING = 5
"""pytest's exit code when a lane has no test of a row."""


def run(lane: str, rows: list[Row], seed: int, minutes: str, processes: int = 1) -> bool:
    """Run the tests of rows by themselves and store their figures; return whether all passed."""
    files = list(dict.fromkeys(file for row in rows for file in _existing(row.files)))
    ids = [row.row_id for row in rows]
    found_in = LATEST_RUNS / f"run-{lane}-{'-'.join(ids)}.json"
    found_in.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.campaigns.faults.plugin", "-p", "no:randomly"]
    command += ["-m", LANES[lane], f"--hypothesis-seed={seed}", *files]
    command += ["--numprocesses", str(processes)] if processes > 1 else []
    environment = {**os.environ, OUT: str(found_in), CHOSEN: ",".join(ids), MINUTES: minutes, SEED: str(seed)}
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    found: dict[str, dict[str, Any]] = json.loads(found_in.read_text(encoding="utf-8")) if found_in.is_file() else {}
    found_in.unlink(missing_ok=True)
    for row_id in ids:
        if row_id in found:
            actual = {**found[row_id], "lane": lane, "seed": seed, "when": _today(), "with": versions()}
            (LATEST_RUNS / f"{row_id}-{lane}.json").write_text(json.dumps(actual), encoding="utf-8")
    return status in (0, NOTHING)


def groups(chosen: list[str]) -> list[list[Row]]:
    """Return the rows with tests, grouped by shared tests, so that no test runs twice."""
    made: list[list[Row]] = []
    for row in ROWS:
        if row.tests and (not chosen or row.row_id in chosen):
            same = next((group for group in made if any(set(row.tests) & set(one.tests) for one in group)), None)
            same.append(row) if same else made.append([row])
    return made


def _existing(files: list[str]) -> list[str]:
    """Return the files that match patterns; some may not exist yet."""
    found = [file for file in ROOT.glob("tests/**/test_*.py") if "node_modules" not in file.parts]
    names = [str(file.relative_to(ROOT)) for file in found]
    return [name for name in names for pattern in files if re.fullmatch(pattern, name)]


def _today() -> str:
    return dt.datetime.now(dt.UTC).date().isoformat()


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.faults", description=__doc__.partition("\n")[0])
    parser.add_argument("lane", nargs="?", choices=LANES, default="quick")
    parser.add_argument("--rows", default="", help="some of C1 to C28; all of them without it")
    parser.add_argument("--minutes", default="", help="time limit of each test of the weekly lane")
    parser.add_argument("--seed", type=int, default=int(dt.datetime.now(dt.UTC).strftime("%Y%m%d")))
    parser.add_argument("--processes", type=int, default=1, help="processes at a time; 1 for rows that measure time")
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    asked = parser.parse_args()
    LATEST_RUNS.mkdir(parents=True, exist_ok=True)
    failed, began = [], time.monotonic()
    for rows in groups([row for row in asked.rows.split(",") if row]):
        if not run(asked.lane, rows, asked.seed, asked.minutes, asked.processes):
            failed += [row.row_id for row in rows]
    figures = read_figures()
    print(format_table(figures))  # noqa: T201 - this is a program
    print(f"{asked.lane}: {time.monotonic() - began:.0f} s; failed: {' '.join(failed) or 'none'}")  # noqa: T201 - the same
    if asked.write:
        write_figures(figures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
