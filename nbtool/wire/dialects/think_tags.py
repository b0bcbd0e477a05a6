"""Around any dialect: thinking that a model writes into its text, told apart.

A dialect's own decoder says what the provider's fields say. Models whose servers do not know their tags think inside
the text; on the way to a turn that is taken out, so that it is shown folded, never believed, and never sent back as an
answer.
"""

from __future__ import annotations

from dataclasses import replace

from nbtool.errors import WireError
from nbtool.events import CallDelta, Delta, ReplyEnd, TextDelta, ThinkingDelta, UsageDelta
from nbtool.wire.base import Decoder, Prompt, Request, Target, Wire
from nbtool.wire.dialects.think_tag_parser import ThinkTags


class WithThoughts:
    """A wire whose decoders split `<think>…</think>` at the head of a text from the text."""

    def __init__(self, inner: Wire) -> None:
        self.name = inner.name
        self._inner = inner

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Write a prompt as the dialect does."""
        return self._inner.encode(prompt, target)

    def decoder(self, *, stream: bool = True) -> Decoder:
        """Give a fresh decoder for one reply."""
        return _Splitting(self._inner.decoder(stream=stream))


class _Splitting:
    """Passes the inner decoder's deltas on, the head of the text by way of the tags."""

    def __init__(self, inner: Decoder) -> None:
        self._inner = inner
        self._tags = ThinkTags()
        self._has_split = False
        self._ends: dict[str, str] = {}  # by kind of prose: what came last
        self._error: WireError | None = None

    @property
    def is_done(self) -> bool:
        """Whether nothing more is to be expected."""
        return self._inner.is_done and self._error is None

    @property
    def pending(self) -> str:
        """The status of a reply that the provider makes in the background; see `responses_decoder`."""
        return str(getattr(self._inner, "pending", ""))

    def feed(self, data: bytes) -> list[Delta]:
        """Take the next bytes; an error waits until the text that was held back has been given."""
        self._raise_held()
        try:
            deltas = self._inner.feed(data)
        except WireError as error:
            return self._last_words(error)
        return self._paragraphs(deltas if self._is_through else self._split(deltas))

    def close(self) -> list[Delta]:
        """Take note that no more bytes will come."""
        self._raise_held()
        try:
            deltas = self._inner.close()
        except WireError as error:
            return self._last_words(error)
        return self._paragraphs([*self._split(deltas), *self._flushed()])

    @property
    def _is_through(self) -> bool:
        return self._tags.is_settled and not self._tags.is_holding and not self._has_split

    def _split(self, deltas: list[Delta]) -> list[Delta]:
        passed: list[Delta] = []
        for delta in deltas:
            if type(delta) is CallDelta and not self._tags.is_holding:
                passed.append(delta)
                continue
            if isinstance(delta, TextDelta):
                pieces = self._as_deltas(self._tags.feed(delta.text))
                if pieces and isinstance(first := pieces[0], TextDelta):
                    first.is_new = delta.is_new
                passed += pieces
                continue
            if not isinstance(delta, UsageDelta):
                passed += self._flushed()
            if isinstance(delta, ThinkingDelta):
                self._tags.settle()
            if isinstance(delta, ReplyEnd) and self._has_split:
                # The provider's own form holds the thinking as text: the message is built anew from its parts.
                delta = replace(delta, native=None)
            passed.append(delta)
        return passed

    def _paragraphs(self, deltas: list[Delta]) -> list[Delta]:
        """Put an empty line before each further text of one reply."""
        for delta in deltas:
            if isinstance(delta, TextDelta | ThinkingDelta):
                before, self._ends[delta.kind] = self._ends.get(delta.kind, ""), delta.text
                if delta.is_new and not before.endswith("\n\n") and not delta.text.startswith("\n\n"):
                    delta.text = f"\n\n{delta.text}"
        return deltas

    def _flushed(self) -> list[Delta]:
        return self._as_deltas(self._tags.flush())

    def _as_deltas(self, pieces: list[tuple[bool, str]]) -> list[Delta]:
        self._has_split = self._has_split or any(is_thinking for is_thinking, _ in pieces)
        return [ThinkingDelta(text) if is_thinking else TextDelta(text) for is_thinking, text in pieces]

    def _last_words(self, error: WireError) -> list[Delta]:
        if held := self._flushed():
            self._error = error
            return held
        raise error

    def _raise_held(self) -> None:
        if self._error:
            error, self._error = self._error, None
            raise error
