"""A conversation to be read as one, with a box to go on in. What is sent from there is a cell: no turn lives in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from nbtool.blocks.conversation import ConversationShape
from nbtool.blocks.protocol import VERSION
from nbtool.errors import NbtoolError
from nbtool.view.explorer_messages import Asked, read
from nbtool.view.lazy_module import rich_module
from nbtool.view.turn import built

KINDS = frozenset(("hello", "rich", "media"))
"""What the page may ask: for the conversation as it stands now, for the second module, and for an image or a sound."""


class ConversationWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget ships no types
    """Shows the active line of a conversation, as it stands when the page asks for it (`read()`).

    `title` says which one; `magic` is the first line of a cell that goes on with it; `media` gives the bytes of an
    image or a sound, by the id of its turn and by its key.
    """

    _esm = built("conversation.js")
    _css = built("conversation.css")

    nonce = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    magic = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        read: Callable[[], ConversationShape],
        *,
        title: str,
        magic: str,
        media: Callable[[str, str], bytes | None] = lambda *_: None,
    ) -> None:
        self._read = read
        self._media = media
        super().__init__(nonce=uuid4().hex, title=title, magic=magic)
        self.place = self.model_id or ""  # by it the page finds the cell below which others are put
        self.on_msg(lambda _widget, content, _buffers: self.hear(content))

    def hear(self, content: Any) -> bool:
        """Take a message of the page; says whether it was one of ours and whole."""
        asked = read(content, nonce=self.nonce)
        if asked is None or asked.kind not in KINDS:
            return False
        match asked.kind:
            case "rich":
                self._send_rich()
            case "media":
                self._send_media(asked)
            case _:
                shown = self._read()
                self.send({"v": VERSION, "kind": "conversation", "id": asked.message_id, "conversation": shown})
        return True

    def _send_media(self, asked: Asked) -> None:
        """Send the bytes of an image or a sound; a page that gets none shows what is told of it."""
        with suppress(NbtoolError):  # a turn that is no longer there
            if data := self._media(asked.turn_id, asked.key):
                self.send({"v": VERSION, "kind": "media", "key": asked.key}, [data])

    def _send_rich(self) -> None:
        """Send the second module, which the views of turns share; a page that gets none stays plain."""
        with suppress(OSError):
            module = rich_module()
            self.send({"v": VERSION, "kind": "rich", "version": module.version}, [module.packed])
