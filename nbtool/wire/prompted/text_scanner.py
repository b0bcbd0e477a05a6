"""Split a streamed text into prose, calls, and what looks like a call.

Prose is passed on as it streams in, up to the first place that may begin a call. From there on the text is held back:
until the end of the block that begins there, if such a block runs, else until the reply ends. What comes out does not
depend on where the stream was cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nbtool.wire.prompted.call_starts import MAX_LINE_START, CallStarts, code_fence_of
from nbtool.wire.prompted.forms.literal_calls import MAX_START_CHARS, starts_like_call
from nbtool.wire.prompted.forms.marked_blocks import find_body_end
from nbtool.wire.prompted.markdown_place import MarkdownPlace
from nbtool.wire.prompted.model_formats import Delimiter
from nbtool.wire.prompted.reading import RunningForms, read_text
from nbtool.wire.prompted.segments import MalformedSegment, PendingSegment, Piece, TextSegment, merge_text

MAX_HELD = 1024 * 1024
"""Maximum number of characters that are held back; more are released as text, and a call in them is too long."""

MAX_QUOTED_CLOSERS = 8
"""Closing marks inside the strings of a block; behind more of them the block is read when the reply ends."""

_EMPTY_LINES = re.compile(r"\n+")


class TextScanner:
    """Reads one reply: feed it text cut anywhere, then close it.

    `runs` are the forms in which a call runs; what is written in another is reported. `names` are the tools that there
    are; without `names` (None) every name is one. Without any tool nothing is a call, and nothing looks like one.
    """

    def __init__(self, runs: RunningForms, names: Iterable[str] | None = None) -> None:
        self._runs = runs
        self._names = None if names is None else frozenset(names)
        self._place = MarkdownPlace()
        self._blanks: str | None = ""  # what was passed on, while it is only blanks
        self._starts = CallStarts(runs.word, self._names, runs.marks)
        self._line = ""  # the beginning of the current line, which was passed on already
        self._is_long_line = False  # more of it was passed on than can become the beginning of a call
        self._text = ""  # what is not passed on yet begins at `_position`
        self._position = 0
        self._awaited: list[str] = []  # what comes after `_text` until the line is complete, which decides on all of it
        self._awaits_line = False
        self._recent = ""  # the end of what awaits the end of its line, or of its block
        self._code_fence = ""
        self._is_holding = False
        self._held: list[str] = []
        self._held_size = 0
        self._mark: Delimiter | None = None  # of the block that the held text begins with, if that runs
        self._awaits_closer = False

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
            pieces += self._read("".join(self._held), complete=complete)
        self._held, self._is_holding = [], False
        return merge_text(pieces)

    # --- prose ------------------------------------------------------------------------------------------------

    def _scan(self, text: str, *, is_final: bool) -> list[Piece]:
        pieces: list[Piece] = []
        rest: str | None = text
        while rest is not None:
            rest = self._hold(rest, pieces) if self._is_holding else self._pass(rest, pieces, is_final)
        return merge_text(pieces)

    def _pass(self, text: str, pieces: list[Piece], is_final: bool) -> str | None:
        """Pass on what cannot become a call; return the text that is to be held back from here on, if there is any."""
        self._awaited.append(text)
        if self._awaits_line and not is_final and not self._decides_line(text):
            return None
        self._text = self._text[self._position :] + "".join(self._awaited)
        self._position, self._awaited, self._awaits_line = 0, [], False
        parts: list[str] = []
        while (part := self._next_part(is_final)) is not None:
            parts.append(part)
        self._emit("".join(parts), pieces)
        if not self._is_holding:
            return None
        held, self._text, self._position = self._text[self._position :], "", 0
        self._begin_hold(held)
        return held

    def _decides_line(self, text: str) -> bool:
        """Whether more of a line decides on it: its end, or an opening mark that is complete now."""
        recent = self._recent + text
        self._recent = recent[-self._starts.longest_opener :]
        return "\n" in text or (not self._code_fence and self._starts.openers.search(recent) is not None)

    def _emit(self, text: str, pieces: list[Piece]) -> None:
        pieces.append(TextSegment(text))
        if self._runs.marks:
            self._place.move(text)
        if self._blanks is not None:
            is_blank = not text.strip() and len(self._blanks) + len(text) <= MAX_START_CHARS
            self._blanks = self._blanks + text if is_blank else None

    def _next_part(self, is_final: bool) -> str | None:
        """Return the next text that can be passed on; None where there is none, or where a call may begin."""
        if self._is_holding or self._position == len(self._text):
            return None
        if not self._line and (blank := _EMPTY_LINES.match(self._text, self._position)):
            return self._move(blank.end() - self._position, is_line_end=True)
        end = self._text.find("\n", self._position) + 1
        line = self._text[self._position : end or len(self._text)]
        if not end and not is_final and (self._code_fence or not self._starts.openers.search(line)):
            self._is_holding = len(self._line) + len(line) >= MAX_LINE_START and self._begins_call(line)
            return None if self._is_holding else self._move(self._safe_size(line)) or None
        fence = "" if self._code_fence else code_fence_of(self._line + line)
        is_code_call = fence != "" and not self._line and self._is_call_in_code(end or len(self._text), is_final)
        if is_code_call is None:
            return None
        start = 0 if is_code_call else self._find_start(line)
        if start is not None:
            self._is_holding = True
            return self._move(start)
        self._track_code(self._line + line, fence)
        return self._move(len(line), is_line_end=bool(end))

    def _move(self, size: int, *, is_line_end: bool = False) -> str:
        part = self._text[self._position : self._position + size]
        self._position += size
        self._is_long_line = not is_line_end and (self._is_long_line or len(self._line) + size > MAX_LINE_START)
        self._line = "" if is_line_end else (self._line + part)[:MAX_LINE_START]
        return part

    def _is_call_in_code(self, begin: int, is_final: bool) -> bool | None:
        """Whether the content of a fence of code begins like a call; None while that is not known."""
        looked_at = self._text[begin : begin + MAX_LINE_START + 1]
        content = looked_at.lstrip()
        is_long = len(looked_at) > MAX_LINE_START
        if not is_final and not is_long and "\n" not in content:
            return None
        begins_block = content.startswith(tuple(mark.opener for mark in self._runs.marks))
        return self._starts.begins_code_call(content) or begins_block or (is_long and not content)

    def _find_start(self, line: str) -> int | None:
        """Return where in the rest of a line a call may begin; in a fence of code only the own mark counts."""
        if self._code_fence:
            return 0 if self._starts.has_word(line) else None
        if self._begins_call(line):
            return 0
        before = "" if self._is_long_line else self._line
        start = self._starts.find(before + line)
        return max(0, start - len(before)) if start >= 0 else None

    def _begins_call(self, line: str) -> bool:
        return not self._code_fence and not self._is_long_line and self._starts.begins_call(self._line + line)

    def _track_code(self, line: str, fence: str) -> None:
        if self._code_fence:
            if line.strip().startswith(self._code_fence) and not line.strip().strip("`~"):
                self._code_fence = ""
        elif fence:
            self._code_fence = fence

    def _safe_size(self, line: str) -> int:
        """Return how much of an incomplete line can be passed on: nothing where its beginning may become a call."""
        if self._starts.may_begin_call(self._line + line):
            return 0
        mark = 0 if self._code_fence else self._starts.find_mark(line)
        if mark == 0:  # more of the line changes nothing, but its end does
            self._awaits_line, self._recent = True, line[-self._starts.longest_opener :]
            return 0
        return min(mark if mark > 0 else len(line), self._starts.size_without_part(line))

    # --- what is held back ------------------------------------------------------------------------------------

    def _begin_hold(self, held: str) -> None:
        marks = self._runs.marks if self._place.allows_call else ()
        self._mark = next((mark for mark in marks if mark.closer and held.startswith(mark.opener)), None)
        self._awaits_closer, self._recent = self._mark is not None, ""

    def _hold(self, text: str, pieces: list[Piece]) -> str | None:
        """Hold a text back; return what is behind the end of the block that is held, where it has come."""
        self._held.append(text)
        self._held_size += len(text)
        end = self._find_end(text)
        if not end and self._held_size <= MAX_HELD:
            return None
        held, is_marked = "".join(self._held), self._mark is not None
        if end:
            pieces += self._read(held[:end])
        elif is_marked or self._starts.has_word(held):
            pieces.append(MalformedSegment(held, "too_long"))
        else:
            pieces.append(TextSegment(held))
        self._held, self._held_size, self._is_holding, self._blanks = [], 0, False, None
        self._line, self._is_long_line = "", False
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

    def _read(self, text: str, *, complete: bool = True) -> list[Piece]:
        is_bare = self._is_bare(text)
        return read_text(text, self._runs, self._names, place=self._place, is_bare=is_bare, complete=complete)
