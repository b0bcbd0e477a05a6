"""A reply whose calls carry the chat's own mark, cut into prose, calls, and what only looks like a call.

Prose is passed on as it streams in, up to the first place that may begin a call; from there on the text is held back
until the reply ends, and read as a whole. What comes out does not depend on where the stream was cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from nbtool.wire.prompted.call_json import ParsedCall, match_tools
from nbtool.wire.prompted.delimiters import DELIMITERS
from nbtool.wire.prompted.other_forms import MAX_NAMES, find_other_forms, names_alternation
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
_MARKS = "<{[`~|'\"*"
"""Characters with which a mark of a call may begin."""


class FencedScanner:
    """Reads one reply: feed it text cut anywhere, then close it.

    `word` is the chat's own mark; only what it marks is a call. `names` are the tools that there are; without `names`
    (None) every name is one. Without any tool nothing is a call, and nothing looks like one.
    """

    def __init__(self, word: str, names: Iterable[str] | None = None) -> None:
        self._word = word
        self._names = None if names is None else frozenset(names)
        self._starts = _start_pattern(word.lower(), tuple(sorted(self._names or ())[:MAX_NAMES]))
        self._calls = re.compile(rf"(?:functions\.)?(?:{names_alternation(self._names or ()) or '(?!)'})\s*\(")
        self._line = ""  # the beginning of the current line, which was passed on already
        self._is_long_line = False  # more of it was passed on than can become the beginning of a call
        self._text = ""  # not passed on yet
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
        self._text += text
        passed: list[str] = []
        while (part := self._next_part(is_final)) is not None:
            passed.append(part)
        pieces: list[Piece] = [TextSegment("".join(passed))]
        if self._holds():
            held, self._text = self._text, ""
            pieces += self._hold(held)
        return merge_text(pieces)

    def _next_part(self, is_final: bool) -> str | None:
        """Return the next text that can be passed on; None where there is none, or where a call may begin."""
        line, newline, rest = self._text.partition("\n")
        if self._holds() or not self._text:
            return None
        if not newline and not is_final:
            return self._pass_on(self._safe_size(line)) or None
        if self._may_be_call_in_code(line, rest, is_final=is_final):
            return None
        start = 0 if self._holds() else self._find_start(line + newline)
        if start is not None:
            self._is_holding = True
            return self._pass_on(start)
        self._track_code(self._line + line)
        part = self._pass_on(len(line) + len(newline))
        if newline:
            self._line, self._is_long_line = "", False
        return part

    def _holds(self) -> bool:
        return self._is_holding

    def _pass_on(self, size: int) -> str:
        part, self._text = self._text[:size], self._text[size:]
        self._is_long_line |= len(self._line) + len(part) > MAX_LINE_START
        self._line = (self._line + part)[:MAX_LINE_START]
        return part

    def _may_be_call_in_code(self, line: str, rest: str, *, is_final: bool) -> bool:
        """Whether this line opens a fence of code whose content is not known yet, or begins like a call."""
        if self._code_fence or self._line or not _CODE_FENCE.fullmatch(line.rstrip("\r")):
            return False
        content = rest.lstrip()
        first_line = content.partition("\n")
        if not is_final and not (content and (first_line[1] or len(content) > MAX_LINE_START)):
            return True
        self._is_holding = content.startswith(("{", "[")) or self._calls.match(content) is not None
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
            return 0 if self._word.lower() in line.lower() else None
        before = "\0" if self._is_long_line else self._line  # behind it, nothing is the start of a line
        match = self._starts.search(before + line)
        return max(0, match.start() - len(before)) if match else None

    def _track_code(self, line: str) -> None:
        if self._code_fence:
            if line.strip().startswith(self._code_fence) and not line.strip().strip("`~"):
                self._code_fence = ""
        elif match := _CODE_FENCE.fullmatch(line.rstrip("\r")):
            self._code_fence = match["fence"]

    def _safe_size(self, line: str) -> int:
        """Return how much of an incomplete line can be passed on: nothing where its beginning may become a call."""
        whole = self._line + line
        beginning = whole[:MAX_LINE_START].lstrip(" \t>*#-").lower()
        word = re.match(r"[\"'`*]*([\w.]*)", beginning)
        first = word[1] if word else ""
        candidates = (*_LABELS, *(name.lower() for name in self._names or ()), self._word.lower(), "to=")
        may_begin = len(whole) < MAX_LINE_START and any(
            name.startswith(first) or first.startswith(name) for name in candidates
        )
        if may_begin or self._code_fence:
            return 0
        lowered, words = line.lower(), (self._word.lower(), "to=")
        safe = min((at for mark in (*_MARKS, *words) if (at := lowered.find(mark)) >= 0), default=len(line))
        ends = (*words, *(name.lower() for name in self._names or ()))  # a name at the end of a line may begin a call
        tail = lowered[-MAX_LINE_START:].rstrip(" \t")
        skipped = len(lowered) - len(lowered[-MAX_LINE_START:])
        partial = (skipped + at for at in range(len(tail)) if any(word.startswith(tail[at:]) for word in ends))
        return min(safe, next(partial, len(line)))


@lru_cache(maxsize=64)
def _start_pattern(word: str, names: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of everything in a line that may begin a call."""
    own = names_alternation(names) or r"(?!)"
    openers = "|".join(re.escape(delimiter.opener) for delimiter in DELIMITERS)
    labels = "|".join(map(re.escape, _LABELS))
    line_start = r"^[ \t>*#-]*+"
    parts = (
        rf"^[ \t>]*(?:`{{3,}}|~{{3,}})(?![ \t]*(?:{_CODE_LANGUAGES})[ \t]*\r?\n)",
        rf"[`'\"<\[({{*_~|]{{0,8}}{re.escape(word)}",
        r"^[ \t]*(?:[{\[]|'{3}|\"{3})",
        r"[{\[]\s*[{\"'“]",
        rf"\[\s*(?:functions\.)?(?:{own})\s*\(",
        openers,
        rf"<(?:{own})\b",
        rf"(?:functions\.)?(?:{own})[ \t]*\r?\n",
        r"</?[\w:.-]*(?:tool|func|call|invoke|action|api|observation)",
        r"<[|｜]|\bto=\w",  # noqa: RUF001 - as models write it
        rf"{line_start}(?:{labels})[\w \t]*\*{{0,2}}[ \t]*[:=(`]",
        rf"{line_start}(?:(?:{labels})[ \t:]+)?[\"'`*]{{0,4}}(?:functions\.)?(?:{own})[\"'`*]*[ \t]*"
        r"(?:[:({,]|\r?\n|$|with\b)",
    )
    return re.compile("|".join(parts), re.IGNORECASE | re.MULTILINE)


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
    reason: MalformedReason = "after_result" if is_quoted else "unreadable" if complete else "cut"
    if block.calls is None or is_quoted or (block.is_cut and not complete):
        return MalformedSegment(source, reason)
    calls = [call for one in block.calls for call in (match_tools([one], names) or [_unknown(one)])]
    if any(call.lacks_arguments for call in calls):
        return MalformedSegment(source, "unreadable")
    return CallSegment(tuple(calls), source)


def _unknown(call: ParsedCall) -> ParsedCall:
    return ParsedCall(call.name, call.args, call.all_repairs, call.lacks_arguments)
