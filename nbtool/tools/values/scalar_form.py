"""Scalars of any library as JSON scalars: all digits that distinguish a number, and each missing value by its name."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
import pathlib
import struct
import sys
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Final

TEXT_TYPES = (
    datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath,
    complex,
)  # fmt: skip
"""Scalars that JSON has not: they are texts."""

NO_SCALAR: Final = object()
"""Returned for a value that is no scalar."""

MISSING_TEXTS = ("<NA>", "NaT")
"""The texts of missing values that are neither None nor a number."""

_FORMATS = {2: "e", 4: "f"}
"""The formats of `struct` for numbers with fewer digits than a Python float, by their size in bytes."""


def scalar_form(value: Any) -> Any:
    """Return a scalar of any library as a Python scalar, or as a text; `NO_SCALAR` if it is none.

    The fields of a record of a structured array are a dict.
    """
    if isinstance(value, TEXT_TYPES):
        return _text_of(value)
    kind = type(value)
    if hasattr(kind, "as_py"):
        content = value.as_py()  # of pyarrow
        return shortest_float(content, float_size(value.type)) if isinstance(content, float) else content
    if hasattr(kind, "ndim") and hasattr(kind, "dtype") and hasattr(kind, "item") and value.ndim == 0:
        return _array_scalar(value)
    if any(base.__name__ == "ExtensionDtype" for base in kind.__mro__) and repr(value).startswith("<"):
        return str(value)  # the name of a type of pandas
    pandas = sys.modules.get("pandas")
    if kind.__module__.partition(".")[0] == "pandas" and pandas and pandas.api.types.is_scalar(value):
        return str(value)
    return NO_SCALAR


def is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one: `pd.NA`, `pd.NaT`, `NaT` of numpy."""
    return (
        type(value).__module__.partition(".")[0] in ("pandas", "numpy")
        and not hasattr(value, "__len__")
        and (str(value) in MISSING_TEXTS)
    )


def shortest_float(value: float, size: int) -> float:
    """Return the float with the fewest digits that is the same number of `size` bytes.

    A number of four bytes that is written with the digits of eight seems to have digits that it has not.
    """
    if (layout := _FORMATS.get(size)) is None or not math.isfinite(value):
        return value
    packed = struct.pack(layout, value)
    for digits in range(1, 10):
        candidate = float(f"{value:.{digits}g}")
        try:
            if struct.pack(layout, candidate) == packed:
                return candidate
        except OverflowError:  # it was rounded up beyond the largest number
            continue
    return value


def shortest_floats(values: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield the values of a column, its floats as `shortest_float`."""
    return (shortest_float(value, size) if isinstance(value, float) else value for value in values)


def float_size(dtype: Any) -> int:
    """Return the size in bytes of a type of numbers, by its name; 8 if it is no shorter float."""
    name = str(dtype).removesuffix("[pyarrow]").rpartition(".")[2].lower()
    if name in ("float32", "float"):  # `float` is the name in pyarrow
        return 4
    return 2 if name in ("float16", "halffloat") else 8


def dtype_kind(value: Any) -> str:
    """Return the kind of a value of numpy, such as `f` for a float; empty for other values."""
    has_dtype = hasattr(type(value), "dtype")  # asked of the class: `__getattr__` of an object may raise anything
    return str(getattr(value.dtype, "kind", "")) if has_dtype else ""


def _text_of(value: Any) -> str:
    is_moment = hasattr(value, "isoformat") and not isinstance(value, datetime.timedelta)
    return str(value.isoformat() if is_moment else value)


def _array_scalar(value: Any) -> Any:
    """Return a number of numpy or the like, or the content of an array without dimensions."""
    kind = getattr(value.dtype, "kind", "")
    if kind == "V" and value.dtype.names:
        return {name: value[name] for name in value.dtype.names}  # of a masked record each field is masked or not
    if getattr(value, "mask", False):
        return None
    if kind in ("m", "M"):
        return str(value)
    if kind == "c":
        return str(value)
    if kind == "f" and value.dtype.itemsize > 8:
        return _long_float(value)
    content = value.item()
    size = value.dtype.itemsize if kind == "f" else float_size(value.dtype)
    return shortest_float(content, size) if isinstance(content, float) else content


def _long_float(value: Any) -> float | str:
    """Return a number with more digits than a Python float has as a float if it is one, else as a text."""
    short = float(value)
    return short if math.isnan(short) or value == short else str(value)
