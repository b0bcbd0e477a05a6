"""The numbers of numpy in a recorded result: they are recorded as numbers, with their types beside them.

A type is named by its dtype, such as `float64`, and that of an array without dimensions by `float64[]`; each has the
places of its numbers in the result as JSON pointers (RFC 6901), so that a replay gives back the same types.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from nbtool.errors import BadRecording

DTYPES = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
)
"""Types whose values are Python numbers without a loss."""

TYPE_SIZE = 24
"""Characters that the type of one number counts toward the size of a recorded result."""

_ARRAY = "[]"


def numpy_type(value: Any) -> str:
    """Return the type of a number of numpy; empty for any other value."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not issubclass(type(value), (numpy.generic, numpy.ndarray)):
        return ""
    name = value.dtype.name
    if name not in DTYPES or value.ndim != 0 or not value.dtype.isnative:
        return ""
    if type(value) is numpy.ndarray:
        return f"{name}{_ARRAY}"
    return name if type(value) is numpy.dtype(name).type else ""


def split_types(value: Any) -> tuple[Any, dict[str, list[str]]]:
    """Return a JSON value with Python numbers for those of numpy, and the places of each of their types."""
    places: dict[str, list[str]] = {}
    return _to_plain(value, "", places), places


def restore_types(value: Any, places: Mapping[str, list[str]]) -> Any:
    """Return a recorded value with numbers of numpy at these places.

    Raises:
        BadRecording: a type or a place does not exist, a number is none of its type, or numpy is not installed.
    """
    if not places:
        return value
    types = {place: kind for kind, found in places.items() for place in found}
    restored = _restore(value, "", types)
    if types:
        raise BadRecording("A recorded turn cannot be read: its result has no number at a recorded place.")
    return restored


def _to_plain(value: Any, place: str, places: dict[str, list[str]]) -> Any:
    if type(value) is dict:
        return {name: _to_plain(item, _join(place, name), places) for name, item in value.items()}
    if type(value) is list:
        return [_to_plain(item, _join(place, index), places) for index, item in enumerate(value)]
    if not (kind := numpy_type(value)):
        return value
    places.setdefault(kind, []).append(place)
    return value.item()


def _restore(value: Any, place: str, types: dict[str, str]) -> Any:
    if type(value) is dict:
        return {name: _restore(item, _join(place, name), types) for name, item in value.items()}
    if type(value) is list:
        return [_restore(item, _join(place, index), types) for index, item in enumerate(value)]
    return _make_number(value, types.pop(place)) if place in types else value


def _make_number(value: Any, kind: str) -> Any:
    try:
        import numpy as np  # noqa: PLC0415 - only a result that had numbers of numpy needs it
    except ImportError:
        raise BadRecording("A recorded result has numbers of numpy.", fix="`%pip install numpy`") from None
    name = kind.removesuffix(_ARRAY)
    if name not in DTYPES:
        raise BadRecording("A recorded turn cannot be read: the type of a number is unknown.")
    try:
        with np.errstate(all="ignore"):  # what does not fit is found by comparing
            made = np.array(value, dtype=name)
    except (TypeError, ValueError, OverflowError):
        made = np.array(None)
    if type(made.item()) is not type(value) or made.item() != value:
        raise BadRecording("A recorded turn cannot be read: a number is none of its type.")
    return made if kind.endswith(_ARRAY) else made[()]


def _join(place: str, name: str | int) -> str:
    return f"{place}/{str(name).replace('~', '~0').replace('/', '~1')}"
