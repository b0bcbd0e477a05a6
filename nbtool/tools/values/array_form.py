"""Arrays of any library as nested lists of scalars, and labelled arrays with their labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from nbtool.tools.values.scalar_form import dtype_kind, float_size

NOT_LOADED = "not loaded: reading it would load or compute it"
"""In the place of the values of a labelled array that are not in memory."""


def array_size(value: Any) -> int | None:
    """Return the number of values of an array with at least one dimension, or of a labelled array; None for others."""
    if is_labelled(value):
        sizes: list[int] = [math.prod(variable.shape) for variable in _variables(value).values()]
        return sum(sizes)
    kind: Any = type(value)
    if hasattr(kind, "to_pylist") and hasattr(kind, "type"):
        return len(value)  # an array of pyarrow
    if not all(hasattr(kind, name) for name in ("shape", "dtype", "tolist")):
        return None
    return math.prod(value.shape) if isinstance(value.shape, tuple) and value.shape else None


def array_items(value: Any, max_values: int) -> Iterable[Any]:
    """Return the items of an array along its first dimension: scalars, or arrays with one dimension less.

    Up to `max_values` values are converted at once if their types are Python's own, which is 20 times as fast.
    """
    if any(kind.__name__ == "matrix" for kind in type(value).__mro__):
        value = value.A  # rows of a matrix are matrices again
    has_plain_values = dtype_kind(value) in ("b", "i", "u") or (dtype_kind(value) == "f" and value.dtype.itemsize == 8)
    if has_plain_values and math.prod(value.shape) <= max_values:
        plain: Iterable[Any] = value.tolist()
        return plain
    has_short_floats = hasattr(type(value), "array") and float_size(value.dtype) < 8
    items: Iterable[Any] = value.array if has_short_floats else value  # an index of pandas gives floats of eight bytes
    return items


def is_labelled(value: Any) -> bool:
    """Whether a value is an array or a set of arrays of xarray."""
    names = ("DataArray", "Dataset", "Variable")
    return any(kind.__name__ in names and kind.__module__.partition(".")[0] == "xarray" for kind in type(value).__mro__)


def labelled_form(value: Any) -> dict[str, Any]:
    """Return a labelled array as its dimensions, labels and values; arrays in it are as they are."""
    if not hasattr(value, "coords"):
        return _variable_form(value)
    coordinates = {str(name): _coordinate(name, coord.variable) for name, coord in value.coords.items()}
    form: dict[str, Any] = {"dims": {str(name): size for name, size in value.sizes.items()}}
    if coordinates:
        form["coords"] = coordinates
    if hasattr(value, "data_vars"):
        form["variables"] = {str(name): _variable_form(data_var.variable) for name, data_var in value.data_vars.items()}
    else:
        form = {**({"name": value.name} if value.name is not None else {}), **form, "values": _values(value.variable)}
    return {**form, **_attributes(value)}


def is_loaded(value: Any) -> bool:
    """Whether all values of a labelled array are in memory."""
    return all(map(_is_in_memory, _variables(value).values()))


def _is_in_memory(variable: Any) -> bool:
    """Whether the values of a variable are in memory; the levels of a MultiIndex are an index of pandas."""
    return bool(variable._in_memory or type(variable._data).__name__.startswith("Pandas"))


def has_labels(value: Any) -> bool:
    """Whether a value is a labelled array with more than one bare number: dimensions, labels, a name or attributes."""
    if not is_labelled(value):
        return False
    parts = ("data_vars", "dims", "coords", "attrs", "name")
    return any(getattr(value, part, None) for part in parts)


def _variables(value: Any) -> Mapping[str, Any]:
    """Return the variables of a labelled array, with its labels."""
    named = {**getattr(value, "coords", {}), **getattr(value, "data_vars", {})}
    variables = {str(name): item.variable for name, item in named.items()}
    if not hasattr(value, "data_vars"):
        variables[""] = getattr(value, "variable", value)
    return variables


def _coordinate(name: Any, variable: Any) -> Any:
    return _values(variable) if variable.dims == (name,) else _variable_form(variable)


def _variable_form(variable: Any) -> dict[str, Any]:
    return {"dims": list(variable.dims), "values": _values(variable), **_attributes(variable)}


def _values(variable: Any) -> Any:
    return variable.values if _is_in_memory(variable) else NOT_LOADED


def _attributes(value: Any) -> dict[str, Any]:
    return {"attrs": dict(value.attrs)} if value.attrs else {}
