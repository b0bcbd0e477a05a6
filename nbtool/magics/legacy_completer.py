"""Tab completion in IPython before 8.6, whose matchers get neither the cell nor a way to say that others are no use.

Its completer is called with the whole text by the kernel and by the terminal, so that function is wrapped: what can be
written in a `%%chat` cell or a `%chat` line is offered here, and everything else by IPython.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from IPython.core.completer import Completion

from nbtool.magics.completion import CompletionSource, Offer, find_offer

_FILE_MATCHER = "file_matches"

Completions = Callable[[str, int], Iterator[Completion]]


@dataclass(frozen=True, slots=True)
class TextCursor:
    """A place in a text; see `completion.Cursor`."""

    full_text: str
    offset: int

    @property
    def cursor_line(self) -> int:
        """The number of the line, from 0."""
        return self.full_text[: self.offset].count("\n")

    @property
    def cursor_position(self) -> int:
        """The place in the line."""
        return len(self.text_until_cursor)

    @property
    def line_with_cursor(self) -> str:
        """The whole line."""
        return self.full_text.split("\n")[self.cursor_line]

    @property
    def text_until_cursor(self) -> str:
        """The line up to the place."""
        return self.full_text[: self.offset].rpartition("\n")[2]


def completer(source: CompletionSource) -> Callable[[Completions], Completions]:
    """Create what wraps IPython's own completions."""

    def wrap(own: Completions) -> Completions:
        def completions(text: str, offset: int) -> Iterator[Completion]:
            offer = find_offer(source, TextCursor(text, offset))
            if offer is None:
                yield from own(text, offset)
                return
            yield from _offered(offer, offset)
            if offer.takes_path:
                yield from (
                    _path(completion) for completion in own(text, offset) if _FILE_MATCHER in completion._origin
                )

        return completions

    return wrap


def _path(found: Completion) -> Completion:
    """Return what IPython found, with the kind that newer versions give it; here it has none."""
    return Completion(start=found.start, end=found.end, text=found.text, type="path", _origin=found._origin)


def _offered(offer: Offer, offset: int) -> Iterator[Completion]:
    start = offset - len(offer.fragment)
    for word, kind in offer.matches().items():
        yield Completion(start=start, end=offset, text=word, type=kind, _origin="nbtool")


def add_completer(shell: Any, wrap: Callable[[Completions], Completions]) -> None:
    """Wrap the completions of a shell."""
    shell.Completer.completions = wrap(shell.Completer.completions)


def remove_completer(shell: Any, _: Any) -> None:
    """Undo `add_completer`."""
    del shell.Completer.completions  # of the instance; the class has its own
