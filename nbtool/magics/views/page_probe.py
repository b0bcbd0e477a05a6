"""Tries, in the running cell, which page shows its output and which ways of a click reach the kernel meanwhile."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.display import display

from nbtool.clock import monotonic
from nbtool.magics.kernel.cell_messages import listener_for
from nbtool.magics.kernel.control_channel import control_channel_for

if TYPE_CHECKING:
    from nbtool.view.probe_widget import ProbeWidget

PROBE_SECONDS = 6.0
"""How long to wait for a page; one that loads its first widget is slow."""

MORE_SECONDS = 1.5
"""How long to wait for a second way after the first: the page reports several times, 0.7 s apart."""

POLL_SECONDS = 0.02


def probe_page(shell: Any, *, seconds: float = PROBE_SECONDS) -> ProbeWidget:
    """Display a widget, wait for its page's reports over each way, and remove it; return it with what arrived."""
    from nbtool.view.probe_widget import ProbeWidget  # noqa: PLC0415 - only `doctor` pays for the import of a widget

    listener, control = listener_for(shell.kernel), control_channel_for(shell.kernel)

    def listen(comm_id: str, probe: ProbeWidget) -> None:
        if listener:
            listener.open(comm_id, partial(probe.receive, "comm"))
        if control:
            control.open(comm_id, partial(probe.receive, "control"))

    widget = ProbeWidget(listen)
    data, metadata = widget.mimebundle()
    handle: Any = display(data, raw=True, metadata=metadata, display_id=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it
    try:
        _wait(widget, seconds, listener)
    finally:
        for way in (listener, control):
            if way:
                way.close(widget.place)
        handle.update({"text/plain": ""}, raw=True)
        widget.close()
    return widget


def _wait(widget: ProbeWidget, seconds: float, listener: Any) -> None:
    """Wait for the page, and then a little longer for its other way."""
    deadline = monotonic() + seconds
    while len(widget.seconds) < 2 and monotonic() < deadline:
        if listener:
            listener.poll()
        if widget.is_heard.wait(POLL_SECONDS) and widget.seconds:
            deadline = min(deadline, widget.created_at + min(widget.seconds.values()) + MORE_SECONDS)
            time.sleep(POLL_SECONDS)
