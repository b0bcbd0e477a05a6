"""Upgrade events that older versions wrote to the fields of this version.

Older versions wrote a sentence where this version has a field. Those sentences are compared only here, and must not be
changed with the texts of this version.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_IMPORTED = "This turn was imported from a file: nobody here saw it happen."
_REFERENCE_LINE = re.compile(r"\$VAR_REF\{\{(.*?)\}\}: (.*)", re.DOTALL)
_INTERRUPTED = "The kernel ended before this turn did; what came until then is kept."


def upgrade_event(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return an event, as plain data, in the form of this version; None if it needs no upgrade."""
    upgrade = _UPGRADES.get(event["kind"]) if isinstance(event.get("kind"), str) else None
    return upgrade(event) if upgrade else None


def _notice(event: dict[str, Any]) -> dict[str, Any] | None:
    return {**event, "topic": "imported"} if not event.get("topic") and event.get("text") == _IMPORTED else None


def _turn_ended(event: dict[str, Any]) -> dict[str, Any] | None:
    is_interrupted = not event.get("end_reason") and event.get("error") == _INTERRUPTED
    return {**event, "end_reason": "interrupted"} if is_interrupted else None


def _call(event: dict[str, Any]) -> dict[str, Any] | None:
    """Upgrade a resolved argument from one line: its JSON, or a reference with its description."""
    resolved = event.get("resolved")
    if not isinstance(resolved, dict) or not any(isinstance(value, str) for value in resolved.values()):
        return None
    return {**event, "resolved": {name: _upgrade_argument(value) for name, value in resolved.items()}}


def _upgrade_argument(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if not (match := _REFERENCE_LINE.fullmatch(value)):
        return {"text": value}
    name, text = match.groups()
    return {
        "text": "",
        "references": [{"name": name, "text": text, "summary": text.split(": ")[0]}],
        "is_reference": True,
    }


_UPGRADES: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = {
    "notice": _notice,
    "turn_ended": _turn_ended,
    "call_ready": _call,
    "call_asked": _call,
    "call_started": _call,
}
