"""The wire that separates `<think>…</think>` from the text, around any dialect.

Servers that do not know a model's tags send its thinking inside the text. It is separated here, so that it is shown
folded, is not parsed for calls, and is not sent back as an answer.
"""

from __future__ import annotations

from dataclasses import replace

from nbtool.events import CallDelta, Delta, ReplyEnd, TextDelta, ThinkingDelta, UsageDelta
from nbtool.wire.base import Decoder, Prompt, Request, Target, Wire
from nbtool.wire.dialects.think_tag_parser import ThinkTagParser
from nbtool.wire.wrapped_decoder import WrappedDecoder


class ThinkTagWire:
    """A wire whose decoders separate `<think>…</think>` at the start of a text."""

    def __init__(self, inner: Wire) -> None:
        self.name = inner.name
        self._inner = inner

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Encode a prompt as the dialect does."""
        return self._inner.encode(prompt, target)

    def decoder(self, *, stream: bool = True) -> Decoder:
        """Return a new decoder for one reply."""
        return _ThinkTagDecoder(self._inner.decoder(stream=stream))


class _ThinkTagDecoder(WrappedDecoder):
    """Passes on the inner decoder's deltas, the start of the text through the parser."""

    def __init__(self, inner: Decoder) -> None:
        super().__init__(inner)
        self._tags = ThinkTagParser()
        self._has_thinking = False
        self._end_deltas: dict[str, str] = {}  # by kind of prose: the last text
        self._start = TextDelta("")  # how the next text starts

    def _translate(self, deltas: list[Delta]) -> list[Delta]:
        return self._paragraphs(deltas if self._is_passthrough else self._split(deltas))

    @property
    def _is_passthrough(self) -> bool:
        return self._tags.is_done and not self._tags.is_holding and not self._has_thinking

    def _split(self, deltas: list[Delta]) -> list[Delta]:
        passed: list[Delta] = []
        for delta in deltas:
            if type(delta) is CallDelta and not self._tags.is_holding:
                passed.append(delta)
                continue
            if isinstance(delta, TextDelta):
                if delta.is_new or delta.phase:
                    passed += self._flush()
                    self._start = delta
                passed += self._as_deltas(self._tags.feed(delta.text))
                continue
            if not isinstance(delta, UsageDelta):
                passed += self._flush()
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
                previous, self._end_deltas[delta.kind] = self._end_deltas.get(delta.kind, ""), delta.text
                if delta.is_new and not previous.endswith("\n\n") and not delta.text.startswith("\n\n"):
                    delta.text = f"\n\n{delta.text}"
        return deltas

    def _flush(self) -> list[Delta]:
        return self._as_deltas(self._tags.flush())

    def _as_deltas(self, segments: list[tuple[bool, str]]) -> list[Delta]:
        self._has_thinking = self._has_thinking or any(is_thinking for is_thinking, _ in segments)
        return [ThinkingDelta(text) if is_thinking else self._as_text(text) for is_thinking, text in segments]

    def _as_text(self, text: str) -> TextDelta:
        """Make the delta of a text; the first of a separate one says so."""
        start, self._start = self._start, TextDelta("")
        return TextDelta(text, start.is_new, phase=start.phase)
