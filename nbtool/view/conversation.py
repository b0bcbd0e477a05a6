"""A conversation to be read as one, with a box to go on in. What is sent from there is a cell: no turn lives in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from nbtool.blocks.conversation import ConversationData
from nbtool.blocks.protocol import VERSION
from nbtool.errors import NbtoolError
from nbtool.view.explorer_messages import ExplorerMessage, parse_message
from nbtool.view.lazy_module import load_lazy_module
from nbtool.view.turn import read_asset

KINDS = frozenset(("hello", "rich", "media"))
"""What the page may ask: for the conversation as it stands now, for the second module, and for an image or a sound."""


class ConversationWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget ships no types
    """Shows the active line of a conversation, as it stands when the page asks for it (`read()`).

    `title` says which one; `magic` is the first line of a cell that goes on with it; `media` gives the bytes of an
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
        self.place = self.model_id or ""  # by it the page finds the cell below which others are put
        self.on_msg(lambda _widget, content, _buffers: self.receive(content))

    def receive(self, content: Any) -> bool:
        """Take a message of the page; says whether it was one of ours and whole."""
        message = parse_message(content, nonce=self.nonce)
        if message is None or message.kind not in KINDS:
            return False
        match message.kind:
            case "rich":
                self._send_lazy_module()
            case "media":
                self._send_media(message)
            case _:
                data = self._read()
                self.send({"v": VERSION, "kind": "conversation", "id": message.message_id, "conversation": data})
        return True

    def _send_media(self, message: ExplorerMessage) -> None:
        """Send the bytes of an image or a sound; a page that gets none shows what is told of it."""
        with suppress(NbtoolError):  # a turn that is no longer there
            if data := self._media(message.turn_id, message.key):
                self.send({"v": VERSION, "kind": "media", "key": message.key}, [data])

    def _send_lazy_module(self) -> None:
        """Send the second module, which the views of turns share; a page that gets none stays plain."""
        with suppress(OSError):
            module = load_lazy_module()
            self.send({"v": VERSION, "kind": "rich", "version": module.version}, [module.gzipped])
