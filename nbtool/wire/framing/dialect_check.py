"""Detect the dialect of an event, so that a wrong wire is a clear error instead of a truncated reply."""

from __future__ import annotations

from typing import Any

from nbtool.errors import InvalidReply
from nbtool.wire.dialect import DIALECTS

_OF_KIND = {kind: name for name, row in DIALECTS.items() for kind in row.event_kinds}
_OF_PREFIX = tuple((row.event_prefix, name) for name, row in DIALECTS.items() if row.event_prefix)
_OF_LIST = tuple((row.event_list, name) for name, row in DIALECTS.items() if row.event_list)


def dialect_of(event: dict[str, Any], name: str = "") -> str:
    """Return the dialect of an event; empty if it is ambiguous."""
    kind = event.get("type") or name
    if isinstance(kind, str) and kind:
        return _OF_KIND.get(kind) or next((text for prefix, text in _OF_PREFIX if kind.startswith(prefix)), "")
    return next((text for field, text in _OF_LIST if isinstance(event.get(field), list)), "")


def check_dialect(event: dict[str, Any], expected: str, name: str = "") -> None:
    """Reject an event of another dialect.

    Raises:
        nbtool.errors.InvalidReply: the event is of another dialect.
    """
    detected = dialect_of(event, name)
    if detected and detected != expected:
        fix = f"Check the address and the wire: `--set wire={detected}`."
        actual, wanted = DIALECTS[detected].label, DIALECTS[expected].label
        raise InvalidReply(f"The reply is in the dialect {actual}, not {wanted}.", fix=fix)
