"""A conversation to read, with a box for the next prompt. Sending from there inserts a cell: it runs no turn itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from nbtool.blocks.protocol import VERSION
from nbtool.blocks.render.whole_conversation import ConversationData
from nbtool.errors import NbtoolError
from nbtool.view.assets import read_asset
from nbtool.view.explorer_messages import ExplorerMessage, parse_message
from nbtool.view.lazy_module import LazyName, load_lazy_module

KINDS = frozenset(("hello", "rich", "formulas", "media"))
"""What the page may request: the current conversation, the second module, an image or a sound."""


class ConversationWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget ships no types
    """Shows the active line of a conversation, in its state when the page requests it (`read()`).

    `title` names it; `magic` is the first line of a cell that continues it; `media` returns the bytes of an
    image or a sound, by the id of its turn and by its key.
    """

    _esm = read_asset("conversation.js")
    _css = read_asset("conversation.css")

    nonce = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    magic = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        read: Callable[[], ConversationData],
        *,
        title: str,
        magic: str,
        media: Callable[[str, str], bytes | None] = lambda *_: None,
    ) -> None:
        self._read = read
        self._media = media
        super().__init__(nonce=uuid4().hex, title=title, magic=magic)
        self.place = self.model_id or ""  # the page finds its own cell by this id
        self.on_msg(lambda _widget, content, _buffers: self.receive(content))

    def mimebundle(self) -> dict[str, Any]:
        """Return what shows this widget in an output."""
        data, _ = self._repr_mimebundle_() or ({}, {})
        return dict(data)

    def receive(self, content: Any) -> bool:
        """Handle a message of the page; return whether it was valid and ours."""
        message = parse_message(content, nonce=self.nonce)
        if message is None or message.kind not in KINDS:
            return False
        match message.kind:
            case "rich" | "formulas":
                self._send_lazy_module(message.kind)
            case "media":
                self._send_media(message)
            case _:
                data = self._read()
                self.send({"v": VERSION, "kind": "conversation", "id": message.message_id, "conversation": data})
        return True

    def _send_media(self, message: ExplorerMessage) -> None:
        """Send the bytes of an image or a sound; without them the page shows its description."""
        with suppress(NbtoolError):  # the turn no longer exists
            if data := self._media(message.turn_id, message.key):
                self.send({"v": VERSION, "kind": "media", "key": message.key}, [data])

    def _send_lazy_module(self, name: LazyName) -> None:
        """Send a module that the views of turns share; without it the page shows plain text."""
        with suppress(OSError):
            module = load_lazy_module(name)
            self.send({"v": VERSION, "kind": "rich", "version": module.version}, [module.gzipped])
