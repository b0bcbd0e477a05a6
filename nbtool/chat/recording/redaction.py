"""Redact recordings, which are committed to git: API keys, and values that the chat's privacy masks hide.

A recording has its own masks, numbered by the first occurrence of private values in the history and the prompt. So the
same prompt gets the same masks, and values in the prompt are restored on replay. A value that occurred only in a result
stays masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nbtool.audience import hide_content
from nbtool.messages import Message, Text, ToolCall, ToolResult
from nbtool.plugins.masks import Masks
from nbtool.secret import Secret
from nbtool.wire.framing.known_secrets import hide_secrets
from nbtool.wire.framing.redaction import redact


class Redactor:
    """Redact private values in texts that are stored, and restore those that are known."""

    def __init__(self, plugins: Iterable[object] = (), keys: Callable[[], Iterable[Secret | None]] = tuple) -> None:
        hooks = (getattr(plugin, "masks", None) for plugin in plugins)
        self._masks = [masks.fork() for masks in hooks if isinstance(masks, Masks)]
        self._keys = keys  # called for each text: a key may be renewed during a turn

    def hide(self, text: str) -> str:
        """Return a text with private values and API keys redacted."""
        for masks in self._masks:
            text = masks.mask(text)
        return redact(hide_secrets(text), self._keys())

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
        return bool(hide_content(value, self.hide) == value)
