"""Excerpts of a text that contain no part of a masked value.

Masks of private values match whole values. A value that is cut, or read one letter at a time, does not match. So the
text is masked before it is cut, and values that are whole in the excerpt are restored: each request masks them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from nbtool.argument_check import check_answer

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
