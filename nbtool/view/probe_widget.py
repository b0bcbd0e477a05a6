"""A widget that finds out what a page can do, and which of its ways to the kernel work while a cell runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Literal
from uuid import uuid4

import anywidget
import traitlets
from pydantic import TypeAdapter

from nbtool.clock import monotonic
from nbtool.view.assets import read_asset
from nbtool.view.message_envelope import CLOSED, is_for_widget, validate_content
from nbtool.view.protocol import PageReport

Way = Literal["comm", "control"]
"""A way of a page's messages to the kernel: the widget's comm, or the kernel's control channel."""


class ProbeWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget ships no types
    """Sends a report about its page over every way, a few times.

    `report` is what the page said, None before; `seconds` are the seconds from `created_at` (monotonic) to its first
    message, by its way; `is_heard` is set by the first one. `listen` gets the id of its comm before that is opened.
    """

    _esm = read_asset("probe.js")

    nonce = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)
    control = traitlets.Bool(True).tag(sync=True)

    def __init__(self, listen: Callable[[str, ProbeWidget], object] = lambda *_: None) -> None:
        self.report: PageReport | None = None
        self.seconds: dict[Way, float] = {}
        self.is_heard = threading.Event()
        self.created_at, self._receiving = monotonic(), threading.Lock()
        model_id = uuid4().hex  # the control channel finds the widget by it
        listen(model_id, self)
        super().__init__(model_id=model_id, nonce=uuid4().hex, place=model_id)

    def __repr__(self) -> str:
        """Return the text that front ends without widgets show."""
        return "This front end does not support widgets."

    def mimebundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what shows this widget in an output, and its metadata."""
        data, metadata = self._repr_mimebundle_() or ({}, {})
        return dict(data), dict(metadata)

    def close(self) -> None:
        """Close, including the layout that ipywidgets creates for every widget and would never remove."""
        super().close()
        self.layout.close()

    def receive(self, way: Way, content: Any) -> bool:
        """Handle a message of the page, on any thread; return whether it was valid and ours."""
        report = parse_report(content, nonce=self.nonce)
        if report is None:
            return False
        with self._receiving:
            self.report = self.report or report
            self.seconds.setdefault(way, monotonic() - self.created_at)
        self.is_heard.set()
        return True


def parse_report(content: Any, *, nonce: str) -> PageReport | None:
    """Parse a report of the page; None if it is not ours, or invalid."""
    return validate_content(_validator(), content) if is_for_widget(content, nonce) else None


@cache
def _validator() -> TypeAdapter[PageReport | None]:
    return TypeAdapter(PageReport | None, config=CLOSED)  # a type with fields alone would take no config
