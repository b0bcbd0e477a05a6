"""Delivers messages of a page to a cell that is running; depends on ipykernel internals.

While `%%chat` waits, the main thread is busy with the cell, and a message from the page would queue behind it. Two
mechanisms bypass the queue:

- ipykernel 7 receives every shell message in a separate thread. The *tap* wraps that thread's receiver, handles the
  messages for our widgets, and passes everything else on.
- ipykernel 6 receives on the main thread. The *poll* reads the kernel's queue between two ticks of the waiting
  loop, and while a line of input is waited for, handles our messages, and puts the others back in order.

Both use private names of ipykernel. Each name is checked before use, an error disables the mechanism, and
whether it works is tested, not assumed: the page sends a hello through it. `control_channel` is another way, which
needs no message of the shell.

A kernel has one listener for all widgets that need it: that of the waiting cell, and the cards of parked turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any, Protocol

from nbtool.magics.kernel.broadcast import BroadcastListener, can_ask_for_line, parent_of
from nbtool.magics.kernel.cell_notebooks import cell_notebooks, session_of
from nbtool.magics.kernel.polled_input import PolledInput
from nbtool.magics.kernel.widget_state import HANDLED_TYPES, WidgetStateResponder
from nbtool.threads.threadless import suspension

OnMessage = Callable[[Mapping[str, Any]], object]
OnRerun = Callable[[], object]


class KernelListener(Protocol):
    """Delivers messages to widgets while cells run."""

    name: str

    def open(
        self, comm_id: str, on_message: OnMessage, *, in_cell: bool = True, on_rerun: OnRerun | None = None
    ) -> None:
        """Start listening for a widget; `in_cell` is whether the running cell waits for it.

        `on_rerun` is called, perhaps more than once, if a front end requests to run that cell again.
        """

    def poll(self) -> None:
        """Check for messages; called on the waiting thread every tick."""

    def running_cells(self) -> list[Any]:
        """Return the requests of the cells that run and wait for a widget."""

    def close(self, comm_id: str) -> None:
        """Stop listening for a widget; after the last one the kernel is restored."""


@cache
def listener_for(kernel: Any) -> KernelListener | None:
    """Return the listener of this kernel, None if neither mechanism is available."""
    thread = getattr(kernel, "shell_channel_thread", None)
    if thread is not None and hasattr(kernel, "shell_channel_thread_main") and hasattr(thread, "io_loop"):
        return ShellThreadListener(kernel)
    if hasattr(kernel, "msg_queue") and hasattr(kernel, "shell_stream"):
        return QueuePoller(kernel)
    return BroadcastListener() if suspension() else None


def has_front_end(shell: Any) -> bool:
    """Return whether somebody could click, now or later: the front end supports input lines, or names its cells.

    Unattended runs (nbclient, papermill) do neither.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return False
    return bool(getattr(kernel, "_allow_stdin", False)) or bool(cell_id(shell))


def takes_next_cell(shell: Any) -> bool:
    """Return whether the front end shows a cell that a command writes (`set_next_input`): a page, or a full terminal.

    Unattended runs ignore it, and so do `ipython --simple-prompt` and pipes.
    """
    if getattr(shell, "kernel", None) is not None:
        return has_front_end(shell)
    return getattr(shell, "simple_prompt", True) is False


def cell_id(shell: Any) -> str:
    """Return the id of the running cell from the front end; empty if it sends none."""
    return _cell_of(_request_of(shell))


