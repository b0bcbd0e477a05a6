"""The figures of the fault campaign: the committed ones, from which the page is made, and those of latest runs."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nbtool import __version__
from tests.campaigns.faults.rows import ROWS, Row

ROOT = Path(__file__).parents[3]
LATEST_RUNS = ROOT / "build" / "faults"
COMMITTED = Path(__file__).with_name("figures.json")
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- table: make bench BENCH=faults -->", "<!-- end of table -->"
LANES = ("quick", "nightly", "weekly", "mutants")

HEAD = (
    "| | fault | lanes | tests | injected | survived | violations | minutes | seed | measured |",
    "|---|---|---|--:|--:|--:|--:|--:|--:|---|",
)

Figures = dict[str, dict[str, dict[str, Any]]]
"""What a lane of a row came to, by row and lane."""


def read_figures(committed: Path = COMMITTED, latest_runs: Path = LATEST_RUNS) -> Figures:
    """Return the committed figures, with those of runs here that are not older in their place."""
    figures: Figures = json.loads(committed.read_text(encoding="utf-8"))
    for row in ROWS:
        for file in sorted(latest_runs.glob(f"{row.row_id}-*.json")):
            latest = json.loads(file.read_text(encoding="utf-8"))
            lanes = figures.setdefault(row.row_id, {})
            if latest["tests"] and latest["when"] >= lanes.get(latest["lane"], {}).get("when", ""):
                lanes[latest["lane"]] = latest
    return figures


def write_figures(figures: Figures) -> None:
    """Write the figures to be committed, and the table of the page."""
    COMMITTED.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{format_table(figures)}\n{END}{after}", encoding="utf-8")


def format_table(figures: Figures) -> str:
    """Return the table of the page; each row sums up its lanes, which are disjoint."""
    lines = [f"The latest run with {versions()}.", "", *HEAD]
    for row in ROWS:
        lanes = figures.get(row.row_id, {})
        lines.append(_format_row(row, [lanes[lane] for lane in LANES if lane in lanes]))
    return "\n".join(lines)


def versions() -> str:
    """Return the versions of what is tested here."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("httpx", "ipykernel", "jupyterlab", "hypothesis"))
    return f"nbtool {__version__}, {platform.python_implementation()} {platform.python_version()}, {packages}"


def _format_row(row: Row, runs: list[dict[str, Any]]) -> str:
    if not runs:
        reason = row.why if not row.tests else "not run yet"
        return f"| {row.row_id} | {row.what} | {reason} | | | | | | | |"
    sums = [sum(run[key] for run in runs) for key in ("tests", "injected", "survived", "violations")]
    counts = " | ".join(f"{count:,}" for count in sums)
    minutes = sum(run.get("seconds", 0.0) for run in runs) / 60
    seeds = ", ".join(dict.fromkeys(str(run["seed"]) for run in runs))
    oldest = min(run["when"] for run in runs)
    lanes = format_lanes(runs)
    return f"| {row.row_id} | {row.what} | {lanes} | {counts} | {minutes:.1f} | {seeds} | {oldest} |"


def format_lanes(runs: list[dict[str, Any]]) -> str:
    """Return the lanes that were run, how many of their tests if not all, and those that were not run."""
    known = dict.fromkeys(lane for run in runs for lane in run.get("lanes", ()))
    missing = [lane for lane in LANES if lane in known and lane not in {run["lane"] for run in runs}]
    texts = [run["lane"] + _format_share(run) for run in runs]
    return ", ".join(texts) + (f" ({', '.join(missing)} not run yet)" if missing else "")


def _format_share(run: dict[str, Any]) -> str:
    """Return how many of its tests a lane came to, if not to all: it was stopped."""
    there = run.get("lanes", {}).get(run["lane"], 0)
    ran = run["tests"] + run["skipped"]
    return f" (stopped after {ran} of {there} tests)" if ran < there else ""
