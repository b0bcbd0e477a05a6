"""Latency of a click in a running cell until the kernel acknowledges it, relative to a plain round trip.

A page without a browser talks to a real kernel; see `tests/compat/page.py`.
"""

from __future__ import annotations

import statistics
import time

from tests.compat.page import Page, open_page

SETUP = """
%load_ext nbtool
from nbtool import tool
@tool
def double(n: int) -> int:
    "Twice a number."
    return 2 * n
"""
ASK = "%%chat -m practice:fast\nUse &`double` with 21."


def measure_clicks(count: int) -> tuple[float, float]:
    """Return the median seconds from a click to its answer, and of a round trip to the idle kernel."""
    latencies, trips = [], []
    with open_page() as page:
        page.run(SETUP)
        watch = WatchedPage(page)
        for _ in range(count):
            began = time.perf_counter()
            page.client.kernel_info(reply=True, timeout=40)
            trips.append(time.perf_counter() - began)
            latencies.append(watch.answer())
    return statistics.median(latencies), statistics.median(trips)


class WatchedPage:
    """Measure the latency of one click, without changing it."""

    def __init__(self, page: Page) -> None:
        self._page, self._send, self._take = page, page._send, page._take
        self._clicked = self._decided = 0.0
        page._send = self._sending  # type: ignore[method-assign]  # timestamps around the page's own methods
        page._take = self._taking  # type: ignore[method-assign]  # the same

    def answer(self) -> float:
        """Run a cell that needs approval, click, and return the seconds until the answer."""
        self._clicked = self._decided = 0.0
        self._page.run(ASK, click="approve")
        return self._decided - self._clicked

    def _sending(self, message: dict[str, object]) -> None:
        if "approve" in str(message["content"]):
            self._clicked = time.perf_counter()
        self._send(message)

    def _taking(self, message: dict[str, object], click: str) -> object:
        before = self._page.confirmed
        content = self._take(message, click)
        if self._page.confirmed > before:
            self._decided = time.perf_counter()
        return content
