"""What looks like a call in a text in which calls are written otherwise, or not at all: reported, and never run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from nbtool.wire.prompted.own_fence_scanner import FencedScanner
from nbtool.wire.prompted.segments import MalformedSegment, PendingSegment, Piece, TextSegment

LEFT_IN_TEXT = (
    "The reply holds a call of {name} as text: the server did not read it as one, so nothing ran. "
    '`--tool-mode prompted` (in Python `tool_mode="prompted"`) describes the tools in the prompt instead; or start the '
    "server with the parser for the calls of this model."
)
DESCRIBED_INSTEAD = (
    "The reply holds a call of {name} as text: the server did not read it as one, so nothing ran. The model is asked "
    "again, and tools are described in its prompt from now on; `--tool-mode native` keeps them out of it."
)
WRITE_AGAIN = (
    "The server left this call in the text of the reply, so it is no call and did not run. To call the tool, write the "
    "block that the system text describes."
)

_NO_FENCE = "\x00"
"""A word that no text of a model contains: no block is marked with it, so none is a call."""


class TextScanner(Protocol):
    """Splits the text of one reply into prose and calls."""

    def feed(self, text: str) -> list[Piece | PendingSegment]:
        """Feed the next piece of the text and return what is certain."""

    def flush(self) -> list[Piece]:
        """Return the prose that is held back, because something other than text follows."""

    def close(self, *, complete: bool = True) -> list[Piece]:
        """End the reply; `complete` is whether it was not truncated."""


class ReportingScanner:
    """Passes the prose of another scanner through the search for what looks like a call, which `json` does itself."""

    def __init__(self, inner: TextScanner, names: Iterable[str] | None) -> None:
        self._inner = inner
        self._search = FencedScanner(_NO_FENCE, names)

    def feed(self, text: str) -> list[Piece | PendingSegment]:
        """Feed the next piece of the text and return what is certain."""
        return list(self._searched(self._inner.feed(text)))

    def flush(self) -> list[Piece]:
        """Return the prose that is held back; a begun call stays held."""
        return [*self._pieces(self._inner.flush()), *self._search.flush()]

    def close(self, *, complete: bool = True) -> list[Piece]:
        """End the reply; `complete` is whether it was not truncated."""
        return [*self._pieces(self._inner.close(complete=complete)), *self._search.close()]

    def _pieces(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        return (piece for piece in self._searched(pieces) if not isinstance(piece, PendingSegment))

    def _searched(self, pieces: Iterable[Piece | PendingSegment]) -> Iterator[Piece | PendingSegment]:
        for piece in pieces:
            if isinstance(piece, TextSegment):
                yield from self._search.feed(piece.text)
            else:
                yield from self._search.flush()
                yield piece


def find_written_calls(text: str, names: Iterable[str]) -> list[MalformedSegment]:
    """Return what looks like a call of one of these tools in the text of a reply with native calls."""
    scanner = FencedScanner(_NO_FENCE, names)
    pieces = [*scanner.feed(text), *scanner.close()]
    return [piece for piece in pieces if isinstance(piece, MalformedSegment) and piece.reason != "result"]
