"""Split a streamed text into prose, calls, and what looks like a call.

Prose is passed on as it streams in, up to the first place that may begin a call. From there on the text is held back:
until the end of the block that begins there, if such a block runs, else until the reply ends. What comes out does not
depend on where the stream was cut.
"""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.wire.prompted.call_starts import CallStarts
from nbtool.wire.prompted.forms.literal_calls import MAX_START_CHARS, starts_like_call
from nbtool.wire.prompted.forms.marked_blocks import find_body_end
from nbtool.wire.prompted.markdown_place import MarkdownPlace
from nbtool.wire.prompted.model_formats import Delimiter
from nbtool.wire.prompted.prose_stream import ProseStream
from nbtool.wire.prompted.reading import RunningForms, TextReader
from nbtool.wire.prompted.segments import MalformedSegment, PendingSegment, Piece, TextSegment, merge_text

MAX_HELD = 1024 * 1024
"""Maximum number of characters that are held back; more are released as text, and a call in them is too long."""

MAX_QUOTED_CLOSERS = 8
"""Closing marks inside the strings of a block; behind more of them the block is read when the reply ends."""


class TextScanner:
    """Reads one reply: feed it text cut anywhere, then close it.

    `runs` are the forms in which a call runs; what is written in another is reported. `names` are the tools that there
    are; without `names` (None) every name is one. Without any tool nothing is a call, and nothing looks like one.
    """

    def __init__(self, runs: RunningForms, names: Iterable[str] | None = None) -> None:
        self._runs = runs
        known_names = None if names is None else frozenset(names)
        self._reader = TextReader(runs, known_names)
        self._place = MarkdownPlace()
        self._blanks: str | None = ""  # what was passed on, while it is only blanks
        self._starts = CallStarts(runs.word, known_names, runs.marks)
        self._prose = ProseStream(self._starts)
        self._is_holding = False
        self._held: list[str] = []
        self._held_size = 0
        self._mark: Delimiter | None = None  # of the block that the held text begins with, if that runs
        self._awaits_closer = False
        self._recent = ""  # the end of what awaits the closing mark

    def feed(self, text: str) -> list[Piece | PendingSegment]:
        """Feed the next piece of the reply and return what can be told by now."""
        pieces: list[Piece | PendingSegment] = [*self._scan(text, is_final=False)]
        if self._is_holding:
            pieces.append(PendingSegment(self._held_size))
        return pieces

    def flush(self) -> list[Piece]:
        """Return what is held back of prose, because something other than text comes next; a begun call stays held."""
        if self._is_holding:
            return []
        self._blanks = None
        return self._scan("", is_final=True)

    def close(self, *, complete: bool = True) -> list[Piece]:
        """Record that the reply has ended; `complete`: it was not cut short."""
        pieces = self._scan("", is_final=True)
        if self._is_holding:
            held = "".join(self._held)
            pieces += self._reader.read(held, self._place, is_bare=self._is_bare(held), complete=complete)
        self._held, self._is_holding = [], False
        return merge_text(pieces)

    def _scan(self, text: str, *, is_final: bool) -> list[Piece]:
        pieces: list[Piece] = []
        rest: str | None = text
        while rest is not None:
            rest = self._hold(rest, pieces) if self._is_holding else self._pass(rest, pieces, is_final)
        return merge_text(pieces)

    def _pass(self, text: str, pieces: list[Piece], is_final: bool) -> str | None:
        """Pass on what cannot become a call; return the text that is to be held back from here on, if there is any."""
        passed, rest = self._prose.feed(text, is_final=is_final)
        pieces.append(TextSegment(passed))
        if self._runs.marks:
            self._place.move(passed)
        if self._blanks is not None:
            is_blank = not passed.strip() and len(self._blanks) + len(passed) <= MAX_START_CHARS
            self._blanks = self._blanks + passed if is_blank else None
        if rest is not None:
            marks = self._runs.marks if self._place.allows_call else ()
            self._mark = next((mark for mark in marks if mark.closer and rest.startswith(mark.opener)), None)
            self._is_holding, self._awaits_closer, self._recent = True, self._mark is not None, ""
        return rest

    def _hold(self, text: str, pieces: list[Piece]) -> str | None:
        """Hold a text back; return what is behind the end of the block that is held, where it has come."""
        self._held.append(text)
        self._held_size += len(text)
        end = self._find_end(text)
        if not end and self._held_size <= MAX_HELD:
            return None
        held, is_marked = "".join(self._held), self._mark is not None
        if end:
            pieces += self._reader.read(held[:end], self._place)
        elif is_marked or self._starts.has_word(held):
            pieces.append(MalformedSegment(held, "too_long"))
        else:
            pieces.append(TextSegment(held))
        self._held, self._held_size, self._is_holding, self._blanks = [], 0, False, None
        return held[end:] if end else None

    def _find_end(self, text: str) -> int:
        """Return the end of the block that the held text begins with; 0 while it has none, or only the reply has."""
        if self._mark is None or not self._awaits_closer:
            return 0
        opener, closer = self._mark.opener, self._mark.closer
        recent = self._recent + text
        self._recent = recent[1 - len(closer) :]
        if closer not in recent:
            return 0
        held = "".join(self._held)
        end, ending = find_body_end(held, len(opener), self._mark)
        is_late = held.count(closer, len(opener), end) > MAX_QUOTED_CLOSERS
        if ending == "closer" and not is_late and not self._is_bare(held):
            return end + len(closer)
        self._awaits_closer = ending in ("none", "quoted") and not is_late
        return 0

    def _is_bare(self, held: str) -> bool:
        """Whether the held text is all of the reply, and begins like a call without marks."""
        return self._runs.bare and self._blanks is not None and starts_like_call(self._blanks + held)
