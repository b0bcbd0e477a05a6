"""Mutation testing: make one small change to the code at a time, and count how many the tests detect.

    python -m tests.campaigns.mutants [--count N] [--seed N] [--keep] [--again] [--write]
    python -m tests.campaigns.mutants --part chain --tests tests/chain tests/plugins --count 1000

Samples the mutants of PARTS, or of one of them. For each, the tests that cover the changed line run in a copy of the
tree, the fastest first, until one fails: the mutant is killed. A survivor needs a reason in survivors.toml; without
one, or with fewer than GOAL killed, the command fails. `--write` updates the section in docs/reliability.md.

Whether a mutant is sampled depends only on its id and the seed, so a code change leaves most of the sample unchanged.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData

from tests.campaigns.mutants.contexts import OUT
from tests.campaigns.mutants.forked import FRESH
from tests.campaigns.mutants.mutate import Mutant, mutants_of

ROOT = Path(__file__).parents[3]
BUILD = Path(tempfile.gettempdir()) / f"nbtool-mutants-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"
"""Location of the copies of the tree: outside of it, because they link to it, and a project build follows links."""

PAGE = ROOT / "docs" / "reliability.md"
REASONS = Path(__file__).with_name("survivors.toml")
FIGURES = ROOT / "build" / "faults" / "C20-weekly.json"
BEGIN, END = "<!-- mutants: make bench BENCH=mutants -->", "<!-- end of mutants -->"

PARTS = {"chain": 0.2, "tools": 0.3, "wire": 0.3, "chat/journal": 0.2}
"""The mutated packages, and their shares of the sample."""

HALVES = (
    (
        "tests/chain",
        "tests/tools",
        "tests/wire",
        "tests/practice",
        "tests/json_schema",
        "tests/providers",
        "tests/reports",
    ),
    (
        "tests/chat",
        "tests/plugins",
        "tests/security",
        "tests/blocks",
        "tests/view",
        "tests/toolsets",
        "tests/magics",
        "tests/contract",
        "tests/words",
    ),
)
"""The tests whose coverage is measured and that are selected from, unless `--tests` names others.

Each half runs in its own process."""

WITH_WHOLE_TABLES = "not weekly and (rest or not nightly)"
"""The tests that may kill a mutant: those of the normal lane, and the cases of its tables that run nightly."""

Halves = Sequence[Sequence[str]]

GOAL = 0.9
"""The minimum share of the sample that has to be killed."""

CONTROLS = 5
"""Control runs without a change: if one fails, the tests themselves are at fault."""

SEVERAL = 3
"""Cases of a parametrized test that run first; the others run after those of every test have passed."""

FIRST = 40
"""Tests in the first run of a mutant; most need no second run."""

MOST_SECONDS = 20.0
"""Time limit of the tests for one mutant, by their measured durations; later tests are skipped."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The lines that each test covers, and its duration."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach a mutant, in the order in which they shall run.

        What runs when a module is imported is reached by every test that uses the module, and by all tests of its
        package if it has nothing else that runs.
        """
        own = f"tests/{mutant.path.split('/')[1]}/"
        lines = self.lines.get(mutant.path, {})
        first, last = mutant.lines
        names = {name for line in range(first, last + 1) for name in lines.get(line, ())} & self.seconds.keys()
        if not names or mutant.at_import:
            names = {name for reached in lines.values() for name in reached} & self.seconds.keys()
        if not names and mutant.at_import:
            names = {name for name in self.seconds if name.startswith(own)}
        return self._within_time(self._ordered(names, own))

    def _ordered(self, names: Iterable[str], own: str) -> list[str]:
        """Sort the package's own tests first, then by duration, and further cases of the same test last."""
        seen: Counter[str] = Counter()
        ranked = []
        for name in sorted(names, key=lambda name: (self.seconds[name], name)):
            function = name.partition("[")[0]
            ranked.append((seen[function] >= SEVERAL, not name.startswith(own), self.seconds[name], name))
            seen[function] += 1
        return [name for *_, name in sorted(ranked)]

    def _within_time(self, names: list[str]) -> list[str]:
        left = MOST_SECONDS
        stored = []
        for name in names:
            left -= self.seconds[name]
            if left < 0 and stored:
                break
            stored.append(name)
        return stored


def sample(root: Path, count: int, seed: int, part: str = "") -> list[Mutant]:
    """Return a sample of `count` mutants, with the share of each package, or of one package."""

    def rank(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed} {mutant.mutant_id}".encode()).hexdigest()

    taken: list[Mutant] = []
    for folder, share in ({part: 1.0} if part else PARTS).items():
        files = sorted((root / "nbtool" / folder).rglob("*.py"))
        every = [mutant for file in files for mutant in mutants_of(file, root)]
        taken += sorted(every, key=rank)[: round(count * share)]
    return taken


