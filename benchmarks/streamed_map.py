"""Memory and CPU of `Chat.map_into` as the number of prompts grows, over the loopback server.

    python -m benchmarks.streamed_map PROMPTS [URL]      prints a line of JSON

Each size is measured in a process of its own: prompts from a generator, answers to an SQLite file, the journal on the
disk. Memory is the highest resident size above that after the first chunk of prompts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

SIZES = (10_000, 20_000, 40_000)
LARGE = 1_000_000
"""The number of prompts that the slope is extended to."""


def run(prompts: int, url: str) -> dict[str, Any]:
    """Send prompts in this process, and return the figures."""
    from nbtool import Chat  # noqa: PLC0415 - NBTOOL_HOME has to be set first
    from nbtool.chat.batch.streamed_map import CHUNK  # noqa: PLC0415 - the same

    chat = Chat("gpt-4.1-mini", base_url=f"{url}/text-20/v1", api_key="sk-none")

    def send(count: int, begin: int) -> None:
        chat.map_into(f"{os.environ['NBTOOL_HOME']}/{begin}.sqlite", (f"{n}?" for n in range(begin, begin + count)))

    send(CHUNK, 0)
    before, cpu = peak_kb(), time.process_time()
    send(prompts, CHUNK)
    return {
        "prompts": prompts,
        "mb": (peak_kb() - before) / 1000,
        "total_mb": peak_kb() / 1000,
        "ms": (time.process_time() - cpu) / prompts * 1000,
    }


def peak_kb() -> int:
    """Return the most memory that this process had; `ru_maxrss` counts what its parent had when it was started, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def measure(prompts: int, port: int) -> dict[str, Any]:
    """Send prompts in a new process, and return the figures."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "benchmarks.streamed_map", str(prompts), f"http://127.0.0.1:{port}"]
        environment = {**os.environ, "NBTOOL_HOME": home}
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def extrapolate(found: list[dict[str, Any]]) -> float:
    """Return the memory in MB at `LARGE` prompts, by the steeper of the slopes between the sizes."""
    slope = max((large["mb"] - small["mb"]) / (large["prompts"] - small["prompts"]) for small, large in pairwise(found))
    return float(found[-1]["total_mb"] + max(slope, 0) * (LARGE - found[-1]["prompts"]))


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), sys.argv[2])))  # noqa: T201 - what the command is for
