"""Run a cell of the notebook inside a `%%chat` cell that waits, and record its outputs as a notebook stores them."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nbtool.errors import ToolFailed
from nbtool.magics.notebook.output_proxies import PublisherProxy, StreamProxy
from nbtool.text import shorten
from nbtool.tools.values.sanitize import strip_controls
from nbtool.toolsets.notebook_access import CellOutput, CellRun

MAX_CHARACTERS = 2_000_000
"""Characters of all outputs of a run; what follows is left out, which the last output says."""

OMITTED = "[The further output of this run is left out: it exceeds {limit:,} characters.]\n"


@dataclass(slots=True)
class CellResult:
    """The outputs of a run in the form of a notebook, its error as a line, and the interrupt that ended it."""

    outputs: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""
    interrupt: BaseException | None = None

    def as_cell_run(self) -> CellRun:
        """Return the outputs as texts."""
        return CellRun(tuple(map(_as_text, self.outputs)), self.error)


def run_source(shell: Any, source: str, *, max_characters: int = MAX_CHARACTERS) -> CellResult:
    """Run a source as a cell of the shell, without an entry in its history; on the main thread.

    Raises:
        ToolFailed: it cannot run here; see `check_runnable`.
    """
    check_runnable(shell, source)
    recorder = _Recorder(threading.get_ident(), max_characters)
    with _record(shell, recorder):
        result = shell.run_cell(source, store_history=False)
    error = result.error_before_exec or result.error_in_exec
    line = "" if error is None else shorten(f"{type(error).__name__}: {error}".strip().splitlines()[0], 500)
    return CellResult(recorder.outputs, line, error if isinstance(error, KeyboardInterrupt) else None)


def check_runnable(shell: Any, source: str) -> None:
    """Check whether a source can run now.

    Raises:
        ToolFailed: this is not the main thread, or the source awaits and the thread's event loop runs already.
    """
    if threading.current_thread() is not threading.main_thread():
        raise ToolFailed("Cells run only while a cell waits for the chat, as %%chat does.")
    if _has_running_loop() and shell.should_run_async(source, transformed_cell=_transformed(shell, source)):
        raise ToolFailed("This cell awaits, which cannot be done while another cell runs. Ask the user to run it.")


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _transformed(shell: Any, source: str) -> str:
    """Return a source as Python; unchanged if it is none, which its run will report."""
    try:
        return str(shell.transform_cell(source))
    except SyntaxError:
        return source


@dataclass(slots=True)
class _Recorder:
    """The outputs of one thread, within a bound."""

    thread: int
    max_characters: int
    outputs: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0
    is_full: bool = False
    clears_next: bool = False

    def take(self, name: str, text: str) -> bool:
        """Record what this thread prints, and return whether it did; other threads print where they did before."""
        if threading.get_ident() != self.thread:
            return False
        if self._has_room(len(text)):
            self._stream(name, text)
        return True

    def _stream(self, name: str, text: str) -> None:
        """Record printed text; successive texts of one stream are one output."""
        text = _well_formed(text)
        last = self.outputs[-1] if self.outputs else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            last["text"] += text
        else:
            self.outputs.append({"output_type": "stream", "name": name, "text": text})

    def show(self, kind: str, data: dict[str, Any], metadata: dict[str, Any] | None, **more: Any) -> None:
        """Record a display."""
        plain = {mime: _plain(value) for mime, value in data.items()}
        if self._has_room(sum(len(str(value)) for value in plain.values())):
            about = _plain(metadata or {})
            self.outputs.append(
                {"output_type": kind, "data": plain, "metadata": about if isinstance(about, dict) else {}, **more}
            )

    def fail(self, name: str, text: str, traceback: list[str]) -> None:
        """Record an error, whatever the size of the other outputs."""
        lines = [_well_formed(line) for line in traceback]
        self.outputs.append({"output_type": "error", "ename": name, "evalue": _well_formed(text), "traceback": lines})

    def clear(self, *, wait: bool) -> None:
        """Remove the outputs: now, or before the next one."""
        self.clears_next = wait
        if not wait:
            self.outputs, self.size, self.is_full = [], 0, False

    def _has_room(self, size: int) -> bool:
        if self.clears_next:
            self.clear(wait=False)
        self.size += size
        if self.size > self.max_characters and not self.is_full:
            self.is_full = True
            limit = OMITTED.format(limit=self.max_characters)
            self.outputs.append({"output_type": "stream", "name": "stderr", "text": limit})
        return not self.is_full


class _Publisher(PublisherProxy):
    """A display publisher that records, and updates a display where it was recorded or shown."""

    def __init__(self, publisher: Any, recorder: _Recorder) -> None:
        super().__init__(publisher)
        self._recorder = recorder
        self._shown: dict[str, dict[str, Any]] = {}

    def publish(self, data: dict[str, Any], metadata: dict[str, Any] | None = None, **kwargs: Any) -> None:  # type: ignore[override]  # IPython's signature differs between versions
        display_id = str((kwargs.get("transient") or {}).get("display_id") or "")
        if kwargs.get("update"):
            if output := self._shown.get(display_id):
                output["data"] = {mime: _plain(value) for mime, value in data.items()}
            else:
                super().publish(data, metadata, **kwargs)
            return
        count = len(self._recorder.outputs)
        self._recorder.show("display_data", data, metadata)
        if display_id and len(self._recorder.outputs) > count:
            self._shown[display_id] = self._recorder.outputs[-1]

    def clear_output(self, wait: bool = False) -> None:
        self._recorder.clear(wait=wait)


@contextmanager
def _record(shell: Any, recorder: _Recorder) -> Iterator[None]:
    """Replace the shell's outputs temporarily."""
    publisher, show = shell.display_pub, sys.displayhook

    def display_value(value: object) -> None:
        if value is not None:
            data, metadata = shell.display_formatter.format(value)
            recorder.show("execute_result", data, metadata, execution_count=None)

    def show_error(kind: Any, value: Any, traceback: list[str]) -> None:
        recorder.fail(getattr(kind, "__name__", str(kind)), str(value), [str(line) for line in traceback])

    with (
        shell.display_trap,
        redirect_stdout(StreamProxy(sys.stdout, partial(recorder.take, "stdout"))),
        redirect_stderr(StreamProxy(sys.stderr, partial(recorder.take, "stderr"))),
    ):
        shell.display_pub, sys.displayhook = _Publisher(publisher, recorder), display_value
        shell._showtraceback = show_error
        try:
            yield
        finally:
            vars(shell).pop("_showtraceback", None)
            shell.display_pub, sys.displayhook = publisher, show


def _plain(value: Any) -> Any:
    """Return the data of one type as a notebook stores it: bytes in base64, and as text what is no JSON."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, str):
        return _well_formed(value)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return _well_formed(str(value))
    return value


def _well_formed(text: str) -> str:
    """Return a text that can be sent: halves of characters are replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _as_text(output: dict[str, Any]) -> CellOutput:
    if output["output_type"] == "error":
        text = strip_controls("\n".join(output["traceback"]))
        return CellOutput("error", text, len(text))
    if output["output_type"] == "stream":
        text = strip_controls(output["text"])
        return CellOutput("text", text, len(text))
    types = [mime for mime in output["data"] if mime != "text/plain"]
    is_media = any(mime.startswith(("image/", "audio/", "video/")) for mime in types)
    plain = strip_controls(str(output["data"].get("text/plain", "")))
    text = f"{', '.join(types)} {plain}".strip() if is_media or not plain else plain
    return CellOutput("media" if is_media else "text", text, len(text))
