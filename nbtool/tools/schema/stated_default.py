"""The default of a parameter as its schema states it: the JSON value that would be read as this default."""

from __future__ import annotations

import inspect
import json
import types
from typing import Any

from nbtool.tools.schema.parameter import Parameter

MAX_DEFAULT = 2_000
"""Maximum number of characters of a default in a schema; a longer one is not stated."""


def stated_default(parameter: Parameter) -> tuple[Any, ...]:
    """Return the JSON value of a default, alone in a tuple; an empty one if there is none that is read as it.

    A secret that shows as asterisks, an object of the notebook and an infinity have none.
    """
    default = parameter.default
    if default is inspect.Parameter.empty or is_json_value(default):
        return () if default is inspect.Parameter.empty else (default,)
    try:
        written = _written(default)
        is_same = _is_same(parameter.read(written), default) and len(json.dumps(written)) <= MAX_DEFAULT
    except Exception:  # noqa: BLE001 - of a default's class, or of a check of the tool's own
        return ()
    return (written,) if is_same else ()


def _is_same(read: Any, default: Any) -> bool:
    """Whether a default was read again; a list stands for a tuple."""
    if isinstance(read, list) and isinstance(default, tuple):
        return read == [*default]
    return bool(read == default)


def is_json_value(value: Any) -> bool:
    """Whether a default has exactly this form in JSON."""
    if type(value) in (list, dict):
        return all(map(is_json_value, value.values() if type(value) is dict else value)) and not (
            type(value) is dict and any(type(key) is not str for key in value)
        )
    return type(value) in (str, int, bool, types.NoneType) or (
        type(value) is float and value == value and abs(value) != float("inf")
    )


def _written(default: Any) -> Any:
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - needed only when a tool is created

    def plain(value: Any) -> Any:
        return value.item()  # a number of numpy

    return to_jsonable_python(plain(default) if hasattr(default, "item") else default, fallback=plain)
