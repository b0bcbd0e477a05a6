"""Read the rows of a template: dicts, frames, Arrow tables and files, queries and database cursors.

No library is imported: each kind is known by its methods, so that the objects of one bring it with them.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from nbtool.errors import BadUsage
from nbtool.text import list_names, shorten, type_of

MAX_COLUMNS_NAMED = 20
"""Maximum columns that an error lists."""

MAX_NAME = 60
"""Characters of a name that an error quotes."""

BATCH_ROWS = 1_000
"""Rows of an Arrow table or file that are Python objects at a time."""

READERS = {
    ".parquet": "pyarrow.parquet.ParquetFile({})",
    ".arrow": "pyarrow.dataset.dataset({}, format='feather')",
    ".feather": "pyarrow.dataset.dataset({}, format='feather')",
    ".csv": "pandas.read_csv({})",
    ".jsonl": "pandas.read_json({}, lines=True)",
}
"""By the end of a file's name: how its rows are read."""

FrameLibrary = Literal["pandas", "polars"]
"""A library of frames in which answers can be given."""

LIBRARIES: tuple[FrameLibrary, ...] = ("pandas", "polars")

_NONE = object()

_DTYPES = {bool: ("bool", "boolean"), int: ("int64", "Int64"), float: ("float64", "Float64")}
"""By type: the dtype of a column, and its nullable form where values are missing."""


def column_names(table: Any) -> list[str] | None:
    """Return the columns of a frame, a query, an Arrow table, file or reader, or a cursor; None for anything else.

    Raises:
        BadUsage: a cursor has run no query.
    """
    if _is_query(table):
        return list(table.collect_schema().names())
    if _is_cursor(table):
        if not table.description:
            raise BadUsage(
                "The cursor has no rows: it has run no query.", fix='cursor.execute("SELECT … FROM …") comes first.'
            )
        return [str(column[0]) for column in table.description]
    if (schema := _arrow_schema(table)) is not None:
        return list(schema.names)
    if is_column(table) or not hasattr(table, "columns"):
        return None
    return [str(name) for name in table.columns]


def is_column(table: Any) -> bool:
    """Whether it is one column of a frame."""
    return type(table).__name__ == "Series" and hasattr(table, "to_frame")


def read_rows(rows: Any, wanted: Sequence[str], *, literal: Collection[str], is_streamed: bool) -> Iterator[Any]:
    """Return an iterator over rows as dicts, which have at least the wanted columns where the columns are known.

    A Dask frame is computed a partition at a time, a Polars query and an Arrow file are read a batch at a time, and
    frames that an iterator yields are read one after another. `literal` has the wanted columns whose braces may be
    meant as text.

    Raises:
        BadUsage: these are no rows, or have no such column; or they are streamed, and can only be computed whole.
    """
    _check_rows(rows, wanted)
    if is_streamed:
        _check_query(rows)
    if (names := column_names(rows)) is not None:
        _check_columns(wanted, names, literal)
        return _table_rows(rows, wanted)
    iterator = iter(rows)
    first = next(iterator, _NONE)
    if first is _NONE:
        return iter(())
    if _is_frame(first):
        _check_columns(wanted, column_names(first) or [], literal)
    return _each_row(chain([first], iterator), wanted)


def no_column(name: str, columns: Sequence[str], *, is_literal: bool = False) -> BadUsage:
    """Return the error for a column that does not exist, with the names that are near, or else all.

    With `is_literal` its braces may be meant as text.
    """
    if near := difflib.get_close_matches(name[:MAX_NAME], columns, n=3):
        fix = f"Did you mean {' or '.join(near)}?"
    else:
        advice = " Double literal braces: {{ }}" if is_literal else ""
        fix = f"Columns: {list_names(columns, MAX_COLUMNS_NAMED) or 'none'}.{advice}"
    return BadUsage(f"There is no column {shorten(name, MAX_NAME)!r}.", fix=fix)


