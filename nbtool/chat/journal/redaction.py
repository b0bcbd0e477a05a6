"""Redact events: plugins remove private values from the texts, the structure is unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtool.chain.hooks import JournalContext
from nbtool.text import map_text

HOOK_FAILED = "[kept out: a plugin's on_journal failed]"
"""Replaces a text when a plugin's hook fails."""

ID_FIELDS = frozenset({
    "kind", "role", "turn_id", "call_id", "id", "message_id", "digest", "node_id", "parent_id", "child_id", "cell_id",
    "mime", "verdict", "gate", "status", "stop_reason", "end_reason", "error_phase", "topic", "level", "op", "phase",
    "wire",
})  # fmt: skip
"""Fields with names and ids of nbtool: never private, and needed to read the event."""

FREE_FORM_FIELDS = frozenset({"args", "payload", "schema"})
"""Fields with arbitrary content, where every key and every text is redacted."""

FREE_KEYS = frozenset({"resolved"})
"""Fields with arbitrary keys (names of arguments) and values of nbtool."""


def redactor_for(plugins: Sequence[object], turn_id: str) -> Callable[[str], str] | None:
    """Return a function that redacts texts with the `on_journal` hooks of all plugins; None if there is none."""
    hooks = [hook for plugin in plugins if (hook := getattr(plugin, "on_journal", None))]

    def hide(text: str) -> str:
        context = JournalContext(turn_id, text)
        try:
            for hook in hooks:
                hook(context)
        except BaseException:  # noqa: BLE001 - fail closed: a text that a hook did not process is not stored
            return HOOK_FAILED
        return context.text

    return hide if hooks else None


def redact_event(body: str, hide: Callable[[str], str]) -> str:
    """Return an event's JSON with private values redacted."""
    from pydantic_core import from_json, to_json  # noqa: PLC0415 - only where history is written

    return to_json(_redact(from_json(body), hide)).decode()


def _redact(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list):
        return [_redact(inner, hide) for inner in value]
    if not isinstance(value, dict):
        return value
    id_fields = ID_FIELDS | {"data"} if value.get("kind") == "media" else ID_FIELDS
    return {
        key: inner if key in id_fields and isinstance(inner, str) else _field(key, inner, hide)
        for key, inner in value.items()
    }


def _field(key: str, inner: Any, hide: Callable[[str], str]) -> Any:
    if key in FREE_KEYS and isinstance(inner, dict):
        return {hide(name): _redact(one, hide) for name, one in inner.items()}
    if key in FREE_FORM_FIELDS:
        return redact_data(inner, hide)
    return _redact(inner, hide)


def redact_data(value: Any, hide: Callable[[str], str]) -> Any:
    """Return JSON data of any form with private values redacted in every key, text and number."""
    return map_text(value, hide, keys=hide, number=lambda one: _number(one, hide))


def _number(value: float, hide: Callable[[str], str]) -> Any:
    """Redact a number too: it may be private, such as a telephone number."""
    return value if hide(str(value)) == str(value) else hide(str(value))
