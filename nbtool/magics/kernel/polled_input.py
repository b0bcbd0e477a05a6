"""Lines of input during which the messages of pages are read; depends on internals of ipykernel 6.

ipykernel 6 waits for a line on the thread that reads the messages of pages, so a click would be read after the line:
also one that answers what the line asks, in a page that has connected later. While there are widgets to listen for,
the kernel's own wait is replaced by one that reads both. ipykernel 7 reads in another thread, and needs none of this.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

POLL_MILLISECONDS = 20
"""Milliseconds between two looks at the messages of pages while a line is waited for."""

END_OF_INPUT = "\x04"
"""What a front end sends in place of a line when the input is closed."""


class PolledInput:
    """Replaces how a kernel waits for a line of input; `poll` reads the messages of pages, on the main thread."""

    def __init__(self, kernel: Any, poll: Callable[[], object]) -> None:
        self._kernel, self._poll = kernel, poll

    def replace(self) -> None:
        """Replace the kernel's wait, if it has the names that this uses."""
        if all(hasattr(self._kernel, name) for name in ("_input_request", "stdin_socket", "session")):
            self._kernel._input_request = self._ask

    def restore(self) -> None:
        """Undo `replace`."""
        vars(self._kernel).pop("_input_request", None)  # of the instance; the class has its own

    def _ask(self, prompt: str, ident: Any, parent: Any, password: bool = False) -> str:
        """Ask the front end of a cell for a line, as the kernel does.

        Raises:
            EOFError: the input was closed.
        """
        import zmq  # noqa: PLC0415 - installed only with ipykernel

        kernel, socket = self._kernel, self._kernel.stdin_socket
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        with suppress(zmq.Again):  # replies to earlier requests
            while True:
                socket.recv_multipart(zmq.NOBLOCK)
        kernel.session.send(socket, "input_request", {"prompt": prompt, "password": password}, parent, ident=ident)
        line = str(self._receive(socket))
        if line == END_OF_INPUT:
            raise EOFError
        return line

    def _receive(self, socket: Any) -> Any:
        """Wait for the line; meanwhile read the messages of pages."""
        is_main = threading.current_thread() is threading.main_thread()
        while True:
            if socket.poll(POLL_MILLISECONDS):
                try:
                    _, reply = self._kernel.session.recv(socket)
                    return reply["content"]["value"]
                except (ValueError, KeyError, TypeError):  # not signed, or no reply
                    self._kernel.log.warning("Invalid Message:", exc_info=True)
            elif is_main:
                with _interrupts_held():
                    self._poll()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let an interrupt wait until the block is left: it would lose the messages that are being sorted."""
    held: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            signal.raise_signal(signal.SIGINT)
