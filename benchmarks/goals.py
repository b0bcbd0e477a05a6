"""Goals and measured figures: the tables of docs/performance.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.rounds import Rows

HAND, RAW, OURS = "by hand", "raw socket", "nbtool"


@dataclass(frozen=True, slots=True)
class Goal:
    """One row: what was measured, the figure, its maximum, and its format."""

    what: str
    figure: float | None
    maximum: float
    write: str = "{:.2f} x"

    @property
    def row(self) -> str:
        """The line as Markdown."""
        if self.figure is None:
            return f"| {self.what} | not measured | ≤ {self.write.format(self.maximum)} | |"
        verdict = "met" if self.figure <= self.maximum else "**missed**"
        return f"| {self.what} | {self.write.format(self.figure)} | ≤ {self.write.format(self.maximum)} | {verdict} |"


def goal_table(goals: Sequence[Goal]) -> list[str]:
    """Return the lines of a table of goals."""
    return ["| nbtool | measured | goal | |", "|---|--:|--:|---|", *(goal.row for goal in goals)]


def of_streams(rows: Rows) -> list[Goal]:
    """Return the goals measured by the interleaved runs: nbtool relative to httpx and pydantic_core by hand."""

    def beside(scenario: str, key: str = "cpu") -> float | None:
        return rows.ratio(OURS, scenario, (HAND, scenario), key)

    up = rows.median(OURS, "blob-10", "up")
    return [
        Goal("CPU a delta, 20,000 deltas, to httpx by hand", beside("text-20000"), 1.2),
        Goal("CPU a delta that arrives alone, to httpx by hand", beside("text-400-alone"), 1.25),
        Goal("growth from 2,000 to 20,000 deltas", rows.ratio(OURS, "text-20000", (OURS, "text-2000")), 11.0),
        Goal("10 tool rounds, to httpx by hand", beside("rounds-10"), 2.0),
        Goal("growth from 10 to 50 rounds", rows.ratio(OURS, "rounds-50", (OURS, "rounds-10")), 6.0),
        Goal("20 parallel calls, to httpx by hand", beside("parallel-20"), 3.0),
        Goal("1 MB of arguments in fragments, to httpx by hand", beside("args-1000000"), 1.2),
        Goal("bytes sent, ten results of 1 MB", None if up is None else up / 1000, 200, "{:.0f} KB"),
        Goal("first delta, to httpx by hand", beside("text-200-each", "first"), 2.0),
    ]


COLUMNS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("text-2000", "2,000 deltas", lambda cpu: f"{cpu / 2 * 1000:.1f}"),
    ("text-20000", "20,000 deltas", lambda cpu: f"{cpu / 20 * 1000:.1f}"),
    ("rounds-10", "10 rounds", lambda cpu: f"{cpu * 1000:.0f}"),
    ("rounds-50", "50 rounds", lambda cpu: f"{cpu * 1000:.0f}"),
    ("parallel-20", "20 parallel calls", lambda cpu: f"{cpu * 1000:.0f}"),
    ("args-100000", "100 KB of arguments", lambda cpu: f"{cpu * 1000:.0f}"),
    ("args-1000000", "1 MB of arguments", lambda cpu: f"{cpu * 1000:.0f}"),
)
"""Scenarios, their titles, and the format of CPU seconds: per thousand deltas, or in total."""


def of_peers(rows: Rows, names: Sequence[str]) -> str:
    """Return CPU milliseconds of all contestants, with the median ratio to the raw socket in parentheses."""
    lines = [
        "| CPU, ms | " + " | ".join(title for _, title, _ in COLUMNS) + " | ten results of 1 MB, sent up |",
        "|---" * (len(COLUMNS) + 2) + "|",
    ]
    for name in names:
        cells = [_cell(rows, name, scenario, write) for scenario, _, write in COLUMNS]
        up = rows.median(name, "blob-10", "up")
        lines.append(f"| {name} | {' | '.join(cells)} | {'' if up is None else f'{up / 1e6:.2f} MB'} |")
    return "\n".join(lines)


def _cell(rows: Rows, name: str, scenario: str, write: Callable[[float], str]) -> str:
    cpu, ratio = rows.median(name, scenario), rows.ratio(name, scenario, (RAW, scenario))
    return "" if cpu is None else f"{write(cpu)} ({ratio:.1f} x)" if ratio else write(cpu)
