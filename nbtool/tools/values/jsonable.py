"""Convert values of any type to JSON values within a budget: the one walk by which a model reads them.

A value is read in the same way wherever it stands: alone, in a container, in a cell of a table. What it is decides a
protocol, not a list of types: a scalar, a record with a form of its own, a table, an array, a mapping, a sequence, what
a notebook displays, and at last its representation. What is cut, or only described, is marked.
"""

from __future__ import annotations

import collections
import enum
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, MappingView, Sequence, Set
from itertools import chain, count
from typing import Any

from nbtool.messages import Media
from nbtool.text import count_of
from nbtool.tools.values.array_form import array_items, array_size, has_labels, is_labelled, is_loaded, labelled_form
from nbtool.tools.values.declared_form import (
    NotReadable,
    as_plain_container,
    declared_form,
    is_record,
    message_of_arguments,
)
from nbtool.tools.values.lazy_iterators import PartlyTaken
from nbtool.tools.values.object_form import bytes_text, has_llm_repr, is_binary, llm_repr, object_form
from nbtool.tools.values.sanitize import strip_controls
from nbtool.tools.values.scalar_form import NO_SCALAR, TEXT_TYPES, scalar_form
from nbtool.tools.values.table_form import table_form, table_shape
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.values.type_names import type_name

MAX_BITS = 10_000
"""Maximum number of bits of an integer that is written out; Python refuses more than 4 300 digits."""

MAX_DEPTH = 20
"""Maximum nesting depth."""

MAX_INNER_VALUES = (None, 200, 0)
"""Numbers of values up to which a table or an array in a container is written out, tried until the text fits."""

MAX_LABEL_CHARS = 1_000
"""Maximum number of characters of what stands beside the values in the preview of a labelled array."""

_LISTS = (list, tuple, set, frozenset, collections.deque)
_READ_AS_LISTS: tuple[Any, ...] = (Sequence, Set, MappingView)
_READ_AS_TEXT = (range, memoryview)
"""Sequences whose own text is all of them, or that are read as bytes."""


def json_text(value: Any, budget: int) -> tuple[str, JsonConverter]:
    """Return a value as JSON, and the converter that describes it; tables and arrays in it are described if need be.

    Without that a large array would use up the budget of what stands beside it.
    """
    for max_values in MAX_INNER_VALUES:
        converter = JsonConverter(budget, max_values)
        converter.converted = converter.convert(value)
        text = json.dumps(converter.converted, ensure_ascii=False)
        if not converter.has_tables or not (converter.is_cut or len(text) > budget):
            break
    return text, converter


