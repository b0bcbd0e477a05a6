"""A conversation to be read as one, with a box to go on in. What is sent from there is a cell: no turn lives in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from nbtool.blocks.conversation import ConversationShape
from nbtool.blocks.shapes import VERSION
from nbtool.view.rich import rich_module
from nbtool.view.widget import built

KINDS = frozenset(("hello", "rich"))
"""What the page may ask: for the conversation as it stands now, and for the second module."""

_ENVELOPE = frozenset(("v", "nonce", "id", "kind"))
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ConversationWidget(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget ships no types
    """Shows the active line of a conversation, as it stands when the page asks for it (`read()`).

    `title` says which one; `magic` is the first line of a cell that goes on with it.
    """

    _esm = built("conversation.js")
    _css = built("conversation.css")

    nonce = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    magic = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)

    def __init__(self, read: Callable[[], ConversationShape], *, title: str, magic: str) -> None:
        self._read = read
        super().__init__(nonce=uuid4().hex, title=title, magic=magic)
        self.place = self.model_id or ""  # by it the page finds the cell below which others are put
        self.on_msg(lambda _widget, content, _buffers: self.hear(content))

    def hear(self, content: Any) -> bool:
        """Take a message of the page; says whether it was one of ours and whole."""
        if not isinstance(content, dict) or set(content) != _ENVELOPE:
            return False
        kind, message_id = content["kind"], content["id"]
        if content["v"] != VERSION or content["nonce"] != self.nonce or not isinstance(kind, str) or kind not in KINDS:
            return False
        if not isinstance(message_id, str) or not _ID.fullmatch(message_id):
            return False
        if kind == "rich":
            self._send_rich()
        else:
            self.send({"v": VERSION, "kind": "conversation", "id": message_id, "conversation": self._read()})
        return True

    def _send_rich(self) -> None:
        """Send the second module, which the views of turns share; a page that gets none stays plain."""
        with suppress(OSError):
            module = rich_module()
            self.send({"v": VERSION, "kind": "rich", "version": module.version}, [module.packed])
