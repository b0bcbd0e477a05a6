"""The plot: attacks that had an effect against questions a task, for each policy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.environments import ROOT
from benchmarks.gates.rows import NUMBERS, ROWS, Row
from benchmarks.gates.totals import Totals

PICTURES = ROOT / "docs" / "pictures"

THEMES = {
    "light": ("#24292f", ("#0969da", "#bc4c00", "#6639ba", "#1a7f37")),
    "dark": ("#d1d7e0", ("#58a6ff", "#f0883e", "#bc8cff", "#3fb950")),
}
"""The colours of text and axes, and those of the kinds of rows."""

KINDS = ("a person without mistakes", "reads 2 questions a task", "approves each 10th wrong call",
         "results by reference")  # fmt: skip
MARKERS = "osDv"

TICKS = (0, 1, 3, 10, 30, 100)
LINEAR_UNTIL = 1
"""Percent of attacks up to which the axis is linear; it is logarithmic above."""


def draw(figures: Mapping[str, Totals], folder: Path = PICTURES) -> None:
    """Draw the rows with AgentDojo's attacks, in light and in dark."""
    for theme, (ink, colours) in THEMES.items():
        _draw(figures, folder / f"gates-{theme}.svg", ink, colours)


def _draw(figures: Mapping[str, Totals], path: Path, ink: str, colours: Sequence[str]) -> None:
    import matplotlib as mpl  # noqa: PLC0415 - only drawing needs it
    from matplotlib.figure import Figure  # noqa: PLC0415 - the same

    style = {"svg.hashsalt": "gates", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    style |= {f"{part}.color": ink for part in ("text", "xtick", "ytick")}
    style |= {"axes.labelcolor": ink, "axes.edgecolor": ink}
    with mpl.rc_context(style):
        figure = Figure(figsize=(9.6, 5.2), layout="constrained")
        axes = figure.subplots()
        for (across, up), found in sorted(_points(figures).items()):
            for kind in sorted({_kind(row) for _, row in found}):
                axes.plot(across, up, MARKERS[kind], color=colours[kind], markersize=7, fillstyle="none")
            label = ", ".join(str(number) for number, _ in found)
            axes.annotate(label, (across, up), (0, 7), textcoords="offset points", ha="center")
        for kind, name in enumerate(KINDS):
            axes.plot([], [], MARKERS[kind], color=colours[kind], label=name, fillstyle="none")
        axes.set_yscale("symlog", linthresh=LINEAR_UNTIL)
        axes.set_yticks(TICKS, [f"{tick} %" for tick in TICKS])
        axes.minorticks_off()
        axes.set(xlabel="questions a task, no attack", ylabel="attacks that had any effect", xlim=(-0.15, None))
        axes.set_ylim(-0.25, 200)
        axes.legend(frameon=False, labelcolor=ink, loc="center")
        figure.savefig(path, transparent=True, metadata={"Date": None})


def _points(figures: Mapping[str, Totals]) -> dict[tuple[float, float], list[tuple[int, Row]]]:
    """Return the rows by their places, so that those that share one share a label."""
    points = defaultdict(list)
    for row in ROWS:
        if row.attacks != "listed" or row.key not in figures:
            continue
        totals = figures[row.key]
        across = round(totals["questions"] / totals["tasks"], 2)
        points[across, 100 * totals["had effect"] / totals["attacks by calls"]].append((NUMBERS[row.key], row))
    return points


def _kind(row: Row) -> int:
    if row.is_by_reference:
        return 3
    return 1 if row.reads is not None else 2 if row.lapse_every else 0
