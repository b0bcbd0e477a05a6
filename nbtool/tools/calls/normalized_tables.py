"""The cells of libraries' tables and arrays in a normalized form, in each order in which they may be repeated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from nbtool.tools.values.type_and_shape import has_value_labels

MAX_INSPECTED = 10_000
"""Maximum number of items of a result compared with unreadable values, and of values in one row; the first ones count.
"""


def size_of(table: Any) -> int:
    """Return the number of cells of a table; 0 if it has no shape and no length."""
    package = _library_of(table)
    if package == "xarray":
        return sum(variable.size for variable in _variables(table))
    shape = getattr(table, "shape", None) if package else ()
    if shape is None:
        return len(table) if hasattr(type(table), "__len__") else 0
    return math.prod(shape) if package and isinstance(shape, tuple) else 0


def _library_of(value: Any) -> str:
    """Return the library of a table or of a subclass of its tables; empty if it is not a table."""
    if isinstance(value, type):
        return ""
    packages = (kind.__module__.partition(".")[0] for kind in type(value).__mro__)
    return next((package for package in packages if package in _FORMS), "")


def is_missing(value: Any) -> bool:
    """Whether a value represents the masked values of a masked array."""
    return type(value).__name__ == "MaskedConstant"


def table_forms(table: Any) -> Iterator[Iterable[Any]]:
    """Yield the values of a library's table in each order in which they may be repeated, rows first."""
    if read := _FORMS.get(_library_of(table)):
        yield from read(table) if size_of(table) else ()


def _numpy_forms(table: Any) -> Iterator[Iterable[Any]]:
    if not hasattr(table, "flat"):
        return
    if not table.shape:
        content = None if is_missing(table) else table.item()
        if isinstance(content, tuple) or hasattr(table, "__len__"):  # a record, or an array of one value; not a number
            yield content if isinstance(content, tuple) else [content]
        return
    yield islice(table.flat, MAX_INSPECTED)
    if hasattr(table, "mask"):
        yield islice(table.data.flat, MAX_INSPECTED)
    if table.ndim == 2:
        yield from ([*column[:MAX_INSPECTED]] for column in islice(table.T, MAX_INSPECTED))


def _pandas_forms(table: Any) -> Iterator[Iterable[Any]]:
    if not hasattr(table, "iloc") or not hasattr(table, "columns"):
        if hasattr(table, "to_numpy"):
            yield list(table[:MAX_INSPECTED].to_numpy(dtype=object))
        if hasattr(table, "to_numpy") and hasattr(table, "iloc"):
            yield [
                cell
                for pair in zip(table.index[:MAX_INSPECTED], table.iloc[:MAX_INSPECTED], strict=True)
                for cell in pair
            ]
        return
    part = table.iloc[: max(1, MAX_INSPECTED // max(1, table.shape[1]))]
    rows = [*part.itertuples(index=False, name=None)]
    labelled = [(label, *row) for label, row in zip(part.index, rows, strict=True)]
    yield chain.from_iterable(rows)
    yield _by_columns(lambda place: table.iloc[:, place], table.shape[1], len(table))
    yield chain.from_iterable(labelled)
    if has_value_labels(table):
        yield chain(table.columns, *labelled)


def _polars_forms(table: Any) -> Iterator[Iterable[Any]]:
    if hasattr(table, "rows"):
        yield chain.from_iterable(table.head(max(1, MAX_INSPECTED // max(1, table.width))).rows())
        yield _by_columns(lambda place: table.to_series(place), table.width, table.height)
    elif hasattr(table, "to_list"):
        yield table.head(MAX_INSPECTED).to_list()


def _by_columns(column: Callable[[int], Any], width: int, height: int) -> Iterator[Any]:
    return (cell for index in range(width) for cell in column(index)[: min(height, MAX_INSPECTED)])


def _xarray_forms(table: Any) -> Iterator[Iterable[Any]]:
    variables = [list(islice(variable.values.flat, MAX_INSPECTED)) for variable in _variables(table)]
    yield chain.from_iterable(variables)
    yield from variables


def _variables(table: Any) -> list[Any]:
    """Return the in-memory arrays of an xarray object: reading the others would load or compute them."""
    variables = [
        getattr(table, "variable", None),
        *(variable.variable for variable in getattr(table, "data_vars", {}).values()),
    ]
    variables += [variable.variable for variable in getattr(table, "coords", {}).values()]
    return [variable for variable in variables if variable is not None and variable._in_memory]


def _arrow_forms(table: Any) -> Iterator[Iterable[Any]]:
    part = table.slice(0, MAX_INSPECTED) if hasattr(table, "slice") else table
    if hasattr(part, "to_pydict"):
        yield chain.from_iterable(row.values() for row in part.to_pylist())
        yield chain.from_iterable(part.to_pydict().values())
    elif hasattr(part, "to_pylist"):
        yield part.to_pylist()


def _tensor_forms(table: Any) -> Iterator[Iterable[Any]]:
    yield table.reshape(-1)[:MAX_INSPECTED].tolist()


def _sparse_forms(table: Any) -> Iterator[Iterable[Any]]:
    yield [*table.data.flat][:MAX_INSPECTED]
    if size_of(table) <= MAX_INSPECTED:
        yield list(table.toarray().flat)


_FORMS: dict[str, Callable[[Any], Iterator[Iterable[Any]]]] = {
    "numpy": _numpy_forms, "pandas": _pandas_forms, "polars": _polars_forms, "xarray": _xarray_forms,
    "pyarrow": _arrow_forms, "torch": _tensor_forms, "jaxlib": _tensor_forms, "scipy": _sparse_forms,
}  # fmt: skip
