"""What the widgets of past turns share: they answer what the page requests, and push nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from nbtool.blocks.protocol import VERSION
from nbtool.view.lazy_module import LazyName, load_lazy_module


class HistoryWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget ships no types
    """A view of past turns under a `title`."""

    nonce = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(nonce=uuid4().hex, **traits)
        self.place = self.model_id or ""  # the page finds its own cell by this id
        self.on_msg(lambda _widget, content, _buffers: self.receive(content))

    def mimebundle(self) -> dict[str, Any]:
        """Return what shows this widget in an output."""
        data, _ = self._repr_mimebundle_() or ({}, {})
        return dict(data)

    def receive(self, content: object) -> bool:
        """Handle a message of the page, on any thread; return whether it was ours."""
        raise NotImplementedError

    def _send_lazy_module(self, name: LazyName) -> None:
        """Send a module that the views of turns share; without it the page shows plain text."""
        with suppress(OSError):
            module = load_lazy_module(name)
            self.send({"v": VERSION, "kind": "rich", "version": module.version}, [module.gzipped])

    def _send_bytes(self, key: str, data: bytes | None) -> None:
        """Send the bytes of an image or a sound; without them the page shows its description."""
        if data:
            self.send({"v": VERSION, "kind": "media", "key": key}, [data])
