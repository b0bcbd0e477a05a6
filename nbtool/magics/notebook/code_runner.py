"""Run code of a model in the notebook, and return what it prints, displays and evaluates to.

It runs as a cell inside the `%%chat` cell: in the person's namespace, on the main thread, with live output. Only
the output of this thread is captured; an error's traceback is shortened to one line.
"""

from __future__ import annotations

import base64
import binascii
import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from nbtool.errors import ToolFailed
from nbtool.magics.notebook.output_proxies import PublisherProxy, StreamProxy
from nbtool.messages import Media
from nbtool.tools.values.model_text import format_error
from nbtool.toolsets.runner_registry import CodeResult

MAX_CAPTURED = 1_000_000
"""Characters of the output that are returned; all of it is shown in the cell."""

_CELL_CODE = ("<module>", "<cell line:")
"""How the names of a cell's own code begin; the second in IPython 7.34 and early versions of 8."""

_IMAGES = ("image/png", "image/jpeg", "image/svg+xml")


def run_code(shell: Any, code: str, *, max_captured: int = MAX_CAPTURED) -> CodeResult:
    """Run code as a cell of the shell, without an entry in its history.

    Raises:
        KeyboardInterrupt: the kernel was interrupted.
        ToolFailed: no cell is waiting for the chat.
    """
    if threading.current_thread() is not threading.main_thread():
        raise ToolFailed("Code runs in the notebook only while a cell waits for the chat, as %%chat does.")
    capture = _Capture(threading.get_ident(), max_captured)
    with _capture_output(shell, capture):
        result = shell.run_cell(code, store_history=False)
    error = result.error_before_exec or result.error_in_exec
    if isinstance(error, KeyboardInterrupt):
        raise error
    return CodeResult(
        output=capture.output.getvalue(),
        has_value=result.result is not None,
        value=result.result,
        figures=tuple(capture.figures),
        error=_error_line(error, shell) if error else "",
        omitted=capture.omitted,
    )


@dataclass(slots=True)
class _Capture:
    """What one thread prints and displays while its code runs."""

    thread: int
    max_captured: int = MAX_CAPTURED
    output: io.StringIO = field(default_factory=io.StringIO)
    figures: list[Media] = field(default_factory=list)
    omitted: int = 0
    is_active: bool = True

    def copy(self, text: str) -> bool:
        """Capture a copy of what this thread prints; the text goes on to the cell."""
        if self.is_active and threading.get_ident() == self.thread:
            captured = text[: max(0, self.max_captured - self.output.tell())]
            self.output.write(captured)
            self.omitted += len(text) - len(captured)
        return False

    def show(self, data: dict[str, Any]) -> None:
        mime = next((kind for kind in _IMAGES if kind in data), None)
        if mime and threading.get_ident() == self.thread and (content := _bytes_of(data[mime], mime)):
            self.figures.append(Media(mime, data=content))


class _Publisher(PublisherProxy):
    """A display publisher that publishes as before and captures a copy."""

    def __init__(self, publisher: Any, capture: _Capture) -> None:
        super().__init__(publisher)
        self._capture = capture

    def publish(self, data: dict[str, Any], metadata: dict[str, Any] | None = None, **kwargs: Any) -> None:  # type: ignore[override]  # IPython's signature differs between versions
        self._capture.show(data)
        super().publish(data, metadata, **kwargs)


@contextmanager
def _capture_output(shell: Any, capture: _Capture) -> Iterator[None]:
    """Replace the shell's output streams temporarily."""
    publisher = shell.display_pub
    with (
        shell.display_trap,
        redirect_stdout(StreamProxy(sys.stdout, capture.copy)),
        redirect_stderr(StreamProxy(sys.stderr, capture.copy)),
        _suppress_tracebacks(shell),
        _exclude_display_hook(capture),
    ):
        shell.display_pub = _Publisher(publisher, capture)
        try:
            yield
        finally:
            shell.display_pub = publisher


@contextmanager
def _suppress_tracebacks(shell: Any) -> Iterator[None]:
    """Suppress the traceback: the error is returned as a line, and the cell has not failed."""
    shell._showtraceback = lambda *_: None
    try:
        yield
    finally:
        vars(shell).pop("_showtraceback", None)


@contextmanager
def _exclude_display_hook(capture: _Capture) -> Iterator[None]:
    """Show the value of an expression in the cell without capturing it as output: it is returned as a value."""
    show = sys.displayhook

    def display_value(value: object) -> None:
        capture.is_active = False
        try:
            show(value)
        finally:
            capture.is_active = True

    sys.displayhook = display_value
    try:
        yield
    finally:
        sys.displayhook = show


def _bytes_of(content: Any, mime: str) -> bytes:
    if isinstance(content, bytes):
        return content
    if not isinstance(content, str):
        return b""
    if mime == "image/svg+xml":
        return content.encode()
    try:
        return base64.b64decode(content)
    except (binascii.Error, ValueError):
        return b""


def _error_line(error: BaseException, shell: Any) -> str:
    """Describe an error in one line, with the line number in the code."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}{f' (line {error.lineno})' if error.lineno else ''}"
    number = _line_number(error.__traceback__, shell.user_global_ns)
    return f"{format_error(error)}{f' (line {number})' if number else ''}"


def _line_number(trace: TracebackType | None, names: dict[str, Any]) -> int | None:
    number = None
    while trace is not None:
        if trace.tb_frame.f_globals is names and trace.tb_frame.f_code.co_name.startswith(_CELL_CODE):
            number = trace.tb_lineno
        trace = trace.tb_next
    return number
