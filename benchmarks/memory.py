"""What turns leave behind: memory, threads and open files after many turns of one chat that forgets, in one process.

    python -m benchmarks.memory [TURNS]        prints a line of JSON

Each turn asks for a call and answers; every turn is a chat of its own, as `Chat.map` makes them, and then one long
chat, whose tree is kept, so that the memory of a turn is told with what it holds.
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
"""Turns after which everything is loaded that will ever be."""


def resident() -> int:
    """Return the resident memory of this process in KB."""
    gc.collect()
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def main(turns: int) -> None:
    """Make the turns."""
    os.environ["NBTOOL_HOME"] = tempfile.mkdtemp()
    from nbtool import Chat, tool  # noqa: PLC0415 - the home is said first
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
    print(json.dumps(dict(zip(keys, (turns, *grown, kept, late), strict=True))))  # noqa: T201 - whoever started it reads this


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
