"""Messages of a page to a kernel in a worker of the same browser, while its cell runs (JupyterLite).

JupyterLite keeps every message back until the cell has ended, except a line of input. Its kernel, however, is a worker
of the page's own origin: the page also posts a widget's messages to a BroadcastChannel, which the suspended worker
receives. The channel's name is that of the widget's comm, which is random; the widget validates each message, and
handles it once, whichever way it came.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

PREFIX = "nbtool."
"""What a channel's name begins with; the same as in js/src/kernel/broadcast.ts."""

MAX_MESSAGE = 4_000_000
"""Maximum number of characters of a message."""

DRIVE = Path("/drive")
"""Where JupyterLite mounts its files, if the site has the service worker that lines of input need as well."""


class BroadcastChannel(Protocol):
    """An open channel."""

    def close(self) -> None:
        """Stop listening."""


OpenChannel = Callable[[str, Callable[[str], None]], BroadcastChannel]


class BroadcastListener:
    """Listens to one channel for each widget; see `nbtool.magics.kernel.cell_messages.KernelListener`."""

    name = "broadcast"

    def __init__(self, open_channel: OpenChannel | None = None) -> None:
        self._open_channel = open_channel or open_in_browser
        self._channels: dict[str, BroadcastChannel] = {}

    def open(
        self,
        comm_id: str,
        on_message: Callable[[Any], object],
        *,
        in_cell: bool = True,  # noqa: ARG002 - the page sees no other state of the kernel
        on_rerun: Callable[[], object] | None = None,  # noqa: ARG002 - no request arrives while a cell runs
    ) -> None:
        """Start listening for a widget."""

        def receive(text: str) -> None:
            if len(text) > MAX_MESSAGE:
                return
            try:
                content = json.loads(text)
            except (ValueError, RecursionError):
                return
            on_message(content)

        self._channels[comm_id] = self._open_channel(PREFIX + comm_id, receive)

    def poll(self) -> None:
        """Do nothing: the event loop listens."""

    def running_cells(self) -> list[Any]:
        """Return no requests: no other message makes the kernel look idle while a cell runs."""
        return []

    def close(self, comm_id: str) -> None:
        """Stop listening for a widget."""
        if channel := self._channels.pop(comm_id, None):
            channel.close()


def parent_of(kernel: Any) -> Any:
    """Return the message that JupyterLite's kernel handles; it takes no channel."""
    return kernel.get_parent()


def can_ask_for_line(kernel: Any, drive: Path = DRIVE) -> bool:
    """Return whether a line of input reaches a person: the page supports it, and the site has its service worker."""
    content = (parent_of(kernel) or {}).get("content") or {}
    return bool(content.get("allow_stdin")) and drive.is_dir()


class _BrowserChannel:  # pragma: no cover - exists only in a browser, where a test of JupyterLite runs it
    def __init__(self, name: str, receive: Callable[[str], None]) -> None:
        from pyodide.ffi import create_proxy  # type: ignore[import-not-found]  # noqa: PLC0415 - the same

        js: Any = import_module("js")  # exists only in Pyodide

        self._channel = js.BroadcastChannel.new(name)
        self._receive = create_proxy(lambda event: receive(event.data) if isinstance(event.data, str) else None)
        self._channel.addEventListener("message", self._receive)

    def close(self) -> None:
        self._channel.close()
        self._receive.destroy()


def open_in_browser(name: str, receive: Callable[[str], None]) -> BroadcastChannel:  # pragma: no cover - the same
    """Open a channel of the browser."""
    return _BrowserChannel(name, receive)