def _request_of(shell: Any) -> Mapping[str, Any]:
    """Return the message that the kernel handles now; empty without a kernel."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return {}
    return (parent_of(kernel) if suspension() else kernel.get_parent("shell")) or {}


_SEPARATOR = "#"

_prompts: dict[str, int] = {}
"""How many prompts the last execution of a cell sent, by the id of its request."""


def turn_cell_id(shell: Any, ask_notebook: Callable[[], str] | None = None) -> str:
    """Return the id of the next turn of the running cell; empty if the front end names no cells.

    The first prompt of an execution has the id of its cell, so that another execution makes a version of its turn. The
    further ones, of a loop or a function, have a number too: they follow it. So has a cell of another notebook that has
    the same id; `ask_notebook` asks its page for the notebook's path.
    """
    if not (cell := cell_id(shell)):
        return ""
    request = _request_of(shell)
    message = str(request.get("header", {}).get("msg_id", ""))
    count = _prompts.get(message, 0) + 1
    _prompts.clear()
    _prompts[message] = count
    notebook = cell_notebooks.number(cell, session_of(request), ask_notebook) + 1
    suffix = f"{count if count > 1 else ''}{f'@{notebook}' if notebook > 1 else ''}"
    return f"{cell}{_SEPARATOR}{suffix}" if suffix else cell


def cell_of_turn(turn_cell: str) -> str:
    """Return the id of the cell of a turn, from its `turn_cell_id`."""
    return turn_cell.partition(_SEPARATOR)[0]


def _cell_of(message: Mapping[str, Any]) -> str:
    """Return the id of the cell that a message runs; empty if the front end sends none."""
    return str(message.get("metadata", {}).get("cellId") or "")


def routes_output_by_context(kernel: Any) -> bool:
    """Return whether output displayed from a thread goes to the cell that started it, also later: since ipykernel 7."""
    return getattr(kernel, "shell_channel_thread", None) is not None


def can_ask_for_input(shell: Any) -> bool:
    """Return whether a line of input would reach a person: the front end supports it, or there is a terminal.

    Piped data is not a person: it must never be taken for consent.
    """
    kernel = getattr(shell, "kernel", None)
    if kernel is not None and suspension():
        return can_ask_for_line(kernel)
    if kernel is not None:
        return bool(getattr(kernel, "_allow_stdin", False))
    import sys  # noqa: PLC0415 - looked up at call time: tests and hosts replace the streams

    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout.isatty())


def custom_message(body: Any) -> tuple[str, Any] | None:
    """Return the comm id and the content of a widget's custom message, by its body; None if it is something else."""
    data = body.get("data") if isinstance(body, Mapping) else None
    if not isinstance(data, Mapping) or data.get("method") != "custom":
        return None
    return str(body.get("comm_id")), data.get("content") or {}


def publish_status(kernel: Any, state: str, parent: Any) -> None:
    """Publish a state of the kernel that belongs to a request, where its version can."""
    with suppress(Exception):
        kernel._publish_status(state, "shell", parent=parent)


