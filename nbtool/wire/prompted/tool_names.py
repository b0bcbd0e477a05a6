"""The names of a chat's tools, as they are searched for in a text."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from nbtool.wire.prompted.call_json import match_tool_name

MAX_NAMES = 1_000
"""Names of tools that are searched for in a text."""

_CACHED = 64


class ToolNames:
    """The names of the tools that there are; None: any name is one, and none is searched for."""

    def __init__(self, names: Collection[str] | None) -> None:
        self._names = names
        self.alternation = "" if names is None else names_alternation(frozenset(names))
        self._pattern = _mention_pattern(self.alternation)

    def match(self, name: str) -> str:
        """Return the tool that a written name means; empty if it means none."""
        return match_tool_name(name.strip(" `*\"'"), self._names) or "" if self._names is not None else ""

    def find(self, text: str) -> str:
        """Return the first tool whose name is in a text; empty if there is none."""
        found = self.mention(text)
        return found[0] if found else ""

    def mention(self, text: str, position: int = 0) -> re.Match[str] | None:
        """Return where the name of a tool is next."""
        return self._pattern.search(text, position) if self._pattern else None


@lru_cache(maxsize=_CACHED)
def names_alternation(names: frozenset[str]) -> str:
    """Return names as a part of a regular expression, longest first; what separates their words may differ."""
    ordered = sorted(names, key=lambda name: (-len(name), name))[:MAX_NAMES]
    return "|".join("[-_.]".join(map(re.escape, re.split(r"[-_.]", name))) for name in ordered)


@lru_cache(maxsize=_CACHED)
def _mention_pattern(alternation: str) -> re.Pattern[str] | None:
    return re.compile(rf"(?<!\w)(?:{alternation})(?!\w)") if alternation else None