def copy_tree(place: Path) -> None:
    """Copy the tree: mutable files are copied, read-only ones linked."""
    shutil.rmtree(place, ignore_errors=True)
    (place / "scratch").mkdir(parents=True)
    for entry in ROOT.iterdir():
        if entry.name in {"nbtool", "tests"}:
            shutil.copytree(entry, place / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif entry.name not in {".git", "build"} and not entry.name.startswith((".coverage", ".hypothesis")):
            (place / entry.name).symlink_to(entry)


def environment(place: Path) -> dict[str, str]:
    """Return an environment that imports nbtool from a copy, without bytecode files that could outlive a mutant.

    Temporary folders are numbered in the copy: a process that a test left running cannot disturb the next one's.
    """
    return {
        **os.environ,
        "PYTHONPATH": str(place),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DEBUG_TEMPROOT": str(place / "scratch"),
        "OPENBLAS_NUM_THREADS": "1",
    }


def measure(places: list[Path], halves: Halves) -> None:
    """Run the tests once, each half in its copy, and store the lines that each test covers.

    Raises:
        SystemExit: the tests of a half did not run, so that their lines would count as covered by no test.
    """
    running = []
    for number, (place, half) in enumerate(zip(places, halves, strict=True)):
        data, times = BUILD / f"reach-{number}.coverage", BUILD / f"seconds-{number}.json"
        data.unlink(missing_ok=True)
        command = [
            sys.executable,
            "-m",
            "coverage",
            "run",
            "-m",
            "pytest",
            "-q",
            "-m",
            WITH_WHOLE_TABLES,
            "-p",
            "tests.campaigns.mutants.contexts",
            *half,
        ]
        env = {**environment(place), "COVERAGE_FILE": str(data), OUT: str(times)}
        running.append(subprocess.Popen(command, cwd=place, env=env))
    ended = [process.wait() for process in running]
    if any(code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) for code in ended):
        raise SystemExit(f"The tests could not be measured: pytest ended with {ended}.")


def reach() -> Reach:
    """Load the measured coverage and durations."""
    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, list[str]]] = defaultdict(dict)
    for times in BUILD.glob("seconds-*.json"):
        seconds |= json.loads(times.read_text(encoding="utf-8"))
    for file in BUILD.glob("reach-*.coverage"):
        data = CoverageData(str(file))
        data.read()
        for measured in data.measured_files():
            path = "nbtool" + measured.rpartition("/nbtool")[2]
            for line, names in data.contexts_by_lineno(measured).items():
                lines[path].setdefault(line, []).extend(name for name in names if name)
    return Reach(seconds, lines)


class Runner:
    """A copy of the tree, and two processes that run tests in it; one mutant at a time."""

    def __init__(self, place: Path, halves: Halves) -> None:
        self._place = place
        folders = [folder for half in halves for folder in half]
        self._ready, self._fresh = self._start(*folders), self._start()

    def verdict(self, mutant: Mutant, source: bytes, reached: Reach) -> str:
        """Return the test that killed the mutant, or an empty text."""
        names = reached.tests_of(mutant)
        file = self._place / mutant.path
        original = file.read_bytes()
        known = {"path": mutant.path, "is_changed": source != original}
        file.write_bytes(source)  # so that the processes that tests start see it, too
        try:
            for some in (names[:FIRST], names[FIRST:]):
                if actual := self._noticed(known, some, reached):
                    return actual
            return ""
        finally:
            file.write_bytes(original)

    def close(self) -> None:
        """End the processes."""
        for process in (self._ready, self._fresh):
            process.communicate()

    def _start(self, *folders: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(self._place / "tests" / "campaigns" / "mutants" / "forked.py"), *folders]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self._place, env=environment(self._place), text=True, **pipes)

    def _noticed(self, known: dict[str, Any], names: list[str], reached: Reach) -> str:
        """Return a test that fails twice; one that fails only once is dropped, and the others run again."""
        left = list(names)
        while left:
            actual = self._actual(known, left, reached)
            if actual not in left or self._actual(known, [actual], reached):
                return actual
            left.remove(actual)
        return ""

    def _actual(self, known: dict[str, Any], names: list[str], reached: Reach) -> str:
        seconds = 60 + 10 * sum(reached.seconds[name] for name in names)
        asked = json.dumps({**known, "tests": names, "seconds": seconds})
        actual = _answer(self._ready, asked)
        return _answer(self._fresh, asked) if actual == FRESH else actual


def _answer(process: subprocess.Popen[str], asked: str) -> str:
    assert process.stdin
    assert process.stdout
    print(asked, file=process.stdin, flush=True)
    return str(json.loads(process.stdout.readline()))


