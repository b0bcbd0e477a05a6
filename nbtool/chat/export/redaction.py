"""Keep out of exported code what plugins keep out of the journal: in prompts, arguments and edited results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nbtool.chat.journal import redact_data, redactor_for
from nbtool.chat.turn import Turn
from nbtool.tools.calls.record import CallRecord


@dataclass(slots=True)
class Redaction:
    """Replaces private values by `[email]` and the like; `has_changed` once it has replaced any."""

    plugins: Sequence[object] = ()
    has_changed: bool = False

    def text(self, text: str, turn: Turn | None = None) -> str:
        """Return a text without private values."""
        hide = redactor_for(self.plugins, turn.turn_id if turn else "")
        redacted = hide(text) if hide else text
        self.has_changed = self.has_changed or redacted != text
        return redacted

    def changes(self, text: str) -> bool:
        """Return whether a text has private values."""
        return Redaction(self.plugins).text(text) != text

    def calls(self, turn: Turn) -> list[CallRecord]:
        """Return the calls of a turn, without private values in their arguments."""
        if not self.plugins:
            return list(turn.calls)
        return [
            replace(call, arguments=self._arguments(call.arguments, turn), edited=self._arguments(call.edited, turn))
            for call in turn.calls
        ]

    def _arguments(self, text: str, turn: Turn) -> str:
        hide = redactor_for(self.plugins, turn.turn_id)
        if hide is None:
            return text
        try:
            value = json.loads(text)
            redacted = redact_data(value, hide)
        except (ValueError, RecursionError):
            return self.text(text, turn)
        if redacted == value:
            return text
        self.has_changed = True
        return json.dumps(redacted, ensure_ascii=False)
