"""Tables, arrays and containers of any make, seen in the same few ways; no library is imported that is not there."""

from __future__ import annotations

import itertools
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from nbtool.errors import ToolFailed
from nbtool.shorten import list_names, shorten
from nbtool.tools.values.describe import describe, dtype_name, grouped
from nbtool.tools.values.render import render
from nbtool.tools.values.sanitize import plain_text, visible

MAX_COLUMNS = 50
"""Columns of a table that are shown."""

MAX_CELL = 80
"""Characters of a cell that are shown."""

MAX_CELLS = 1_000
"""Numbers of an array from which on the middle is left out."""

MAX_SAMPLED = 1_000
"""Items whose types are counted."""

MAX_KINDS = 8
"""Types that are named."""

MAX_ITEM = 400
"""Characters of an item of an array, a list or a dict that are shown."""


class Look(Protocol):
    """One object, seen; every text says how much of the object it shows."""

    def summary(self) -> str:
        """Say what it is and what it is made of."""

    def columns(self) -> str:
        """List its columns and their types."""

    def head(self, rows: int) -> str:
        """Show its first rows."""

    def sample(self, rows: int) -> str:
        """Show rows picked at random, in their order."""

    def value_counts(self, column: str, most: int) -> str:
        """Count its different values."""


def look_at(value: Any) -> Look | None:
    """Give the way to look at a value; None where it has neither rows nor items."""
    for kind in type(value).__mro__:
        place = (kind.__module__.partition(".")[0], kind.__name__)
        if place in _LOOKS:
            return _LOOKS[place](value)
    return Items(value) if isinstance(value, dict | list | tuple | set | frozenset) else None


class _Table(ABC):
    """A table of named columns; what differs from library to library is filled in."""

    value: Any

    @property
    @abstractmethod
    def _table(self) -> Any:
        """The value as a table."""

    @abstractmethod
    def _lines(self) -> list[str]:
        """Name each column and its type, as far as they are shown."""

    @abstractmethod
    def _missing(self) -> list[int]:
        """Count the missing values of each column that is shown."""

    @abstractmethod
    def _rows(self, part: Any) -> str:
        """Write some rows out."""

    def summary(self) -> str:
        """List each column with its type and its missing values."""
        counted = zip(self._lines(), self._missing(), strict=True)
        lines = [f"{line}, {grouped(count)} missing" for line, count in counted]
        return "\n".join([describe(self.value).partition(":")[0], *lines, *self._left_out()])

    def columns(self) -> str:
        """List each column with its type."""
        return "\n".join([*self._lines(), *self._left_out()])

    def head(self, rows: int) -> str:
        """Show the first rows."""
        return self._rows(self._table.head(rows))

    def _left_out(self) -> list[str]:
        width = self._table.shape[1]
        return _part(min(width, MAX_COLUMNS), width, "columns", always=False)


@dataclass(frozen=True)
class PandasTable(_Table):
    """A pandas DataFrame, or a Series as a table of one column."""

    value: Any

    @property
    def _table(self) -> Any:
        return self.value if self.value.ndim == 2 else self.value.to_frame()

    def sample(self, rows: int) -> str:
        """Show some rows, in their order."""
        return self._rows(self._table.iloc[_picked(len(self.value), rows)])

    def value_counts(self, column: str, most: int) -> str:
        """Count a column's values, missing ones too."""
        table = self._table
        place = 0 if self.value.ndim == 1 else _place(column, [str(name) for name in table.columns])
        counts = _counted(lambda: table.iloc[:, place].value_counts(dropna=False))
        return _counts(zip(counts.index[:most], counts.iloc[:most], strict=True), len(counts), len(table))

    def _lines(self) -> list[str]:
        table = self._table
        return [
            f"{shorten(visible(str(name)), MAX_CELL)}: {dtype_name(dtype)}"
            for name, dtype in zip(table.columns[:MAX_COLUMNS], table.dtypes.iloc[:MAX_COLUMNS], strict=True)
        ]

    def _missing(self) -> list[int]:
        table = self._table.iloc[:, :MAX_COLUMNS]
        return [int(table.iloc[:, place].isna().sum()) for place in range(table.shape[1])]

    def _rows(self, part: Any) -> str:
        text = str(part.iloc[:, :MAX_COLUMNS].to_string(max_colwidth=MAX_CELL))
        return "\n".join([text, *_part(len(part), len(self.value), "rows"), *self._left_out()])


