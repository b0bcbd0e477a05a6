"""Write the answers of a streamed map as a Parquet or Arrow file, in constant memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from nbtool.errors import BadUsage
from nbtool.files import replaced

FORMATS = {".parquet": "Parquet", ".arrow": "Arrow", ".feather": "Feather"}
"""The formats by the end of a file's name; a Feather file, in its second version, is an Arrow file."""

COLUMNS = ("row", "value", "error", "turn_id", "has_undecided_calls", "has_acted")
"""The columns of the file; `has_undecided_calls` and `has_acted` as in `Answer`."""

ROW_GROUP = 20_000
"""Rows in memory at a time, and in one row group or record batch of the file."""


def check_writer(path: Path) -> None:
    """Check that a file of this name can be written.

    Raises:
        nbtool.errors.BadUsage: pyarrow is missing.
    """
    try:
        import_module("pyarrow.parquet" if path.suffix.lower() == ".parquet" else "pyarrow.ipc")  # heavy, and an extra
    except ImportError as error:
        kind = FORMATS[path.suffix.lower()]
        article = "An" if kind == "Arrow" else "A"
        raise BadUsage(f"{article} {kind} file needs pyarrow ({error}).", fix="Run `%pip install pyarrow`.") from error


def export_answers(rows: Iterator[Sequence[object]], path: Path) -> None:
    """Write rows of the columns `COLUMNS`; the former file is replaced when all are written.

    Raises:
        OSError: the file cannot be written; no part of it is left.
    """
    import pyarrow as arrow  # noqa: PLC0415  # heavy, and an extra

    kinds = (arrow.int64(), arrow.string(), arrow.string(), arrow.string(), arrow.bool_(), arrow.bool_())
    schema = arrow.schema(list(zip(COLUMNS, kinds, strict=True)))
    with replaced(path) as draft:
        _write_rows(rows, draft, path.suffix.lower(), schema)


def _write_rows(rows: Iterator[Sequence[object]], path: Path, suffix: str, schema: Any) -> None:
    import pyarrow as arrow  # noqa: PLC0415  # as above

    with _open_writer(path, suffix, schema) as writer:
        while group := list(islice(rows, ROW_GROUP)):
            columns = [
                arrow.array(column, kind) for column, kind in zip(zip(*group, strict=True), schema.types, strict=True)
            ]
            writer.write_table(arrow.table(columns, schema=schema))


def _open_writer(path: Path, suffix: str, schema: Any) -> Any:
    if suffix == ".parquet":
        from pyarrow import parquet  # noqa: PLC0415  # heavy, and an extra

        return parquet.ParquetWriter(path, schema)
    from pyarrow import ipc  # noqa: PLC0415  # the same

    return ipc.new_file(str(path), schema)
