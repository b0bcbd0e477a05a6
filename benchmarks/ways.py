"""What a tool call would cost without its waits: the same scenarios with one part of nbtool replaced at a time.

    python -m benchmarks.ways WAY PORT SCENARIO…      prints a line of JSON

Nothing here is offered to users: each way gives up a promise of nbtool, and shows what that promise costs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable

from benchmarks.client import measure, tools_of
from benchmarks.contestants import ENTRIES
from benchmarks.environments import ROOT, python_of
from benchmarks.goals import HAND, OURS
from benchmarks.rounds import SECONDS, start_server

SCENARIOS = {"rounds-10": "10 tool rounds", "parallel-20": "20 parallel calls", "text-200-each": "first delta"}


def keep_in_memory() -> None:
    """Write no history to the disk."""
    os.environ["NBTOOL_JOURNAL"] = "off"


def commit_without_sync() -> None:
    """Survive a killed process, but never a power cut: https://www.sqlite.org/pragma.html#pragma_synchronous."""
    from nbtool.chat.journal.durability import JournalConnection  # noqa: PLC0415 - NBTOOL_HOME has to be set first

    JournalConnection.prepare_commit = (  # type: ignore[method-assign]  # that is what is measured
        lambda self, _: self._set_synchronous("NORMAL")
    )


def commit_with_sync() -> None:
    """Let every commit survive a power cut."""
    from nbtool.chat.journal.durability import JournalConnection  # noqa: PLC0415 - NBTOOL_HOME has to be set first

    JournalConnection.prepare_commit = (  # type: ignore[method-assign]  # that is what is measured
        lambda self, _: self.require_sync()
    )


def commit_on_loop() -> None:
    """Write the history on the event loop's own thread, which a disk that hangs would hold up."""
    from nbtool.chat.journal import database, process_journal  # noqa: PLC0415 - NBTOOL_HOME has to be set first

    process_journal.open_store = lambda path, *, notebook="": database.InlineStore(path, notebook=notebook)


def run_tools_on_loop() -> None:
    """Run synchronous tools on the event loop's own thread, where nothing could stop them."""
    from nbtool.threads import thread_pool  # noqa: PLC0415 - NBTOOL_HOME has to be set first

    thread_pool.submit_daemon = thread_pool.LoopJobs().submit


def use_one_thread() -> None:
    """Commit without a sync and run tools, all on the event loop's thread."""
    commit_without_sync()
    commit_on_loop()
    run_tools_on_loop()


WAYS: dict[str, tuple[str, Callable[[], None]]] = {
    "as it is": (OURS, lambda: None),
    "every commit waits for the disk": (OURS, commit_with_sync),
    "history in memory": (OURS, keep_in_memory),
    "no commit waits for the disk": (OURS, commit_without_sync),
    "commits on the loop's thread": (OURS, commit_on_loop),
    "tools on the loop's thread": (OURS, run_tools_on_loop),
    "the last three together": (OURS, use_one_thread),
    HAND: (HAND, lambda: None),
}


def table(rounds: int) -> str:
    """Measure all ways, interleaved, and return their CPU milliseconds with the ratio to httpx by hand."""
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    with start_server() as port:
        for _ in range(rounds):
            for way in WAYS:
                command = [python_of(WAYS[way][0]), "-m", "benchmarks.ways", way, str(port), *SCENARIOS]
                done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=SECONDS)
                found[way].append(json.loads(done.stdout.splitlines()[-1]))
    rows = ["| | " + " | ".join(SCENARIOS.values()) + " |", "|---|" + "--:|" * len(SCENARIOS)]
    for way, runs in found.items():
        cells = []
        for scenario in SCENARIOS:
            ratio = statistics.median(
                run[scenario] / hand[scenario] for run, hand in zip(runs, found[HAND], strict=True)
            )
            cells.append(f"{1000 * statistics.median(run[scenario] for run in runs):.1f} ms ({ratio:.2f} x)")
        rows.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main(way: str, port: str, *scenarios: str) -> None:
    """Measure the scenarios in this process: CPU, and the time to the first delta where events come one at a time."""
    os.environ["NBTOOL_HOME"] = tempfile.mkdtemp()
    name, change = WAYS[way]
    change()
    root, found = f"http://127.0.0.1:{port}", {}
    for warm in ("text-200", "rounds-1"):
        ENTRIES[name].play(f"{root}/{warm}/v1", tools_of([])).run("hello", lambda _: None)
    for scenario in scenarios:
        figures = measure(name, root, scenario)
        found[scenario] = figures["first" if scenario.endswith("-each") else "cpu"]
    print(json.dumps(found), flush=True)  # noqa: T201 - read by the parent process


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # threads delay the exit
