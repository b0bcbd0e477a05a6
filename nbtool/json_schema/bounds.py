"""What is too much for a schema: its bounds, checked in linear time before anything is read."""

from __future__ import annotations

import json
from typing import Any

MAX_LEVELS = 64
"""Maximum number of schemas inside each other, after references were replaced by what they refer to."""

MAX_DEPTH = 3 * MAX_LEVELS
"""Maximum depth of a schema as JSON."""

MAX_VALUES = 50_000
"""Maximum number of values in a schema as JSON, before and after references were replaced."""


class UnfitSchema(ValueError):
    """The schema cannot be offered to a model; the message says why, as the end of a sentence."""


def check_bounds(schema: Any) -> None:
    """Check the size and depth of a schema.

    Raises:
        UnfitSchema: it is too large or too deep, or contains what is not JSON.
    """
    level, count = [schema], 0
    for _ in range(MAX_DEPTH):
        count += len(level)
        if count > MAX_VALUES:
            raise UnfitSchema(f"its schema has more than {MAX_VALUES:,} values")
        level = [inner for value in level for inner in _inner(value)]
        if not level:
            return
    raise UnfitSchema(f"its schema is nested more than {MAX_DEPTH} levels deep")


def _inner(value: Any) -> list[Any]:
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise UnfitSchema("its schema has a key that is not text")
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


def is_sendable(value: Any) -> bool:
    """Whether data is JSON that can be sent: without NaN, infinities and halves of characters."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True
