"""The cost of history: bytes and tokens sent in a tool-heavy conversation, in each mode.

    python benchmarks/history.py            prints the table
    python benchmarks/history.py --write    writes it into docs/history.md

Ten turns; in each the model calls a tool three times, one call per round, and every result is 100 KB of text. The model
is scripted; the requests are those of the Chat Completions wire. Tokens are estimated at four bytes each.
"""

from __future__ import annotations

import json
import statistics
import sys
from itertools import pairwise
from pathlib import Path

from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call
from nbtool.wire import Target, find_wire

TURNS, CALLS, RESULT = 10, 3, 100_000
PAGE = Path(__file__).parents[1] / "docs" / "history.md"
BEGIN, END = "<!-- table: python benchmarks/history.py --write -->", "<!-- end of table -->"


@tool(run="auto")
def fetch(page: int) -> str:
    """Fetch a page."""
    return f"page {page}: " + "lorem ipsum " * (RESULT // 12)


def bodies(mode: str) -> list[bytes]:
    """Run the conversation and return the body of each request."""
    replies = [
        reply
        for turn in range(TURNS)
        for reply in (*(call("fetch", page=10 * turn + n) for n in range(CALLS)), "Done.")
    ]
    wire = ScriptedWire(replies)
    chat = Chat(wire=wire, tools=[fetch], history=mode)  # type: ignore[arg-type]  # one of the modes
    for turn in range(TURNS):
        chat.send(f"Question {turn}")
    target = Target("host", "model")
    return [json.dumps(find_wire("chat").encode(prompt, target).body).encode() for prompt in wire.prompts]


def shared(before: bytes, after: bytes) -> float:
    """Return the share of a request that it has, byte for byte, as a common prefix with the one before."""
    same = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(before))
    return min(same, len(after)) / len(after)


def row(mode: str) -> str:
    """Measure one mode."""
    sent = bodies(mode)
    total = sum(map(len, sent))
    shares = [shared(before, after) for before, after in pairwise(sent)]
    kilobytes = f"{total / 1000:,.0f}", f"{len(sent[-1]) / 1000:,.0f}"
    return (
        f"| `{mode}` | {kilobytes[0]} | {total // 4:,} | {kilobytes[1]} |"
        f" {statistics.median(shares):.0%} | {min(shares):.0%} |"
    )


def table() -> str:
    """Measure every mode."""
    head = (
        "| history | KB sent in all | tokens sent, estimated | KB of the last request | shared with the request before,"
        " median | least |\n|---|--:|--:|--:|--:|--:|"
    )
    return "\n".join([head, *(row(mode) for mode in ("compact", "results", "text", "native", "none"))])


def main() -> None:
    """Print the table, or write it into the page with `--write`."""
    measured = table()
    if "--write" not in sys.argv:
        print(measured)  # noqa: T201 - what the command is for
        return
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{measured}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
