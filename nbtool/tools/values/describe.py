"""Describe an object without its contents: type name, shape, columns, and an identity token.

Names are included, values are not, as far as they can be distinguished. Columns whose labels come from a named column
(a pivoted frame) or are not strings are counted and not listed. The name of a pandas Series is omitted, because it may
be the label of a row. The type of a column omits the values that some types list (enumerations, structures, sparse
columns). A class created at run time is described by its nearest base that is defined in code.
"""

from __future__ import annotations

import itertools
import re
import sys
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from nbtool.text import shorten
from nbtool.tools.values.sanitize import single_line

MAX_COLUMNS = 50
"""Maximum number of columns named in a description."""

MAX_COLUMN_NAME = 64
"""Maximum number of characters of a column name."""

_SAFE_DTYPE = re.compile(
    r"\w+(?:\[pyarrow\])?"
    r"|(?:datetime64|timedelta64|period|timestamp|duration)\[[A-Za-z-]{1,6}(?:, ?(?:tz=)?[\w/+:-]{1,40})?\]"
    r"(?:\[pyarrow\])?"
    r"|interval\[\w+(?:, ?\w+)?\]"
    r"|(?:Datetime|Duration)\(time_unit='\w\w'(?:, time_zone=(?:None|'[\w/+:-]{1,40}'))?\)"
    r"|Decimal\(precision=(?:None|\d+), scale=\d+\)",
    re.ASCII,
)
"""Column types that are shown in full: they contain only types and units."""

_HEAP_TYPE = 1 << 9
_IMMUTABLE_TYPE = 1 << 8
"""Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE: a class without the former, or with the latter, is written in C."""

Describe = Callable[[Any], "str | tuple[str, str]"]
"""Returns a description of a value, or that and a description of its columns."""

_object_tokens: dict[int, tuple[weakref.ref[Any], int]] = {}
_next_token = itertools.count(1)


def describe(value: Any) -> str:
    """Return one line about a value: type, shape, columns, size; never a cell, an item or a character of it."""
    summary, columns = _parts(value)
    return f"{summary}: {columns}" if columns else summary


def summarize(value: Any) -> str:
    """Return the description of a value without its columns: type, shape, size."""
    return _parts(value)[0]


def _parts(value: Any) -> tuple[str, str]:
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    special = _SPECIAL.get(package, {}).get(kind.__name__)
    try:
        if special:
            found = special(value)
            return found if isinstance(found, tuple) else (found, "")
        if package == "PIL":
            return f"image ({kind.__name__}), {value.width} by {value.height} pixels, {value.mode}", ""
    except Exception:  # noqa: BLE001 - an object with an invalid shape is described by its type
        return declared_name(kind), ""
    return _describe_builtin(value), ""


def type_name(kind: type) -> str:
    """Return the name of a type without its module."""
    return shorten(single_line(kind.__name__), MAX_COLUMN_NAME)


def format_number(number: int) -> str:
    """Return a number with thin groups: 1 204 332."""
    return f"{number:,}".replace(",", " ")


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 item, 2 items."""
    return f"{format_number(number)} {noun}{'' if number == 1 else 's'}"


def dtype_name(dtype: Any) -> str:
    """Return the type of a column without values in it: categories, field names, fill values."""
    if type(dtype).__module__.partition(".")[0] not in ("pandas", "numpy", "polars", "pyarrow", "torch", "builtins"):
        return declared_name(type(dtype))
    name = single_line(str(dtype))
    base = re.match(r"[A-Za-z]\w*", name, re.ASCII)
    if base and base[0] in ("List", "Array") and getattr(dtype, "inner", None) is not None:
        return f"{base[0]}({dtype_name(dtype.inner)})"
    if name.startswith("Sparse["):
        return f"Sparse[{dtype_name(dtype.subtype)}]"
    return name if _SAFE_DTYPE.fullmatch(name) else base[0] if base else type_name(type(dtype))


def declared_name(kind: type) -> str:
    """Return the name of a type as in its code; for a type created at run time, that of its nearest declared base."""
    return type_name(declared_type(kind))


def declared_type(kind: type) -> type:
    """Return the type itself, or the nearest declared base of a type created at run time."""
    return next((base for base in kind.__mro__ if _is_declared(base)), object)


def has_value_labels(value: Any) -> bool:
    """Whether the labels of a pandas object are or may be values: pivoted columns, a Series' own name."""
    if type(value).__module__.partition(".")[0] != "pandas":
        return False
    columns = getattr(value, "columns", None)
    if columns is None:
        return True
    if type(columns).__name__ == "RangeIndex":
        return columns.name is not None
    return any(name is not None for name in columns.names) or not all(type(label) is str for label in columns)


