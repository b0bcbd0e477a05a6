"""The envelope of a page's messages: version, nonce and id, and the check of what a message holds beside them."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from nbtool.blocks.protocol import VERSION

CLOSED = ConfigDict(extra="forbid", strict=True)
"""No unknown keys, and no conversion between types."""

ENVELOPE = frozenset(("v", "nonce", "id"))
TURN_ENVELOPE = ENVELOPE | {"turn"}

T = TypeVar("T")

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def is_for_widget(content: Any, nonce: str) -> bool:
    """Return whether the envelope of a message is valid and has this widget's nonce."""
    if not isinstance(content, dict) or content.get("v") != VERSION or content.get("nonce") != nonce:
        return False
    message_id = content.get("id")
    return isinstance(message_id, str) and _ID.fullmatch(message_id) is not None


def validate_content(
    validator: TypeAdapter[T], content: dict[str, Any], envelope: frozenset[str] = ENVELOPE
) -> T | None:
    """Validate a message without its envelope; None if it is none of the type's, or out of bounds."""
    try:
        return validator.validate_python({key: content[key] for key in content.keys() - envelope})
    except ValidationError:
        return None
