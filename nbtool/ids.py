"""Ids of chats, turns, cells and calls, and the short form by which a person reads and types them."""

from __future__ import annotations

import re
from uuid import uuid4

SHORT_DIGITS = 8
"""Digits of an id in a command that a person reads: of 100,000 turns, one in 40,000 begins like another one."""

ID_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}"
"""The form of an id of a turn, a chat or a call, wherever it comes from: one word of a line, and never a flag."""

_DIGITS = 20
_ID = re.compile(ID_PATTERN)
_NEW_ID = re.compile(rf"[a-z]+_[0-9a-f]{{{_DIGITS}}}")


def new_id(prefix: str) -> str:
    """Return a new unique id of letters, digits and `_` only."""
    return f"{prefix}_{uuid4().hex[:_DIGITS]}"


def is_id(text: str) -> bool:
    """Return whether a text has the form of an id: what a file or a page names may have any other."""
    return _ID.fullmatch(text) is not None


def short_id(id_: str) -> str:
    """Return the beginning of an id of `new_id`, which commands take for the whole; any other text is unchanged."""
    return id_[: SHORT_DIGITS - _DIGITS] if _NEW_ID.fullmatch(id_) else id_
