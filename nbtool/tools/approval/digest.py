"""The digest of what would happen, and copies of JSON values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical_json(value: Any) -> str:
    """Return JSON in its only canonical form: keys sorted, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def make_digest(**parts: Any) -> str:
    """Return the SHA-256 of named JSON parts, in hex."""
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


def json_copy(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a deep copy of JSON values.

    Raises:
        TypeError, ValueError, RecursionError: it holds something else.
    """
    copy: dict[str, Any] = json.loads(json.dumps(dict(value)))
    return copy
