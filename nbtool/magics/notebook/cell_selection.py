"""Which cells the words of `--cells` select: `above`, `all`, the last `N`, or `A:B` by their numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from nbtool.errors import BadUsage
from nbtool.text import shorten

T = TypeVar("T")

_RANGE = re.compile(r"(\d*):(\d*)")


def select_cells(words: str, cells: Sequence[T], above: Sequence[T], number_of: Callable[[T], int | None]) -> list[T]:
    """Return the cells that the words name, of all `cells` or of those `above` the running one.

    Raises:
        BadUsage: the words name no cells.
    """
    if words == "all":
        return list(cells)
    if words == "above":
        return list(above)
    if words.isdecimal() and int(words):
        return list(above[-int(words) :])
    if bounds := _parse_range(words):
        numbered = [(cell, number) for cell in cells if (number := number_of(cell))]
        if chosen := [cell for cell, number in numbered if bounds[0] <= number <= bounds[1]]:
            return chosen
        raise _unknown_numbers(words, [number for _, number in numbered])
    raise _unknown_words(words)


def _parse_range(words: str) -> tuple[int, int] | None:
    """Return the bounds of `A:B`, either of which may be missing; None if this is no range."""
    bounds = _RANGE.fullmatch(words)
    return (int(bounds[1] or 1), int(bounds[2] or 10**9)) if bounds else None


def _unknown_numbers(words: str, numbers: Sequence[int]) -> BadUsage:
    """Return the error for a range in which no cell is."""
    ran = f"from {min(numbers)} to {max(numbers)}" if numbers else "none"
    return BadUsage(f"--cells {words}: no cell has such a number.", fix=f"The cells that ran here: {ran}.")


def _unknown_words(words: str) -> BadUsage:
    """Return the error for words that name no cells."""
    return BadUsage(
        f"--cells {shorten(words, 40)} names no cells.",
        fix="`--cells above`, `--cells all`, `--cells 3` (the last three), `--cells 2:5`.",
    )
