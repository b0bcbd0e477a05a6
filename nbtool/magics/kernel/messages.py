"""How a click reaches a cell that is running; the only module that knows ipykernel's inside.

While `%%chat` waits, the main thread is busy with the cell, and a message from the page would queue behind it. Two
roads lead past the queue:

- ipykernel 7 receives every shell message in a thread of its own. The *tap* takes the place of that thread's receiver,
  keeps what is meant for our widget, and passes everything else on.
- ipykernel 6 receives on the main thread. The *poll* looks into the kernel's queue between two ticks of the waiting
  loop, takes what is ours, and puts the rest back in its order.

Both use names that ipykernel does not promise. Each is looked for before it is used, an error closes the road, and
whether a road really carries is not believed but tested: the page says hello over it.

A kernel has one road for all widgets that are to be heard: that of the waiting cell, and the cards of parked turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any, Protocol

from nbtool.magics.kernel.widget_state import HANDLED_TYPES, WidgetStateResponder

OnMessage = Callable[[Mapping[str, Any]], object]


class KernelListener(Protocol):
    """The road on which widgets are heard while cells run."""

    name: str

    def open(self, comm_id: str, on_message: OnMessage, *, in_cell: bool = True) -> None:
        """Begin to listen for a widget; `in_cell` says that the cell which runs now waits for it."""

    def poll(self) -> None:
        """Look around; called on the waiting thread every tick."""

    def close(self, comm_id: str) -> None:
        """Stop listening for a widget; after the last one the kernel is as it was."""


@cache
def listener_for(kernel: Any) -> KernelListener | None:
    """Give the road of this kernel, None where there is none."""
    thread = getattr(kernel, "shell_channel_thread", None)
    if thread is not None and hasattr(kernel, "shell_channel_thread_main") and hasattr(thread, "io_loop"):
        return ShellThreadListener(kernel)
    if hasattr(kernel, "msg_queue") and hasattr(kernel, "shell_stream"):
        return QueuePoller(kernel)
    return None


def patch_reply_socket(kernel: Any) -> None:
    """Have ipykernel 7.0 to 7.3 reply through the stream that reads its requests, as 7.4 does.

    They reply past it, on the same socket, and a request that arrives meanwhile may then never be read: of cells that
    follow one another at once, one of 200 never begins. https://github.com/ipython/ipykernel/pull/1529
    """
    manager, stream = _reply_parts(kernel)
    if hasattr(manager, "_shell_socket") and manager._shell_socket is stream.socket:
        manager._shell_socket = stream


def unpatch_reply_socket(kernel: Any) -> None:
    """Take that back."""
    manager, stream = _reply_parts(kernel)
    if hasattr(manager, "_shell_socket") and manager._shell_socket is stream:
        manager._shell_socket = stream.socket


def _reply_parts(kernel: Any) -> tuple[Any, Any]:
    """Give what sends the replies of ipykernel 7, and the stream that reads its requests."""
    thread = getattr(kernel, "shell_channel_thread", None)
    return getattr(thread, "manager", None), getattr(kernel, "shell_stream", None)


def has_front_end(shell: Any) -> bool:
    """Whether somebody could click, in this cell or after it: a front end takes lines of input, or names its cells.

    What runs a notebook that nobody watches (nbclient, papermill) does neither.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return False
    return bool(getattr(kernel, "_allow_stdin", False)) or bool(cell_id(shell))


def cell_id(shell: Any) -> str:
    """Give the id of the cell that runs, as the front end names it; empty where it names none."""
    kernel = getattr(shell, "kernel", None)
    parent = kernel.get_parent("shell") if kernel else None
    return str((parent or {}).get("metadata", {}).get("cellId") or "")


def routes_output_by_context(kernel: Any) -> bool:
    """Whether what is displayed from a thread lands in the cell that started it, later too: since ipykernel 7."""
    return getattr(kernel, "shell_channel_thread", None) is not None


