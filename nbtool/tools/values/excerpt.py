"""Pieces of a text, cut so that no piece of a private value is left of it.

What masks private values finds them whole. A value that is cut in two, or read a letter at a time, is not found; so it
is masked before it is cut, and what stands whole in the piece is put back: each request masks that again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_masking: ContextVar[tuple[object, ...]] = ContextVar("nbtool_masking", default=())


@contextmanager
def masking(plugins: Sequence[object]) -> Iterator[None]:
    """Let every text that is cut within be masked first by these plugins, as far as they have `mask_text`."""
    token = _masking.set(tuple(plugin for plugin in plugins if hasattr(plugin, "mask_text")))
    try:
        yield
    finally:
        _masking.reset(token)


def mask_text(text: str) -> str:
    """Give a text as it may be cut."""
    for plugin in _masking.get():
        text = plugin.mask_text(text)  # type: ignore[attr-defined]  # those without it were left out
    return text


def restore_text(text: str) -> str:
    """Give a piece of a masked text with the values back that stand whole in it."""
    for plugin in reversed(_masking.get()):
        text = plugin.restore_text(text)  # type: ignore[attr-defined]  # it comes with mask_text
    return text


def excerpt(text: str, start: int, end: int | None = None) -> str:
    """Give a piece of a text, counted in the characters of the masked one."""
    return restore_text(mask_text(text)[start:end])