def try_all(mutants: list[Mutant], places: list[Path], reached: Reach, halves: Halves) -> dict[str, str]:
    """Run all mutants and controls; return the killing test of each, by id."""
    waiting: queue.SimpleQueue[tuple[str, Mutant, bytes]] = queue.SimpleQueue()
    every = max(1, len(mutants) // CONTROLS)
    for number, mutant in enumerate(mutants):
        source = (places[0] / mutant.path).read_bytes()
        if number % every == 0:
            waiting.put((f"control {number // every}", mutant, source))
        waiting.put((mutant.mutant_id, mutant, mutant.of(source)))
    found: dict[str, str] = {}

    def work(place: Path) -> None:
        runner = Runner(place, halves)
        while True:
            try:
                name, mutant, source = waiting.get_nowait()
            except queue.Empty:
                return runner.close()
            began = time.monotonic()
            found[name] = runner.verdict(mutant, source, reached)
            word = "killed" if found[name] else "SURVIVED"
            _tell(f"{len(found):4} {word:8} {time.monotonic() - began:5.1f} s  {name}  {found[name]}")

    threads = [threading.Thread(target=work, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@cache
def reasons() -> dict[str, str]:
    """Load the reasons for survivors, by id."""
    return {} if not REASONS.is_file() else tomllib.loads(REASONS.read_text(encoding="utf-8"))


def section(mutants: list[Mutant], found: dict[str, str], seed: int) -> str:
    """Return the figures and the survivors with their reasons, as Markdown."""
    part_of = {mutant: next(part for part in PARTS if mutant.path.startswith(f"nbtool/{part}/")) for mutant in mutants}
    lines = ["| part | mutants | killed | share |", "|---|--:|--:|--:|"]
    for part in PARTS:
        verdicts = [bool(found[mutant.mutant_id]) for mutant in mutants if part_of[mutant] == part]
        lines.append(f"| `nbtool/{part}` | {len(verdicts)} | {sum(verdicts)} | {sum(verdicts) / len(verdicts):.1%} |")
    killed = sum(bool(found[mutant.mutant_id]) for mutant in mutants)
    lines.append(f"| together | {len(mutants)} | {killed} | **{killed / len(mutants):.1%}** |")
    lines += [
        "",
        f"Seed {seed}, {_today()}. Survivors:",
        "",
        "| location | change | reason |",
        "|---|---|---|",
    ]
    for mutant in sorted((one for one in mutants if not found[one.mutant_id]), key=lambda one: one.mutant_id):
        why = reasons().get(mutant.mutant_id, "**no reason yet**")
        lines.append(f"| {mutant.mutant_id} | {_cell(mutant.before)} → {_cell(mutant.after)} | {why} |")
    return "\n".join(lines)


def write(made: str) -> None:
    """Write the section into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}", encoding="utf-8")


def _cell(code: str) -> str:
    short = code if len(code) <= 90 else f"{code[:87]}…"
    return "`` " + short.replace("|", "\\|") + " ``"


def _today() -> str:
    return dt.datetime.now(dt.UTC).date().isoformat()


def _tell(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - this is a program


def _keep_figures(mutants: list[Mutant], found: dict[str, str], bare: int, **more: Any) -> None:
    """Store the figures for the table of the campaign."""
    killed = sum(bool(found[mutant.mutant_id]) for mutant in mutants)
    actual = {
        "tests": len(reach().seconds),
        "skipped": 0,
        "injected": len(mutants),
        "survived": killed,
        "violations": bare,
    }
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text(json.dumps({**actual, "lane": "mutants", "when": _today(), **more}), encoding="utf-8")


def main() -> int:
    """Measure, sample, run, report."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=420, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--keep", action="store_true", help="use the last measured tree")
    parser.add_argument("--again", action="store_true", help="only the survivors of the last run")
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    parser.add_argument("--part", choices=PARTS, default="", help="only this package")
    parser.add_argument("--tests", nargs="+", metavar="FOLDER", help="only the tests of at least two folders")
    asked = parser.parse_args()
    if asked.write and (asked.part or asked.tests):
        parser.error("--write needs the whole sample and all tests: leave --part and --tests out.")
    halves = (asked.tests[::2], asked.tests[1::2]) if asked.tests else HALVES
    places = [BUILD / str(number) for number in range(len(halves))]
    if not asked.keep:
        for place in places:
            copy_tree(place)
        measure(places, halves)
    began = time.monotonic()
    mutants, last = sample(places[0], asked.count, asked.seed, asked.part), BUILD / "found.json"
    known = json.loads(last.read_text(encoding="utf-8")) if asked.again else {}
    found = known | try_all([one for one in mutants if not known.get(one.mutant_id)], places, reach(), halves)
    last.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return _judge(mutants, found, asked, time.monotonic() - began)


def _judge(mutants: list[Mutant], found: dict[str, str], asked: argparse.Namespace, seconds: float) -> int:
    """Report the result; return the exit status."""
    survivors = [mutant.mutant_id for mutant in mutants if not found[mutant.mutant_id]]
    bare = [name for name in survivors if name not in reasons()]
    blamed = {name: actual for name, actual in found.items() if name.startswith("control") and actual}
    share = 1 - len(survivors) / len(mutants)
    _tell(f"{len(mutants)} mutants, {share:.1%} killed, in {seconds:.0f} s; {len(bare)} survivors without a reason")
    _tell("\n".join(bare))
    if blamed:
        _tell(f"These tests fail without a mutant: {blamed}")
    if asked.write:
        write(section(mutants, found, asked.seed))
        _keep_figures(mutants, found, len(bare), seed=asked.seed, seconds=seconds)
    return 1 if share < GOAL or bare or blamed else 0


if __name__ == "__main__":
    sys.exit(main())
