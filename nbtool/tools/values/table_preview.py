"""Preview the first rows of a table, or a similar value, as cells, for the person who approves a call.

Only readable variables are previewed, and no code of a cell's class runs: a cell that is neither a plain value nor a
type of the table libraries is shown by its type.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, repeat
from typing import Any

from nbtool.text import shorten

MAX_ROWS = 5
"""Maximum number of rows."""

MAX_RESULT_ROWS = 20
"""Maximum number of rows of a result."""

MAX_COLUMNS = 8
"""Maximum number of columns."""

MAX_CELL_CHARS = 40
"""Maximum number of characters of one cell."""

LEVELS = " / "
"""Between the levels of a label."""

PLAIN_PACKAGES = ("numpy", "pandas", "datetime", "decimal")
"""Packages whose values are shown by their own text."""

TablePreview = dict[str, Any]
"""`columns`: the names; `rows`: the cells of each row; all texts. `more_rows`, `more_columns`: the omitted ones."""


def preview_table(value: Any, max_rows: int = MAX_ROWS) -> TablePreview | None:
    """Return the first rows; None if the value is not a table or cannot be read."""
    try:
        return _preview_library(value, max_rows) or _preview_plain(value, max_rows)
    except Exception:  # noqa: BLE001 - a user-defined table may raise anything; then it has no preview
        return None


def _preview_library(value: Any, max_rows: int) -> TablePreview | None:
    kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
    match kind:
        case "pandas.DataFrame":
            part = value.iloc[:max_rows, :MAX_COLUMNS]
            names, labels = ((), repeat(())) if _counts_rows(value.index) else _index_columns(part.index)
            rows = ((*label, *row) for label, row in zip(labels, part.itertuples(index=False, name=None), strict=False))
            return _make_preview((*names, *part.columns), rows, (len(value), len(names) + value.shape[1]))
        case "pandas.Series":
            part = value.iloc[:max_rows]
            names, labels = _index_columns(part.index)
            rows = ((*label, item) for label, item in zip(labels, part, strict=True))
            return _make_preview((*names, _name(part.name)), rows, (len(value), len(names) + 1))
        case "polars.DataFrame":
            part = value.head(max_rows).select(value.columns[:MAX_COLUMNS])
            return _make_preview(part.columns, part.iter_rows(), value.shape)
        case "polars.Series":
            return _make_preview((value.name,), ((item,) for item in value.head(max_rows)), (len(value), 1))
        case "numpy.ndarray" if value.ndim == 2:
            return _make_preview(
                range(min(value.shape[1], MAX_COLUMNS)), (row[:MAX_COLUMNS] for row in value[:max_rows]), value.shape
            )
        case _:
            return None


def _counts_rows(index: Any) -> bool:
    """Whether the labels of the rows are only their numbers."""
    return type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)


def _index_columns(index: Any) -> tuple[tuple[Any, ...], Iterable[tuple[Any, ...]]]:
    """Return the names of the levels of an index, and for each row its labels."""
    names = tuple(_name(name) for name in index.names)
    return names, (label if len(names) > 1 else (_label(label),) for label in index)


def _name(name: Any) -> Any:
    return "" if name is None else name


def _preview_plain(value: Any, max_rows: int) -> TablePreview | None:
    if type(value) is dict and value:
        pairs = ((_label(key), item) for key, item in islice(value.items(), max_rows))
        return _make_preview(("key", "value"), pairs, (len(value), 2))
    if type(value) not in (list, tuple) or not value:
        return None
    first = list(islice(value, max_rows))
    if all(type(row) is dict for row in first):
        names = list(dict.fromkeys(name for row in first for name in row))
        rows = ([row.get(name, "") for name in names[:MAX_COLUMNS]] for row in first)
        return _make_preview(names[:MAX_COLUMNS], rows, (len(value), len(names)))
    return _make_preview(("",), ([item] for item in first), (len(value), 1))


def _make_preview(columns: Any, rows: Any, shape: tuple[int, int]) -> TablePreview:
    """Return the preview; `shape` is that of the whole table."""
    names = [_label(name) for name in islice(columns, MAX_COLUMNS)]
    cells = [[_cell(cell) for cell in islice(row, MAX_COLUMNS)] for row in rows]
    omitted = {"more_rows": max(0, shape[0] - len(cells)), "more_columns": max(0, shape[1] - len(names))}
    return {"columns": names, "rows": cells, **{name: count for name, count in omitted.items() if count}}


def _label(label: Any) -> str:
    """Return the text of a label, of all its levels if it has several."""
    return LEVELS.join(map(_cell, label)) if type(label) is tuple else _cell(label)


def _cell(value: Any) -> str:
    """Return the text of a cell: plain values and values of the table libraries in full, others by their type."""
    package = type(value).__module__.partition(".")[0]
    if value is None or type(value) in (str, int, float, bool, complex) or package in PLAIN_PACKAGES:
        text = str(value)
    elif type(value) in (dict, list, tuple, set, bytes):
        text = f"{type(value).__name__} of {len(value)}"
    else:
        text = type(value).__name__
    return shorten(text.replace("\n", " "), MAX_CELL_CHARS)
