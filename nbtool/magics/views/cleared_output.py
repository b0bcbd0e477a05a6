"""The output of the running cell when code clears it, or an Output widget takes it: with it the turn is gone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.display import display

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
    return bool(capturing_outputs())


def capturing_outputs() -> list[Any]:
    """Return the Output widgets that take what is displayed now."""
    widgets = sys.modules.get("ipywidgets.widgets.widget")
    outputs = sys.modules.get("ipywidgets.widgets.widget_output")
    if widgets is None or outputs is None:
        return []
    created = getattr(widgets, "_instances", None)
    if created is None:  # ipywidgets 7
        created = widgets.Widget.widgets
    return [item for item in list(created.values()) if isinstance(item, outputs.Output) and item.msg_id]


@contextmanager
def not_captured(outputs: Iterable[Any]) -> Iterator[None]:
    """Display in the cell itself within the block, not in the Output widgets that take what is displayed."""
    former = [(output, output.msg_id) for output in outputs]
    for item, _ in former:
        item.msg_id = ""
    try:
        yield
    finally:
        for item, msg_id in former:
            item.msg_id = msg_id


def show_in_outputs(outputs: Iterable[Any], bundle: dict[str, Any]) -> None:
    """Show a mimebundle in Output widgets: those that take what is displayed now, or from outside.

    They take no update of a display, so what they showed has to go by itself.
    """
    for output in outputs:
        if not output.msg_id:
            output.outputs += ({"output_type": "display_data", "data": bundle, "metadata": {}},)
    if is_captured():
        display(bundle, raw=True)  # type: ignore[no-untyped-call]  # IPython ships no types for it