@dataclass(frozen=True)
class PolarsTable(_Table):
    """A polars DataFrame, or a Series as a table of one column."""

    value: Any

    @property
    def _table(self) -> Any:
        return self.value if hasattr(self.value, "columns") else self.value.to_frame()

    def sample(self, rows: int) -> str:
        """Show some rows, in their order."""
        return self._rows(self._table[_picked(len(self.value), rows)])

    def value_counts(self, column: str, most: int) -> str:
        """Count a column's values, missing ones too."""
        names = list(self._table.columns)
        series = self._table[names[0 if len(names) == 1 and not column else _place(column, names)]]
        counts = _counted(lambda: series.value_counts(sort=True))
        return _counts(counts.head(most).rows(), len(counts), len(series))

    def _lines(self) -> list[str]:
        pairs = zip(self._table.columns[:MAX_COLUMNS], self._table.dtypes[:MAX_COLUMNS], strict=True)
        return [f"{shorten(visible(name), MAX_CELL)}: {dtype_name(dtype)}" for name, dtype in pairs]

    def _missing(self) -> list[int]:
        return [self._table[name].null_count() for name in self._table.columns[:MAX_COLUMNS]]

    def _rows(self, part: Any) -> str:
        names = part.columns[:MAX_COLUMNS]
        lines = [" | ".join(shorten(visible(name), MAX_CELL) for name in names)]
        lines += [" | ".join(_cell(cell) for cell in row[:MAX_COLUMNS]) for row in part.rows()]
        return "\n".join([*lines, *_part(len(part), len(self.value), "rows"), *self._left_out()])


@dataclass(frozen=True, slots=True)
class Array:
    """A numpy array, by its first dimension."""

    value: Any

    def summary(self) -> str:
        """Say type and shape, and of numbers how many are missing."""
        missing = f", {grouped(int((self.value != self.value).sum()))} missing" if self.value.dtype.kind in "fc" else ""
        return f"{describe(self.value)}{missing}"

    def columns(self) -> str:
        """Name the fields of a structured array; other arrays have none."""
        if not self.value.dtype.names:
            raise ToolFailed(f"{describe(self.value)}: it has no columns.")
        return "\n".join(f"{visible(name)}: {self.value.dtype[name]}" for name in self.value.dtype.names[:MAX_COLUMNS])

    def head(self, rows: int) -> str:
        """Show the first rows."""
        return self._rows(range(min(rows, len(self._flat))))

    def sample(self, rows: int) -> str:
        """Show some rows, in their order."""
        return self._rows(_picked(len(self._flat), rows))

    def value_counts(self, column: str, most: int) -> str:
        """Count the values of the whole array, or of one field."""
        counted = self.value[self.value.dtype.names[_place(column, self.value.dtype.names)]] if column else self.value
        counts = _counted(lambda: Counter(counted.ravel().tolist()))
        return _counts(counts.most_common(most), len(counts), counted.size, "values")

    @property
    def _flat(self) -> Any:
        return self.value if self.value.ndim else self.value.reshape(1)

    def _rows(self, places: Iterable[int]) -> str:
        import numpy as np  # noqa: PLC0415 - numpy is there: the value is of it

        part = self._flat[list(places)]
        text = np.array2string(part, max_line_width=120, threshold=MAX_CELLS)
        return "\n".join([text, *_part(len(part), len(self._flat), "rows" if self.value.ndim > 1 else "values")])


