"""Import times: new processes, interleaved, relative to the same Python without imports."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Sequence

from benchmarks.contestants import ENTRIES
from benchmarks.environments import python_of

LOAD = (
    "from IPython.core.interactiveshell import InteractiveShell; shell = InteractiveShell.instance();"
    "import time; began = time.perf_counter(); {work}; print(time.perf_counter() - began)"
)


def imports(names: Sequence[str], rounds: int) -> dict[str, float]:
    """Return the seconds that an import adds to a bare interpreter, by contestant; medians of differences per round."""
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + 1):
        for name in names:
            bare, whole = _process(name, "pass"), _process(name, ENTRIES[name].imports)
            if number:  # the first round only warms the disk cache
                seconds[name].append(whole - bare)
    return {name: statistics.median(found) for name, found in seconds.items()}


def loading(rounds: int) -> float:
    """Return the seconds that `%load_ext nbtool` takes in a running IPython."""
    code = LOAD.format(work="shell.run_line_magic('load_ext', 'nbtool')")
    return statistics.median(float(_output("nbtool", code)) for _ in range(rounds))


def _process(name: str, code: str) -> float:
    began = time.perf_counter()
    _output(name, code)
    return time.perf_counter() - began


def _output(name: str, code: str) -> str:
    done = subprocess.run([python_of(name), "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
