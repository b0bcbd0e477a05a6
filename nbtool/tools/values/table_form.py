"""Tables of any library as labels and cells, read without the library's display options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nbtool.tools.values.array_form import array_size
from nbtool.tools.values.scalar_form import float_size, shortest_floats

_NANOSECONDS = re.compile(r"'ns'|\bTime\b")
"""In the names of types of polars whose values have nanoseconds."""

_TIME_FORMATS = {"Datetime": "%Y-%m-%dT%H:%M:%S%.f", "Time": "%H:%M:%S%.f", "Duration": "polars"}
"""How times of polars are written with their nanoseconds, by type."""

ROUNDED_TIMES = "times within lists and structures are cut to microseconds"


@dataclass(frozen=True, slots=True)
class TableForm:
    """The first rows and columns of a table.

    Args:
        columns: the labels; tuples if they have several levels.
        cells: the cells of each column.
        index: the labels of the rows, by level; empty if they only count the rows.
        index_names: the names of the levels of the index, None without one.
        column_names: the names of the levels of the columns.
        is_series: it is one column, whose label may be None.
        null: what stands for None.
        loss: what was rounded; empty if nothing was.
    """

    columns: Sequence[Any]
    cells: Sequence[Sequence[Any]]
    index: Sequence[Sequence[Any]] = ()
    index_names: Sequence[Any] = ()
    column_names: Sequence[Any] = ()
    is_series: bool = False
    null: str = "None"
    loss: str = ""

    @property
    def rows(self) -> Iterable[tuple[Any, ...]]:
        """The rows, without their labels."""
        return zip(*self.cells, strict=True)

    @property
    def labels(self) -> list[Any]:
        """The label of each row: a tuple if it has several levels."""
        return list(self.index[0]) if len(self.index) == 1 else list(zip(*self.index, strict=True))


def table_shape(value: Any) -> tuple[int, int] | None:
    """Return the number of rows and columns of a table or a series; None if the value is neither."""
    if _kind_of(value) is None:
        return None
    shape = value.shape
    return (shape[0], shape[1] if len(shape) == 2 else 1)


def table_form(value: Any, max_rows: int, max_columns: int) -> TableForm:
    """Return the first rows and columns of a table.

    Raises:
        LookupError: the value is no table.
    """
    match _kind_of(value):
        case "pandas":
            return _pandas_table(value, max_rows, max_columns)
        case "polars":
            return _polars_table(value, max_rows, max_columns)
        case "arrow":
            return _arrow_table(value, max_rows, max_columns)
        case _:
            raise LookupError(type(value).__name__)


def object_cells(value: Any) -> list[Any] | None:
    """Return what a table or an array has of any objects of Python, in cells and labels; None for any other value."""
    if _kind_of(value) in ("pandas", "polars"):
        is_frame = len(value.shape) == 2
        if _kind_of(value) == "polars":
            columns = value.get_columns() if is_frame else [value]
            return [cell for column in columns if _has_objects(column.dtype) for cell in column.to_list()]
        dtypes = enumerate(value.dtypes) if is_frame else ()
        columns = [value.iloc[:, place] for place, dtype in dtypes if _has_objects(dtype)] if is_frame else [value]
        labels = [value.index, *([value.columns] if is_frame else [])]
        return [cell for part in (*columns, *labels) if _has_objects(part.dtype) for cell in part.tolist()]
    if array_size(value) is None or not hasattr(value, "dtype"):
        return None
    array = getattr(value, "values", value)  # of a labelled array
    return list(array.ravel().tolist()) if _has_objects(value.dtype) else []


def _has_objects(dtype: Any) -> bool:
    return bool(getattr(dtype, "hasobject", str(dtype).startswith("Object")))


def counts_rows(index: Any) -> bool:
    """Whether the labels of the rows of a pandas object are only their numbers."""
    return type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1) and index.name is None


def _kind_of(value: Any) -> str | None:
    """Return how a table is read, of a subclass too."""
    for kind in type(value).__mro__:
        package = kind.__module__.partition(".")[0]
        if kind.__name__ in ("DataFrame", "Series") and package in ("pandas", "polars"):
            return package
    if all(hasattr(type(value), name) for name in ("num_columns", "to_pydict", "slice")):
        return "arrow"  # a table or a batch of records of pyarrow
    return None


def _pandas_table(value: Any, max_rows: int, max_columns: int) -> TableForm:
    is_series = value.ndim == 1
    part = value.iloc[:max_rows] if is_series else value.iloc[:max_rows, :max_columns]
    columns = [part] if is_series else [part.iloc[:, place] for place in range(part.shape[1])]
    index = part.index
    levels = [] if counts_rows(value.index) else [index.get_level_values(level) for level in range(index.nlevels)]
    return TableForm(
        columns=[value.name] if is_series else list(part.columns),
        cells=[list(shortest_floats(column.array, float_size(column.dtype))) for column in columns],
        index=[list(level.array) for level in levels],
        index_names=list(index.names) if levels else (),
        column_names=() if is_series else list(value.columns.names),
        is_series=is_series,
    )


def _polars_table(value: Any, max_rows: int, max_columns: int) -> TableForm:
    part = value.head(max_rows)
    is_series = not hasattr(value, "columns")
    columns = [part] if is_series else part.get_columns()[:max_columns]
    return TableForm(
        columns=[column.name for column in columns] if not is_series or value.name else [None],
        cells=[_polars_cells(column) for column in columns],
        is_series=is_series,
        null="null",
        loss=ROUNDED_TIMES if any(map(_loses_nanoseconds, columns)) else "",
    )


def _polars_cells(column: Any) -> list[Any]:
    """Return the cells of a column; times of nanoseconds as texts, because Python's times have none."""
    kind = type(column.dtype).__name__
    if not _has_nanoseconds(column.dtype) or kind not in _TIME_FORMATS:
        return list(shortest_floats(column.to_list(), float_size(column.dtype)))
    zone = "%:z" if getattr(column.dtype, "time_zone", None) else ""
    return list(column.dt.to_string(f"{_TIME_FORMATS[kind]}{zone}").to_list())


def _has_nanoseconds(dtype: Any) -> bool:
    return _NANOSECONDS.search(str(dtype)) is not None


def _loses_nanoseconds(column: Any) -> bool:
    """Whether times within lists and structures of a column have nanoseconds, which Python's times have not."""
    if not _has_nanoseconds(column.dtype):
        return False
    match type(column.dtype).__name__:
        case "List" | "Array":
            return _has_odd_nanoseconds(column.explode())
        case "Struct":
            return any(_has_odd_nanoseconds(column.struct.field(field.name)) for field in column.dtype.fields)
        case _:
            return False


def _has_odd_nanoseconds(column: Any) -> bool:
    if not _has_nanoseconds(column.dtype):
        return False
    if (kind := type(column.dtype).__name__) not in _TIME_FORMATS:
        return _loses_nanoseconds(column)
    counts = column.dt.total_nanoseconds() if kind == "Duration" else column.dt.nanosecond()
    return bool((counts % 1_000 != 0).any())


def _arrow_table(value: Any, max_rows: int, max_columns: int) -> TableForm:
    part = value.slice(0, max_rows)
    columns = [part.column(place) for place in range(min(part.num_columns, max_columns))]
    cells = [list(shortest_floats(column.to_pylist(), float_size(column.type))) for column in columns]
    return TableForm(columns=part.schema.names[:max_columns], cells=cells, null="null")
