"""How a click reaches a cell that is running; the only module that knows ipykernel's inside.

While `%%chat` waits, the main thread is busy with the cell, and a message from the page would queue behind it. Two
roads lead past the queue:

- ipykernel 7 receives every shell message in a thread of its own. The *tap* takes the place of that thread's receiver,
  keeps what is meant for our widget, and passes everything else on.
- ipykernel 6 receives on the main thread. The *poll* looks into the kernel's queue between two ticks of the waiting
  loop, takes what is ours, and puts the rest back in its order.

Both use names that ipykernel does not promise. Each is looked for before it is used, an error closes the road, and
whether a road really carries is not believed but tested: the page says hello over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

Hear = Callable[[Mapping[str, Any]], object]


class Ears(Protocol):
    """A road on which the page is heard while a cell runs."""

    name: str

    def open(self) -> None:
        """Begin to listen."""

    def listen(self) -> None:
        """Look around; called on the waiting thread every tick."""

    def close(self) -> None:
        """Stop listening, and leave the kernel as it was."""


def ears_for(kernel: Any, comm_id: str, hear: Hear) -> Ears | None:
    """Give the road that fits this kernel, None where there is none."""
    thread = getattr(kernel, "shell_channel_thread", None)
    if thread is not None and hasattr(kernel, "shell_channel_thread_main") and hasattr(thread, "io_loop"):
        return Tap(kernel, comm_id, hear)
    if hasattr(kernel, "msg_queue") and hasattr(kernel, "shell_stream"):
        return Poll(kernel, comm_id, hear)
    return None


def can_ask_for_input(shell: Any) -> bool:
    """Whether a line of input would reach a person: the front end has said so, or there is a terminal.

    Piped data is no person: it must never be taken for consent.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", False))
    import sys  # noqa: PLC0415 - asked at call time: tests and hosts swap the streams

    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout.isatty())


class _Messages:
    """Reads shell messages just far enough to know whether they are for our widget."""

    def __init__(self, kernel: Any, comm_id: str, hear: Hear) -> None:
        self._kernel = kernel
        self._comm_id = comm_id
        self._hear = hear
        self._cell = kernel.get_parent("shell")

    def take(self, message: Any) -> bool:
        """Hear a message if it is ours; says whether it was."""
        try:
            content, header = self._ours(message)
        except Exception:  # noqa: BLE001 - whatever cannot be read is not ours, and the kernel will say so itself
            return False
        if content is None:
            return False
        self._publish("busy", header)
        self._hear(content)
        self._publish("idle", header)
        # The page takes our `idle` for the kernel's; the cell is still running, and says so again.
        self._publish("busy", self._cell)
        return True

    def _ours(self, message: Any) -> tuple[Mapping[str, Any] | None, Any]:
        session = self._kernel.session
        _, frames = session.feed_identities(message, copy=False)
        # With content=False the signature is checked but not stored: the kernel can still read the message itself.
        head = session.deserialize(frames, content=False, copy=False)
        if head["header"]["msg_type"] != "comm_msg":
            return None, None
        body = session.unpack(head["content"])
        data = body.get("data") or {}
        if body.get("comm_id") != self._comm_id or data.get("method") != "custom":
            return None, None
        return data.get("content") or {}, head

    def _publish(self, state: str, parent: Any) -> None:
        with suppress(Exception):
            self._kernel._publish_status(state, "shell", parent=parent)


class Tap:
    """Hears in the thread where ipykernel 7 receives; also while a tool occupies the main thread."""

    name = "tap"

    def __init__(self, kernel: Any, comm_id: str, hear: Hear) -> None:
        self._kernel = kernel
        self._messages = _Messages(kernel, comm_id, hear)
        self._is_open = False

    def open(self) -> None:
        """Take the receiver's place."""
        self._is_open = True
        self._receive_with(self._receive)

    def listen(self) -> None:
        """Nothing to do: the other thread listens."""

    def close(self) -> None:
        """Give the receiver its place back."""
        if self._is_open:
            self._is_open = False
            self._receive_with(self._kernel.shell_channel_thread_main)

    def _receive_with(self, receiver: Callable[[Any], Any]) -> None:
        stream = self._kernel.shell_stream
        self._kernel.shell_channel_thread.io_loop.add_callback(lambda: stream.on_recv(receiver, copy=False))

    async def _receive(self, message: Any) -> None:
        if not (self._is_open and self._messages.take(message)):
            await self._kernel.shell_channel_thread_main(message)


class Poll:
    """Hears on the main thread between two ticks, where ipykernel 6 queues."""

    name = "poll"

    def __init__(self, kernel: Any, comm_id: str, hear: Hear) -> None:
        self._kernel = kernel
        self._messages = _Messages(kernel, comm_id, hear)
        self._is_open = False

    def open(self) -> None:
        """Begin to look."""
        self._is_open = True

    def listen(self) -> None:
        """Let what has arrived into the queue, take what is ours, and put the rest back in its order."""
        if not self._is_open:
            return
        import zmq  # noqa: PLC0415 - there only under ipykernel

        queue = self._kernel.msg_queue
        try:
            self._kernel.shell_stream.flush(zmq.POLLIN, 64)
            waiting = [queue.get_nowait() for _ in range(queue.qsize())]
        except Exception:  # noqa: BLE001 - a kernel that is built otherwise: this road is closed
            self._is_open = False
            return
        for entry in waiting:
            arguments = entry[-1]
            if not (arguments and self._messages.take(arguments[0])):
                queue.put_nowait(entry)

    def close(self) -> None:
        """Stop looking."""
        self._is_open = False