class _MessageFilter:
    """Parses shell messages just far enough to detect those for one of our widgets."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._widget_state = WidgetStateResponder(kernel)
        self._widgets: dict[str, tuple[OnMessage, Any]] = {}
        self._reruns: dict[str, tuple[str, str, OnRerun]] = {}

    def __bool__(self) -> bool:
        return bool(self._widgets)

    def add(self, comm_id: str, on_message: OnMessage, *, in_cell: bool, on_rerun: OnRerun | None) -> None:
        """Add a widget."""
        parent = self._kernel.get_parent("shell") if in_cell else None
        self._widgets = {**self._widgets, comm_id: (on_message, parent)}
        if on_rerun and (cell := _cell_of(parent or {})):
            self._reruns = {**self._reruns, comm_id: (cell, session_of(parent or {}), on_rerun)}

    def remove(self, comm_id: str) -> None:
        """Remove a widget."""
        self._reruns = {key: rerun for key, rerun in self._reruns.items() if key != comm_id}
        self._widgets = {key: widget for key, widget in self._widgets.items() if key != comm_id}

    def cells(self) -> list[Any]:
        """Return the requests of the cells that wait for a widget."""
        return [cell for _, cell in self._widgets.values() if cell]

    def handle(self, message: Any) -> bool:
        """Handle a message if it is ours, and answer requests for widget state; return whether it was handled."""
        try:
            head, action = self._read(message)
        except Exception:  # noqa: BLE001 - an unreadable message is not ours, and the kernel reports it
            return False
        if action is None:
            return False
        cells = self.cells()
        publish_status(self._kernel, "busy", head)
        action()
        publish_status(self._kernel, "idle", head)
        for cell in cells:
            # The page takes our `idle` for the kernel's; the cell is still running, so send `busy` again.
            publish_status(self._kernel, "busy", cell)
        return True

    def _read(self, message: Any) -> tuple[Any, Callable[[], object] | None]:
        """Return a message's header and what it requests of us; None if it is the kernel's."""
        session = self._kernel.session
        identities, frames = session.feed_identities(message, copy=False)
        # With content=False the signature is checked but not stored: the kernel can still read the message.
        head = session.deserialize(frames, content=False, copy=False)
        kind = head["header"]["msg_type"]
        if kind == "execute_request":
            self._report_rerun(_cell_of(head), session_of(head))
        if kind not in HANDLED_TYPES:
            return head, None
        body = session.unpack(head["content"])
        if kind == "comm_msg" and (received := custom_message(body)):
            comm_id, content = received
            widget = self._widgets.get(comm_id)
            return head, partial(widget[0], content) if widget else None
        if not self._widget_state.handles(kind, body):
            return head, None
        deserialized = session.deserialize(frames, copy=False)
        return head, partial(self._widget_state.answer, identities, deserialized)

    def _report_rerun(self, requested_cell: str, requesting: str) -> None:
        """Report a request to run a cell whose widget is listened for; the kernel gets the request all the same."""
        for cell, session, on_rerun in self._reruns.values():
            if cell == requested_cell and cell_notebooks.is_same_cell(cell, session, requesting):
                on_rerun()


class ShellThreadListener:
    """Listens in the thread where ipykernel 7 receives, also while a tool occupies the main thread."""

    name = "tap"

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._messages = _MessageFilter(kernel)

    def open(
        self, comm_id: str, on_message: OnMessage, *, in_cell: bool = True, on_rerun: OnRerun | None = None
    ) -> None:
        """Listen for a widget; the first one replaces the receiver."""
        was_open = bool(self._messages)
        self._messages.add(comm_id, on_message, in_cell=in_cell, on_rerun=on_rerun)
        if not was_open:
            self._receive_with(self._receive)

    def poll(self) -> None:
        """Do nothing: the other thread listens."""

    def running_cells(self) -> list[Any]:
        """Return the requests of the cells that run and wait for a widget."""
        return self._messages.cells()

    def close(self, comm_id: str) -> None:
        """Remove a widget; after the last one the receiver is restored."""
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
    """Listens on the main thread between two ticks, where ipykernel 6 queues; after the cell the kernel delivers."""

    name = "poll"

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._messages = _MessageFilter(kernel)
        self._input = PolledInput(kernel, self.poll)
        self._is_broken = False

    def open(
        self, comm_id: str, on_message: OnMessage, *, in_cell: bool = True, on_rerun: OnRerun | None = None
    ) -> None:
        """Start polling for a widget's messages, also while a line of input is waited for."""
        self._messages.add(comm_id, on_message, in_cell=in_cell, on_rerun=on_rerun)
        self._input.replace()

    def poll(self) -> None:
        """Read new messages into the queue, handle ours, and put the others back in order."""
        if self._is_broken or not self._messages:
            return
        import zmq  # noqa: PLC0415 - installed only with ipykernel

        queue = self._kernel.msg_queue
        try:
            self._kernel.shell_stream.flush(zmq.POLLIN, 64)
            waiting = [queue.get_nowait() for _ in range(queue.qsize())]
        except Exception:  # noqa: BLE001 - a kernel with other internals: disable this mechanism
            self._is_broken = True
            return
        for entry in waiting:
            arguments = entry[-1]
            if not (arguments and self._messages.handle(arguments[0])):
                queue.put_nowait(entry)

    def running_cells(self) -> list[Any]:
        """Return the requests of the cells that run and wait for a widget."""
        return self._messages.cells()

    def close(self, comm_id: str) -> None:
        """Stop polling for it; after the last one the kernel waits for lines as before."""
        self._messages.remove(comm_id)
        if not self._messages:
            self._input.restore()
