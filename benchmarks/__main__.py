"""Run all benchmarks, print tables, and write them into docs/performance.md.

    python -m benchmarks [--rounds N] [--large] [--only PART,PART] [--write]

The parts are `streams`, `growth`, `ways`, `startup`, `memory`, `journal`, `large journal`, `prompts`, `history`,
`wakeup` and `page`. `--write` also draws the pictures of cost over size anew.
`--large` also installs litellm and langchain. Peers get separate environments in build/bench. CPU times and ratios
within one round hardly depend on other load on the machine; wall-clock times do, and are reported with the load.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from operator import truediv

from benchmarks import environments, goals, growth, many_prompts, startup, streamed_map, ways
from benchmarks.contestants import ENTRIES
from benchmarks.environments import ROOT
from benchmarks.rounds import measure, start_server

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- {name}: make bench BENCH=performance -->", "<!-- end of {name} -->"
SMALL = (
    "text-2000",
    "text-20000",
    "rounds-10",
    "rounds-50",
    "parallel-20",
    "args-100000",
    "text-200-each",
    "text-400-alone",
)
LARGE = ("args-1000000", "blob-10")
"""Scenarios that take slow peers minutes: run for fast contestants, or with `--large`."""

Part = Callable[[argparse.Namespace], str]


def report(text: str) -> None:
    """Print progress to stderr."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is a program


def names_of(arguments: argparse.Namespace) -> list[str]:
    """Return who takes part; environments are made where they are missing."""
    names = [name for name, entry in ENTRIES.items() if arguments.large or not entry.large]
    install(names)
    return names


def install(names: Sequence[str]) -> None:
    """Make the environments of these contestants where they are missing."""
    for name in names:
        if ENTRIES[name].packages:
            environments.install(name, ENTRIES[name].packages)


def streams(arguments: argparse.Namespace) -> str:
    """Measure streams and tool rounds against the loopback server."""
    names = names_of(arguments)
    scenarios = {name: [*SMALL, *(LARGE if arguments.large or ENTRIES[name].fast else ())] for name in names}
    rows = measure(names, scenarios, arguments.rounds, report)
    failures = [f"{name} failed: {why}" for name, why in rows.failed.items()]
    versions = ", ".join(f"{name} {environments.version_of(name)}" for name in names if ENTRIES[name].packages)
    table = "\n".join(goals.goal_table(goals.of_streams(rows)))
    words = f"CPU of a thousand deltas, or of the whole; in brackets the ratio to the raw socket. Peers: {versions}."
    return "\n\n".join([table, words, goals.of_peers(rows, names), *failures])


def measure_growth(arguments: argparse.Namespace) -> str:
    """Measure the CPU of replies, rounds and calls by their size, beside httpx by hand."""
    names = (goals.OURS, goals.HAND)
    rows = measure(names, dict.fromkeys(names, growth.SCENARIOS), arguments.rounds, report)
    curves = growth.of_streams(rows)
    growth.keep(curves)
    return growth.table(curves)


def measure_ways(arguments: argparse.Namespace) -> str:
    """Measure what calls would cost without their waits."""
    return ways.table(arguments.rounds)


def measure_startup(arguments: argparse.Namespace) -> str:
    """Measure imports and footprints."""
    names = [name for name in names_of(arguments) if ENTRIES[name].imports != "pass"]
    seconds, load = startup.imports(names, arguments.rounds), startup.loading(arguments.rounds)
    count, size = environments.own_footprint()
    rows = ["| | import, s | distributions | MB |", "|---|--:|--:|--:|"]
    for name in names:
        has = environments.footprint(name) if ENTRIES[name].packages else (count, size)
        rows.append(f"| {name} | {seconds[name]:.2f} | {has[0]} | {has[1]:.0f} |")
    aims = [
        goals.Goal("`%load_ext nbtool` in IPython", load, 0.12, "{:.2f} s"),
        goals.Goal("distributions above ipython, ipywidgets and anywidget", count, 15, "{:.0f}"),
        goals.Goal("MB above them", size, 25, "{:.0f} MB"),
    ]
    table = "\n".join(goals.goal_table(aims))
    return f"{table}\n\n" + "\n".join(rows)


