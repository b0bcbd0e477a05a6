"""Sanitize text: no terminal escapes, control characters, memory addresses or paths."""

from __future__ import annotations

import re

from nbtool.text import clean_text

# ECMA-48: control sequences (CSI), control strings (DCS, SOS, OSC, PM, APC) up to their terminator or to another
# escape, which also ends them, other escapes.
# https://ecma-international.org/publications-and-standards/standards/ecma-48/
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,}")
_PATH = re.compile(r"(?<![\w:/.~\\])(?:~|[A-Za-z]:)?[/\\](?:[^\s'\":/\\<>|]+[/\\])+([^\s'\":/\\<>|]*)")


def strip_controls(text: str) -> str:
    """Remove escape sequences and control characters; tabs and line ends remain."""
    text = _ESCAPES.sub("", clean_text(text))
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def single_line(text: str) -> str:
    """Return a name as one plain line."""
    return " ".join(strip_controls(text).split())


def without_addresses(text: str) -> str:
    """Remove the memory addresses of default representations."""
    return _ADDRESS.sub("", text)


def without_paths(text: str) -> str:
    """Shorten absolute paths to their last name, so that an error does not disclose local paths."""
    return _PATH.sub(r"\1", text)
