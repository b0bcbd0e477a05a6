"""Cost over size, measured and drawn: deltas, rounds, calls, prompts of a map, turns of a journal.

The figures are kept in figures.json, so that a picture has the latest of each part, whichever parts were run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.environments import ROOT
from benchmarks.goals import HAND, OURS
from benchmarks.rounds import Rows

FIGURES = Path(__file__).with_name("figures.json")
PICTURES = ROOT / "docs" / "pictures"

SIZES: dict[str, tuple[int, ...]] = {
    "text": (1_000, 2_000, 5_000, 10_000, 20_000),
    "rounds": (5, 10, 20, 50),
    "parallel": (5, 10, 20, 50),
}
"""The kinds of scenario, and the sizes of each."""

SCENARIOS = [f"{kind}-{size}" for kind, sizes in SIZES.items() for size in sizes]

THEMES = {"light": ("#24292f", ("#0969da", "#8c6d1f")), "dark": ("#e6edf3", ("#58a6ff", "#e3b341"))}
"""The colour of texts and axes in each theme, and those of the curves."""

Curve = list[tuple[float, float]]
"""Points of size and cost."""


def of_streams(rows: Rows) -> dict[str, dict[str, Curve]]:
    """Return the CPU milliseconds of each kind of scenario by its size, for nbtool and by hand."""
    return {
        kind: {
            name: [(size, 1000 * (rows.median(name, f"{kind}-{size}") or 0)) for size in sizes] for name in (OURS, HAND)
        }
        for kind, sizes in SIZES.items()
    }


def of_prompts(found: list[dict[str, Any]]) -> dict[str, dict[str, Curve]]:
    """Return the CPU seconds of a map, and its memory, by the number of prompts."""
    return {
        "prompts": {OURS: [(one["prompts"], one["prompts"] * one["ms"] / 1000) for one in found]},
        "memory": {OURS: [(one["prompts"], one["mb"]) for one in found]},
    }


def of_turns(found: list[dict[str, Any]]) -> dict[str, dict[str, Curve]]:
    """Return the 95th percentile in milliseconds of the ways of reading a journal by its turns."""
    return {
        "turns": {
            way: [(one["turns"], one["ms"][way]) for one in found] for way in ("open", "search for a frequent prefix")
        }
    }


def keep(figures: dict[str, dict[str, Curve]]) -> None:
    """Replace the kept figures of these kinds."""
    present = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.is_file() else {}
    FIGURES.write_text(json.dumps({**present, **figures}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def table(curves: dict[str, dict[str, Curve]]) -> str:
    """Return a row for each size, with the cost of one more of it since the size before."""
    rows = ["| | size | nbtool, ms | by hand, ms | one more, nbtool | one more, by hand |", "|---|--:|--:|--:|--:|--:|"]
    for kind, curve in curves.items():
        ours, hand = curve[OURS], curve[HAND]
        for at, ((size, cost), (_, other)) in enumerate(zip(ours, hand, strict=True)):
            slopes = [f"{1000 * _slope(one, at):.0f} µs" if at else "" for one in (ours, hand)]
            rows.append(f"| {TITLES[kind][1]} | {size:,} | {cost:.0f} | {other:.0f} | {' | '.join(slopes)} |")
    return "\n".join(rows)


def _slope(curve: Curve, at: int) -> float:
    return (curve[at][1] - curve[at - 1][1]) / (curve[at][0] - curve[at - 1][0])


TITLES = {
    "text": ("A reply of many deltas", "deltas", "CPU, ms"),
    "rounds": ("Rounds of one call", "rounds", "CPU, ms"),
    "parallel": ("Calls in one round", "calls", "CPU, ms"),
    "prompts": ("Prompts of a map", "prompts", "CPU, s"),
    "memory": ("Memory of a map", "prompts", "MB above the first 1,000"),
    "turns": ("A journal of many turns", "turns", "95th percentile, ms"),
}
"""What each picture shows, and the names of its axes."""


def draw() -> None:
    """Draw all kept figures, in light and in dark."""
    figures: dict[str, dict[str, Curve]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    for theme, (ink, colours) in THEMES.items():
        _draw(figures, PICTURES / f"growth-{theme}.svg", ink, colours)


def _draw(figures: dict[str, dict[str, Curve]], path: Path, ink: str, colours: tuple[str, ...]) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - only drawing needs it
    from matplotlib.figure import Figure  # noqa: PLC0415 - the same

    style = {"svg.hashsalt": "growth", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    style |= {f"{part}.color": ink for part in ("text", "xtick", "ytick")}
    style |= {"axes.labelcolor": ink, "axes.edgecolor": ink, "axes.titlecolor": ink}
    with mpl.rc_context(style):
        figure = Figure(figsize=(9.6, 5.4), layout="constrained")
        for axes, (kind, (title, across, up)) in zip(figure.subplots(2, 3).flat, TITLES.items(), strict=True):
            curves = sorted(figures.get(kind, {}).items(), key=lambda item: item[0] == HAND)  # nbtool's is the first
            for (name, curve), colour, dashes in zip(curves, colours, ("-", "--"), strict=False):
                axes.plot(*zip(*curve, strict=True), dashes, color=colour, marker="o", markersize=3, label=name)
            axes.set(title=title, xlabel=across, ylabel=up, ylim=(0, None))
            if kind == "turns":
                axes.set_xscale("log")
            else:
                axes.set_xlim(0, None)
                axes.xaxis.set_major_formatter(lambda size, _: f"{size:,.0f}")
                axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4, integer=True))
            if len(curves) > 1:
                axes.legend(frameon=False, labelcolor=ink)
        figure.savefig(path, transparent=True, metadata={"Date": None})
