"""A text in which calls of other forms are searched for, with its code fences and the tools that there are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nbtool.wire.prompted.segments import MalformedReason
from nbtool.wire.prompted.tool_names import ToolNames

MAX_TRIES = 256
"""Places of one form in one text that are looked at; where there are more, the rest is hidden if it may hold a call."""

MAX_BARE_TRIES = 32
"""Places of one form in one text that are looked at for a call that runs without marks."""

_FENCE = re.compile(
    r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<info>[^\n`]*)\n(?P<body>.*?)(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_DATA_LANGUAGES = frozenset({"", "json", "json5", "jsonc", "xml", "text", "txt", "plaintext", "yaml", "yml"})


@dataclass(frozen=True, slots=True)
class OtherForm:
    """A text that looks like a call, from `start` to `end`."""

    start: int
    end: int
    name: str = ""
    reason: MalformedReason = "other_form"


@dataclass(frozen=True, slots=True)
class Fence:
    """A code fence, with the line of its opening mark."""

    start: int
    end: int
    info: str
    body: str

    @property
    def language(self) -> str:
        """The language that the fence names, in small letters."""
        return self.info.strip().split(" ")[0].strip("{}.:").lower()

    @property
    def is_for_calls(self) -> bool:
        """Whether the language says that a call is in the fence."""
        return self.language.startswith(("tool", "function", "call", "action"))


class SearchedText:
    """A text, the tools that there are, and its code fences; `unread` is where more is than was looked at."""

    def __init__(self, text: str, names: Collection[str] | None) -> None:
        self.text = text
        self.tools = ToolNames(names)
        self.unread: list[int] = []
        self.fences = [
            Fence(match.start(), match.end(), match["info"], match["body"]) for match in self.matches(_FENCE)
        ]

    def matches(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the places of a form, and note where more of them are left than are looked at."""
        for count, match in enumerate(pattern.finditer(self.text)):
            if count == MAX_TRIES:
                self.unread.append(match.start())
                return
            yield match

    def fence_at(self, position: int) -> Fence | None:
        """Return the fence that a position is in; None if it is in none."""
        return next((fence for fence in self.fences if fence.start <= position < fence.end), None)

    def is_code(self, position: int) -> bool:
        """Whether a position is in a fence of a programming language: what is there is shown, not called."""
        fence = self.fence_at(position)
        return fence is not None and not fence.is_for_calls and fence.language not in _DATA_LANGUAGES

    def is_quoted(self, start: int, end: int) -> bool:
        """Whether a text is inline code."""
        return (
            self.text[max(0, start - 1) : start] == "`"
            and self.text[end : end + 1] == "`"
            and self.fence_at(start) is None
        )

    def is_shown(self, position: int) -> bool:
        """Whether a mark is in inline code, or in a fence that follows prose."""
        fence = self.fence_at(position)
        if fence:
            return bool(self.text[: fence.start].strip()) and not fence.is_for_calls
        return self.text[max(0, position - 1) : position] == "`"

    def is_whole(self, start: int, end: int) -> bool:
        """Whether there is nothing besides a place, but for the marks of a fence."""
        around = self.text[:start] + self.text[end:]
        return not re.sub(r"`{3,}\w*|~{3,}\w*", "", around).strip()

    def end_of_paragraph(self, position: int) -> int:
        """Return the end of the fence that a position is in, else of its paragraph."""
        fence = self.fence_at(position)
        if fence:
            return fence.end
        end = self.text.find("\n\n", position)
        return end if end >= 0 else len(self.text)

    def widen(self, form: OtherForm) -> OtherForm:
        """Return a form with the whole fence around it, if it is alone in it."""
        fence = self.fence_at(form.start)
        if fence is None or form.end > fence.end:
            return form
        inside = self.text[fence.start : fence.end]
        alone = not fence.body.replace(self.text[form.start : form.end].strip(), "", 1).strip("` \t\r\n;,")
        return OtherForm(fence.start, fence.end, form.name, form.reason) if alone or len(inside) < 3 else form
