"""Readers of hostile texts that come in small pieces, as a model writes them: what each piece costs may not grow with
all that came before it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Protocol

from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.render.terminal import Terminal
from nbtool.chain.hooks import StreamContext
from nbtool.events import CallDelta, Delta, RefusalDelta, ReplyEnd, TextDelta, ThinkingDelta
from nbtool.plugins.privacy import Privacy
from nbtool.wire import Decoder, ReplyBuilder, find_wire
from nbtool.wire.dialects.think_tag_parser import ThinkTagParser
from nbtool.wire.framing.sse import EventParser
from nbtool.wire.prompted.model_formats import DELIMITERS
from nbtool.wire.prompted.prompted_wire import PromptedWire
from nbtool.wire.prompted.reading import RunningForms
from nbtool.wire.prompted.text_scanner import TextScanner
from tests.fuzzing.test_fuzz import JSON, MARKDOWN, STREAM, with_errors

Read = Callable[[str], object]

SIZES = {"pieces": 1_000, "small pieces": 16}
"""Characters of a piece."""

WORD = "k3v9"
"""The word of a chat's own mark of a call."""

OWN = [WORD, f"<{WORD}>", f"</{WORD}>", "```", f"```{WORD}\n", "~~~", "<result", "</think>", "<invoke", "[f(", *JSON]
MARKED = [
    "<think>",
    "</think>",
    *[mark.opener for mark in DELIMITERS],
    *[mark.closer for mark in DELIMITERS if mark.closer],
    "{",
    '"',
]
PRIVATE = ["[", "]", "EMAIL", "[EMAIL", "_1]", "a@b.c", '\\"']


class Fed(Protocol):
    """What reads a text piece by piece."""

    def feed(self, text: str, /) -> object:
        """Feed the next piece."""


def _pieces(text: str, size: int) -> Iterator[str]:
    for at in range(0, len(text), size):
        yield text[at : at + size]


def in_pieces(make: Callable[[], Fed], size: int, end: str) -> Read:
    """Return what feeds a new reader a text in pieces, and ends it by a method."""

    def read(text: str) -> None:
        reader = make()
        for piece in _pieces(text, size):
            reader.feed(piece)
        getattr(reader, end)()

    return lambda text: with_errors(lambda: read(text))


class _Bytes:
    """Feeds a parser of bytes."""

    def __init__(self, parser: EventParser) -> None:
        self._parser = parser
        self.close = parser.close

    def feed(self, text: str, /) -> object:
        """Feed the next piece."""
        return self._parser.feed(text.encode(errors="replace"))


class _Reply:
    """Feeds a decoder of a reply."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def feed(self, text: str, /) -> None:
        """Feed the next piece."""
        self._decoder.feed(text.encode(errors="replace"), [])

    def close(self) -> None:
        """End the reply."""
        self._decoder.close([])


class _Deltas:
    """Feeds what takes the deltas of a reply."""

    def __init__(self, make: Callable[[str], Delta], *takers: Callable[[Delta], object]) -> None:
        self._make, self._takers = make, takers

    def feed(self, text: str, /) -> None:
        """Feed the next piece."""
        for take in self._takers:
            take(self._make(text))

    def close(self) -> None:
        """End the reply."""
        for take in self._takers:
            take(ReplyEnd("stop"))


def _restorer(make: Callable[[str], Delta]) -> _Deltas:
    plugin, turn = Privacy(), SimpleNamespace(state={})
    plugin.masks.mask("a@b.c")
    context: Any = turn
    return _Deltas(make, lambda delta: plugin.on_stream_data(StreamContext(context, 1, delta)))


def _shown(make: Callable[[str], Delta]) -> _Deltas:
    return _Deltas(make, Transcript().feed, Terminal(io.StringIO()).feed, ReplyBuilder().add)


DELTAS: dict[str, Callable[[str], Delta]] = {
    "prose": TextDelta,
    "thinking": ThinkingDelta,
    "refusal": RefusalDelta,
    "arguments": lambda text: CallDelta("c", name="f", arguments=text),
}
"""How a piece of a text comes in a delta."""

DIALECTS = ("chat", "responses", "anthropic", "gemini")

Form = tuple[Callable[[], Fed], list[str], str]

FORMS: dict[str, Form] = {
    "calls": (lambda: TextScanner(RunningForms(marks=DELIMITERS, bare=True), {"f"}), MARKED, "close"),
    "calls of any name": (lambda: TextScanner(RunningForms(marks=DELIMITERS)), MARKED, "close"),
    "calls with the own mark": (lambda: TextScanner(RunningForms(WORD), {"f"}), OWN, "close"),
    "thinking": (ThinkTagParser, MARKED, "flush"),
    "server-sent events": (lambda: _Bytes(EventParser()), STREAM, "close"),
    **{
        f"stream, {name},": (lambda name=name: _Reply(find_wire(name).decoder()), STREAM + JSON, "close")  # type: ignore[misc]  # bound now
        for name in DIALECTS
    },
    "stream of a prompted wire": (
        lambda: _Reply(PromptedWire(find_wire("chat"), WORD, names={"f"}).decoder()),
        [*STREAM, *OWN],
        "close",
    ),
    **{
        f"{name} restored": (lambda make=make: _restorer(make), PRIVATE, "close")  # type: ignore[misc]  # bound now
        for name, make in DELTAS.items()
    },
    **{
        f"{name} shown": (lambda make=make: _shown(make), [*MARKDOWN, *JSON], "close")  # type: ignore[misc]  # bound now
        for name, make in DELTAS.items()
    },
}
"""What is fed piece by piece: how it is made, the pieces of text that it is about, and the method that ends it."""

STREAMS: dict[str, tuple[Read, list[str]]] = {
    f"{name} in {size}": (in_pieces(make, characters, end), words)
    for name, (make, words, end) in FORMS.items()
    for size, characters in SIZES.items()
}
"""Readers, and the pieces that each is about."""
