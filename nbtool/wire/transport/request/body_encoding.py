"""Encode the body of a request as bytes: JSON, or a form with uploads (`multipart.py`)."""

from __future__ import annotations

import json
import math
from typing import Any

from nbtool.errors import BadUsage
from nbtool.wire.base import Request
from nbtool.wire.transport.request.multipart import encode_multipart


def encode_body(request: Request) -> tuple[bytes, str]:
    """Return the body of a request and its content type: JSON, or a form if it has uploads."""
    if request.uploads:
        return encode_multipart(request)
    try:
        try:
            body = _dump_json(request.body)
        except ValueError:  # a reply that is sent back may contain a number without a JSON form
            finite_messages = {
                name: _replace_non_finite(value)
                for name, value in request.body.items()
                if name in ("messages", "input", "contents")
            }
            body = _dump_json({**request.body, **finite_messages})
        return body.encode(), "application/json"
    except (TypeError, ValueError) as error:
        raise BadUsage(f"The request cannot be encoded as JSON ({error}).", fix="Check options and schemas.") from None


def _dump_json(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _replace_non_finite(value: Any) -> Any:
    """Replace `NaN` and infinite numbers in a JSON value by null."""
    if isinstance(value, list):
        return [_replace_non_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _replace_non_finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
