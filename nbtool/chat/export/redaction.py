"""Keep out of exported code private values and known secrets: in prompts, arguments and edited results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nbtool.audience import Hide, hide_content
from nbtool.chat.journal import redactor_for, with_secrets_hidden
from nbtool.chat.turn import Turn
from nbtool.event_filter import hidden_calls
from nbtool.turn_state import Call


@dataclass(slots=True)
class Redaction:
    """Replaces private values by `[email]` and the like; `has_changed` once it has replaced any."""

    plugins: Sequence[object] = ()
    has_changed: bool = False

    def text(self, text: str, turn: Turn | None = None) -> str:
        """Return a text without private values."""
        hide = self._hide(turn)
        redacted = hide(text) if hide else text
        self.has_changed = self.has_changed or redacted != text
        return redacted

    def changes(self, text: str) -> bool:
        """Return whether a text has private values."""
        return Redaction(self.plugins).text(text) != text

    def calls(self, turn: Turn) -> list[Call]:
        """Return the calls of a turn, without private values in their arguments."""
        hidden = hidden_calls(turn.log)  # made inside a call whose result was withheld
        calls = [call for call in turn.calls if call.call_id not in hidden]
        if self._hide(turn) is None:
            return calls
        return [
            replace(call, arguments=self._arguments(call.arguments, turn), edited=self._arguments(call.edited, turn))
            for call in calls
        ]

    def _hide(self, turn: Turn | None) -> Hide | None:
        return with_secrets_hidden(redactor_for(self.plugins, turn.turn_id if turn else ""))

    def _arguments(self, text: str, turn: Turn) -> str:
        hide = self._hide(turn)
        if hide is None:
            return text
        try:
            value = json.loads(text)
            redacted = hide_content(value, hide)
        except (ValueError, RecursionError):
            return self.text(text, turn)
        if redacted == value:
            return text
        self.has_changed = True
        return json.dumps(redacted, ensure_ascii=False)
