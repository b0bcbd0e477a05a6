"""Split a streamed text whose calls carry the chat's own mark (`own_fence.py`): prose, calls, what looks like a call.

Prose is passed on as it streams in, up to the first place that may begin a call; from there on the text is held back
until the reply ends, and read as a whole. What comes out does not depend on where the stream was cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from nbtool.wire.prompted.call_json import ParsedCall, match_tools
from nbtool.wire.prompted.model_formats import DELIMITERS
from nbtool.wire.prompted.own_fence import OwnBlock, find_own_blocks
from nbtool.wire.prompted.segments import (
    CallSegment,
    MalformedReason,
    MalformedSegment,
    PendingSegment,
    Piece,
    TextSegment,
    merge_text,
)
from nbtool.wire.prompted.suspected_calls.search import find_other_forms
from nbtool.wire.prompted.suspected_calls.tool_names import MAX_NAMES, names_alternation

MAX_HELD = 1024 * 1024
"""Maximum number of characters that are held back; more are released as text, and a call in them is too long."""

MAX_LINE_START = 120
"""Characters of a line after which it no longer becomes the beginning of a call."""


_LABELS = (
    "action", "tool", "function", "call", "calling", "invoke", "invoking", "using", "use", "name", "api", "command",
    "functions.",
)  # fmt: skip
_CODE_LANGUAGES = (
    r"python\d?|py|ipython|pycon|sql|bash|sh|shell|console|r|julia|javascript|js|typescript|ts|java|c|cpp|c\+\+|go|rust|css"
    r"|latex|tex|diff|toml|ini|csv|mermaid|dockerfile|makefile"
)
_CODE_FENCE = re.compile(rf"[ \t]*(?P<fence>`{{3,}}|~{{3,}})[ \t]*(?:{_CODE_LANGUAGES})[ \t]*", re.IGNORECASE)
_INLINE_CODE = re.compile(r"(?<!`)`++\Z")
_EMPTY_LINES = re.compile(r"\n+")
_WORD = re.compile(r"[\"'`*]*([\w.]*)")
_MARKS = "<{[`~|'\"*"
"""Characters with which a mark of a call may begin."""


class FencedScanner:
    """Reads one reply: feed it text cut anywhere, then close it.

    `word` is the chat's own mark; only what it marks is a call. `names` are the tools that there are; without `names`
    (None) every name is one. Without any tool nothing is a call, and nothing looks like one.
    """

    def __init__(self, word: str, names: Iterable[str] | None = None) -> None:
        self._word = word.lower()
        self._names = None if names is None else frozenset(names)
        sorted_names = tuple(sorted(self._names or ())[:MAX_NAMES])
        self._line_starts, self._starts = _start_patterns(self._word, sorted_names)
        ends = (self._word, "to=", *sorted_names)  # a name at the end of a line may begin a call too
        self._ends, self._beginnings = _prefixes(ends), _prefixes((*_LABELS, *ends))
        self._longest_end = max(map(len, ends))
        self._words = frozenset(map(str.lower, (*_LABELS, *ends)))
        self._marks = re.compile(rf"[{re.escape(_MARKS)}]|{re.escape(self._word)}|to=", re.IGNORECASE)
        self._calls = re.compile(rf"(?:functions\.)?(?:{names_alternation(self._names or frozenset()) or '(?!)'})\s*\(")
        self._line = ""  # the beginning of the current line, which was passed on already
        self._is_long_line = False  # more of it was passed on than can become the beginning of a call
        self._text = ""  # what is not passed on yet begins at `_position`
        self._position = 0
        self._awaited: list[str] = []  # what comes after `_text` until the line is complete, which decides on all of it
        self._awaits_line = False
        self._is_holding = False
        self._held: list[str] = []
        self._held_size = 0
        self._code_fence = ""

    def feed(self, text: str) -> list[Piece | PendingSegment]:
        """Feed the next piece of the reply and return what can be told by now."""
        pieces: list[Piece | PendingSegment] = [*self._scan(text, is_final=False)]
        if self._is_holding:
            pieces.append(PendingSegment(self._held_size))
        return pieces

    def flush(self) -> list[Piece]:
        """Return what is held back of prose, because something other than text comes next; a begun call stays held."""
        return [] if self._is_holding else self._scan("", is_final=True)

    def close(self, *, complete: bool = True) -> list[Piece]:
        """Record that the reply has ended; `complete`: it was not cut short."""
        prose = self._scan("", is_final=True)
        if not self._is_holding:
            return prose
        held, self._held, self._is_holding = "".join(self._held), [], False
        return merge_text([*prose, *read_held(held, self._word, self._names, complete=complete)])

    def _scan(self, text: str, *, is_final: bool) -> list[Piece]:
        if self._holds():
            return self._hold(text)
        self._awaited.append(text)
        if self._awaits_line and "\n" not in text and not is_final:
            return []
        self._text = self._text[self._position :] + "".join(self._awaited)
        self._position, self._awaited, self._awaits_line = 0, [], False
        passed: list[str] = []
        while (part := self._next_part(is_final)) is not None:
            passed.append(part)
        pieces: list[Piece] = [TextSegment("".join(passed))]
        if self._holds():
            held, self._text, self._position = self._text[self._position :], "", 0
            pieces += self._hold(held)
        return merge_text(pieces)

    def _next_part(self, is_final: bool) -> str | None:
        """Return the next text that can be passed on; None where there is none, or where a call may begin."""
        if self._holds() or self._position == len(self._text):
            return None
        if not self._line and (blank := _EMPTY_LINES.match(self._text, self._position)):
            return self._pass_on(blank.end() - self._position, is_line_end=True)
        end = self._text.find("\n", self._position) + 1
        if not end and not is_final:
            rest = self._text[self._position :]
            self._is_holding = len(self._line) + len(rest) >= MAX_LINE_START and self._begins_call(rest)
            return None if self._holds() else self._pass_on(self._safe_size(rest)) or None
        line = self._text[self._position : end or len(self._text)]
        fence = None if self._code_fence else _CODE_FENCE.fullmatch((self._line + line).rstrip("\r\n"))
        if fence and not self._line and self._may_be_call_in_code(end or len(self._text), is_final=is_final):
            return None
        start = 0 if self._holds() else self._find_start(line)
        if start is not None:
            self._is_holding = True
            return self._pass_on(start)
        self._track_code(self._line + line, fence)
        return self._pass_on(len(line), is_line_end=bool(end))

    def _holds(self) -> bool:
        return self._is_holding

    def _pass_on(self, size: int, *, is_line_end: bool = False) -> str:
        part = self._text[self._position : self._position + size]
        self._position += size
        self._is_long_line = not is_line_end and (self._is_long_line or len(self._line) + size > MAX_LINE_START)
        self._line = "" if is_line_end else (self._line + part)[:MAX_LINE_START]
        return part

    def _may_be_call_in_code(self, begin: int, *, is_final: bool) -> bool:
        """Whether the content of a fence of code is not known yet; if it is, hold it if it begins like a call."""
        looked_at = self._text[begin : begin + MAX_LINE_START + 1]
        content = looked_at.lstrip()
        is_long = len(looked_at) > MAX_LINE_START
        if not is_final and not is_long and "\n" not in content:
            return True
        call = self._calls.match(self._text, begin + len(looked_at) - len(content))
        self._is_holding = content.startswith(("{", "[")) or call is not None or (is_long and not content)
        return False

    def _hold(self, text: str) -> list[Piece]:
        self._held.append(text)
        self._held_size += len(text)
        if self._held_size <= MAX_HELD:
            return []
        held, self._held, self._held_size, self._is_holding = "".join(self._held), [], 0, False
        return [MalformedSegment(held, "too_long")] if self._word in held.lower() else [TextSegment(held)]

    def _find_start(self, line: str) -> int | None:
        """Return where in the rest of a line a call may begin; in a fence of code only the own mark counts."""
        if self._code_fence:
            return 0 if self._word in line.lower() else None
        if self._begins_call(line):
            return 0
        before = "" if self._is_long_line else self._line
        match = self._starts.search(before + line)
        if not match:
            return None
        code = _INLINE_CODE.search(before + line, 0, match.start())  # its marks say that a form is only shown
        return max(0, (code or match).start() - len(before))

    def _begins_call(self, line: str) -> bool:
        """Whether the line begins like a call; only its first characters count, however much of it is known."""
        if self._code_fence or self._is_long_line:
            return False
        return self._line_starts.match((self._line + line)[:MAX_LINE_START]) is not None

    def _track_code(self, line: str, fence: re.Match[str] | None) -> None:
        if self._code_fence:
            if line.strip().startswith(self._code_fence) and not line.strip().strip("`~"):
                self._code_fence = ""
        elif fence:
            self._code_fence = fence["fence"]

    def _safe_size(self, line: str) -> int:
        """Return how much of an incomplete line can be passed on: nothing where its beginning may become a call."""
        if self._may_begin_call(line):
            return 0
        mark = None if self._code_fence else self._marks.search(line)
        if self._code_fence or (mark and not mark.start()):
            self._awaits_line = True  # more of the line changes nothing, but its end does
            return 0
        safe = mark.start() if mark else len(line)
        tail = line[-MAX_LINE_START:].rstrip(" \t")
        lowered = tail.replace("\u0130", "i").lower()  # the one character that gets longer
        longest = min(len(tail), self._longest_end)
        part = next((size for size in range(longest, 0, -1) if lowered[-size:] in self._ends), 0)
        return min(safe, len(line) - len(line[-MAX_LINE_START:]) + len(tail) - part) if part else safe

    def _may_begin_call(self, line: str) -> bool:
        """Whether a line whose end is not known begins like a call, or like a part of such a beginning."""
        if len(self._line) + len(line) >= MAX_LINE_START:
            return False
        beginning = (self._line + line).lstrip(" \t>*#-").lower()
        word = _WORD.match(beginning)
        first = word[1] if word else ""
        return first in self._beginnings or any(first[:size] in self._words for size in range(1, len(first) + 1))


@lru_cache(maxsize=64)
def _prefixes(words: tuple[str, ...]) -> frozenset[str]:
    """Return all that one of these words begins with, in small letters; a text of no letters too."""
    return frozenset(word[:size].lower() for word in words for size in range(min(len(word), MAX_LINE_START) + 1))


@lru_cache(maxsize=64)
def _start_patterns(word: str, names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a line that begins like a call, and of everything in a line that may begin one."""
    own = names_alternation(frozenset(names)) or r"(?!)"
    openers = "|".join(re.escape(delimiter.opener) for delimiter in DELIMITERS)
    labels = "|".join(map(re.escape, _LABELS))
    beginning = r"[ \t>*#-]*+"
    line_starts = (
        rf"[ \t>]*(?:`{{3,}}|~{{3,}})(?![ \t]*(?:{_CODE_LANGUAGES})[ \t]*\r?\n)",
        r"[ \t]*(?:[{\[]|'{3}|\"{3})",
        rf"{beginning}(?:{labels})[\w \t]*\*{{0,2}}[ \t]*[:=(`]",
        rf"{beginning}(?:(?:{labels})[ \t:]+)?[\"'`*]{{0,4}}(?:functions\.)?(?:{own})[\"'`*]*[ \t]*"
        r"(?:[:({,]|\r?\n|$|with\b)",
    )
    starts = (
        rf"[`'\"<\[({{*_~|]{{0,8}}{re.escape(word)}",
        r"[{\[]\s*[{\"'“]",
        rf"\[\s*(?:functions\.)?(?:{own})\s*\(",
        openers,
        rf"<(?:{own})\b",
        rf"(?:functions\.)?(?:{own})[ \t]*\r?\n",
        r"</?[\w:.-]*(?:tool|func|call|invoke|action|api|observation)",
        r"<[|｜]|\bto=\w",  # noqa: RUF001 - as models write it
    )
    return re.compile("|".join(line_starts), re.IGNORECASE), re.compile("|".join(starts), re.IGNORECASE)


