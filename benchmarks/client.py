"""One process, one contestant: runs scenarios and prints a line of JSON for each.

    python -m benchmarks.client NAME PORT SCENARIO…

CPU is that of the whole process, every thread of it. What short scenarios take is the median of several runs.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from typing import Any

from benchmarks.contestants import ENTRIES
from benchmarks.floors import Tools
from benchmarks.server import expected, parse_text, text_of

BLOB = "row 000123, value 3.14159\n" * 40_000
"""A result of 1 MB."""


def tools_of(seen: list[dict[str, Any]]) -> Tools:
    """Make the tools; each notes its arguments."""

    def lookup(key: str, n: int, exact: bool) -> str:
        """Look a key up."""
        seen.append({"key": key, "n": n, "exact": exact})
        return f"value of {key} is {n * 7}"

    def save(content: str) -> str:
        """Save content."""
        seen.append({"content": content})
        return "saved"

    def blob(n: int) -> str:
        """Return a large text."""
        seen.append({"n": n})
        return BLOB

    return {"lookup": lookup, "save": save, "blob": blob}


def times_of(scenario: str) -> int:
    """Say how often a scenario is run in one process."""
    kind, count = parse_text(scenario)
    if scenario.endswith("-each"):
        return 9
    return 1 if count > 5_000 or kind == "blob" else 3


def measure(name: str, root: str, scenario: str) -> dict[str, Any]:
    """Run one scenario and check its result."""
    seen: list[dict[str, Any]] = []
    player = ENTRIES[name].play(f"{root}/{scenario}/v1", tools_of(seen))
    cpu, first = [], []
    if scenario.endswith("-each"):
        player.run("hello", lambda _: None)  # open the connection first, so that only the library is timed
    for _ in range(times_of(scenario)):
        seen.clear()
        delta_times: list[float] = []
        _reset(root)
        gc.collect()
        began, cpu_began = time.perf_counter(), time.process_time()
        text = player.run(
            "hello",
            lambda _, delta_times=delta_times: delta_times.append(time.perf_counter()) if not delta_times else None,
        )
        cpu.append(time.process_time() - cpu_began)
        first.append(delta_times[0] - began)
        if text != text_of(scenario):
            raise SystemExit(f"{name} returned another text in {scenario}: {text[-80:]!r}")
        if sorted(map(repr, seen)) != sorted(map(repr, expected(scenario))):
            raise SystemExit(f"{name} made other calls in {scenario}: {seen[:2]!r}")
    up = _reset(root)
    return {"cpu": statistics.median(cpu), "first": statistics.median(first), "up": up.get(scenario, 0)}


def _reset(root: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{root}/reset", timeout=60) as response:
        found: dict[str, int] = json.load(response)
        return found


def main(name: str, port: str, *scenarios: str) -> None:
    """Warm up, then measure."""
    os.environ["NBTOOL_HOME"] = os.environ["LLM_USER_PATH"] = tempfile.mkdtemp()
    root = f"http://127.0.0.1:{port}"
    for warm in ("text-200", "rounds-1"):
        ENTRIES[name].play(f"{root}/{warm}/v1", tools_of([])).run("hello", lambda _: None)
    for scenario in scenarios:
        row = {"name": name, "scenario": scenario, **measure(name, root, scenario)}
        print(json.dumps(row), flush=True)  # noqa: T201 - read by the parent process


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # threads of some libraries delay the exit for seconds
