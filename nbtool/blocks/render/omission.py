"""What is omitted where a turn is shown, and the one command that prints all of it."""

from __future__ import annotations

import re

from nbtool.blocks.protocol import Document, Head
from nbtool.blocks.protocol_schema import CHAT_PATTERN, ID_PATTERN
from nbtool.ids import short_id

WHOLE_FLAG = "--whole"
"""The option of `%chat show` that prints all of a turn."""


def whole_turn_command(head: Head) -> str:
    """Return the line of a cell that prints all of a turn."""
    chat, turn_id = head.get("chat", "main"), head["turn_id"]
    turn = f" {short_id(turn_id)}" if re.fullmatch(ID_PATTERN, turn_id) else ""
    chat_option = f" -c {chat}" if chat != "main" and re.fullmatch(CHAT_PATTERN, chat) else ""
    return f"%chat{chat_option} show{turn} {WHOLE_FLAG}"


def omission_line(head: Head) -> str:
    """Return how to read the omitted parts of a turn; empty if nothing is omitted."""
    return f"Parts of this turn are omitted here: `{whole_turn_command(head)}` prints them." if head.get("cut") else ""


def mark_truncated(document: Document) -> Document:
    """Return the document, marked as truncated."""
    return document if document["head"].get("cut") else {**document, "head": {**document["head"], "cut": True}}
