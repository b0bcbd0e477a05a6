"""Sanitize text: no terminal escapes, control characters, memory addresses or paths, and no part of a masked value.

Masks of private values match whole values. A value that is cut, or read one letter at a time, does not match. So the
text is masked before it is cut, and values that are whole in the excerpt are restored: each request masks them again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from nbtool.argument_check import check_answer
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


_masking: ContextVar[tuple[object, ...]] = ContextVar("nbtool_masking", default=())


@contextmanager
def masking(plugins: Sequence[object]) -> Iterator[None]:
    """Mask every text that is cut in the context with these plugins, if they have `mask_text`."""
    token = _masking.set(tuple(plugin for plugin in plugins if hasattr(plugin, "mask_text")))
    try:
        yield
    finally:
        _masking.reset(token)


def is_masking() -> bool:
    """Whether texts that are cut are masked here: excerpts are others for other plugins."""
    return bool(_masking.get())


def mask_text(text: str) -> str:
    """Return a text masked for cutting."""
    for plugin in _masking.get():
        masked = plugin.mask_text(text)  # type: ignore[attr-defined]  # plugins without it were filtered out
        text = check_answer(f"mask_text of the plugin {type(plugin).__name__}", str, masked)
    return text


def restore_text(text: str) -> str:
    """Return an excerpt of a masked text with the values that are whole in it restored."""
    for plugin in reversed(_masking.get()):
        restored = plugin.restore_text(text)  # type: ignore[attr-defined]  # plugins with mask_text have it
        text = check_answer(f"restore_text of the plugin {type(plugin).__name__}", str, restored)
    return text


def excerpt(text: str, start: int, end: int | None = None) -> str:
    """Return an excerpt of a text, by character positions in the masked text."""
    return restore_text(mask_text(text)[start:end])
