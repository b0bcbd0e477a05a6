"""The names of types, also of column types, without values in them; a class made at run time is named by its base."""

from __future__ import annotations

import re
import sys
from typing import Any

from nbtool.text import shorten
from nbtool.tools.values.sanitize import single_line

MAX_NAME = 64
"""Maximum number of characters of the name of a type or a column."""

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


def type_name(kind: type) -> str:
    """Return the name of a type without its module."""
    return shorten(single_line(kind.__name__), MAX_NAME)


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


def _is_declared(kind: type) -> bool:
    qualified_name = kind.__qualname__
    flags = kind.__flags__
    if not flags & _HEAP_TYPE or flags & _IMMUTABLE_TYPE or "<locals>" in qualified_name:
        return True
    current: Any = sys.modules.get(kind.__module__)
    for part in qualified_name.split("."):
        current = getattr(current, part, None)
    return isinstance(current, type)