def _each_row(rows: Iterable[Any], wanted: Sequence[str]) -> Iterator[Any]:
    """Yield rows, and those of the frames and Arrow batches among them."""
    for row in rows:
        if isinstance(row, Mapping):
            yield row
        elif _is_frame(row):
            names = column_names(row) or []
            _check_twice(wanted, names)
            yield from _table_rows(row, wanted if set(wanted) <= set(names) else names)
        elif hasattr(row, "to_pylist"):  # a batch of another library of Arrow
            yield from row.to_pylist()
        else:
            yield row


def _table_rows(table: Any, wanted: Sequence[str]) -> Iterator[Any]:
    """Yield the wanted columns of what has columns, a row at a time, without a copy of the whole."""
    for part in _parts(table, wanted):
        if hasattr(part, "to_pylist"):  # Arrow
            yield from part.to_pylist()
        elif hasattr(part, "iter_rows"):  # Polars
            yield from part.select(wanted).iter_rows(named=True)
        elif _is_cursor(part):
            yield from _cursor_rows(part)
        else:
            yield from _zipped_columns(part, wanted)


def _parts(table: Any, wanted: Sequence[str]) -> Iterator[Any]:
    """Yield a query and an Arrow table a batch at a time, a frame of Dask a partition at a time, and others whole."""
    if _is_query(table):
        query = table.select(wanted)
        yield from query.collect_batches() if hasattr(query, "collect_batches") else [query.collect()]
    elif hasattr(table, "npartitions") and hasattr(table, "partitions"):  # Dask
        yield from (partition.compute() for partition in table.partitions)
    elif _arrow_schema(table) is not None:
        yield from _arrow_batches(table, wanted)
    else:
        yield table


