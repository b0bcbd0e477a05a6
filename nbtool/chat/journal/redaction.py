"""What is kept of an event when a plugin hides private values: its shape whole, its texts without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtool.chain.hooks import JournalContext

HOOK_FAILED = "[kept out: a plugin's on_journal failed]"
"""What is written in place of a text that a plugin could not look at."""

ID_FIELDS = frozenset({
    "kind", "role", "turn_id", "call_id", "id", "message_id", "digest", "node_id", "parent_id", "child_id", "cell_id",
    "mime", "verdict", "gate", "status", "stop_reason", "end_reason", "topic", "level", "op", "phase", "wire",
})  # fmt: skip
"""Fields of ours that hold names and ids: never private, and needed to read the event back."""

FREE_FORM_FIELDS = frozenset({"args", "payload", "schema"})
"""Fields whose inside is not ours: there every key and every text is looked at."""

FREE_KEYS = frozenset({"resolved"})
"""Fields whose keys are not ours, while what they hold is: the names of arguments."""


def redactor_for(plugins: Sequence[object], turn_id: str) -> Callable[[str], str] | None:
    """Give what hides the private values of a turn: the `on_journal` of all plugins; None where none has one."""
    hooks = [hook for plugin in plugins if (hook := getattr(plugin, "on_journal", None))]

    def hide(text: str) -> str:
        context = JournalContext(turn_id, text)
        try:
            for hook in hooks:
                hook(context)
        except BaseException:  # noqa: BLE001 - what could not be looked at is not kept, whatever was raised
            return HOOK_FAILED
        return context.text

    return hide if hooks else None


def redact_event(body: str, hide: Callable[[str], str]) -> str:
    """Give an event's JSON with its private values hidden."""
    from pydantic_core import from_json, to_json  # noqa: PLC0415 - only where history is written

    return to_json(_redact(from_json(body), hide, is_free=False)).decode()


def _redact(value: Any, hide: Callable[[str], str], *, is_free: bool) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list):
        return [_redact(inner, hide, is_free=is_free) for inner in value]
    if not isinstance(value, dict):
        return value if not is_free or isinstance(value, bool | None) else _number(value, hide)
    if is_free:
        return {hide(key): _redact(inner, hide, is_free=True) for key, inner in value.items()}
    id_fields = ID_FIELDS | {"data"} if value.get("kind") == "media" else ID_FIELDS
    return {
        key: inner if key in id_fields and isinstance(inner, str) else _field(key, inner, hide)
        for key, inner in value.items()
    }


def _field(key: str, inner: Any, hide: Callable[[str], str]) -> Any:
    if key in FREE_KEYS and isinstance(inner, dict):
        return {hide(name): _redact(one, hide, is_free=False) for name, one in inner.items()}
    return _redact(inner, hide, is_free=key in FREE_FORM_FIELDS)


def _number(value: float, hide: Callable[[str], str]) -> Any:
    """A number may read as something private: a telephone number, say."""
    return value if hide(str(value)) == str(value) else hide(str(value))
