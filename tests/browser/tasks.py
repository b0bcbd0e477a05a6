"""How long the thread of a page is at work, in its own time, so that a busy machine changes little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from playwright.sync_api import BrowserContext, Page

TASKS = ("ThreadControllerImpl::RunTask", "RunTask")


class Work(NamedTuple):
    """What a page did, in milliseconds of its thread's own time: the longest task, and all of them."""

    longest: float
    total: float


class Tasks:
    """Traces a page while it does something."""

    def __init__(self, profile: BrowserContext, page: Page) -> None:
        self._page = page
        self._devtools = profile.new_cdp_session(page)
        self._events: list[dict[str, Any]] = []
        self._ended: list[object] = []
        self._devtools.on("Tracing.dataCollected", lambda news: self._events.extend(news["value"]))
        self._devtools.on("Tracing.tracingComplete", lambda news: self._ended.append(news))

    def measure(self, do: Callable[[], object]) -> Work:
        """Do something; gives the work that it was to the page."""
        self._events.clear()
        self._ended.clear()
        self._devtools.send("Tracing.start", {"categories": "toplevel", "transferMode": "ReportEvents"})
        try:
            do()
        finally:
            self._devtools.send("Tracing.end")
            while not self._ended:
                self._page.wait_for_timeout(10)
        return self._work()

    def close(self) -> None:
        """End the session, and with it the trace of the page."""
        self._devtools.detach()

    def _work(self) -> Work:
        """Sum up the main threads of pages: the browser's own process and helpers are not looked at."""
        named = [one for one in self._events if one["name"] == "thread_name"]
        main = {(one["pid"], one["tid"]) for one in named if one["args"]["name"] == "CrRendererMain"}
        tasks = [one for one in self._events if one["name"] in TASKS and (one["pid"], one["tid"]) in main]
        times = [one.get("tdur", 0) / 1000 for one in tasks]
        assert times, "the trace holds no task of the page"
        return Work(max(times), sum(times))