def read_held(text: str, word: str, names: frozenset[str] | None, *, complete: bool) -> list[Piece]:
    """Cut the end of a reply into prose, the calls with the own mark, and what looks like a call."""
    if names is not None and not names:
        return [TextSegment(text)]
    pieces: list[Piece] = []
    position = 0
    is_after_result = False
    thinking_end = text.rfind("</think>")
    for block in (*find_own_blocks(text, word), None):
        start = block.start if block else len(text)
        others = _read_others(text[position:start], names)
        pieces += others
        is_after_result |= any(isinstance(piece, MalformedSegment) and piece.reason == "result" for piece in others)
        if block:
            is_quoted = is_after_result or block.end <= thinking_end
            pieces.append(_read_own(text[block.start : block.end], block, names, complete, is_quoted))
            position = block.end
    return pieces


def _read_others(text: str, names: frozenset[str] | None) -> list[Piece]:
    pieces: list[Piece] = []
    position = 0
    for form in find_other_forms(text, names):
        pieces += [
            TextSegment(text[position : form.start]),
            MalformedSegment(text[form.start : form.end], form.reason, form.name),
        ]
        position = form.end
    return [*pieces, TextSegment(text[position:])]


def _read_own(source: str, block: OwnBlock, names: frozenset[str] | None, complete: bool, is_quoted: bool) -> Piece:
    """Return the calls of a block; the name of an unknown tool stays, for its result says which tools there are."""
    if block.is_unread:
        return MalformedSegment(source, "too_many")
    reason: MalformedReason = "after_result" if is_quoted else "unreadable" if complete else "cut"
    if block.calls is None or is_quoted or (block.is_cut and not complete):
        return MalformedSegment(source, reason)
    calls = [call for one in block.calls for call in (match_tools([one], names) or [_unknown(one)])]
    if any(call.lacks_arguments for call in calls):
        return MalformedSegment(source, "unreadable")
    return CallSegment(tuple(calls), source)


def _unknown(call: ParsedCall) -> ParsedCall:
    return ParsedCall(call.name, call.args, call.all_repairs, call.lacks_arguments)