def memory(arguments: argparse.Namespace) -> str:
    """Measure what turns leave behind, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", str(arguments.turns)]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    aim = goals.Goal(
        f"memory after {found['turns']:,} turns, above that after 500", found["kb"] / 1000, 32, "{:.1f} MB"
    )
    slope = f"In the second half it grew by {found['kb_a_thousand_late']:.0f} KB a thousand turns."
    more = f"{slope} Threads: {found['threads']:+d}, open files: {found['files']:+d}."
    kept = f"A turn that a chat keeps: {found['kept_kb_a_turn']:.1f} KB."
    return "\n".join([*goals.goal_table([aim]), "", f"{more} {kept}"])


def journal(_: argparse.Namespace) -> str:
    """Count what a turn writes."""
    from benchmarks import journal as writing  # noqa: PLC0415 - it chooses a home before nbtool is imported

    rows = ["| a turn with | waits for a write | of them for the disk itself | events |", "|---|--:|--:|--:|"]
    for calls in (1, 3, 20):
        waits, synced, events = writing.count_waits(calls)
        rows.append(f"| {calls} {'call' if calls == 1 else 'calls'} in one round | {waits} | {synced} | {events} |")
    return "\n".join(rows)


def large_journal(_: argparse.Namespace) -> str:
    """Measure how reading a journal grows."""
    from benchmarks import large_journal as reading  # noqa: PLC0415 - it chooses a home before nbtool is imported

    found = [reading.measure(count) for count in (1_000, 10_000, 100_000)]
    growth.keep(growth.of_turns(found))
    slowest = max(found[-1]["ms"].values())
    aims = [
        goals.Goal("the slowest way of reading 100,000 turns, 95th percentile", slowest, 200, "{:.0f} ms"),
        goals.Goal("memory for all of them together", found[-1]["mb"], 50, "{:.0f} MB"),
    ]
    rows = ["| ms, 95th percentile | " + " | ".join(f"{one['turns']:,} turns" for one in found) + " |"]
    rows.append("|---|" + "--:|" * len(found))
    for name in found[0]["ms"]:
        figures = (f"{one['ms'][name]:.1f}" if name in one["ms"] else "" for one in found)
        rows.append(f"| {name} | " + " | ".join(figures) + " |")
    rows.append("| the file, MB | " + " | ".join(f"{one['file_mb']:.0f}" for one in found) + " |")
    return "\n".join([*goals.goal_table(aims), "", *rows])


PROMPTS, PROMPT_ROUNDS = 500, 3
"""Prompts of each contestant in each round, and the rounds: more take many minutes and change little."""


def prompts(_: argparse.Namespace) -> str:
    """Measure how a map of many prompts grows, and what a prompt costs beside others' maps."""
    install(list(many_prompts.PLAYERS))
    with start_server() as port:
        found = streamed_map.measure(port)
        beside = many_prompts.measure(port, count=PROMPTS, rounds=PROMPT_ROUNDS)
    growth.keep(growth.of_prompts(found))
    most = streamed_map.extrapolate(found)
    hand = beside[goals.HAND]
    ratios = {name: statistics.median(map(truediv, figures, hand)) for name, figures in beside.items()}
    aims = [
        goals.Goal(f"memory of {streamed_map.LARGE:,} prompts, by the steepest slope below", most, 300, "{:.0f} MB"),
        goals.Goal("CPU a prompt, to httpx by hand", ratios[goals.OURS], 1.3),
    ]
    rows = ["| prompts | memory above that of the first 1,000 | CPU a prompt |", "|--:|--:|--:|"]
    rows += [f"| {one['prompts']:,} | {one['mb']:.1f} MB | {one['ms']:.1f} ms |" for one in found]
    others = [f"| {PROMPTS} prompts, 8 at a time | CPU a prompt | to httpx by hand |", "|---|--:|--:|"]
    for name, figures in beside.items():
        version = f" {environments.version_of(name)}" if ENTRIES[name].packages else ""
        others.append(f"| {name}{version} | {statistics.median(figures):.1f} ms | {ratios[name]:.1f} x |")
    return "\n".join([*goals.goal_table(aims), "", *rows, "", *others])


def history(_: argparse.Namespace) -> str:
    """Count what ten turns send in each mode of history."""
    from benchmarks import history as modes  # noqa: PLC0415 - only needed here

    return modes.table()


def wakeup(arguments: argparse.Namespace) -> str:
    """Time clicks in running cells."""
    from benchmarks import wakeup as clicking  # noqa: PLC0415 - needs a kernel

    latency, trip = clicking.measure_clicks(3 * arguments.rounds)
    goal = goals.Goal("a click in a running cell, to a round trip to the idle kernel", latency / trip, 2.0)
    return "\n".join(goals.goal_table([goal]))


def page(_: argparse.Namespace) -> str:
    """Measure the page in a browser."""
    from benchmarks import page as showing  # noqa: PLC0415 - needs Chromium

    return showing.table()


PARTS: dict[str, Part] = {
    "streams": streams, "growth": measure_growth, "ways": measure_ways, "startup": measure_startup, "memory": memory,
    "journal": journal, "large journal": large_journal, "prompts": prompts, "history": history, "wakeup": wakeup,
    "page": page,
}  # fmt: skip


def machine() -> str:
    """Say when and where it was measured."""
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    python = f"{platform.python_implementation()} {platform.python_version()}"
    today = dt.datetime.now(dt.UTC).strftime("%d %B %Y").lstrip("0")
    from nbtool import __version__  # noqa: PLC0415 - `journal` chooses a home before nbtool is imported

    return (
        f"Measured on {today}: nbtool {__version__}, httpx {environments.version_of('by hand')}, {python},"
        f" {platform.system()}, {os.cpu_count()} cores, load {load}."
    )


def insert_table(text: str, name: str, table: str) -> str:
    """Put a table between its marks in the page."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{table}\n{end}{after}"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is measured")
    parser.add_argument("--turns", type=int, default=10_000, help="of the measure of memory")
    parser.add_argument("--large", action="store_true", help="also large peers, and large scenarios for every peer")
    parser.add_argument("--only", default="", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/performance.md")
    options = parser.parse_args()
    install([goals.HAND])
    chosen = [part for part in options.only.split(",") if part] or list(PARTS)
    for name in chosen:
        report(name)
        made = f"{machine()}\n\n{PARTS[name](options)}"
        print(f"\n## {name}\n\n{made}", flush=True)  # noqa: T201 - what the command is for
        if options.write:
            PAGE.write_text(insert_table(PAGE.read_text(encoding="utf-8"), name, made), encoding="utf-8")
            growth.draw()


if __name__ == "__main__":
    main()
