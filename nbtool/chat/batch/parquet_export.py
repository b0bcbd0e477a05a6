"""Write the answers of a streamed map as a Parquet file, in constant memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from nbtool.errors import BadUsage

PARQUET_SUFFIX = ".parquet"

COLUMNS = ("row", "value", "error", "turn_id", "has_unasked_calls")
"""The columns of the file; `has_unasked_calls` as in `Answer`."""

ROW_GROUP = 20_000
"""Rows in memory at a time, and in one row group of the file."""


def check_writer() -> None:
    """Check that Parquet files can be written.

    Raises:
        nbtool.errors.BadUsage: pyarrow is missing.
    """
    try:
        import pyarrow.parquet  # noqa: F401, PLC0415  # heavy, and an extra
    except ImportError as error:
        raise BadUsage(f"A Parquet file needs pyarrow ({error}).", fix="Run `%pip install pyarrow`.") from error


def export_answers(rows: Iterator[Sequence[object]], path: Path) -> None:
    """Write rows of the columns `COLUMNS`; the former file is replaced when all are written."""
    import pyarrow as arrow  # noqa: PLC0415  # heavy, and an extra
    from pyarrow import parquet  # noqa: PLC0415  # the same

    kinds = (arrow.int64(), arrow.string(), arrow.string(), arrow.string(), arrow.bool_())
    schema = arrow.schema(list(zip(COLUMNS, kinds, strict=True)))
    unfinished = path.with_name(f"{path.name}.part")
    with parquet.ParquetWriter(unfinished, schema) as writer:
        while group := list(islice(rows, ROW_GROUP)):
            columns = [
                arrow.array(column, kind) for column, kind in zip(zip(*group, strict=True), schema.types, strict=True)
            ]
            writer.write_table(arrow.table(columns, schema=schema))
    unfinished.replace(path)
