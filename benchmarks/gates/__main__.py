"""Measure what approvals stop and what they cost, and write docs/gate-benchmark.md.

    python -m benchmarks.gates [--only ROW,ROW] [--suites SUITE,SUITE] [--write]

A row is 726 turns, or 360 and fewer with other attacks: one to five minutes on one core. The figures of each row are
kept in benchmarks/gates/figures.json; `--write` writes the page and the plot from all that are there. `--suites`
prints, and keeps nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.environments import ROOT
from benchmarks.gates.agentdojo import load_suites
from benchmarks.gates.page import write_page
from benchmarks.gates.plot import draw
from benchmarks.gates.rows import ROWS, Row
from benchmarks.gates.runs import run_row
from benchmarks.gates.totals import Totals, add_up
from nbtool import __version__

FIGURES = ROOT / "benchmarks" / "gates" / "figures.json"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the chosen rows, one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows, by their keys")
    parser.add_argument("--suites", default="", help="suites, by their names")
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--page-only", action="store_true", help="measure nothing")
    chosen = parser.parse_args(arguments)
    keys, suites = _names(chosen.only), _names(chosen.suites)
    if unknown := set(keys) - {row.key for row in ROWS}:
        parser.error(f"unknown rows: {', '.join(sorted(unknown))}; there are {', '.join(row.key for row in ROWS)}")
    for row in ROWS:
        if not chosen.page_only and (not keys or row.key in keys):
            _measure(row, suites)
    if chosen.write:
        write_page(read_figures())
        draw(read_figures())


def read_figures() -> dict[str, Totals]:
    """Return the figures of all rows that were measured."""
    figures: dict[str, Totals] = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    return figures


def _measure(row: Row, suites: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(NBTOOL_HOME=home, NBTOOL_JOURNAL="off")  # nothing of a person's own settings counts
        start = time.process_time()
        loaded = [suite for name, suite in load_suites().items() if not suites or name in suites]
        totals = add_up(list(run_row(row, loaded)))
    _report(f"{row.key}: {json.dumps(totals)}")
    if not suites:
        measured = {"nbtool": __version__, "python": platform.python_version()}
        cost = {"processor seconds": round(time.process_time() - start)}
        figures = read_figures() | {row.key: totals | cost | measured}
        FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is a program


if __name__ == "__main__":
    main()
