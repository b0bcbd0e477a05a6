"""Redact recordings, which are committed to git: API keys, and values that the chat's privacy masks hide.

A recording has its own masks, numbered by the first occurrence of private values in the history and the prompt. So the
same prompt gets the same masks, and values in the prompt are restored on replay. A value that occurred only in a result
stays masked.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Set
from typing import Any

from pydantic import SecretStr

from nbtool.messages import Message, Text, ToolCall, ToolResult
from nbtool.plugins.masks import Masks
from nbtool.wire.framing.redaction import redact

_OWN_FIELDS = frozenset(
    {"kind", "role", "status", "call_id", "id", "name", "gate", "verdict", "by", "phase", "level", "stop_reason",
     "end_reason", "error_phase", "topic", "reference", "mime", "host", "digest"}
)  # fmt: skip
"""Fields with values of nbtool, which are never private."""

_NOTHING: frozenset[str] = frozenset()


class Redactor:
    """Redact private values in texts that are stored, and restore those that are known."""

    def __init__(self, plugins: Iterable[object] = (), keys: Callable[[], Iterable[SecretStr | None]] = tuple) -> None:
        hooks = (getattr(plugin, "masks", None) for plugin in plugins)
        self._masks = [masks.fork() for masks in hooks if isinstance(masks, Masks)]
        self._keys = keys  # called for each text: a key may be renewed during a turn

    def hide(self, text: str) -> str:
        """Return a text with private values and API keys redacted."""
        for masks in self._masks:
            text = masks.mask(text)
        return redact(text, self._keys())

    def restore(self, text: str) -> str:
        """Return a text with known masks replaced by their values."""
        for masks in reversed(self._masks):
            text = masks.restore(text)
        return text

    def register(self, messages: Iterable[Message]) -> None:
        """Assign mask numbers to the private values of these messages, in order."""
        for message in messages:
            for part in message.parts:
                match part:
                    case Text() | ToolResult():
                        self.hide(part.text)
                    case ToolCall():
                        self.hide(part.arguments)
                    case _:
                        pass

    def is_unchanged(self, value: Any) -> bool:
        """Whether redaction leaves a JSON value unchanged."""
        masked = value
        for masks in self._masks:
            masked = masks.mask_all(masked, numbers=True)
        return bool(map_private_text(masked, self.hide) == _as_lists(value))

    def redact_event(self, event: dict[str, Any]) -> Any:
        """Return an event, as plain data, with its texts redacted."""
        return map_private_text(event, self.hide)


def map_private_text(value: Any, change: Callable[[str], str], ours: Set[str] = _OWN_FIELDS) -> Any:
    """Apply `change` to every text in plain data except nbtool's own fields; to bytes only if they are text."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [map_private_text(inner, change, ours) for inner in value]
    if not isinstance(value, dict):
        return value
    is_media = value.get("kind") == "media"
    changed = {}
    for key, inner in value.items():
        if is_media and key == "data":
            changed[key] = _text_inside(inner, str(value.get("mime")), change)
        else:
            within = _NOTHING if key == "resolved" else ours  # names of references contain keys, which are user data
            changed[key] = inner if key in ours and isinstance(inner, str) else map_private_text(inner, change, within)
    return changed


def _text_inside(data: Any, mime: str, change: Callable[[str], str]) -> Any:
    if not isinstance(data, str) or not (mime.startswith("text/") or mime.endswith(("json", "xml"))):
        return data
    try:
        text = base64.urlsafe_b64decode(data).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return data
    return base64.urlsafe_b64encode(change(text).encode()).decode()


def _as_lists(value: Any) -> Any:
    return map_private_text(value, str)
