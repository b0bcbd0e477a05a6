"""Run a lane of the fault campaign, print its table, and fail on a violation.

    python -m tests.faults [quick|nightly|weekly] [--rows C1,C5] [--seed N] [--write]

`quick` is what comes with every run of the tests; `nightly` adds what takes minutes, `weekly` what takes hours. Figures
of each lane are kept in build/faults; `--write` folds the latest of them into docs/reliability.md, with date and
versions. The seed is that of hypothesis; tests with a random choice of their own say theirs in their source.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import re
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nbtool import __version__
from tests.faults.plugin import CHOSEN, OUT
from tests.faults.rows import ROWS

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "build" / "faults"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- table: make faults -->", "<!-- end of table -->"
LANES = {"quick": "not nightly and not weekly", "nightly": "not weekly", "weekly": ""}


def run(lane: str, chosen: list[str], seed: int) -> int:
    """Run the tests of the rows; gives pytest's status and leaves the figures, a file for each row."""
    rows = [row for row in ROWS if row.tests and (not chosen or row.row_id in chosen)]
    files = list(dict.fromkeys(file for row in rows for file in _existing(row.files)))
    figures = FIGURES / f"{lane}-latest.json"
    figures.unlink(missing_ok=True)
    began = time.monotonic()
    status = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.faults.plugin", "-m", LANES[lane],
         f"--hypothesis-seed={seed}", *files],
        cwd=ROOT, env={**os.environ, OUT: str(figures), CHOSEN: ",".join(chosen)}, check=False,
    ).returncode  # fmt: skip
    seconds = time.monotonic() - began
    found: dict[str, dict[str, Any]] = json.loads(figures.read_text(encoding="utf-8")) if figures.is_file() else {}
    for row in rows:
        if row.row_id in found:
            told = {**found[row.row_id], "lane": lane, "seed": seed, "when": _today(), "with": _versions()}
            (FIGURES / f"{row.row_id}-{lane}.json").write_text(json.dumps(told), encoding="utf-8")
    print(f"{lane}: {seconds:.0f} s")  # noqa: T201 - this is a program
    return status


def table() -> str:
    """Write the figures that are there, the largest lane of each row."""
    lines = [
        "| | what goes wrong | lane | tests | injected | survived | violations | seed | measured |",
        "|---|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for row in ROWS:
        kept = [FIGURES / f"{row.row_id}-{lane}.json" for lane in reversed(LANES)]
        figures = next((file for file in kept if file.is_file()), None)
        if not figures:
            why = row.why if not row.tests else "not run yet"
            lines.append(f"| {row.row_id} | {row.what} | {why} | | | | | | |")
            continue
        told = json.loads(figures.read_text(encoding="utf-8"))
        counts = " | ".join(f"{told[key]:,}" for key in ("tests", "injected", "survived", "violations"))
        lines.append(f"| {row.row_id} | {row.what} | {told['lane']} | {counts} | {told['seed']} | {told['when']} |")
    return "\n".join(lines)


def write(made: str) -> None:
    """Put the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\nWith {_versions()}.\n\n{made}\n{END}{after}", encoding="utf-8")


def _existing(files: list[str]) -> list[str]:
    """Give the files behind patterns of files, of which some may be yet to come."""
    found = [file for file in ROOT.glob("tests/**/test_*.py") if "node_modules" not in file.parts]
    names = [str(file.relative_to(ROOT)) for file in found]
    return [name for name in names for pattern in files if re.fullmatch(pattern, name)]


def _today() -> str:
    return dt.datetime.now(dt.UTC).date().isoformat()


def _versions() -> str:
    said = ", ".join(f"{name} {version(name)}" for name in ("httpx", "ipykernel", "jupyterlab", "hypothesis"))
    return f"nbtool {__version__}, {platform.python_implementation()} {platform.python_version()}, {said}"


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.partition("\n")[0])
    parser.add_argument("lane", nargs="?", choices=LANES, default="quick")
    parser.add_argument("--rows", default="", help="some of C1 to C24")
    parser.add_argument("--seed", type=int, default=int(dt.datetime.now(dt.UTC).strftime("%Y%m%d")))
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    asked = parser.parse_args()
    FIGURES.mkdir(parents=True, exist_ok=True)
    status = run(asked.lane, [row for row in asked.rows.split(",") if row], asked.seed)
    print(table())  # noqa: T201 - this is a program
    if asked.write:
        write(table())
    return status


if __name__ == "__main__":
    sys.exit(main())
