"""Memory and CPU of `Chat.map_into` as the number of prompts grows, over the loopback server.

    python -m benchmarks.streamed_map URL      prints a line of JSON for each size

All sizes are measured in one map: prompts from a generator, answers to an SQLite file, the journal on the disk. Memory
is the highest resident size above that after the first chunk of prompts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

SIZES = (10_000, 20_000, 40_000)
"""After so many prompts the map is measured. With fewer, what grows only at first hides the slope: about 2 MB."""

LARGE = 1_000_000
"""The number of prompts that the slope is extended to."""

Row = dict[str, Any]


def run(url: str) -> list[Row]:
    """Send prompts in this process, and return the figures of each size."""
    from nbtool import Chat  # noqa: PLC0415 - NBTOOL_HOME has to be set first
    from nbtool.chat.batch.streamed_map import CHUNK  # noqa: PLC0415 - the same

    chat, home = Chat("gpt-4.1-mini", base_url=f"{url}/text-20/v1", api_key="sk-none"), os.environ["NBTOOL_HOME"]
    chat.map_into(f"{home}/warm.sqlite", (f"warm {number}" for number in range(CHUNK)))
    before, began = peak_kb(), time.process_time()
    found: list[Row] = []

    def note(prompts: int) -> None:
        peak, cpu = peak_kb(), time.process_time() - began
        found.append(
            {"prompts": prompts, "mb": (peak - before) / 1000, "total_mb": peak / 1000, "ms": cpu / prompts * 1000}
        )

    def prompts() -> Iterator[str]:
        for number in range(SIZES[-1]):
            if number in SIZES:  # a multiple of the chunk: all prompts before are answered
                note(number)
            yield f"{number}?"

    chat.map_into(f"{home}/answers.sqlite", prompts())
    note(SIZES[-1])
    return found


def peak_kb() -> int:
    """Return the most memory that this process had; `ru_maxrss` counts what its parent had when it was started, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def measure(port: int) -> list[Row]:
    """Send prompts in a new process, and return the figures of each size."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "benchmarks.streamed_map", f"http://127.0.0.1:{port}"]
        environment = {**os.environ, "NBTOOL_HOME": home}
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def extrapolate(found: list[Row]) -> float:
    """Return the memory in MB at `LARGE` prompts, by the steeper of the slopes between the sizes."""
    slope = max((large["mb"] - small["mb"]) / (large["prompts"] - small["prompts"]) for small, large in pairwise(found))
    return float(found[-1]["total_mb"] + max(slope, 0) * (LARGE - found[-1]["prompts"]))


if __name__ == "__main__":
    for row in run(sys.argv[1]):
        print(json.dumps(row))  # noqa: T201 - what the command is for