def can_ask_for_input(shell: Any) -> bool:
    """Whether a line of input would reach a person: the front end has said so, or there is a terminal.

    Piped data is no person: it must never be taken for consent.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", False))
    import sys  # noqa: PLC0415 - asked at call time: tests and hosts swap the streams

    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout.isatty())


class _MessageFilter:
    """Reads shell messages just far enough to know whether they are for one of our widgets."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._widget_state = WidgetStateResponder(kernel)
        self._widgets: dict[str, tuple[OnMessage, Any]] = {}

    def __bool__(self) -> bool:
        return bool(self._widgets)

    def add(self, comm_id: str, on_message: OnMessage, *, in_cell: bool) -> None:
        """Be there for a widget."""
        self._widgets = {**self._widgets, comm_id: (on_message, self._kernel.get_parent("shell") if in_cell else None)}

    def remove(self, comm_id: str) -> None:
        """Be no longer there for it."""
        self._widgets = {key: widget for key, widget in self._widgets.items() if key != comm_id}

    def handle(self, message: Any) -> bool:
        """Hear a message if it is ours, and answer it if a page asks what it needs to show us; says whether it did."""
        widgets = self._widgets
        try:
            head, action = self._read(message)
        except Exception:  # noqa: BLE001 - whatever cannot be read is not ours, and the kernel will say so itself
            return False
        if action is None:
            return False
        self._publish("busy", head)
        action()
        self._publish("idle", head)
        for cell in (cell for _, cell in widgets.values() if cell):
            # The page takes our `idle` for the kernel's; the cell is still running, and says so again.
            self._publish("busy", cell)
        return True

    def _read(self, message: Any) -> tuple[Any, Callable[[], object] | None]:
        """Give the head of a message, and what it asks of us; None where it is the kernel's."""
        session = self._kernel.session
        identities, frames = session.feed_identities(message, copy=False)
        # With content=False the signature is checked but not stored: the kernel can still read the message itself.
        head = session.deserialize(frames, content=False, copy=False)
        kind = head["header"]["msg_type"]
        if kind not in HANDLED_TYPES:
            return head, None
        body = session.unpack(head["content"])
        data = body.get("data") or {}
        if kind == "comm_msg" and data.get("method") == "custom":
            widget = self._widgets.get(str(body.get("comm_id")))
            return head, partial(widget[0], data.get("content") or {}) if widget else None
        if not self._widget_state.handles(kind, body):
            return head, None
        deserialized = session.deserialize(frames, copy=False)
        return head, partial(self._widget_state.answer, identities, deserialized)

    def _publish(self, state: str, parent: Any) -> None:
        with suppress(Exception):
            self._kernel._publish_status(state, "shell", parent=parent)


class ShellThreadListener:
    """Hears in the thread where ipykernel 7 receives; also while a tool occupies the main thread."""

    name = "tap"

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._messages = _MessageFilter(kernel)

    def open(self, comm_id: str, on_message: OnMessage, *, in_cell: bool = True) -> None:
        """Listen for a widget; the first one takes the receiver's place."""
        was_open = bool(self._messages)
        self._messages.add(comm_id, on_message, in_cell=in_cell)
        if not was_open:
            self._receive_with(self._receive)

    def poll(self) -> None:
        """Nothing to do: the other thread listens."""

    def close(self, comm_id: str) -> None:
        """Forget a widget; after the last one the receiver has its place back."""
        was_open = bool(self._messages)
        self._messages.remove(comm_id)
        if was_open and not self._messages:
            self._receive_with(self._kernel.shell_channel_thread_main)

    def _receive_with(self, receiver: Callable[[Any], Any]) -> None:
        stream = self._kernel.shell_stream
        self._kernel.shell_channel_thread.io_loop.add_callback(lambda: stream.on_recv(receiver, copy=False))

    async def _receive(self, message: Any) -> None:
        if not self._messages.handle(message):
            await self._kernel.shell_channel_thread_main(message)


class QueuePoller:
    """Hears on the main thread between two ticks, where ipykernel 6 queues; after the cell, the kernel itself hears."""

    name = "poll"

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._messages = _MessageFilter(kernel)
        self._is_broken = False

    def open(self, comm_id: str, on_message: OnMessage, *, in_cell: bool = True) -> None:
        """Begin to look for a widget's messages."""
        self._messages.add(comm_id, on_message, in_cell=in_cell)

    def poll(self) -> None:
        """Let what has arrived into the queue, take what is ours, and put the rest back in its order."""
        if self._is_broken or not self._messages:
            return
        import zmq  # noqa: PLC0415 - there only under ipykernel

        queue = self._kernel.msg_queue
        try:
            self._kernel.shell_stream.flush(zmq.POLLIN, 64)
            waiting = [queue.get_nowait() for _ in range(queue.qsize())]
        except Exception:  # noqa: BLE001 - a kernel that is built otherwise: this road is closed
            self._is_broken = True
            return
        for entry in waiting:
            arguments = entry[-1]
            if not (arguments and self._messages.handle(arguments[0])):
                queue.put_nowait(entry)

    def close(self, comm_id: str) -> None:
        """Stop looking for it."""
        self._messages.remove(comm_id)
