"""Parse the arguments of a call as a model wrote them: strict JSON, and an object."""

from __future__ import annotations

import json
import math
from typing import Any

MAX_NESTING = 100
"""Maximum nesting depth of the arguments of a call."""


def parse_arguments(arguments: str) -> tuple[dict[str, Any] | None, str | None]:
    """Parse a call's arguments strictly: a JSON object, or an empty text for a call without arguments.

    Returns the arguments and None, or None and a one-line error. Some servers send `null` for no arguments; `NaN` and
    `Infinity` are not JSON (RFC 8259 section 6), and a number beyond the range of a float could not be sent back.
    """
    if not arguments.strip():
        return {}, None
    try:
        value = json.loads(arguments, parse_constant=_refuse_constant, parse_float=_parse_finite_float)
    except (ValueError, RecursionError) as error:
        return None, f"The arguments are not JSON: {error}."
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return None, f"The arguments are a JSON {type(value).__name__}; expected an object."
    if _is_too_deep(value):
        return None, f"The arguments are nested deeper than {MAX_NESTING} levels."
    if "\\ud" in arguments.lower() and _has_lone_surrogates(value):
        return None, "The arguments contain a lone surrogate, which is not a valid character."
    return value, None


def _has_lone_surrogates(value: Any) -> bool:
    """Whether a value that is not too deep contains a lone surrogate (RFC 8259 section 8.2), which has no encoding."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _is_too_deep(value: Any) -> bool:
    """Whether a value is nested deeper than `MAX_NESTING`; copying, encoding and rendering are recursive."""
    level = [value]
    for _ in range(MAX_NESTING):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _parse_finite_float(number: str) -> float:
    if math.isinf(value := float(number)):
        raise ValueError(f"{number[:20]} is out of range")
    return value