def contains_tables(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether a value is a table or an array, or a plain container of one: Python would print it in part."""
    if type(value) in (type(None), bool, int, float, str) or depth == 0:
        return False
    if table_shape(value) is not None or array_size(value) is not None:
        return True
    inner = value.values() if type(value) is dict else value if type(value) in _LISTS else ()
    return any(contains_tables(item, depth - 1) for item in inner)


class JsonConverter:
    """Converts values to JSON values; `is_complete` and `has_objects` describe the conversion afterwards.

    A value takes at least one character, so at most `budget` values are inspected. Of tables and arrays of more than
    `max_values` values only type and shape are told (None: as many as the budget allows), and `has_described` is set.
    `is_cut` says that the budget was used up.
    """

    def __init__(self, budget: int, max_values: int | None = None) -> None:
        self._remaining = budget
        self._max_values = budget if max_values is None else max_values
        self._ancestors: set[int] = set()
        self.is_complete = True
        self.has_objects = False
        self.has_tables = False
        self.has_described = False
        self.is_cut = False
        self._may_cut = False
        self.converted: Any = None

    def first_values(self, value: Any) -> Any:
        """Return as many values of an array as the budget allows; so many of each in a labelled array."""
        if is_labelled(value):
            return self._first_of_each(labelled_form(value))
        self._max_values, self._may_cut = sys.maxsize, True
        return self._labelled_or_array(value)

    def _first_of_each(self, form: Any) -> Any:
        if isinstance(form, dict):
            return {self.key(name): self._first_of_each(item) for name, item in form.items()}
        if array_size(form) is not None:
            return JsonConverter(self._remaining).first_values(form)
        return JsonConverter(MAX_LABEL_CHARS).convert(form)

    def convert(self, value: Any) -> Any:
        """Return a value as a JSON value."""
        self._remaining -= 1
        if value is None or value is True or value is False:
            return value
        if isinstance(value, enum.Enum):
            return self.convert(value.value)
        if isinstance(value, int | float | str | collections.UserString):
            return self._plain(value)
        if isinstance(value, TEXT_TYPES):
            return strip_controls(scalar_form(value))
        if isinstance(value, Media):
            return str(value)
        if is_binary(value):
            return self._bytes(bytes(value))
        if has_llm_repr(value):
            return self._object(value)
        return self._nested(value)

    def key(self, value: Any) -> str:
        """Return the text of a key or a label: `str()` of what it is in JSON, with tuples as Python writes them."""
        if isinstance(value, str) and not isinstance(value, enum.Enum):
            return strip_controls(str.__str__(value))
        if type(value) is tuple:
            parts = [self.key(item) if not isinstance(item, str) else repr(self.key(item)) for item in value]
            return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
        converted = self.convert(value)
        return json.dumps(converted, ensure_ascii=False) if isinstance(converted, dict | list) else str(converted)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, float):
            return float(value)  # NaN and the infinities are written as such: they are neither null nor a text
        if not isinstance(value, int):
            text = strip_controls(str(value) if isinstance(value, collections.UserString) else str.__str__(value))
            self._remaining -= len(text)
            return text
        if value.bit_length() <= MAX_BITS:
            return int(value)
        self.is_complete = False
        return f"int of {count_of(value.bit_length(), 'bit')}"

    def _bytes(self, value: bytes) -> str:
        self.has_objects = True
        text = bytes_text(value, self._remaining)
        if text is None:
            self.is_complete = False
            return describe(value)
        self._remaining -= len(text)
        return text

    def _nested(self, value: Any) -> Any:
        if id(value) in self._ancestors or len(self._ancestors) >= MAX_DEPTH:
            self.is_complete = False
            return "… (the same again)" if id(value) in self._ancestors else f"… ({describe(value)})"
        self._ancestors.add(id(value))
        try:
            return self._read(value)
        finally:
            self._ancestors.discard(id(value))

    def _read(self, value: Any) -> Any:
        if isinstance(value, dict) and type(value).__module__ == "builtins":
            return self._mapping(value)
        if type(value) in _LISTS:
            return self._list(value, len(value))
        if (container := as_plain_container(value)) is not None:
            return self.convert(container)
        if is_record(value):
            return self._record(value)
        try:
            return self._view(value) if isinstance(value, memoryview) else self._by_protocol(value)
        except Exception as error:  # noqa: BLE001 - a class of the user or of a library may raise anything
            self.has_objects, self.is_complete = True, False
            return f"{describe(value)} (rendering it failed: {type_name(type(error))})"

    def _view(self, value: memoryview) -> Any:
        """Return the numbers of a view that is not one of bytes."""
        return self._list(value[: self._remaining + 1].tolist(), len(value))

    def _by_protocol(self, value: Any) -> Any:
        if not has_labels(value) and (scalar := scalar_form(value)) is not NO_SCALAR:
            self._remaining += 1  # which it counts itself
            return self.convert(scalar)
        if (shape := table_shape(value)) is not None:
            return self._whole_or_described(value, math.prod(shape), self._table)
        if (size := array_size(value)) is not None:
            return self._whole_or_described(value, size, self._labelled_or_array)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, Sequence) and hasattr(type(value), "keys"):
            return self._pairs(value)
        if isinstance(value, PartlyTaken):
            self.is_complete = False
            return [*self._list(value, len(value)), f"… {value.note}"]
        if isinstance(value, _READ_AS_LISTS) and not isinstance(value, _READ_AS_TEXT):
            return self._list(value, len(value))
        return self._object(value)

    def _record(self, value: Any) -> Any:
        """Return what the class of a record lets out of it; if its serializer fails, that it did, and no field."""
        try:
            return self.convert(declared_form(value, self.convert))
        except NotReadable as failure:
            self.has_objects, self.is_complete = True, False
            return str(failure)

    def _mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        converted: dict[str, Any] = {}
        for key, item in value.items():
            if self._remaining <= 0:
                self.is_complete, self.is_cut = False, True
                converted["…"] = count_of(len(value) - len(converted), "more item")
                break
            name = self._unique_key(key, value, converted)
            self._remaining -= len(name)
            converted[name] = self.convert(item)
        return converted

    def _pairs(self, value: Any) -> Any:
        """Return a row of a database by the names of its columns; as a list if two have one name."""
        pairs = dict(zip(value.keys(), value, strict=True))
        return self._mapping(pairs) if len(pairs) == len(value) else self._list(value, len(value))

    def _unique_key(self, key: Any, value: Mapping[Any, Any], converted: Mapping[str, Any]) -> str:
        """Return the text of a key, with its type or a number if another key has this text."""
        text = self.key(key)
        if isinstance(key, str) and text == key and text not in converted:
            return text
        numbered = (f"{text} ({number})" for number in count(2))
        candidates = chain((text, f"{text} ({type_name(type(key))})"), numbered)
        return next(candidate for candidate in candidates if candidate not in converted and candidate not in value)

    def _list(self, value: Iterable[Any], size: int) -> list[Any]:
        converted: list[Any] = []
        for item in value:
            if self._remaining <= 0:
                self.is_complete, self.is_cut = False, True
                converted.append(f"… {count_of(size - len(converted), 'more item')}")
                break
            converted.append(self.convert(item))
        return converted

    def _whole_or_described(self, value: Any, size: int, read: Callable[[Any], Any]) -> Any:
        self.has_objects = self.has_tables = True
        if size <= self._max_values and (size <= self._remaining or self._may_cut):
            return read(value)
        self.is_complete, self.has_described = False, True
        return describe(value)

    def _labelled_or_array(self, value: Any) -> Any:
        if is_labelled(value):
            self.is_complete = self.is_complete and is_loaded(value)
            return self._mapping(labelled_form(value))
        names = list(getattr(value, "names", None) or ())  # of the levels of an index
        values = self._list(array_items(value, self._remaining), len(value))
        return (
            {"names": self._list(names, len(names)), "values": values} if any(n is not None for n in names) else values
        )

    def _table(self, value: Any) -> Any:
        """Return a series that only counts its rows as a list, and other tables with their labels."""
        rows, width = table_shape(value) or (0, 0)
        table = table_form(value, rows, width)
        self.is_complete = self.is_complete and not table.loss
        names = {"index_names": table.index_names, "column_names": table.column_names}
        labels: dict[str, Any] = {"index": self._list(table.labels, rows)} if table.index else {}
        labels |= {key: self._list(name, len(name)) for key, name in names.items() if any(n is not None for n in name)}
        if not table.is_series:
            cells = [self._list(row, width) for row in table.rows]
            return {"columns": self._list(table.columns, width), **labels, "rows": cells}
        if table.columns[0] is not None:
            labels = {"name": self.convert(table.columns[0]), **labels}
        values = self._list(table.cells[0], rows)
        return {**labels, "values": values} if labels else values

    def _object(self, value: Any) -> Any:
        """Return an object as text or data; a description if its class raises, without affecting the rest."""
        self.has_objects = True
        try:
            if (text := llm_repr(value)) is not None:
                return self._text(text)
            if isinstance(value, BaseException) and message_of_arguments(value) is not None:
                return {type_name(type(value)): self._list(value.args, len(value.args))}
            form, is_whole = object_form(value)
        except Exception as error:  # noqa: BLE001 - a user's class may raise anything
            self.is_complete = False
            return self._text(f"{describe(value)} (rendering it failed: {type_name(type(error))})")
        self.is_complete = self.is_complete and is_whole
        return self._text(form) if isinstance(form, str) else self.convert(form)

    def _text(self, text: str) -> str:
        text = strip_controls(text)
        self._remaining -= len(text)
        return text
