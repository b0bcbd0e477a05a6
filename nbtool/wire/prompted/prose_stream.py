"""The prose of a streamed text, passed on up to the first place that may begin a call."""

from __future__ import annotations

import re

from nbtool.wire.prompted.call_starts import MAX_LINE_START, CallStarts, code_fence_of

_EMPTY_LINES = re.compile(r"\n+")


class ProseStream:
    """Takes a text cut anywhere and passes on what cannot become a call.

    The lines of a fence of code are passed on too, unless its content begins like a call, or a line has the own mark.
    """

    def __init__(self, starts: CallStarts) -> None:
        self._starts = starts
        self._line = ""  # the beginning of the current line, which was passed on already
        self._is_long_line = False  # more of it was passed on than can become the beginning of a call
        self._text = ""  # what is not passed on yet begins at `_position`
        self._position = 0
        self._awaited: list[str] = []  # what comes after `_text` until the line is complete, which decides on all of it
        self._awaits_line = False
        self._recent = ""  # the end of what awaits the end of its line
        self._code_fence = ""
        self._has_call = False

    def feed(self, text: str, *, is_final: bool) -> tuple[str, str | None]:
        """Return what can be passed on, and all that comes from there on if a call may begin there (else None)."""
        self._awaited.append(text)
        if self._awaits_line and not is_final and not self._decides_line(text):
            return "", None
        self._text = self._text[self._position :] + "".join(self._awaited)
        self._position, self._awaited, self._awaits_line = 0, [], False
        parts: list[str] = []
        while (part := self._next_part(is_final)) is not None:
            parts.append(part)
        if not self._has_call:
            return "".join(parts), None
        rest, self._text, self._position, self._has_call = self._text[self._position :], "", 0, False
        self._line, self._is_long_line = "", False
        return "".join(parts), rest

    def _decides_line(self, text: str) -> bool:
        """Whether more of a line decides on it: its end, or an opening mark that is complete now."""
        recent = self._recent + text
        self._recent = recent[-self._starts.longest_opener :]
        return "\n" in text or (not self._code_fence and self._starts.openers.search(recent) is not None)

    def _next_part(self, is_final: bool) -> str | None:
        """Return the next text that can be passed on; None where there is none, or where a call may begin."""
        if self._has_call or self._position == len(self._text):
            return None
        if not self._line and (blank := _EMPTY_LINES.match(self._text, self._position)):
            return self._move(blank.end() - self._position, is_line_end=True)
        end = self._text.find("\n", self._position) + 1
        line = self._text[self._position : end or len(self._text)]
        if not end and not is_final and (self._code_fence or not self._starts.openers.search(line)):
            self._has_call = len(self._line) + len(line) >= MAX_LINE_START and self._begins_call(line)
            return None if self._has_call else self._move(self._safe_size(line)) or None
        fence = "" if self._code_fence else code_fence_of(self._line + line)
        is_code_call = fence != "" and not self._line and self._is_call_in_code(end or len(self._text), is_final)
        if is_code_call is None:
            return None
        start = 0 if is_code_call else self._find_start(line)
        if start is not None:
            self._has_call = True
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
        return self._starts.begins_code_call(content) or (is_long and not content)

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
