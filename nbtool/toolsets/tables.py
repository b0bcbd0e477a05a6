"""A common interface to inspect tables, arrays and containers; libraries are not imported if they are not loaded."""

from __future__ import annotations

import itertools
import json
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nbtool.errors import ToolFailed
from nbtool.text import count_of, format_number, list_names, shorten
from nbtool.tools.values.model_text import render
from nbtool.tools.values.sanitize import single_line, strip_controls
from nbtool.tools.values.table_form import table_form
from nbtool.tools.values.table_text import column_texts, is_ambiguous, label_text, table_text
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.values.type_names import dtype_name

MAX_COLUMNS = 50
"""Maximum number of columns shown."""

MAX_CELL = 80
"""Maximum number of characters of a cell."""

MAX_TEXT = 20_000
"""Maximum number of characters of the rows of an array, and of converted cells."""

MAX_SAMPLED = 1_000
"""Maximum number of items whose types are counted."""

MAX_KINDS = 8
"""Maximum number of types named."""

MAX_ITEM = 400
"""Maximum number of characters of an item of an array, a list or a dict."""


class Inspector(Protocol):
    """Inspects one object; every text states how much of the object it shows."""

    def summary(self) -> str:
        """Return its type and structure."""

    def columns(self) -> str:
        """Return its columns and their types."""

    def head(self, rows: int) -> str:
        """Return its first rows."""

    def sample(self, rows: int) -> str:
        """Return random rows, in their order."""

    def value_counts(self, column: str, max_values: int) -> str:
        """Return the counts of its distinct values."""


def inspector_for(value: Any) -> Inspector | None:
    """Return the inspector of a value; None if it has neither rows nor items."""
    for kind in type(value).__mro__:
        type_key = (kind.__module__.partition(".")[0], kind.__name__)
        if type_key in _INSPECTORS:
            return _INSPECTORS[type_key](value)
    return ContainerInspector(value) if isinstance(value, dict | list | tuple | set | frozenset) else None


class _TableInspector(ABC):
    """A table with named columns; subclasses implement what differs between libraries."""

    value: Any

    @property
    @abstractmethod
    def _table(self) -> Any:
        """The value as a table."""

    @abstractmethod
    def _column_lines(self) -> list[str]:
        """Return one line for each shown column: name and type."""

    @abstractmethod
    def _missing_counts(self) -> list[int]:
        """Return the number of missing values of each shown column."""

    def _render_rows(self, part: Any) -> str:
        """Return some rows as CSV."""
        text = table_text(table_form(part, len(part), MAX_COLUMNS), MAX_TEXT, max_cell=MAX_CELL).text
        return "\n".join([text, *_omission_note(len(part), len(self.value), "rows"), *self._omitted_columns()])

    def summary(self) -> str:
        """Return each column with its type and its missing values."""
        pairs = zip(self._column_lines(), self._missing_counts(), strict=True)
        lines = [f"{line}, {format_number(count)} missing" for line, count in pairs]
        return "\n".join([describe(self.value).partition(":")[0], *lines, *self._omitted_columns()])

    def columns(self) -> str:
        """Return each column with its type."""
        return "\n".join([*self._column_lines(), *self._omitted_columns()])

    def head(self, rows: int) -> str:
        """Return the first rows."""
        return self._render_rows(self._table.head(rows))

    def _omitted_columns(self) -> list[str]:
        width = self._table.shape[1]
        return _omission_note(min(width, MAX_COLUMNS), width, "columns", always=False)


@dataclass(frozen=True)
class PandasInspector(_TableInspector):
    """A pandas DataFrame, or a Series as a table of one column."""

    value: Any

    @property
    def _table(self) -> Any:
        return self.value if self.value.ndim == 2 else self.value.to_frame()

    def sample(self, rows: int) -> str:
        """Return some rows, in their order."""
        return self._render_rows(self._table.iloc[_sample_rows(len(self.value), rows)])

    def value_counts(self, column: str, max_values: int) -> str:
        """Return the counts of a column's values, including missing ones."""
        table = self._table
        index = 0 if self.value.ndim == 1 else _column_index(column, [label_text(name) for name in table.columns])
        counts = _count_or_fail(lambda: table.iloc[:, index].value_counts(dropna=False))
        return _render_counts(
            zip(counts.index[:max_values], counts.iloc[:max_values], strict=True), len(counts), len(table)
        )

    def _column_lines(self) -> list[str]:
        table = self._table
        return [
            f"{shorten(single_line(label_text(name)), MAX_CELL)}: {dtype_name(dtype)}"
            for name, dtype in zip(table.columns[:MAX_COLUMNS], table.dtypes.iloc[:MAX_COLUMNS], strict=True)
        ]

    def _missing_counts(self) -> list[int]:
        table = self._table.iloc[:, :MAX_COLUMNS]
        return [int(table.iloc[:, index].isna().sum()) for index in range(table.shape[1])]


