"""The content of a value as lines, so that the person who approves a call can see what changed in it.

Only plain containers, texts and tables have lines. No code of a class runs: an item that is neither a plain value nor
a type of the table libraries is shown by its type, as in a preview.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from nbtool.text import count_of, format_number, left_out, shorten
from nbtool.tools.values.line_diff import changed_lines
from nbtool.tools.values.sanitize import strip_controls
from nbtool.tools.values.table_preview import PLAIN_PACKAGES

MAX_LINES = 2_000
"""Maximum number of lines of a value that are compared."""

MAX_LINE_CHARS = 300
"""Maximum number of characters of one line."""

MAX_CHANGES = 20
"""Maximum number of removed lines that are shown of one value, and of added ones."""

MAX_ITEMS = 50
"""Maximum number of items shown of a container in a line, and of cells of a row."""

MAX_DEPTH = 3
"""Maximum nesting of the containers shown in a line."""

MAX_NUMBER_BITS = 600
"""Maximum number of bits of an integer that is written out."""


@dataclass(frozen=True, slots=True)
class ContentLines:
    """The first lines of a value, and how many there are in all."""

    lines: tuple[str, ...]
    total: int


def content_lines(value: Any) -> ContentLines | None:
    """Return the content of a value as lines; None if it has none, or cannot be read."""
    try:
        return _read_library(value) or _read_plain(value)
    except Exception:  # noqa: BLE001 - a table may raise anything, a container may change while it is read
        return None


def content_difference(before: ContentLines, after: ContentLines) -> tuple[str, str]:
    """Return the removed lines and the added ones, with how many are omitted; empty if the read parts are equal."""
    removed, added = changed_lines(before.lines, after.lines)
    return _shown(removed), _shown(added)


def comparison_note(before: ContentLines, after: ContentLines) -> str:
    """Return how much of two values was compared; empty if all of it was."""
    total = max(before.total, after.total)
    return f" (of {count_of(total, 'line')}, the first {format_number(MAX_LINES)} are compared)" * (total > MAX_LINES)


def _shown(lines: Sequence[str]) -> str:
    rest = left_out(len(lines) - MAX_CHANGES, "lines")
    return "\n".join([*lines[:MAX_CHANGES], *([rest] if rest else [])])


def _read_library(value: Any) -> ContentLines | None:
    match f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}":
        case "pandas.DataFrame":
            part = value.iloc[:MAX_LINES, : MAX_ITEMS - 1]
            width = value.shape[1] + 1
            return _lines((_row(row, width) for row in part.itertuples(name=None)), len(value))
        case "pandas.Series":
            part = value.iloc[:MAX_LINES]
            return _lines((_row(row, 2) for row in zip(part.index, part, strict=True)), len(value))
        case "polars.DataFrame":
            part = value.head(MAX_LINES).select(value.columns[:MAX_ITEMS])
            return _lines((_row(row, value.shape[1]) for row in part.iter_rows()), len(value))
        case "polars.Series":
            return _lines(map(_item, value.head(MAX_LINES)), len(value))
        case "numpy.ndarray" if value.ndim in (1, 2):
            items = (_item(item) if value.ndim == 1 else _row(item, len(item)) for item in value[:MAX_LINES])
            return _lines(items, len(value))
        case _:
            return None


def _read_plain(value: Any) -> ContentLines | None:
    if type(value) is str:
        lines = value.splitlines()
        return _lines(lines, len(lines))
    if type(value) is dict:
        return _lines((f"{_item(key)}: {_item(item)}" for key, item in value.items()), len(value))
    if type(value) in (list, tuple):
        return _lines(map(_item, value), len(value))
    if type(value) in (set, frozenset):
        return _lines(sorted(map(_item, value)), len(value))
    return None


def _lines(lines: Iterable[str], total: int) -> ContentLines:
    cleaned = (shorten(" ".join(strip_controls(line).splitlines()), MAX_LINE_CHARS) for line in lines)
    return ContentLines(tuple(islice(cleaned, MAX_LINES)), total)


def _row(cells: Iterable[Any], width: int) -> str:
    rest = left_out(width - MAX_ITEMS, "cells")
    return " | ".join([*(_item(cell) for cell in islice(cells, MAX_ITEMS)), *([rest] if rest else [])])


def _item(value: Any, depth: int = 0) -> str:
    if type(value) is str:
        return repr(value[: 2 * MAX_LINE_CHARS]) if depth or len(value) > MAX_LINE_CHARS else value
    if type(value) is int and value.bit_length() > MAX_NUMBER_BITS:
        return f"int of {count_of(value.bit_length(), 'bit')}"
    if value is None or type(value) in (int, float, bool, complex):
        return repr(value)
    if type(value).__module__.partition(".")[0] in PLAIN_PACKAGES:
        return str(value)
    if type(value) in (dict, list, tuple, set, frozenset):
        return _nested(value, depth)
    return type(value).__name__


def _nested(value: Any, depth: int) -> str:
    if depth == MAX_DEPTH:
        return f"{type(value).__name__} of {format_number(len(value))}"
    rest = left_out(len(value) - MAX_ITEMS, "items")
    shown = ", ".join([*_members(value, depth + 1), *([rest] if rest else [])])
    return f"[{shown}]" if type(value) is list else f"({shown})" if type(value) is tuple else f"{{{shown}}}"


def _members(value: Any, depth: int) -> Iterator[str]:
    if type(value) is dict:
        for key, item in islice(value.items(), MAX_ITEMS):
            yield f"{_item(key, depth)}: {_item(item, depth)}"
    else:
        yield from (_item(item, depth) for item in islice(value, MAX_ITEMS))
