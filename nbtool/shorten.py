"""A text or a list that is too long for its place: the beginning of it, and how much is left out."""

from __future__ import annotations

from collections.abc import Iterable


def left_out(count: int, noun: str = "characters") -> str:
    """Write the mark that stands where something was cut; empty where nothing is left out."""
    return f"… {count:,} {noun.removesuffix('s') if count == 1 else noun} more" if count > 0 else ""


def shorten(text: str, limit: int) -> str:
    """Return the first `limit` characters of a text; behind those of a longer one stands how many are left out."""
    return text if len(text) <= limit else f"{text[:limit]}[{left_out(len(text) - limit)}]"


def list_names(names: Iterable[str], limit: int) -> str:
    """Write the first `limit` names in a line, and how many are left out; empty where there are none."""
    every = list(names)
    more = f" and {len(every) - limit:,} more" if len(every) > limit else ""
    return f"{', '.join(every[:limit])}{more}"
