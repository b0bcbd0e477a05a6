"""The first rows of a value, for the person who looks at a call: what is a table, or nearly one, as a few short texts.

Only what was opened for reading is glanced at, and no cell's own code is run: what is not a plain value, or one of a
table's own kinds, is told by its type.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from nbtool.shorten import shorten

ROWS = 5
"""Rows that are shown of a table."""

COLUMNS = 8
"""Columns that are shown of a table."""

CELL = 40
"""Characters that are shown of one cell."""

PLAIN_PACKAGES = ("numpy", "pandas", "datetime", "decimal")
"""Packages whose values are told by their own words."""

Glance = dict[str, Any]
"""`columns`: the names; `rows`: the cells of each row; all texts. `more_rows`, `more_columns`: those left out."""


def glance(value: Any) -> Glance | None:
    """Give the first rows; None for what is no table, and where a table cannot be read."""
    try:
        return _of_library(value) or _of_plain(value)
    except Exception:  # noqa: BLE001 - a table of somebody's own making may fail in any way; it is told by its shape then
        return None


def _of_library(value: Any) -> Glance | None:
    kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
    match kind:
        case "pandas.DataFrame":
            part = value.iloc[:ROWS, :COLUMNS]
            return _glance(part.columns, part.itertuples(index=False, name=None), value.shape)
        case "pandas.Series":
            part = value.iloc[:ROWS]
            return _glance(("", part.name), zip(part.index, part, strict=True), (len(value), 2))
        case "polars.DataFrame":
            part = value.head(ROWS).select(value.columns[:COLUMNS])
            return _glance(part.columns, part.iter_rows(), value.shape)
        case "polars.Series":
            return _glance((value.name,), ((one,) for one in value.head(ROWS)), (len(value), 1))
        case "numpy.ndarray" if value.ndim == 2:
            return _glance(range(min(value.shape[1], COLUMNS)), (row[:COLUMNS] for row in value[:ROWS]), value.shape)
        case _:
            return None


def _of_plain(value: Any) -> Glance | None:
    if type(value) is dict and value:
        return _glance(("key", "value"), islice(value.items(), ROWS), (len(value), 2))
    if type(value) not in (list, tuple) or not value:
        return None
    first = list(islice(value, ROWS))
    if all(type(row) is dict for row in first):
        names = list(dict.fromkeys(name for row in first for name in row))
        rows = ([row.get(name, "") for name in names[:COLUMNS]] for row in first)
        return _glance(names[:COLUMNS], rows, (len(value), len(names)))
    return _glance(("",), ([one] for one in first), (len(value), 1))


def _glance(columns: Any, rows: Any, shape: tuple[int, int]) -> Glance:
    """Write the first rows; `shape` is that of the whole table."""
    names = [_cell(name) for name in islice(columns, COLUMNS)]
    shown = [[_cell(one) for one in islice(row, COLUMNS)] for row in islice(rows, ROWS)]
    more = {"more_rows": max(0, shape[0] - len(shown)), "more_columns": max(0, shape[1] - len(names))}
    return {"columns": names, "rows": shown, **{name: count for name, count in more.items() if count}}


def _cell(value: Any) -> str:
    """Write a cell: plain values as they are, those of the table libraries by their own words, others by their type."""
    package = type(value).__module__.partition(".")[0]
    if value is None or type(value) in (str, int, float, bool, complex) or package in PLAIN_PACKAGES:
        text = str(value)
    elif type(value) in (dict, list, tuple, set, bytes):
        text = f"{type(value).__name__} of {len(value)}"
    else:
        text = type(value).__name__
    return shorten(text.replace("\n", " "), CELL)
