"""Requests of the kernel to the page that runs the current cell, over a comm that only that page answers.

The page compares the request that opened the comm with its own connection to the kernel, so that of several pages of
one kernel only the one that started the cell answers. Its answers arrive while the cell runs, like those of a widget.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from nbtool.clock import monotonic
from nbtool.magics.kernel.broadcast import BroadcastListener
from nbtool.magics.kernel.cell_messages import KernelListener, cell_id, has_front_end, listener_for
from nbtool.threads.threadless import WaitEvent, new_event

TARGET = "nbtool.notebook"
"""The target of the comm; the same as in js/src/lab/notebookRequests.ts."""

CONTEXT_SECONDS = 2.0
"""Seconds for a page to say that it has a notebook model, before cells are taken from IPython's history."""

HELLO_SECONDS = 8.0
"""The same where only a page will do; less than binding a call may take. A page that loads its first widget is slow."""

READ_SECONDS = 8.0
"""Seconds for a page to answer a request that changes nothing."""

CHANGE_SECONDS = 20.0
"""Seconds for a page to answer a change: one that comes late would be made without a record."""

WAIT_SECONDS = 0.02
"""Seconds between two polls while a thread waits for an answer."""

VERSION = 1


@dataclass(slots=True)
class _Waiting:
    """A request without an answer yet."""

    event: WaitEvent = field(default_factory=new_event)
    answer: dict[str, Any] | None = None


class PageChannel:
    """The way to the page of the running cell; opened by the first request, from any thread.

    One that `outlives_cell` may be used after that cell too, until it is closed or the page is gone.
    """

    def __init__(self, shell: Any, *, hello_seconds: float = HELLO_SECONDS, outlives_cell: bool = False) -> None:
        self._outlives_cell = outlives_cell
        self.cell_id = cell_id(shell)
        self._kernel = getattr(shell, "kernel", None) if has_front_end(shell) else None
        self._hello_seconds = hello_seconds
        self._context = copy_context()  # ipykernel 7 takes the running cell from it
        self._sending, self._opening = threading.Lock(), threading.Lock()
        self._nonce = uuid4().hex
        self._hello = _Waiting()
        self._waiting: dict[str, _Waiting] = {"hello": self._hello}
        self._comm: Any = None
        self._opened_at = 0.0
        self._is_closed = False

    def open(self) -> bool:
        """Open the channel if it was not, without waiting; return whether there may be a page."""
        with self._opening:
            if self._comm is None and not self._is_closed and self._listener is not None and self.cell_id:
                identifier = uuid4().hex
                self._in_cell(lambda: self._listen(identifier))
                self._comm = self._in_cell(lambda: self._create(identifier))
                self._opened_at = monotonic()
            return self._comm is not None

    def is_open(self, seconds: float | None = None) -> bool:
        """Return whether a page with a notebook model answers; wait for it for some seconds after the opening."""
        if not self.open():
            return False
        limit = self._hello_seconds if seconds is None else seconds
        self._wait(self._hello, self._opened_at + limit - monotonic())
        return self._hello.event.is_set() and not self._is_closed

    def notebook_path(self) -> str:
        """Return the path of the notebook that runs the cell, as its page says it; empty if no page answers soon."""
        answer = (self._hello.answer or {}) if self.is_open(CONTEXT_SECONDS) else {}
        return str(answer.get("notebook") or "")

    def request(self, message: Mapping[str, Any], *, changes: bool = False) -> dict[str, Any] | None:
        """Send a request and return the answer, whatever it is; None if the page does not answer in time."""
        return self._ask(message, CHANGE_SECONDS if changes else READ_SECONDS) if self.is_open() else None

    def poll(self) -> None:
        """Process messages of the page; on the waiting thread, where no view does."""
        if self._comm is not None and self._listener is not None:
            self._listener.poll()

    def close(self) -> None:
        """Answer no more requests: the cell has ended."""
        self._is_closed = True
        if self._comm is not None and self._listener is not None:
            self._listener.close(self._comm.comm_id)
            self._in_cell(self._comm.close)
        self._comm = None

    @property
    def _listener(self) -> KernelListener | None:
        listener = listener_for(self._kernel) if self._kernel is not None else None
        return None if isinstance(listener, BroadcastListener) else listener  # the page broadcasts for widgets only

    def _listen(self, identifier: str) -> None:
        if self._listener is not None:
            self._listener.open(identifier, self._receive, in_cell=not self._outlives_cell)

    def _create(self, identifier: str) -> Any:
        data = {"v": VERSION, "nonce": self._nonce, "cell": self.cell_id}
        comm = _open_comm(target_name=TARGET, comm_id=identifier, data=data)
        if self._outlives_cell:  # between cells, ipykernel 6 delivers itself
            comm.on_msg(lambda message: self._receive(message["content"]["data"].get("content")))
        return comm

    def _ask(self, message: Mapping[str, Any], seconds: float) -> dict[str, Any] | None:
        identifier = uuid4().hex
        waiting = self._waiting[identifier] = _Waiting()
        try:
            self._in_cell(lambda: self._comm.send({"v": VERSION, "nonce": self._nonce, "id": identifier, **message}))
            return self._wait(waiting, seconds)
        finally:
            self._waiting.pop(identifier, None)

    def _wait(self, waiting: _Waiting, seconds: float) -> dict[str, Any] | None:
        """Wait for an answer; on the main thread also poll, which ipykernel 6 needs."""
        is_main = threading.current_thread() is threading.main_thread()
        deadline = monotonic() + seconds
        while not waiting.event.wait(WAIT_SECONDS) and monotonic() < deadline and not self._is_closed:
            if is_main and self._listener is not None:
                self._listener.poll()
        return waiting.answer

    def _receive(self, content: Any) -> None:
        """Handle a message of the page, on any thread: an answer to a request of this channel, or nothing."""
        if not isinstance(content, dict) or content.get("v") != VERSION or content.get("nonce") != self._nonce:
            return
        if (waiting := self._waiting.get(str(content.get("id")))) and not waiting.event.is_set():
            waiting.answer = content
            waiting.event.set()

    def _in_cell(self, work: Callable[[], Any]) -> Any:
        """Call a function as part of the cell, from any thread, one at a time."""
        with self._sending:
            return self._context.run(work)


def _open_comm(**how: Any) -> Any:
    """Open a comm: ipykernel before 6.18 has a class of its own; the package `comm` would open none there."""
    from ipykernel.comm import comm as kernel_comm  # noqa: PLC0415 - installed only with a kernel

    if not hasattr(kernel_comm, "BaseComm"):
        return kernel_comm.Comm(**how)
    from comm import create_comm  # noqa: PLC0415 - a dependency of those that have it

    return create_comm(**how)
