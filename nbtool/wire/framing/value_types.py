"""Values of another type than a dialect has in their place: errors, since a part of the reply would be lost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from nbtool.errors import InvalidReply
from nbtool.wire.framing.redaction import excerpt


def wrong_type(value: Any, place: str) -> InvalidReply:
    """Return the error about a value that cannot stand in its place."""
    shown = excerpt(json.dumps(value, ensure_ascii=False, default=str))
    return InvalidReply(f"{place} is {shown}, which the dialect does not have there.", fix="Send it again.")


def require_object(value: Any, place: str) -> dict[str, Any]:
    """Return an object.

    Raises:
        nbtool.errors.InvalidReply: it is something else.
    """
    if not isinstance(value, dict):
        raise wrong_type(value, place)
    return value


def require_objects(values: Any, place: str) -> list[dict[str, Any]]:
    """Return a list of objects; nothing, where there is none.

    Raises:
        nbtool.errors.InvalidReply: it is something else, or contains something else.
    """
    if not values:
        return []
    if not isinstance(values, list):
        raise wrong_type(values, place)
    require_all_objects(values, place)
    return values


def require_all_objects(values: Iterable[Any], place: str) -> None:
    """Reject a list that contains anything but objects.

    Raises:
        nbtool.errors.InvalidReply: it does.
    """
    for value in values:
        require_object(value, place)
