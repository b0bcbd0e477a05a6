"""What is left out where a turn is shown, and the one command that prints all of it."""

from __future__ import annotations

import re

from nbtool.blocks.protocol import Document, Head
from nbtool.blocks.protocol_schema import CHAT_PATTERN, ID_PATTERN

WHOLE_FLAG = "--whole"
"""The option of `%chat show` that prints all of a turn."""


def whole_turn_command(head: Head) -> str:
    """Return the line of a cell that prints all of a turn."""
    chat, turn_id = head.get("chat", "main"), head["turn_id"]
    turn = f" {turn_id}" if re.fullmatch(ID_PATTERN, turn_id) else ""
    chat_option = f" -c {chat}" if chat != "main" and re.fullmatch(CHAT_PATTERN, chat) else ""
    return f"%chat{chat_option} show{turn} {WHOLE_FLAG}"


def omission_line(head: Head) -> str:
    """Say how to read what is left out of a turn; empty where nothing is."""
    return (
        f"Not all of this turn is shown here: `{whole_turn_command(head)}` prints all of it." if head.get("cut") else ""
    )


def mark_truncated(document: Document) -> Document:
    """Return a document that says that some of it is left out."""
    return document if document["head"].get("cut") else {**document, "head": {**document["head"], "cut": True}}
