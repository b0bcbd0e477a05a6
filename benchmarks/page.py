"""The cost of the page: the longest task, the cost of a flush as a reply grows, and the bytes sent to it.

    python benchmarks/page.py                  prints the table
    python -m benchmarks --only page --write   writes it into docs/performance.md

A reply of 1 MB is streamed into the built view in a real browser: mixed Markdown, one long code block, one long list,
one long table. Every message is sent right after the frame of the one before, so that the page is always busy. Times
are CPU times of the page's main thread, as reported by the browser, so that other load has little effect; the ratios
are what matters.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import tempfile
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import BrowserContext, Page, sync_playwright

from benchmarks import saved_turn
from benchmarks.goals import Goal, goal_table
from nbtool.events import Event, RequestStarted, TextDelta, TurnEnded, TurnStarted
from nbtool.messages import Usage, user
from nbtool.view.assets import STATIC
from nbtool.view.lazy_module import load_lazy_module
from nbtool.view.patch_batching import FLUSHES_PER_SECOND
from nbtool.view.turn_widget import TurnWidget
from tests.browser.bare import open_bare
from tests.browser.chromium import find_chromium
from tests.browser.states import show, states

SAVED = "saved with a notebook: a turn of seven calls, two tables, a plot and a reply of 12 KB"
SIZE = 1_000_000
PIECE = 100_000
"""Characters between two measured sections."""

FLUSHES, FLUSH, BURST = 25, 40, 5_000
"""A measured section: so many flushes of so many characters; between sections, characters are sent in bursts."""

MIXED = (
    "## Part {n}\n\nSome *prose* with `code`, **bold** and [a link](https://a.example/{n}), and $x_{{{n}}}$ too, so "
    "that it is read.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| {n} | x |\n\n```python\nx_{n} = {n}\n```\n\n"
)
REPLIES: dict[str, Callable[[int], str]] = {
    "mixed Markdown": lambda n: MIXED.format(n=n),
    "one code block": lambda n: "```python\n" if n == 0 else f"value_{n} = compute({n}, 'a string')\n",
    "one list": lambda n: f"- item {n} with *some* words and `code`\n",
    "one table": lambda n: "| a | b |\n|---|---|\n" if n == 0 else f"| {n} | some *words* |\n",
}

OPEN = """() => {
  const view = window.start();
  view.tell({ kind: "ack", id: "x" });
  view.patches({ op: "open", block: { id: "1", kind: "text", text: "", refusal: false, state: "open", more: {} } });
  window.view = view;
  window.say = async (text) => {
    view.patches(["1", text]);
    await Promise.resolve().then(() => new Promise((done) => setTimeout(done, 0)));
    view.el.getBoundingClientRect();
  };
}"""
SAY = "async (pieces) => { for (const piece of pieces) { await window.say(piece); await window.frame(); } }"


ROUNDS = 3
"""How often each reply is streamed; the run with the median ratio counts."""

CLICKS = 20
CLICK = """async () => {
  const el = window.view.el;
  const button = [...el.querySelectorAll(".nb-card button")].find((one) => one.textContent === "Approve");
  const seen = new Promise((done) => new MutationObserver(() => requestAnimationFrame(() => done(performance.now())))
    .observe(el, { attributes: true, childList: true, subtree: true, characterData: true }));
  const clicked = performance.now();
  button.click();
  return await seen - clicked;
}"""


def reply(line: Callable[[int], str]) -> str:
    """Return a reply of the given size."""
    parts, size, n = [], 0, 0
    while size < SIZE:
        parts.append(line(n))
        size += len(parts[-1])
        n += 1
    return "".join(parts)[:SIZE]


def measure_click(profile: BrowserContext) -> float:
    """Return the median milliseconds from a click on *Approve* to the frame that shows its effect."""
    page, _ = open_bare(profile)
    waiting, times = states()["waiting"], []
    for _ in range(CLICKS):
        show(page, waiting)
        times.append(float(page.evaluate(CLICK)))
    page.close()
    return median(times)


def stream_reply(profile: BrowserContext, name: str, line: Callable[[int], str]) -> tuple[list[str], float]:
    """Stream one reply into a new page; return a row of the table, and how much a late flush costs of an early one."""
    page, _ = open_bare(profile)
    page.evaluate(OPEN)
    meter = Meter(profile, page)
    text, costs = reply(line), []
    for at in range(0, SIZE, PIECE):
        before = meter.busy()
        page.evaluate(SAY, [text[i : i + FLUSH] for i in range(at, at + FLUSHES * FLUSH, FLUSH)])
        costs.append((meter.busy() - before) / FLUSHES)
        page.evaluate(SAY, [text[i : i + BURST] for i in range(at + FLUSHES * FLUSH, at + PIECE, BURST)])
    longest = meter.longest_task()
    page.close()
    early, late = median(costs[:3]), median(costs[-3:])
    return [name, f"{longest:.0f} ms", f"{early:.1f} ms", f"{late:.1f} ms", f"{late / early:.2f}"], late / early


class Meter:
    """Measure the CPU time of the page's main thread, in milliseconds."""

    def __init__(self, profile: BrowserContext, page: Page) -> None:
        self._page = page
        self._devtools = profile.new_cdp_session(page)
        self._devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._tasks: list[dict[str, Any]] = []
        self._ended: list[object] = []
        self._devtools.on("Tracing.dataCollected", lambda event: self._tasks.extend(map(_task, event["value"])))
        self._devtools.on("Tracing.tracingComplete", lambda event: self._ended.append(event))
        self._devtools.send("Tracing.start", {"categories": "toplevel", "transferMode": "ReportEvents"})

    def busy(self) -> float:
        """Return the milliseconds of all tasks so far."""
        metrics = self._devtools.send("Performance.getMetrics")["metrics"]
        return next(1000 * float(one["value"]) for one in metrics if one["name"] == "TaskDuration")

    def longest_task(self) -> float:
        """Stop, and return the milliseconds of the longest task in the trace, which includes other threads."""
        self._devtools.send("Tracing.end")
        while not self._ended:
            self._page.wait_for_timeout(50)
        return max(one.get("tdur", 0) for one in self._tasks if one) / 1000


