"""Parse the error object of a provider into its message, code, type and parameter.

Providers differ in its format: an object, a string, a list, `detail`, no wrapper at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ErrorFields:
    """The fields of an error object of any format."""

    message: str = ""
    code: str = ""
    type: str = ""
    param: str = ""

    @property
    def joined(self) -> str:
        """All fields in lower case, for keyword search."""
        return f"{self.code} {self.type} {self.message}".lower()


def parse_error(payload: Any) -> ErrorFields:
    """Parse an error object in any known format."""
    if isinstance(payload, list):
        payload = next((item for item in payload if item), None)
    if isinstance(payload, str):
        return ErrorFields(payload)
    if not isinstance(payload, dict):
        return ErrorFields()
    nested = next((payload[key] for key in ("error", "errors", "detail") if payload.get(key)), None)
    if nested is None:
        return ErrorFields(
            _as_text(payload.get("message")) or _as_text(payload.get("msg")),
            _code(payload),
            _as_text(payload.get("type")) or _as_text(payload.get("status")),
            _as_text(payload.get("param")),
        )
    fields = parse_error(nested)
    message = fields.message or _as_text(payload.get("message"))
    if details := _as_text(payload.get("details")):
        message = f"{message}: {details}" if message else details
    outer_type = _as_text(payload.get("type")) if payload.get("type") != "error" else ""
    return ErrorFields(message, fields.code or _code(payload), fields.type or outer_type, fields.param)


def _code(payload: dict[str, Any]) -> str:
    """Return the code of an error; a status is one if it is a number."""
    code = _as_text(payload.get("code")) or _as_text(payload.get("status_code"))
    return code or (_as_text(payload.get("status")) if isinstance(payload.get("status"), int) else "")


def _as_text(value: Any) -> str:
    """Return a field as text: codes may be integers, and some fields are objects."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
