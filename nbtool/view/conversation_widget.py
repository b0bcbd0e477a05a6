"""A conversation to read, with a box for the next prompt. Sending from there inserts a cell: it runs no turn itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import traitlets

from nbtool.blocks.protocol import VERSION
from nbtool.blocks.render.whole_conversation import ConversationData
from nbtool.errors import NbtoolError
from nbtool.view.assets import read_asset
from nbtool.view.explorer_messages import parse_message
from nbtool.view.history_widget import HistoryWidget

KINDS = frozenset(("hello", "rich", "formulas", "media"))
"""What the page may request: the current conversation, the second module, an image or a sound."""


class ConversationWidget(HistoryWidget):
    """Shows the active line of a conversation, in its state when the page requests it (`read()`).

    `title` names it; `magic` is the first line of a cell that continues it; `media` returns the bytes of an
    image or a sound, by the id of its turn and by its key.
    """

    _esm = read_asset("conversation.js")
    _css = read_asset("conversation.css")

    magic = traitlets.Unicode().tag(sync=True)

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
        super().__init__(title=title, magic=magic)

    def receive(self, content: Any) -> bool:
        """Handle a message of the page; return whether it was valid and ours."""
        message = parse_message(content, nonce=self.nonce)
        if message is None or message.kind not in KINDS:
            return False
        match message.kind:
            case "rich" | "formulas":
                self._send_lazy_module(message.kind)
            case "media":
                with suppress(NbtoolError):  # the turn no longer exists
                    self._send_bytes(message.key, self._media(message.turn_id, message.key))
            case _:
                data = self._read()
                self.send({"v": VERSION, "kind": "conversation", "id": message.message_id, "conversation": data})
        return True
