"""Describe an object without its contents, in one line: type, shape, columns; a value as text is `model_text.py`.

Names are included, values are not, as far as they can be distinguished. Columns whose labels come from a named column
(a pivoted frame) or are not strings are counted and not listed. The name of a pandas Series is omitted, because it may
be the label of a row. The type of a column omits the values that some types list (enumerations, structures, sparse
columns). A class created at run time is described by its nearest base that is defined in code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtool.text import count_of, format_number, shorten
from nbtool.tools.values.sanitize import single_line
from nbtool.tools.values.type_names import MAX_NAME, declared_name, dtype_name, type_name

MAX_COLUMNS = 50
"""Maximum number of columns named in a description."""

LIBRARIES = ("pandas", "numpy", "polars", "xarray", "torch", "matplotlib", "plotly", "PIL")
"""Packages whose objects have a description of their own."""

Describe = Callable[[Any], "str | tuple[str, str]"]
"""Returns a description of a value, or that and a description of its columns."""


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
        if all(hasattr(kind, name) for name in ("shape", "dtype", "tolist")):
            return f"{declared_name(kind)}, {dtype_name(value.dtype)}, shape {tuple(value.shape)}", ""
    except Exception:  # noqa: BLE001 - an object with an invalid shape is described by its type
        return declared_name(kind), ""
    return _describe_builtin(value), ""


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


def _describe_builtin(value: Any) -> str:
    name = declared_name(type(value))
    if issubclass(type(value), str):  # `value.__class__` could run the object's code
        return f"{name}, {count_of(str.__len__(value), 'character')}"
    if issubclass(type(value), (bytes, bytearray)):
        return f"{name}, {count_of(len(value), 'byte')}"
    if type(value) in (list, tuple, dict, set, frozenset):
        return f"{name}, {count_of(len(value), 'item')}"
    return name


def _describe_frame(value: Any) -> tuple[str, str]:
    rows, width = value.shape
    size = f"DataFrame, {count_of(rows, 'row')} by {count_of(width, 'column')}"
    if has_value_labels(value):
        return f"{size}, named by values{_column_names(value.columns)}", ""
    columns = [
        f"{shorten(single_line(str(name)), MAX_NAME)} ({dtype_name(dtype)})"
        for name, dtype in zip(list(value.columns)[:MAX_COLUMNS], list(value.dtypes)[:MAX_COLUMNS], strict=False)
    ]
    more = f" and {format_number(width - MAX_COLUMNS)} more" if width > MAX_COLUMNS else ""
    return size, f"{', '.join(columns)}{more}"


def _column_names(columns: Any) -> str:
    names = [repr(shorten(single_line(name), MAX_NAME)) for name in columns.names if isinstance(name, str)]
    return f" of {', '.join(names)}" if names else ""


def _describe_series(value: Any) -> str:
    is_named = not has_value_labels(value) and value.name
    name = f" {shorten(single_line(str(value.name)), MAX_NAME)!r}" if is_named else ""
    return f"{type_name(type(value))}{name}, {dtype_name(value.dtype)}, {count_of(len(value), 'row')}"


def _describe_array(value: Any) -> str:
    return f"ndarray, {value.dtype.name}, shape {tuple(value.shape)}"


def _describe_dataset(value: Any) -> str | tuple[str, str]:
    """Return the dimensions of an xarray object with their sizes, and the variables of a Dataset."""
    sizes = ", ".join(
        f"{shorten(single_line(str(name)), MAX_NAME)} {format_number(size)}" for name, size in value.sizes.items()
    )
    if not hasattr(value, "data_vars"):
        return ", ".join(filter(None, ("DataArray", dtype_name(value.dtype), sizes)))
    names = list(value.data_vars)
    variables = ", ".join(
        f"{shorten(single_line(str(name)), MAX_NAME)} ({dtype_name(value[name].dtype)})" for name in names[:MAX_COLUMNS]
    )
    more = f" and {format_number(len(names) - MAX_COLUMNS)} more" if len(names) > MAX_COLUMNS else ""
    return ", ".join(filter(None, ("Dataset", sizes))), f"{variables}{more}"


def _describe_tensor(value: Any) -> str:
    return f"Tensor, {str(value.dtype).removeprefix('torch.')}, shape {tuple(value.shape)}"


def _describe_figure(value: Any) -> str:
    width, height = (round(inches * value.dpi) for inches in value.get_size_inches())
    return f"matplotlib Figure, {width} by {height} pixels, {len(value.axes)} axes"


def _describe_plotly(value: Any) -> str:
    return f"plotly Figure, {count_of(len(value.data), 'trace')}"


def _describe_taken(value: Any) -> str:
    return str(value.note)


_SPECIAL: dict[str, dict[str, Describe]] = {
    "pandas": {"DataFrame": _describe_frame, "Series": _describe_series},
    "polars": {"DataFrame": _describe_frame, "Series": _describe_series},
    "numpy": {"ndarray": _describe_array},
    "xarray": {"Dataset": _describe_dataset, "DataArray": _describe_dataset},
    "torch": {"Tensor": _describe_tensor},
    "matplotlib": {"Figure": _describe_figure},
    "plotly": {"Figure": _describe_plotly},
    "nbtool": {"PartlyTaken": _describe_taken},
}