def _task(event: dict[str, Any]) -> dict[str, Any]:
    return event if event.get("name") == "ThreadControllerImpl::RunTask" else {}


def measure_payload() -> tuple[float, float, float]:
    """Send a turn of 20,000 tokens in 100 seconds of the widget's own clock: payload, all bytes, messages a second."""
    text = "".join(f"word{n} " for n in range(20_000))
    sent: list[dict[str, Any]] = []

    class Clock:
        """A clock that is advanced manually."""

        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            self.now, self._loop = 0.0, loop
            self.due: list[tuple[float, Callable[[], object]]] = []

        def time(self) -> float:
            return self.now

        def call_later(self, delay: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
            self.due.append((self.now + delay, callback))
            return self._loop.call_later(3600, callback)

    async def turn() -> None:
        clock = Clock(asyncio.get_running_loop())
        widget = TurnWidget(
            "t", decide=lambda *_: None, stop=lambda: None, post=lambda callback: callback(), clock=clock
        )
        widget.send = lambda message, _=None: sent.append(message)
        events: list[Event] = [TurnStarted("t", "practice:default", user("hi"), 1.0), RequestStarted(1)]
        for event in [*events, *(TextDelta(f"word{n} ") for n in range(20_000))]:
            clock.now += 1 / 200
            ready, clock.due = (
                [one for one in clock.due if one[0] <= clock.now],
                [one for one in clock.due if one[0] > clock.now],
            )
            for _, callback in ready:
                callback()
            widget.feed(event)
        widget.feed(TurnEnded("completed", text, Usage(), 1, 0, 100.0))

    asyncio.run(turn())
    payload = sum(len(json.dumps(one["patches"])) for one in sent if one["kind"] == "patches")
    envelopes = 700 * len(sent)  # Jupyter's envelope of a message: header, parent, signature
    return payload / len(text), (payload + envelopes) / len(text), len(sent) / 100


def table() -> str:
    """Run all measurements, and return them as Markdown."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        profile = playwright.chromium.launch_persistent_context(
            folder, executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        runs = [[stream_reply(profile, *reply) for reply in REPLIES.items()] for _ in range(ROUNDS)]  # interleaved
        rows, ratios = zip(
            *(sorted(some, key=itemgetter(1))[ROUNDS // 2] for some in zip(*runs, strict=True)), strict=True
        )
        click = measure_click(profile)
        profile.close()
    first = sum(len(gzip.compress((STATIC / name).read_bytes(), 9)) for name in ("widget.js", "widget.css"))
    later = len(load_lazy_module().gzipped)
    payload, whole, rate = measure_payload()
    goals = [
        Goal("a flush at 1 MB, to one at 0.1 MB, the worst of the replies below", max(ratios), 1.1),
        Goal("a click on *Approve*, to the frame that shows it", click, 150, "{:.0f} ms"),
        Goal("sent with every widget, gzipped", first / 1000, 20, "{:.1f} KB"),
        Goal("sent once a page, gzipped", later / 1000, 160, "{:.1f} KB"),
        Goal(SAVED, saved_turn.measure() / 1000, saved_turn.MAX_BYTES / 1000, "{:.0f} KB"),
    ]
    lines = [
        *goal_table(goals),
        "",
        "| a reply of 1 MB | longest task | a flush at 0.1 MB | a flush at 1 MB | ratio |",
        "|---|--:|--:|--:|--:|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        "| sent to the page | |",
        "|---|--:|",
        f"| patches, as JSON, to the text | {payload:.2f} |",
        f"| with Jupyter's envelopes (700 bytes each), to the text | {whole:.2f} |",
        f"| messages a second, at most {FLUSHES_PER_SECOND} | {rate:.1f} |",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())  # noqa: T201 - this is a program
