"""Receives messages of pages over the kernel's control channel; depends on ipykernel internals.

ipykernel reads its control channel in a thread of its own since version 6, so what arrives there is heard whatever the
main thread does: also while a synchronous tool occupies it on ipykernel 6, where the poll receives nothing (see
`messages`), and where a front end sends no comm messages while a cell runs.

A page sends there what it would send over a widget's comm, with the id of the comm, and it goes to the same function,
which validates it and handles each message once, whichever way it came. The reply says that the widget was found, so
that the page knows that this way works; if none comes, the page goes on with the comm.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from nbtool.magics.kernel.cell_messages import OnMessage, custom_message, listener_for, publish_status

MESSAGE_TYPE = "nbtool_message"
"""The type of these messages; the same as in js/src/kernel/control.ts."""

REPLY_TYPE = "nbtool_reply"


class ControlChannel:
    """The widgets of one kernel that pages reach over its control channel."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._widgets: dict[str, OnMessage] = {}

    def open(self, comm_id: str, on_message: OnMessage) -> None:
        """Receive a widget's messages; `on_message` is called on the thread of the control channel."""
        self._widgets = {**self._widgets, comm_id: on_message}
        self._kernel.control_handlers[MESSAGE_TYPE] = self._receive

    def close(self, comm_id: str) -> None:
        """Stop receiving a widget's messages; the kernel still answers those that are on their way."""
        self._widgets = {key: on_message for key, on_message in self._widgets.items() if key != comm_id}

    def _receive(self, stream: Any, identities: Any, message: dict[str, Any]) -> None:
        """Handle a message and reply."""
        on_message = None
        if received := custom_message(message["content"]):
            comm_id, content = received
            if on_message := self._widgets.get(comm_id):
                on_message(content)
        reply = {"status": "ok" if on_message else "error"}
        self._kernel.session.send(stream, REPLY_TYPE, reply, message, identities)
        asyncio.get_running_loop().call_soon(self._stay_busy)

    def _stay_busy(self) -> None:
        """Send `busy` again for the cells that run: the page takes the `idle` after a reply for the kernel's."""
        listener = listener_for(self._kernel)
        for cell in listener.running_cells() if listener else ():
            publish_status(self._kernel, "busy", cell)


@cache
def control_channel_for(kernel: Any) -> ControlChannel | None:
    """Return the control channel of this kernel, None if it does not read it in a thread of its own."""
    has_thread = getattr(kernel, "control_thread", None) is not None
    return ControlChannel(kernel) if has_thread and hasattr(kernel, "control_handlers") else None


def remove_control_handler(kernel: Any) -> None:
    """Remove the handler of these messages from a kernel."""
    getattr(kernel, "control_handlers", {}).pop(MESSAGE_TYPE, None)