def _is_declared(kind: type) -> bool:
    qualified_name = kind.__qualname__
    flags = kind.__flags__
    if not flags & _HEAP_TYPE or flags & _IMMUTABLE_TYPE or "<locals>" in qualified_name:
        return True
    current: Any = sys.modules.get(kind.__module__)
    for part in qualified_name.split("."):
        current = getattr(current, part, None)
    return isinstance(current, type)


def object_token(value: Any) -> str:
    """Return a token of this object that no other object gets, even after it is deleted.

    An id is reused; a counter is not. Objects without weak references (lists, numbers, texts) are identified by id.
    """
    entry = _object_tokens.get(id(value))
    if entry and entry[0]() is value:
        return f"#{entry[1]}"
    try:
        reference = weakref.ref(value, partial(_forget_object, id(value)))
    except TypeError:
        return str(id(value))
    _object_tokens[id(value)] = (reference, next(_next_token))
    return f"#{_object_tokens[id(value)][1]}"


def _forget_object(key: int, _: object) -> None:
    _object_tokens.pop(key, None)


def _describe_builtin(value: Any) -> str:
    name = declared_name(type(value))
    if issubclass(type(value), str):  # `value.__class__` could run the object's code
        return f"{name}, {count(str.__len__(value), 'character')}"
    if issubclass(type(value), (bytes, bytearray)):
        return f"{name}, {count(len(value), 'byte')}"
    if type(value) in (list, tuple, dict, set, frozenset):
        return f"{name}, {count(len(value), 'item')}"
    return name


def _describe_frame(value: Any) -> tuple[str, str]:
    rows, width = value.shape
    size = f"DataFrame, {count(rows, 'row')} by {count(width, 'column')}"
    if has_value_labels(value):
        return f"{size}, named by values{_column_names(value.columns)}", ""
    columns = [
        f"{shorten(single_line(str(name)), MAX_COLUMN_NAME)} ({dtype_name(dtype)})"
        for name, dtype in zip(list(value.columns)[:MAX_COLUMNS], list(value.dtypes)[:MAX_COLUMNS], strict=False)
    ]
    more = f" and {format_number(width - MAX_COLUMNS)} more" if width > MAX_COLUMNS else ""
    return size, f"{', '.join(columns)}{more}"


def _column_names(columns: Any) -> str:
    names = [repr(shorten(single_line(name), MAX_COLUMN_NAME)) for name in columns.names if isinstance(name, str)]
    return f" of {', '.join(names)}" if names else ""


def _describe_series(value: Any) -> str:
    is_named = not has_value_labels(value) and value.name
    name = f" {shorten(single_line(str(value.name)), MAX_COLUMN_NAME)!r}" if is_named else ""
    return f"{type_name(type(value))}{name}, {dtype_name(value.dtype)}, {count(len(value), 'row')}"


def _describe_array(value: Any) -> str:
    return f"ndarray, {value.dtype.name}, shape {tuple(value.shape)}"


def _describe_dataset(value: Any) -> str | tuple[str, str]:
    """Return the dimensions of an xarray object with their sizes, and the variables of a Dataset."""
    sizes = ", ".join(
        f"{shorten(single_line(str(name)), MAX_COLUMN_NAME)} {format_number(size)}"
        for name, size in value.sizes.items()
    )
    if not hasattr(value, "data_vars"):
        return f"DataArray, {dtype_name(value.dtype)}, {sizes}"
    names = list(value.data_vars)
    variables = ", ".join(
        f"{shorten(single_line(str(name)), MAX_COLUMN_NAME)} ({dtype_name(value[name].dtype)})"
        for name in names[:MAX_COLUMNS]
    )
    more = f" and {format_number(len(names) - MAX_COLUMNS)} more" if len(names) > MAX_COLUMNS else ""
    return f"Dataset, {sizes}", f"{variables}{more}"


def _describe_tensor(value: Any) -> str:
    return f"Tensor, {str(value.dtype).removeprefix('torch.')}, shape {tuple(value.shape)}"


def _describe_figure(value: Any) -> str:
    width, height = (round(inches * value.dpi) for inches in value.get_size_inches())
    return f"matplotlib Figure, {width} by {height} pixels, {len(value.axes)} axes"


def _describe_plotly(value: Any) -> str:
    return f"plotly Figure, {count(len(value.data), 'trace')}"


_SPECIAL: dict[str, dict[str, Describe]] = {
    "pandas": {"DataFrame": _describe_frame, "Series": _describe_series},
    "polars": {"DataFrame": _describe_frame, "Series": _describe_series},
    "numpy": {"ndarray": _describe_array},
    "xarray": {"Dataset": _describe_dataset, "DataArray": _describe_dataset},
    "torch": {"Tensor": _describe_tensor},
    "matplotlib": {"Figure": _describe_figure},
    "plotly": {"Figure": _describe_plotly},
}
