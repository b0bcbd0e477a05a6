"""Notices that code clears the output of the running cell, and with it the turn that is shown there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nbtool.magics.notebook.output_proxies import PublisherProxy


class _Publisher(PublisherProxy):
    def __init__(self, publisher: Any, on_cleared: Callable[[], object]) -> None:
        super().__init__(publisher)
        self._on_cleared = on_cleared

    def clear_output(self, wait: bool = False) -> None:
        super().clear_output(wait)
        if not is_captured():
            self._on_cleared()


@contextmanager
def follow_clearing(shell: Any, on_cleared: Callable[[], object]) -> Iterator[None]:
    """Call a function whenever code clears the output of the running cell, until the end of the block."""
    publisher = shell.display_pub
    shell.display_pub = _Publisher(publisher, on_cleared)
    try:
        yield
    finally:
        shell.display_pub = publisher


def is_captured() -> bool:
    """Return whether an Output widget takes what is displayed: what is cleared then is its content."""
    widgets = sys.modules.get("ipywidgets.widgets.widget")
    outputs = sys.modules.get("ipywidgets.widgets.widget_output")
    if widgets is None or outputs is None:
        return False
    created = getattr(widgets, "_instances", None)
    if created is None:  # ipywidgets 7
        created = widgets.Widget.widgets
    return any(isinstance(one, outputs.Output) and one.msg_id for one in list(created.values()))
