"""Resource use after many turns in one process: memory, threads and open files.

    python -m benchmarks.memory [TURNS]        prints a line of JSON

Each turn makes a call and answers; first every turn is in a new chat, as in `Chat.map`, then all are in one long chat,
whose tree keeps them, to measure the memory of a stored turn.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import threading
from pathlib import Path

SETTLED = 500
"""Warm-up turns, after which all lazy imports are done."""


def resident() -> int:
    """Return the resident memory of this process in KB."""
    gc.collect()
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def main(turns: int) -> None:
    """Run the turns and print the figures."""
    os.environ["NBTOOL_HOME"] = tempfile.mkdtemp()
    from nbtool import Chat, tool  # noqa: PLC0415 - NBTOOL_HOME has to be set first
    from nbtool.testing import ScriptedWire, call  # noqa: PLC0415 - the same

    @tool(run="auto")
    def double(n: int) -> int:
        """Twice a number."""
        return 2 * n

    def replies(count: int) -> ScriptedWire:
        return ScriptedWire([reply for n in range(count) for reply in (call("double", n=n), f"It is {2 * n}. ")])

    def seen() -> tuple[int, int, int]:
        return resident(), threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))

    settled = halfway = seen()
    for number in range(turns):
        Chat(wire=replies(1), tools=[double]).send(f"Question {number}")
        if number == min(SETTLED, turns // 2):
            settled = seen()
        if number == turns // 2:
            halfway = seen()
    ended = seen()
    long = Chat(wire=replies(turns // 10), tools=[double], history="none")
    for number in range(turns // 10):
        long.send(f"Question {number}")
    kept = (resident() - ended[0]) / (turns // 10)
    grown = [after - before for before, after in zip(settled, ended, strict=True)]
    late = (ended[0] - halfway[0]) / (turns - turns // 2) * 1000
    keys = ("turns", "kb", "threads", "files", "kept_kb_a_turn", "kb_a_thousand_late")
    print(json.dumps(dict(zip(keys, (turns, *grown, kept, late), strict=True))))  # noqa: T201 - read by the parent process


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
