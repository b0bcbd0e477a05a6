"""Interleaved processes: in each round every contestant runs once, in varying order; ratios are within a round."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.environments import ROOT, python_of

SECONDS = 300
"""Time limit of one process."""

Row = dict[str, Any]


@dataclass(slots=True)
class Rows:
    """The measurements by contestant and scenario, one row per round. `failed` maps contestants to errors."""

    found: dict[tuple[str, str], dict[int, Row]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def median(self, name: str, scenario: str, key: str = "cpu") -> float | None:
        """Return the median of a figure."""
        rows = self.found.get((name, scenario), {})
        return statistics.median(row[key] for row in rows.values()) if rows else None

    def ratio(self, name: str, scenario: str, to: tuple[str, str], key: str = "cpu") -> float | None:
        """Return the median over the rounds of the ratio of two figures of the same round."""
        rows, others = self.found.get((name, scenario), {}), self.found.get(to, {})
        ratios = [row[key] / others[number][key] for number, row in rows.items() if number in others]
        return statistics.median(ratios) if ratios else None


@contextmanager
def start_server() -> Iterator[int]:
    """Run the server in a separate process; yield its port."""
    command = [sys.executable, "-m", "benchmarks.server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            yield int(server.stdout.readline().split()[1])
        finally:
            server.terminate()


def measure(
    names: Sequence[str], scenarios: dict[str, Sequence[str]], rounds: int, say: Callable[[str], object]
) -> Rows:
    """Run the scenarios of all contestants, round by round."""
    rows = Rows()
    with start_server() as port:
        for scenario in {one for some in scenarios.values() for one in some}:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/prime/{scenario}", timeout=SECONDS).close()
        for number in range(rounds):
            for name in [*names[number % len(names) :], *names[: number % len(names)]]:
                if name not in rows.failed:
                    _run(rows, name, port, scenarios[name], number)
            say(f"round {number + 1} of {rounds}")
    return rows


def _run(rows: Rows, name: str, port: int, scenarios: Sequence[str], number: int) -> None:
    command = [python_of(name), "-m", "benchmarks.client", name, str(port), *scenarios]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
        out, why = done.stdout, done.stderr.strip()[-200:]
    except subprocess.TimeoutExpired as late:
        out, why = (late.stdout or b"").decode(), f"took longer than {SECONDS} s"
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    for row in lines:
        rows.found.setdefault((name, row["scenario"]), {})[number] = row
    if len(lines) < len(scenarios):
        rows.failed[name] = f"{scenarios[len(lines)]}: {why}"
