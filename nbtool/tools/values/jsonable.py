"""Convert structures of any type to JSON values within a budget."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import inspect
import json
import math
import pathlib
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from nbtool.messages import Media
from nbtool.tools.values.declared_form import (
    NotReadable,
    as_plain_container,
    contains_serializer,
    declared_form,
    is_record,
)
from nbtool.tools.values.sanitize import strip_controls, without_addresses
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.values.type_names import declared_type, type_name

MAX_BITS = 10_000
"""Maximum number of bits of an integer that is written out; Python refuses more than 4 300 digits."""

MAX_DEPTH = 20
"""Maximum nesting depth."""

LIBRARIES = ("pandas", "numpy", "polars", "xarray", "torch", "matplotlib", "plotly", "PIL")
"""Packages whose objects are only described inside other values, and rendered only at the top level."""

_LISTS = (list, tuple, set, frozenset, collections.deque)
_TEXT_TYPES = (
    datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath,
    complex,
)  # fmt: skip


def is_json_like(value: Any) -> bool:
    """Whether a value is rendered as JSON."""
    return (
        isinstance(value, (*_LISTS, dict, enum.Enum, *_TEXT_TYPES))
        or as_plain_container(value) is not None
        or is_record(value)
    ) and type(value).__module__.partition(".")[0] not in LIBRARIES


def readable_part(value: Any, budget: int) -> Any:
    """Return a value inside a table or a printed line: as JSON if a class in it declares what leaves it."""
    if not contains_serializer(value):
        return value
    return json.dumps(JsonConverter(budget).convert(value), ensure_ascii=False)


class JsonConverter:
    """Converts values to JSON values; `is_complete` and `has_objects` describe the conversion afterwards.

    A value takes at least one character, so at most `budget` values are inspected.
    """

    def __init__(self, budget: int) -> None:
        self._remaining = budget
        self._ancestors: set[int] = set()
        self.is_complete = True
        self.has_objects = False

    def convert(self, value: Any) -> Any:
        """Return a value as a JSON value."""
        self._remaining -= 1
        if value is None or value is True or value is False:
            return value
        if isinstance(value, enum.Enum):
            return self.convert(value.value)
        if isinstance(value, int | float | str):
            return self._scalar(value)
        if isinstance(value, Media):
            return str(value)
        if isinstance(value, _TEXT_TYPES):
            return strip_controls(value.isoformat() if hasattr(value, "isoformat") else str(value))
        return self._nested(value)

    def _scalar(self, value: int | float | str) -> Any:
        if isinstance(value, str):
            text = strip_controls(str.__str__(value))
            self._remaining -= len(text)
            return text
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else None  # JSON has no NaN (RFC 8259 section 6)
        return int(value) if value.bit_length() <= MAX_BITS else f"int of {value.bit_length()} bits"

    def _nested(self, value: Any) -> Any:
        if has_llm_repr(value):
            return self._repr(value)
        if id(value) in self._ancestors or len(self._ancestors) >= MAX_DEPTH:
            self.is_complete = False
            return "… (the same again)" if id(value) in self._ancestors else f"… ({describe(value)})"
        self._ancestors.add(id(value))
        try:
            if isinstance(value, dict):
                return self._mapping(value)
            if type(value) in _LISTS:
                return self._list(value, len(value))
            if (container := as_plain_container(value)) is not None:
                return self.convert(container)
            if is_record(value):
                return self._record(value)
            return self._list(value, len(value)) if isinstance(value, _LISTS) else self._object(value)
        finally:
            self._ancestors.discard(id(value))

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
                self.is_complete = False
                converted["…"] = f"{len(value) - len(converted)} more items"
                break
            name = strip_controls(key) if isinstance(key, str) else str(self.convert(key))
            self._remaining -= len(name)
            converted[name] = self.convert(item)
        return converted

    def _list(self, value: Iterable[Any], size: int) -> list[Any]:
        converted: list[Any] = []
        for item in value:
            if self._remaining <= 0:
                self.is_complete = False
                converted.append(f"… {size - len(converted)} more items")
                break
            converted.append(self.convert(item))
        return converted

    def _object(self, value: Any) -> Any:
        kind = type(value)
        if kind.__module__ == "numpy" and getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
            scalar = value.item()
            return self._scalar(scalar) if isinstance(scalar, int | float | str) else str(scalar)
        self.has_objects = True
        if kind.__module__.partition(".")[0] in LIBRARIES:
            self.is_complete = False
            return describe(value)
        if isinstance(value, bytes | bytearray):
            self.is_complete = False
            return describe(value)
        return self._repr(value)

    def _repr(self, value: Any) -> str:
        """Return an object's own representation; a description if it raises, without affecting the rest."""
        self.has_objects = True
        try:
            text = without_addresses(strip_controls(llm_repr(value) or own_repr(value)))
        except Exception as error:  # noqa: BLE001 - a user's class may raise anything
            self.is_complete = False
            text = f"{describe(value)} (rendering it failed: {type_name(type(error))})"
        self._remaining -= len(text)
        return text


def has_llm_repr(value: Any) -> bool:
    """Whether a class defines `_repr_llm_`, the text of its objects for a model."""
    return inspect.getattr_static(type(value), "_repr_llm_", None) is not None


def own_repr(value: Any) -> str:
    """Return the repr of an object; the default one of an object whose class was created at run time names its base."""
    kind: Any = type(value)
    declared = declared_type(kind)
    if declared is kind or kind.__repr__ is not object.__repr__:
        return repr(value)
    return f"<{declared.__module__}.{declared.__qualname__} object>"


def llm_repr(value: Any) -> str | None:
    """Return the text of `_repr_llm_`; None if there is no such method or it returns no text."""
    text = value._repr_llm_() if has_llm_repr(value) else None
    return text if isinstance(text, str) else None
