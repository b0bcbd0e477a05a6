"""Remove from exported texts where files are on this machine: the home folder, and the folders of a traceback."""

from __future__ import annotations

import os
import re
from functools import lru_cache

_FRAME = re.compile(
    r"""(?m)^([ \t]*File ["']?)((?:~|[A-Za-z]:)?[/\\](?:[^"'<>|:\n/\\]+[/\\])*)"""
    r"""(?=[^"'<>|:\n/\\]+["']?(?:, line |:)\d)"""
)
"""A line of a traceback, as Python or IPython writes it: what precedes the folders of its file, and those."""


def without_local_paths(text: str) -> str:
    """Return a text with `~` in place of the home folder, and with the names only of the files of a traceback."""
    home = os.path.expanduser("~").rstrip("/\\")  # noqa: PTH111 - it never raises
    shortened = _home_pattern(home).sub("~", text) if len(home) > 1 else text
    return _FRAME.sub(r"\1", shortened) if "File " in shortened else shortened


@lru_cache(maxsize=4)
def _home_pattern(home: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/\\.-]){re.escape(home)}(?![\w-])")