@dataclass(frozen=True)
class PolarsInspector(_TableInspector):
    """A polars DataFrame, or a Series as a table of one column."""

    value: Any

    @property
    def _table(self) -> Any:
        return self.value if hasattr(self.value, "columns") else self.value.to_frame()

    def sample(self, rows: int) -> str:
        """Return some rows, in their order."""
        return self._render_rows(self._table[_sample_rows(len(self.value), rows)])

    def value_counts(self, column: str, max_values: int) -> str:
        """Return the counts of a column's values, including missing ones."""
        names = list(self._table.columns)
        series = self._table[names[0 if len(names) == 1 and not column else _column_index(column, names)]]
        counts = _count_or_fail(lambda: series.value_counts(sort=True))
        return _render_counts(counts.head(max_values).rows(), len(counts), len(series))

    def _column_lines(self) -> list[str]:
        pairs = zip(self._table.columns[:MAX_COLUMNS], self._table.dtypes[:MAX_COLUMNS], strict=True)
        return [f"{shorten(single_line(name), MAX_CELL)}: {dtype_name(dtype)}" for name, dtype in pairs]

    def _missing_counts(self) -> list[int]:
        return [self._table[name].null_count() for name in self._table.columns[:MAX_COLUMNS]]


@dataclass(frozen=True, slots=True)
class ArrayInspector:
    """A numpy array, along its first dimension."""

    value: Any

    def summary(self) -> str:
        """Return type and shape, and the number of missing values of numeric arrays."""
        missing = (
            f", {format_number(int((self.value != self.value).sum()))} missing" if self.value.dtype.kind in "fc" else ""
        )
        return f"{describe(self.value)}{missing}"

    def columns(self) -> str:
        """Return the fields of a structured array; other arrays have none."""
        if not self.value.dtype.names:
            raise ToolFailed(f"{describe(self.value)}: it has no columns.")
        return "\n".join(
            f"{single_line(name)}: {self.value.dtype[name]}" for name in self.value.dtype.names[:MAX_COLUMNS]
        )

    def head(self, rows: int) -> str:
        """Return the first rows."""
        return self._render_rows(range(min(rows, len(self._at_least_1d))))

    def sample(self, rows: int) -> str:
        """Return some rows, in their order."""
        return self._render_rows(_sample_rows(len(self._at_least_1d), rows))

    def value_counts(self, column: str, max_values: int) -> str:
        """Return the counts of the values of the whole array, or of one field."""
        values = (
            self.value[self.value.dtype.names[_column_index(column, self.value.dtype.names)]] if column else self.value
        )
        counts = _count_or_fail(lambda: Counter(values.ravel().tolist()))
        return _render_counts(counts.most_common(max_values), len(counts), values.size, "values")

    @property
    def _at_least_1d(self) -> Any:
        return self.value if self.value.ndim else self.value.reshape(1)

    def _render_rows(self, indexes: Iterable[int]) -> str:
        part = self._at_least_1d[list(indexes)]
        text = render(part, MAX_TEXT).text.partition("\n")[2]
        return "\n".join(
            [text, *_omission_note(len(part), len(self._at_least_1d), "rows" if self.value.ndim > 1 else "values")]
        )


