"""How the progress of a map is shown: by the front end's view where one is registered, else by a line of text.

The extension of a notebook registers a view when it is loaded. Nothing that a view does reaches the map.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TextIO

from nbtool.chat.batch.status_line import cut_text, status_line, undecided_text
from nbtool.clock import monotonic
from nbtool.errors import Cancelled, NbtoolError
from nbtool.map_progress import CONTINUE_FIX, MapProgress, MapState, ProgressView, get_progress_view
from nbtool.threads.loop import background_loop

INTERVAL = 0.2
"""Minimum seconds between two updates of the line."""

VIEW_INTERVAL = 0.33
"""Seconds between two updates of a view."""


Measure = Callable[[MapState, str], MapProgress]
"""Returns how far a map is, in a state and, if it was stopped, for a reason."""


class ProgressDisplay:
    """Shows a map from `open` to `close`; with `is_shown=False` only, at the end, what its values do not say.

    That is also how far it came if it was interrupted. One that is `is_part` of another map shows nothing. `measure`
    returns how far it is, in a state and for a reason, `stop` stops it, and `continue_fix` is what can be done then.
    """

    def __init__(
        self,
        measure: Measure,
        stop: Callable[[], object],
        *,
        is_shown: bool,
        is_part: bool = False,
        line: Callable[[MapProgress], str] = status_line,
        continue_fix: str = CONTINUE_FIX,
    ) -> None:
        self._measure, self._stop, self._make_line, self._continue_fix = measure, stop, line, continue_fix
        self._is_shown, self._is_part = is_shown and not is_part, is_part
        self._line: ProgressLine | None = None
        self._view: ProgressView | None = None
        self._updates: Future[None] | None = None

    def open(self) -> None:
        """Begin to show it, in the output of the running cell."""
        if not self._is_shown:
            return
        if make_view := get_progress_view():
            with suppress(Exception):  # without the view there is the line
                self._view = make_view(self._progress(), self._stop)
        if self._view:
            self._updates = background_loop().submit(self._update_view(self._view))
        else:
            self._line = ProgressLine(is_shown=True)

    @property
    def has_view(self) -> bool:
        """Whether the page of a notebook shows the progress, and what came of it."""
        return self._view is not None

    def update(self) -> None:
        """Note that something has changed; a view shows it at its next update."""
        if self._line and self._line.is_due:
            self._line.show(self._text(self._progress()))

    @contextmanager
    def waiting(self) -> Iterator[Callable[[], None]]:
        """Return what the waiting thread calls on every tick, to process messages of the page.

        Only the main thread may read the messages of a kernel.
        """
        view = self._view if threading.current_thread() is threading.main_thread() else None
        if view is None:
            yield lambda: None
            return

        def poll() -> None:
            with suppress(Exception):
                view.poll()

        with suppress(Exception):
            view.set_waiting(is_waiting=True)
        try:
            yield poll
        finally:
            with suppress(Exception):
                view.set_waiting(is_waiting=False)

    def close(self, error: BaseException | None = None) -> None:
        """Show what came of it; `error` is why not all prompts were sent."""
        if self._updates:
            self._updates.cancel()
        if self._is_part:
            return
        progress = self._progress(error, is_ended=True)
        hidden = ", ".join(filter(None, [undecided_text(progress), cut_text(progress)]))  # the values do not show it
        is_interrupted = isinstance(error, KeyboardInterrupt)
        if not self._is_shown and (hidden or is_interrupted):
            text = self._end_text(progress) if is_interrupted else f"nbtool: {hidden}"
            print(text, file=sys.stderr, flush=True)  # noqa: T201 - also without progress
        if self._view:
            with suppress(Exception):
                self._view.end(progress)
        if self._line:
            self._line.end(self._end_text(progress), is_needed=progress.state == "stopped" or bool(hidden))

    def _end_text(self, progress: MapProgress) -> str:
        text = self._text(progress)
        return f"{text} ({self._continue_fix})" if progress.state == "stopped" else text

    def _text(self, progress: MapProgress) -> str:
        return f"nbtool: {self._make_line(progress)}"

    def _progress(self, error: BaseException | None = None, *, is_ended: bool = False) -> MapProgress:
        if not is_ended:
            return self._measure("running", "")
        if error is None:
            return self._measure("completed", "")
        return replace(self._measure("stopped", _reason_of(error)), continue_fix=self._continue_fix)

    async def _update_view(self, view: ProgressView) -> None:
        while True:
            await asyncio.sleep(VIEW_INTERVAL)
            with suppress(Exception):
                view.show(self._progress())


class ProgressLine:
    """Write progress to an interactive stream, overwritten in place.

    The stream is stderr in a terminal and stdout in a notebook, where stderr has a red background. To a file or a pipe
    only what is needed is written, to stderr: that calls were denied or answers cut short, which the values of a map do
    not show, and how far a map came that was stopped.
    """

    def __init__(self, *, is_shown: bool) -> None:
        stream = sys.stdout if _is_notebook_stream(sys.stdout) else sys.stderr
        self._is_shown = is_shown
        self._stream: TextIO | None = stream if is_shown and _is_interactive(stream) else None
        self._last = 0.0
        self._width = 0

    @property
    def is_due(self) -> bool:
        """Whether a text would be shown now."""
        return self._stream is not None and monotonic() - self._last >= INTERVAL

    def show(self, text: str) -> None:
        """Update the line, at most once per `INTERVAL`."""
        if self._stream and self.is_due:
            self._last = monotonic()
            self._write(self._stream, text)
            self._width = len(text)

    def end(self, text: str, *, is_needed: bool) -> None:
        """Write the last text; where nothing is interactive, only if it is needed."""
        if self._stream:
            self._write(self._stream, f"{text:<{self._width}}\n")
        elif is_needed and self._is_shown:
            print(text, file=sys.stderr, flush=True)  # noqa: T201 - a script whose output is a file or a pipe

    def _write(self, stream: TextIO, text: str) -> None:
        stream.write(f"\r{text:<{self._width}}")
        stream.flush()


def _reason_of(error: BaseException) -> str:
    """Return why a map was stopped in one line; empty if a person stopped it."""
    if isinstance(error, Cancelled | KeyboardInterrupt):
        return ""
    return str(error) if isinstance(error, NbtoolError) else f"{type(error).__name__}: {error}"


def _is_interactive(stream: TextIO) -> bool:
    """Whether the stream is interactive: a terminal, or the output of a notebook's cell."""
    return stream.isatty() or _is_notebook_stream(stream)


def _is_notebook_stream(stream: TextIO) -> bool:
    return type(stream).__module__.startswith("ipykernel")
