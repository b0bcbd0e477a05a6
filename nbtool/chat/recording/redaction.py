"""What must not lie in a file that goes into git: keys, and what a chat's privacy masks hide.

The masks of a recording are its own, numbered by the order in which the history and the prompt name private values. So
whoever says the same gets the same masks, and values that stand in the prompt can be put back where it is replayed.
A value that only a result held stays a mask.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

from pydantic import SecretStr

from nbtool.messages import Message, Text, ToolCall, ToolResult
from nbtool.plugins.masks import Masks
from nbtool.wire.framing.redaction import redact

_OWN_FIELDS = frozenset(
    {"kind", "role", "status", "call_id", "id", "name", "gate", "verdict", "by", "phase", "level", "stop_reason",
     "end_reason", "topic", "reference", "mime", "host", "digest"}
)  # fmt: skip
"""Fields of our own words, which hide nothing."""

_NOTHING: frozenset[str] = frozenset()


class Redactor:
    """Hides private values in texts that are kept, and puts back those that it can."""

    def __init__(self, plugins: Iterable[object] = (), keys: Sequence[SecretStr | None] = ()) -> None:
        hooks = (getattr(plugin, "masks", None) for plugin in plugins)
        self._masks = [masks.fork() for masks in hooks if isinstance(masks, Masks)]
        self._keys = tuple(keys)

    def hide(self, text: str) -> str:
        """Give a text as it may be kept."""
        for masks in self._masks:
            text = masks.mask(text)
        return redact(text, self._keys)

    def restore(self, text: str) -> str:
        """Put back the values whose masks are known."""
        for masks in reversed(self._masks):
            text = masks.restore(text)
        return text

    def register(self, messages: Iterable[Message]) -> None:
        """Number the private values of these messages, in their order."""
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
        """Whether a plain value may be kept as it is."""
        masked = value
        for masks in self._masks:
            masked = masks.mask_all(masked, numbers=True)
        return bool(map_text(masked, self.hide) == _as_lists(value))

    def redact_event(self, event: dict[str, Any]) -> Any:
        """Give an event, as plain data, as it may be kept."""
        return map_text(event, self.hide)


def map_text(value: Any, change: Callable[[str], str], ours: Set[str] = _OWN_FIELDS) -> Any:
    """Change every text in plain data but our own words; bytes only where they are a text."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [map_text(inner, change, ours) for inner in value]
    if not isinstance(value, dict):
        return value
    is_media = value.get("kind") == "media"
    changed = {}
    for key, inner in value.items():
        if is_media and key == "data":
            changed[key] = _text_inside(inner, str(value.get("mime")), change)
        else:
            within = _NOTHING if key == "resolved" else ours  # a reference's name holds keys, which are values
            changed[key] = inner if key in ours and isinstance(inner, str) else map_text(inner, change, within)
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
    return map_text(value, str)
