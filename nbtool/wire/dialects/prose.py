"""The prose of a reply: thinking in `<think>…</think>` is separated from the text, and texts become paragraphs.

Servers that do not know a model's tags send its thinking inside the text. It is separated here, so that it is shown
folded, is not parsed for calls, and is not sent back as an answer.
"""

from __future__ import annotations

from dataclasses import replace

from nbtool.events import CallDelta, Delta, ReplyEnd, TextDelta, ThinkingDelta, UsageDelta
from nbtool.wire.delta_merging import coalesce
from nbtool.wire.dialects.think_tag_parser import ThinkTagParser


class Prose:
    """Separates the thinking of one reply from its text; the start of a text may be held back."""

    def __init__(self) -> None:
        self._tags = ThinkTagParser()
        self._has_thinking = False
        self._last_texts: dict[str, str] = {}  # by kind of prose
        self._start = TextDelta("")  # how the next text starts

    def separate(self, deltas: list[Delta]) -> list[Delta]:
        """Return what replaces the deltas that arrived together."""
        deltas = coalesce(deltas)
        is_unchanged = self._tags.is_done and not self._tags.is_holding and not self._has_thinking
        return self._paragraphs(deltas if is_unchanged else self._split(deltas))

    def flush(self) -> list[Delta]:
        """Return the text that is held back."""
        return self._as_deltas(self._tags.flush())

    def _split(self, deltas: list[Delta]) -> list[Delta]:
        passed: list[Delta] = []
        for delta in deltas:
            if type(delta) is CallDelta and not self._tags.is_holding:
                passed.append(delta)
                continue
            if isinstance(delta, TextDelta):
                if delta.is_new or delta.phase:
                    passed += self.flush()
                    self._start = delta
                passed += self._as_deltas(self._tags.feed(delta.text))
                continue
            if not isinstance(delta, UsageDelta):
                passed += self.flush()
            if isinstance(delta, ThinkingDelta):
                self._tags.stop()
            if isinstance(delta, ReplyEnd) and self._has_thinking:
                # The native form contains the thinking as text: the message is rebuilt from its parts.
                delta = replace(delta, native=None)
            passed.append(delta)
        return passed

    def _paragraphs(self, deltas: list[Delta]) -> list[Delta]:
        """Insert an empty line before each further text of one reply."""
        for delta in deltas:
            if isinstance(delta, TextDelta | ThinkingDelta) and delta.text:
                previous, self._last_texts[delta.kind] = self._last_texts.get(delta.kind, ""), delta.text
                if delta.is_new and not previous.endswith("\n\n") and not delta.text.startswith("\n\n"):
                    delta.text = f"\n\n{delta.text}"
        return deltas

    def _as_deltas(self, segments: list[tuple[bool, str]]) -> list[Delta]:
        self._has_thinking = self._has_thinking or any(is_thinking for is_thinking, _ in segments)
        return [ThinkingDelta(text) if is_thinking else self._as_text(text) for is_thinking, text in segments]

    def _as_text(self, text: str) -> TextDelta:
        """Make the delta of a text; the first of a separate one says so."""
        start, self._start = self._start, TextDelta("")
        return TextDelta(text, start.is_new, phase=start.phase)
