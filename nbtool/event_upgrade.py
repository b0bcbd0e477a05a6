"""Events as older versions wrote them → the fields that this version reads.

Older versions had only a sentence where this one has a field. Here alone are those sentences compared: they are frozen,
whatever the texts of this version say.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_IMPORTED = "This turn was imported from a file: nobody here saw it happen."
_REFERENCE_LINE = re.compile(r"\$VAR_REF\{\{(.*?)\}\}: (.*)", re.DOTALL)
_INTERRUPTED = "The kernel ended before this turn did; what came until then is kept."


def upgrade_event(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return an event, as plain data, in the form of this version; None where it has it already."""
    upgrade = _UPGRADES.get(event["kind"]) if isinstance(event.get("kind"), str) else None
    return upgrade(event) if upgrade else None


def _notice(event: dict[str, Any]) -> dict[str, Any] | None:
    return {**event, "topic": "imported"} if not event.get("topic") and event.get("text") == _IMPORTED else None


def _turn_ended(event: dict[str, Any]) -> dict[str, Any] | None:
    is_interrupted = not event.get("end_reason") and event.get("error") == _INTERRUPTED
    return {**event, "end_reason": "interrupted"} if is_interrupted else None


def _call(event: dict[str, Any]) -> dict[str, Any] | None:
    """What an argument stood for was one line: its JSON, or a reference with what it stands for."""
    resolved = event.get("resolved")
    if not isinstance(resolved, dict) or not any(isinstance(told, str) for told in resolved.values()):
        return None
    return {**event, "resolved": {name: _of_line(told) for name, told in resolved.items()}}


def _of_line(told: Any) -> Any:
    if not isinstance(told, str):
        return told
    if not (found := _REFERENCE_LINE.fullmatch(told)):
        return {"text": told}
    name, text = found.groups()
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
