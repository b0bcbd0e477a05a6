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

MAX_OUTPUTS = 1_000
"""Outputs of a run; what follows is left out likewise."""

MAX_ERROR_CHARACTERS = 200_000
"""Characters of a traceback, of which the end is kept; of the name and the text of an error the first thousand."""

OMITTED = "[The further output of this run is left out: it exceeds {limit:,} characters or {count:,} outputs.]\n"
OMITTED_TRACEBACK = "[{count:,} characters of this traceback are left out]"


@dataclass(slots=True)
class CellResult:
    """The outputs of a run in the form of a notebook, its error as a line, and the interrupt that ended it."""

    outputs: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""
    interrupt: BaseException | None = None

    def as_cell_run(self) -> CellRun:
        """Return the outputs as texts."""
        return CellRun(tuple(map(_as_text, self.outputs)), self.error)


def run_source(
    shell: Any, source: str, *, max_characters: int = MAX_CHARACTERS, max_outputs: int = MAX_OUTPUTS
) -> CellResult:
    """Run a source as a cell of the shell, without an entry in its history; on the main thread.

    Raises:
        ToolFailed: it cannot run here; see `check_runnable`.
    """
    check_runnable(shell, source)
    recorder = _Recorder(threading.get_ident(), max_characters, max_outputs)
    with _record(shell, recorder):
        result = shell.run_cell(source, store_history=False)
    error = result.error_before_exec or result.error_in_exec
    line = "" if error is None else shorten(f"{type(error).__name__}: {error}".strip().splitlines()[0], 500)
    return CellResult(recorder.finish(), line, error if isinstance(error, KeyboardInterrupt) else None)


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
    max_outputs: int
    outputs: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0
    is_full: bool = False
    clears_next: bool = False
    _printed: list[str] = field(default_factory=list)

    def take(self, name: str, text: str) -> bool:
        """Record what this thread prints, and return whether it did; other threads print where they did before."""
        if threading.get_ident() != self.thread:
            return False
        if self._has_room(len(text), is_new=not self._is_printing(name)):
            if not self._is_printing(name):
                self._add({"output_type": "stream", "name": name, "text": ""})
            self._printed.append(_well_formed(text))
        return True

    def show(self, kind: str, data: dict[str, Any], metadata: dict[str, Any] | None, **more: Any) -> None:
        """Record a display."""
        output = {"output_type": kind, **_bundle(data, metadata), **more}
        if self._has_room(_size(output)):
            self._add(output)

    def update(self, output: dict[str, Any], data: dict[str, Any], metadata: dict[str, Any] | None) -> None:
        """Replace the data of a display that was recorded."""
        bundle = _bundle(data, metadata)
        if self._has_room(_size(bundle) - _size(output), is_new=False):
            output.update(bundle)

    def fail(self, name: str, text: str, traceback: list[str]) -> None:
        """Record an error, whatever the size of the other outputs."""
        whole = "\n".join(map(_well_formed, traceback))
        lines = whole[-MAX_ERROR_CHARACTERS:].split("\n")
        if len(whole) > MAX_ERROR_CHARACTERS:
            lines.insert(0, OMITTED_TRACEBACK.format(count=len(whole) - MAX_ERROR_CHARACTERS))
        name, text = (shorten(_well_formed(part), 1_000) for part in (name, text))
        self._add({"output_type": "error", "ename": name, "evalue": text, "traceback": lines})

    def clear(self, *, wait: bool) -> None:
        """Remove the outputs: now, or before the next one."""
        self.clears_next = wait
        if not wait:
            self.outputs, self.size, self.is_full = [], 0, False
            self._printed = []

    def finish(self) -> list[dict[str, Any]]:
        """Return the outputs; successive texts of one stream are one output."""
        if self._printed:
            self.outputs[-1]["text"], self._printed = "".join(self._printed), []
        return self.outputs

    def _add(self, output: dict[str, Any]) -> None:
        self.finish()
        self.outputs.append(output)

    def _is_printing(self, name: str) -> bool:
        return bool(self._printed) and self.outputs[-1]["name"] == name and not self.clears_next

    def _has_room(self, size: int, *, is_new: bool = True) -> bool:
        """Count some characters, and return whether they are kept."""
        if self.clears_next:
            self.clear(wait=False)
        self.size += size
        is_beyond = self.size > self.max_characters or (is_new and len(self.outputs) >= self.max_outputs)
        if is_beyond and not self.is_full:
            self.is_full = True
            text = OMITTED.format(limit=self.max_characters, count=self.max_outputs)
            self._add({"output_type": "stream", "name": "stderr", "text": text})
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
                self._recorder.update(output, data, metadata)
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


def _bundle(data: dict[str, Any], metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Return the data of a display and what belongs to it, as a notebook stores them."""
    about = _plain(metadata or {})
    return {
        "data": {_well_formed(str(mime)): _plain(value) for mime, value in data.items()},
        "metadata": about if isinstance(about, dict) else {},
    }


def _size(output: dict[str, Any]) -> int:
    """Return the characters of a display."""
    return len(str(output["metadata"])) + sum(len(mime) + len(str(value)) for mime, value in output["data"].items())


def _plain(value: Any) -> Any:
    """Return the data of one type as a notebook stores it: bytes in base64, and as text what is no JSON."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, str):
        return _well_formed(value)
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
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