@dataclass(frozen=True, slots=True)
class Items:
    """A dict, list, tuple or set."""

    value: Any

    def summary(self) -> str:
        """Say how many items there are, and of which types."""
        sample = itertools.islice(self.value.values() if isinstance(self.value, dict) else self.value, MAX_SAMPLED)
        kinds = Counter(type(item).__name__ for item in sample)
        told = ", ".join(f"{grouped(count)} {visible(kind)}" for kind, count in kinds.most_common(MAX_KINDS))
        told += f" and {len(kinds) - MAX_KINDS} types more" if len(kinds) > MAX_KINDS else ""
        told += f" (of the first {grouped(MAX_SAMPLED)})" if len(self.value) > MAX_SAMPLED else ""
        return "\n".join([f"{describe(self.value)}{f': {told}' if told else ''}", *self._counted_types()])

    def columns(self) -> str:
        """Name the keys of a dict, or those of the first item of a list of dicts."""
        first = self.value if isinstance(self.value, dict) else next(iter(self.value), None)
        if not isinstance(first, dict):
            raise ToolFailed(f"{describe(self.value)}: it has no columns.")
        lines = [f"{_cell(key)}: {type(item).__name__}" for key, item in itertools.islice(first.items(), MAX_COLUMNS)]
        return "\n".join([*lines, *_part(len(lines), len(first), "keys")])

    def head(self, rows: int) -> str:
        """Show the first items."""
        return self._lines(range(min(rows, len(self.value))))

    def sample(self, rows: int) -> str:
        """Show some items, in their order."""
        return self._lines(_picked(len(self.value), rows))

    def value_counts(self, column: str, most: int) -> str:
        """Count the items, or what a list of dicts has under one key."""
        items = list(self.value.values() if isinstance(self.value, dict) else self.value)
        if column:
            items = [item.get(column) for item in items if isinstance(item, dict)]
        counts = _counted(lambda: Counter(items))
        return _counts(counts.most_common(most), len(counts), len(items), "items")

    def _counted_types(self) -> list[str]:
        return _part(min(len(self.value), 1_000), len(self.value), "items were looked at", always=False)

    def _lines(self, places: Iterable[int]) -> str:
        wanted = set(places)
        is_dict = isinstance(self.value, dict)
        upto = itertools.islice(self.value.items() if is_dict else self.value, max(wanted, default=-1) + 1)
        shown = [item for place, item in enumerate(upto) if place in wanted]
        lines = [f"{_cell(item[0])}: {_item(item[1])}" if is_dict else _item(item) for item in shown]
        return "\n".join([*lines, *_part(len(lines), len(self.value), "items")])


_LOOKS: dict[tuple[str, str], Callable[[Any], Look]] = {
    ("pandas", "DataFrame"): PandasTable,
    ("pandas", "Series"): PandasTable,
    ("polars", "DataFrame"): PolarsTable,
    ("polars", "Series"): PolarsTable,
    ("numpy", "ndarray"): Array,
}


def _part(shown: int, of: int, what: str, *, always: bool = True) -> list[str]:
    """Say how much was shown; where it was everything, only if that is always said."""
    return [f"[{grouped(shown)} of {grouped(of)} {what}]"] if always or shown < of else []


def _picked(length: int, count: int) -> list[int]:
    return sorted(random.sample(range(length), min(count, length)))


def _place(column: str, names: Iterable[str]) -> int:
    known = list(names)
    if column not in known:
        listed = list_names((shorten(visible(name), MAX_CELL) for name in known), MAX_COLUMNS)
        raise ToolFailed(f"There is no column {shorten(column, MAX_CELL)!r}. Columns: {listed or 'none'}.")
    return known.index(column)


def _counted(count: Callable[[], Any]) -> Any:
    try:
        return count()
    except TypeError:
        raise ToolFailed("The values cannot be counted: some of them are lists, dicts or the like.") from None


def _counts(pairs: Iterable[Any], different: int, total: int, what: str = "rows") -> str:
    lines = [f"{_cell(value)}: {grouped(int(count))}" for value, count in pairs]
    return "\n".join([*lines, *_part(len(lines), different, f"different values in {grouped(total)} {what}")])


def _cell(value: Any) -> str:
    return shorten(visible(value if isinstance(value, str) else render(value, MAX_CELL * 2).text), MAX_CELL)


def _item(value: Any) -> str:
    return shorten(plain_text(render(value, MAX_ITEM).text), MAX_ITEM)