def _zipped_columns(table: Any, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
    names = [str(name) for name in table.columns]
    places = [names.index(name) for name in wanted]
    if hasattr(table, "iloc"):  # pandas; its names need not be texts, and two columns can have the same
        columns = [table.iloc[:, place] for place in places]
    else:
        columns = [table[list(table.columns)[place]] for place in places]
    for values in zip(*columns, strict=True):
        yield dict(zip(wanted, values, strict=True))


def _cursor_rows(cursor: Any) -> Iterator[Any]:
    """Yield the rows of a cursor of PEP 249, whose rows are sequences, or dicts by a setting of its library."""
    names = [column[0] for column in cursor.description]
    for row in cursor if isinstance(cursor, Iterable) else iter(cursor.fetchone, None):
        yield row if isinstance(row, Mapping) else dict(zip(names, row, strict=True))


def _arrow_batches(table: Any, wanted: Sequence[str]) -> Iterator[Any]:
    """Yield a table, reader, dataset, scanner or Parquet file of Arrow as small batches of the wanted columns."""
    if hasattr(table, "slice"):  # Table, RecordBatch
        names = list(table.schema.names)
        selected = table.select([names.index(name) for name in wanted])
        yield from (selected.slice(start, BATCH_ROWS) for start in range(0, selected.num_rows, BATCH_ROWS))
        return
    if hasattr(table, "iter_batches"):  # pyarrow.parquet.ParquetFile
        batches = table.iter_batches(batch_size=BATCH_ROWS, columns=wanted)
    elif hasattr(table, "get_batch"):  # RecordBatchFileReader
        batches = map(table.get_batch, range(table.num_record_batches))
    elif hasattr(table, "scanner"):  # Dataset
        batches = table.to_batches(columns=wanted, batch_size=BATCH_ROWS)
    else:  # Scanner, RecordBatchReader
        batches = table.to_batches() if hasattr(table, "to_batches") else table
    for batch in batches:
        yield from _arrow_batches(batch, wanted)


def _arrow_schema(table: Any) -> Any:
    """Return the schema of a table, batch, reader, dataset, scanner or Parquet file of pyarrow, else None."""
    if not any(kind.__module__.partition(".")[0] == "pyarrow" for kind in type(table).__mro__):
        return None
    attributes = ("schema_arrow", "projected_schema", "schema")
    return next((getattr(table, name) for name in attributes if hasattr(table, name)), None)


def _is_query(table: Any) -> bool:
    """Whether it is a frame of Polars that is not computed yet, which warns where its columns are asked for."""
    return hasattr(table, "collect_schema") and hasattr(table, "collect") and not hasattr(table, "iter_rows")


def _is_cursor(table: Any) -> bool:
    """Whether it is a cursor of PEP 249."""
    return hasattr(table, "description") and hasattr(table, "fetchone")


def _is_frame(row: Any) -> bool:
    """Whether an item of an iterator is not one row but a frame or an Arrow table."""
    if isinstance(row, Mapping):
        return False
    is_frame = hasattr(row, "columns") and (hasattr(row, "iloc") or hasattr(row, "iter_rows"))
    return is_frame or _arrow_schema(row) is not None


def _check_columns(wanted: Sequence[str], names: Sequence[str], literal: Collection[str]) -> None:
    if missing := next((name for name in wanted if name not in names), None):
        raise no_column(missing, names, is_literal=missing in literal)
    _check_twice(wanted, names)


def _check_twice(wanted: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a name that several columns have, as after a join: which one is meant is not known.

    Raises:
        BadUsage: there is one.
    """
    if twice := next((name for name in wanted if names.count(name) > 1), None):
        count, name = names.count(twice), shorten(twice, MAX_NAME)
        raise BadUsage(
            f"{'Two' if count == 2 else f'{count:,}'} columns are named {name!r}.",
            fix="Rename them first, for example in the query, or by `frame.columns = […]`.",
        )


def _check_rows(rows: Any, wanted: Sequence[str]) -> None:
    """Refuse what has no rows.

    Raises:
        BadUsage: it is a path, one row, a column, or no rows at all.
    """
    if isinstance(rows, str | bytes | os.PathLike):
        raise _no_rows(rows, _path_fix(rows))
    if isinstance(rows, Mapping):
        are_columns = any(isinstance(value, Iterable) and not isinstance(value, str | bytes) for value in rows.values())
        if not are_columns:
            raise _no_rows(rows, "Pass [rows].")
        raise BadUsage(
            f"Rows are a frame, a table, a cursor or a list of dicts, not {type_of(rows)} of columns.",
            fix="Pass pandas.DataFrame(rows), or [dict(zip(rows, row)) for row in zip(*rows.values())].",
        )
    if is_column(rows):
        own_name = rows.name if isinstance(rows.name, str) and rows.name else wanted[0]
        name = shorten(own_name, MAX_NAME)
        raise BadUsage(
            f"Rows are a frame or dicts, not {type_of(rows)}: it has no column {shorten(wanted[0], MAX_NAME)!r}.",
            fix=f"Pass a frame: rows.to_frame({name!r}) with {{{name}}} in the template.",
        )
    if column_names(rows) is None and not isinstance(rows, Iterable):
        fix = "Call it: rows()." if callable(rows) else f"Pass dicts: [{{{shorten(wanted[0], MAX_NAME)!r}: value}}]."
        raise _no_rows(rows, fix)


def _no_rows(rows: Any, fix: str) -> BadUsage:
    return BadUsage(f"Rows are a frame, a table, a cursor or a list of dicts, not {type_of(rows)}.", fix=fix)


def _path_fix(path: str | bytes | os.PathLike[Any]) -> str:
    text = os.fsdecode(path)
    reader = READERS.get(Path(text).suffix.lower(), "for example pandas.read_csv({})")
    return f"Open the file: {reader.format(repr(shorten(text, MAX_NAME)))}."


def _check_query(rows: Any) -> None:
    """Refuse a query of an older Polars, which can only be computed whole.

    Raises:
        BadUsage: it is one.
    """
    if _is_query(rows) and not hasattr(rows, "collect_batches"):
        raise BadUsage(
            "The installed polars cannot compute a query a batch at a time.",
            fix="`%pip install -U polars`, or pass `query.collect()`, which holds all rows in memory.",
        )


def dtypes_of(values: Sequence[Any]) -> tuple[str, str] | None:
    """Return the dtype of pandas of values that are all bool, int or float, and its nullable form; None for others."""
    kind = type(values[0]) if values else object
    if kind not in _DTYPES or any(type(value) is not kind for value in values):
        return None
    if kind is int and not all(-(2**63) <= value < 2**63 for value in values):
        return None
    return _DTYPES[kind]