@dataclass(frozen=True, slots=True)
class ContainerInspector:
    """A dict, list, tuple or set."""

    value: Any

    def summary(self) -> str:
        """Return the number of items, and their types."""
        sample = itertools.islice(self.value.values() if isinstance(self.value, dict) else self.value, MAX_SAMPLED)
        kinds = Counter(type(item).__name__ for item in sample)
        counts = ", ".join(
            f"{format_number(count)} {single_line(kind)}" for kind, count in kinds.most_common(MAX_KINDS)
        )
        counts += f" and {count_of(len(kinds) - MAX_KINDS, 'more type')}" if len(kinds) > MAX_KINDS else ""
        counts += f" (of the first {format_number(MAX_SAMPLED)})" if len(self.value) > MAX_SAMPLED else ""
        return "\n".join([f"{describe(self.value)}{f': {counts}' if counts else ''}", *self._inspected_note()])

    def columns(self) -> str:
        """Return the keys of a dict, or those of the first item of a list of dicts."""
        first = self.value if isinstance(self.value, dict) else next(iter(self.value), None)
        if not isinstance(first, dict):
            raise ToolFailed(f"{describe(self.value)}: it has no columns.")
        shown = list(itertools.islice(first.items(), MAX_COLUMNS))
        keys = _render_keys([key for key, _ in shown])
        lines = [f"{key}: {type(item).__name__}" for key, (_, item) in zip(keys, shown, strict=True)]
        return "\n".join([*lines, *_omission_note(len(lines), len(first), "keys")])

    def head(self, rows: int) -> str:
        """Return the first items."""
        return self._render_items(range(min(rows, len(self.value))))

    def sample(self, rows: int) -> str:
        """Return some items, in their order."""
        return self._render_items(_sample_rows(len(self.value), rows))

    def value_counts(self, column: str, max_values: int) -> str:
        """Return the counts of the items, or of the values of one key in a list of dicts."""
        items = list(self.value.values() if isinstance(self.value, dict) else self.value)
        if column:
            items = [item.get(column) for item in items if isinstance(item, dict)]
        counts = _count_or_fail(lambda: Counter(items))
        return _render_counts(counts.most_common(max_values), len(counts), len(items), "items")

    def _inspected_note(self) -> list[str]:
        return _omission_note(min(len(self.value), 1_000), len(self.value), "items were inspected", always=False)

    def _render_items(self, indexes: Iterable[int]) -> str:
        selected = set(indexes)
        is_dict = isinstance(self.value, dict)
        first = itertools.islice(self.value.items() if is_dict else self.value, max(selected, default=-1) + 1)
        rows = [item for index, item in enumerate(first) if index in selected]
        values = [item[1] for item in rows] if is_dict else rows
        is_plain = all(isinstance(value, str) for value in values)
        items = [_render_item(value, is_plain=is_plain) for value in values]
        if is_dict:
            keys = _render_keys([item[0] for item in rows])
            items = [f"{key}: {item}" for key, item in zip(keys, items, strict=True)]
        return "\n".join([*items, *_omission_note(len(items), len(self.value), "items")])


_INSPECTORS: dict[tuple[str, str], Callable[[Any], Inspector]] = {
    ("pandas", "DataFrame"): PandasInspector,
    ("pandas", "Series"): PandasInspector,
    ("polars", "DataFrame"): PolarsInspector,
    ("polars", "Series"): PolarsInspector,
    ("numpy", "ndarray"): ArrayInspector,
}


def _omission_note(count: int, total: int, noun: str, *, always: bool = True) -> list[str]:
    """Return a note of how much was shown; for everything only with `always`."""
    return [f"[{format_number(count)} of {format_number(total)} {noun}]"] if always or count < total else []


def _sample_rows(length: int, count: int) -> list[int]:
    return sorted(random.sample(range(length), min(count, length)))


def _column_index(column: str, names: Iterable[str]) -> int:
    name_list = list(names)
    if column not in name_list:
        listed = list_names((shorten(single_line(name), MAX_CELL) for name in name_list), MAX_COLUMNS)
        raise ToolFailed(f"There is no column {shorten(column, MAX_CELL)!r}. Columns: {listed or 'none'}.")
    return name_list.index(column)


def _count_or_fail(count: Callable[[], Any]) -> Any:
    try:
        return count()
    except TypeError:
        raise ToolFailed("The values cannot be counted: some of them are lists, dicts or the like.") from None


def _render_counts(pairs: Iterable[Any], distinct: int, total: int, noun: str = "rows") -> str:
    counted = list(pairs)
    values = column_texts([value for value, _ in counted], MAX_TEXT)
    lines = [
        f"{shorten(single_line(text), MAX_CELL)}: {format_number(int(count))}"
        for text, (_, count) in zip(values, counted, strict=True)
    ]
    return "\n".join(
        [*lines, *_omission_note(len(lines), distinct, f"different values in {format_number(total)} {noun}")]
    )


def _render_keys(keys: Sequence[Any]) -> list[str]:
    return [shorten(single_line(text), MAX_CELL) for text in column_texts(keys, MAX_TEXT)]


def _render_item(value: Any, *, is_plain: bool) -> str:
    """Return an item as text; a text in quotes if it could be read as something else, or not all items are texts."""
    if isinstance(value, str) and (not is_plain or is_ambiguous(value)):
        return json.dumps(shorten(strip_controls(value), MAX_ITEM), ensure_ascii=False)
    return shorten(strip_controls(render(value, MAX_ITEM).text), MAX_ITEM)
