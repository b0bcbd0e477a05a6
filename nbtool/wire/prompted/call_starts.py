"""Where in a line a call may begin, in any form; what cannot become one is passed on at once."""

from __future__ import annotations

import re
from functools import lru_cache

from nbtool.wire.prompted.forms.table import FIRST_WORDS, FORMS
from nbtool.wire.prompted.model_formats import DELIMITERS, Delimiter, openers_pattern
from nbtool.wire.prompted.tool_names import MAX_NAMES, names_alternation

MAX_LINE_START = 120
"""Characters of a line after which it no longer becomes the beginning of a call."""

_NO_WORD = "\x00"
"""A word that no text of a model contains."""

_CODE_LANGUAGES = (
    r"python\d?|py|ipython|pycon|sql|bash|sh|shell|console|r|julia|javascript|js|typescript|ts|java|c|cpp|c\+\+|go|rust|css"
    r"|latex|tex|diff|toml|ini|csv|mermaid|dockerfile|makefile"
)
_CODE_FENCE = re.compile(rf"[ \t]*(?P<fence>`{{3,}}|~{{3,}})[ \t]*(?:{_CODE_LANGUAGES})[ \t]*", re.IGNORECASE)
_INLINE_CODE = re.compile(r"(?<!`)`++\Z")
_MARK_BEHIND_BLANKS = re.compile(r"[ \t>]+[`~{\['\"]")
_FIRST_WORD = re.compile(r"[\"'`*]*([\w.]*)")
_SEPARATORS = str.maketrans("-.", "__")
_MARKS = "<{[`~|'\"*"
"""Characters with which a mark of a call may begin."""


class CallStarts:
    """Finds where a call may begin, of a chat with the own mark `word`, the tools `names` and further `marks`."""

    def __init__(self, word: str, names: frozenset[str] | None, marks: tuple[Delimiter, ...]) -> None:
        openers = tuple(dict.fromkeys(mark.opener for mark in (*DELIMITERS, *marks)))
        self.openers = openers_pattern(openers)
        self.longest_opener = max(map(len, openers))
        self._running_openers = tuple(mark.opener for mark in marks)
        self._word = word.lower() or _NO_WORD
        sorted_names = tuple(sorted(names or ())[:MAX_NAMES])
        self._line_starts, self._starts = _start_patterns(self._word, sorted_names, self.openers.pattern)
        ends = (self._word, "to=", *sorted_names)  # a name at the end of a line may begin a call too
        self._ends, self._beginnings = _prefixes(ends), _prefixes((*FIRST_WORDS, *ends))
        self._longest_end = max(map(len, ends))
        self._words = frozenset(map(_comparable, (*FIRST_WORDS, *ends)))
        self._marks = re.compile(rf"[{re.escape(_MARKS)}]|{re.escape(self._word)}|to=", re.IGNORECASE)
        self._call = re.compile(rf"(?:functions\.)?(?:{names_alternation(frozenset(sorted_names)) or '(?!)'})\s*\(")

    def has_word(self, text: str) -> bool:
        """Whether a text contains the chat's own mark."""
        return self._word in text.lower()

    def begins_call(self, line: str) -> bool:
        """Whether a line begins like a call; only its first characters count, however much of it is known."""
        return self._line_starts.match(line[:MAX_LINE_START]) is not None

    def begins_code_call(self, content: str) -> bool:
        """Whether the content of a fence of code is a call, and no code."""
        return content.startswith(("{", "[", *self._running_openers)) or self._call.match(content) is not None

    def find(self, line: str) -> int:
        """Return where in a line a call may begin; -1 where none may."""
        match = self._starts.search(line)
        if match is None:
            return -1
        code = _INLINE_CODE.search(line, 0, match.start())  # its marks say that a form is only shown
        return (code or match).start()

    def may_begin_call(self, line: str) -> bool:
        """Whether a line whose end is not known begins like a call, or like a part of such a beginning."""
        if len(line) >= MAX_LINE_START:
            return False
        if _MARK_BEHIND_BLANKS.match(line):
            return True
        word = _FIRST_WORD.match(line.lstrip(" \t>*#-"))
        first = _comparable(word[1]) if word else ""
        return first in self._beginnings or any(first[:size] in self._words for size in range(1, len(first) + 1))

    def find_mark(self, text: str) -> int:
        """Return where in a text a mark of a call may begin; -1 where none may."""
        mark = self._marks.search(text)
        return mark.start() if mark else -1

    def size_without_part(self, text: str) -> int:
        """Return the size of a text without what may be a part of a name, or of the own mark, at its end."""
        tail = text[-MAX_LINE_START:].rstrip(" \t")
        lowered = _comparable(tail)
        longest = min(len(tail), self._longest_end)
        part = next((size for size in range(longest, 0, -1) if lowered[-size:] in self._ends), 0)
        return len(text) - len(text[-MAX_LINE_START:]) + len(tail) - part if part else len(text)


def code_fence_of(line: str) -> str:
    """Return the mark that closes the fence of a programming language which a line opens; empty if it opens none."""
    match = _CODE_FENCE.fullmatch(line.rstrip("\r\n"))
    return match["fence"] if match else ""


@lru_cache(maxsize=64)
def _prefixes(words: tuple[str, ...]) -> frozenset[str]:
    """Return all that one of these words begins with, in small letters; a text of no letters too."""
    comparable = [_comparable(word) for word in words]
    return frozenset(word[:size] for word in comparable for size in range(min(len(word), MAX_LINE_START) + 1))


def _comparable(text: str) -> str:
    """Return a text of the same length in which case, and what separates the words of a name, makes no difference."""
    return text.replace("\u0130", "i").lower().translate(_SEPARATORS)  # the one character that gets longer


@lru_cache(maxsize=64)
def _start_patterns(word: str, names: tuple[str, ...], openers: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a line that begins like a call, and of everything in a line that may begin one."""
    own = names_alternation(frozenset(names)) or r"(?!)"
    line_starts = (
        rf"[ \t>]*(?:`{{3,}}|~{{3,}})(?![ \t]*(?:{_CODE_LANGUAGES})[ \t]*\r?\n)",
        r"[ \t]*(?:'{3}|\"{3})",
        *(form.begins_line for form in FORMS if form.begins_line),
    )
    starts = (
        rf"[`'\"<\[({{*_~|]{{0,8}}{re.escape(word)}",
        *(form.begins for form in FORMS if form.begins),
    )
    line_pattern, pattern = (
        "|".join(parts).replace("%names", own).replace("%openers", openers) for parts in (line_starts, starts)
    )
    return re.compile(line_pattern, re.IGNORECASE), re.compile(pattern, re.IGNORECASE)
