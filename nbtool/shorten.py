"""Shorten a text or a list, with a note of how much was left out."""

from __future__ import annotations

from collections.abc import Iterable


def left_out(count: int, noun: str = "characters") -> str:
    """Return the note for `count` omitted items; empty if none is omitted."""
    return f"… {count:,} {noun.removesuffix('s') if count == 1 else noun} more" if count > 0 else ""


def shorten(text: str, limit: int) -> str:
    """Return the first `limit` characters of a text, followed by the number of omitted ones, if any."""
    return text if len(text) <= limit else f"{text[:limit]}[{left_out(len(text) - limit)}]"


def list_names(names: Iterable[str], limit: int) -> str:
    """Return the first `limit` names as one line, and how many more there are; empty if there are none."""
    every = list(names)
    more = f" and {len(every) - limit:,} more" if len(every) > limit else ""
    return f"{', '.join(every[:limit])}{more}"
