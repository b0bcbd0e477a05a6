"""A table as CSV for a model: every digit, and each missing value told apart from an empty text.

A field in quotes is a text; a text is in quotes where it could be read as something else.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbtool.text import shorten
from nbtool.tools.values.jsonable import JsonConverter
from nbtool.tools.values.scalar_form import is_missing
from nbtool.tools.values.table_form import TableForm
from nbtool.tools.values.table_preview import LEVELS

PARTLY_READ = "some of the values are only described"
"""Said of a table or an array that contains objects which have no text."""

_MISSING_WORDS = frozenset({"none", "null", "nan", "nat", "na", "<na>", "n/a", "inf", "-inf"})
"""Texts that a reader may take for a missing value or a number."""

_MIDNIGHT = "T00:00:00"


@dataclass(frozen=True, slots=True)
class TableText:
    """A table as CSV, and what is not in the text; empty if all of it is."""

    text: str
    loss: str


def table_text(table: TableForm, budget: int, *, max_cell: int | None = None) -> TableText:
    """Return the rows of a table as CSV, with a line of labels if it has any; longer cells are cut if there is a limit.

    Converting stops where `budget` characters are used up.
    """
    converter = JsonConverter(budget)
    columns = [_column_texts(column, converter, table.null, max_cell) for column in (*table.index, *table.cells)]
    lines = [",".join(row) for row in zip(*columns, strict=True)]
    names = [*table.index_names, *table.columns]
    if not table.is_series or any(name is not None for name in names):
        labels = _label_texts(table.columns, converter, max_cell)
        index_names = [
            "" if name is None else _label_texts([name], converter, max_cell)[0] for name in table.index_names
        ]
        lines.insert(0, ",".join([*index_names, *labels]))
    loss = "; ".join(filter(None, ("" if converter.is_complete else PARTLY_READ, table.loss)))
    return TableText("\n".join(lines), loss)


def label_text(label: Any) -> str:
    """Return a label as text: its levels, if it has several, with a slash between them."""
    return LEVELS.join(str(part) for part in label) if isinstance(label, tuple) else str(label)


def column_texts(values: Sequence[Any], budget: int) -> list[str]:
    """Return values as the fields of one column, with quotes around texts that could be read as something else."""
    return _column_texts(values, JsonConverter(budget), "None", None)


def is_ambiguous(text: str) -> bool:
    """Whether a text could be read as a missing value, or its ends are not seen."""
    return not text or text != text.strip() or text.lower() in _MISSING_WORDS


def _column_texts(column: Sequence[Any], converter: JsonConverter, null: str, max_cell: int | None) -> list[str]:
    has_only_texts = all(isinstance(cell, str) or _is_empty(cell) for cell in column)
    cells = [_cell_text(cell, converter, null) for cell in column]
    moments = [text for cell, text in zip(column, cells, strict=True) if isinstance(cell, datetime.datetime)]
    if moments and all(text.endswith(_MIDNIGHT) or is_missing(cell) for cell, text in zip(column, cells, strict=True)):
        cells = [text.removesuffix(_MIDNIGHT) for text in cells]
    return [
        _field(text, is_text=isinstance(cell, str), is_plain=has_only_texts, max_cell=max_cell)
        for cell, text in zip(column, cells, strict=True)
    ]


def _cell_text(cell: Any, converter: JsonConverter, null: str) -> str:
    if type(cell) is float:
        converter.convert(None)  # counts as a value
        return {"nan": "NaN"}.get(repr(cell), repr(cell))
    converted = converter.convert(cell)
    if isinstance(converted, str):
        return converted
    if converted is None:
        return null if cell is None else "NaN"  # a masked value
    if isinstance(converted, dict | list):
        return json.dumps(converted, ensure_ascii=False)
    return {"nan": "NaN"}.get(repr(converted), repr(converted))


def _is_empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell) or is_missing(cell)


def _label_texts(labels: Sequence[Any], converter: JsonConverter, max_cell: int | None) -> list[str]:
    has_only_texts = all(isinstance(part, str) for label in labels for part in _levels(label))
    return [_label_field(label, converter, has_only_texts, max_cell) for label in labels]


def _label_field(label: Any, converter: JsonConverter, is_plain: bool, max_cell: int | None) -> str:
    parts = [_part_text(part, converter, is_plain, len(_levels(label)) > 1) for part in _levels(label)]
    is_text = len(parts) == 1 and isinstance(label, str)
    return _field(LEVELS.join(parts), is_text=is_text, is_plain=is_plain, max_cell=max_cell)


def _part_text(part: Any, converter: JsonConverter, is_plain: bool, is_level: bool) -> str:
    text = _cell_text(part, converter, "None")
    could_differ = LEVELS in text or is_ambiguous(text) or (not is_plain and _is_number(text))
    return json.dumps(text, ensure_ascii=False) if is_level and isinstance(part, str) and could_differ else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _levels(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def _field(text: str, *, is_text: bool, is_plain: bool, max_cell: int | None) -> str:
    """Return the text of a cell as a field; `is_plain`: all cells of its column are texts."""
    if max_cell is not None:
        text = shorten(text, max_cell)
    if (is_text and (not is_plain or is_ambiguous(text))) or any(char in text for char in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text
