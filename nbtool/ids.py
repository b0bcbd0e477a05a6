"""Ids of chats, turns, cells and calls, and the short form by which a person reads and types them."""

from __future__ import annotations

import re
from uuid import uuid4

SHORT_DIGITS = 8
"""Digits of an id in a command that a person reads: of 100,000 turns, one in 40,000 begins like another one."""

_DIGITS = 20
_NEW_ID = re.compile(rf"[a-z]+_[0-9a-f]{{{_DIGITS}}}")


def new_id(prefix: str) -> str:
    """Return a new unique id of letters, digits and `_` only."""
    return f"{prefix}_{uuid4().hex[:_DIGITS]}"


def short_id(id_: str) -> str:
    """Return the beginning of an id of `new_id`, which commands take for the whole; any other text is unchanged."""
    return id_[: SHORT_DIGITS - _DIGITS] if _NEW_ID.fullmatch(id_) else id_
