"""Structures of any kind → what JSON can say, no more of it than a budget can hold."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import inspect
import math
import pathlib
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from nbtool.messages import Media
from nbtool.tools.values.describe import describe, type_name
from nbtool.tools.values.sanitize import plain_text, without_addresses

MAX_BITS = 10_000
"""Bits of a number that is written out; Python itself refuses more than 4 300 digits."""

MAX_DEPTH = 20
"""Levels of nesting that are written out."""

LIBRARIES = ("pandas", "numpy", "polars", "xarray", "torch", "matplotlib", "plotly", "PIL")
"""Packages whose objects are named inside other values, and written out only on their own."""

_LISTS = (list, tuple, set, frozenset, collections.deque)
_WORDS = (
    datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, fractions.Fraction, uuid.UUID, pathlib.PurePath,
    complex,
)  # fmt: skip


def is_structure(value: Any) -> bool:
    """Whether a value is written as JSON."""
    kind = type(value)
    is_record = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return (
        isinstance(value, (*_LISTS, dict, enum.Enum, *_WORDS)) or is_record or _fields(value) is not None
    ) and kind.__module__.partition(".")[0] not in LIBRARIES


class Jsonable:
    """Makes plain values; afterwards `is_whole` says whether all of it was taken, `has_objects` whether it was plain.

    A value takes at least one character, so no more than `budget` of them are looked at.
    """

    def __init__(self, budget: int) -> None:
        self._left = budget
        self._above: set[int] = set()
        self.is_whole = True
        self.has_objects = False

    def of(self, value: Any) -> Any:
        """Give a value as JSON can say it."""
        self._left -= 1
        if value is None or value is True or value is False:
            return value
        if isinstance(value, enum.Enum):
            return self.of(value.value)
        if isinstance(value, int | float | str):
            return self._atom(value)
        if isinstance(value, Media):
            return str(value)
        if isinstance(value, _WORDS):
            return plain_text(value.isoformat() if hasattr(value, "isoformat") else str(value))
        return self._nested(value)

    def _atom(self, value: int | float | str) -> Any:
        if isinstance(value, str):
            text = plain_text(str.__str__(value))
            self._left -= len(text)
            return text
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else None  # JSON knows no NaN (RFC 8259 section 6)
        return int(value) if value.bit_length() <= MAX_BITS else f"int of {value.bit_length()} bits"

    def _nested(self, value: Any) -> Any:
        if has_own_form(value):
            return self._told(value)
        if id(value) in self._above or len(self._above) >= MAX_DEPTH:
            self.is_whole = False
            return "… (the same again)" if id(value) in self._above else f"… ({describe(value)})"
        self._above.add(id(value))
        try:
            if isinstance(value, dict):
                return self._mapping(value)
            if (fields := _fields(value)) is not None:
                return self._mapping(fields)
            if isinstance(value, _LISTS):
                return self._list(value, len(value))
            return self._leaf(value)
        finally:
            self._above.discard(id(value))

    def _mapping(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, inner in value.items():
            if self._left <= 0:
                self.is_whole = False
                made["…"] = f"{len(value) - len(made)} more items"
                break
            name = plain_text(key) if isinstance(key, str) else str(self.of(key))
            self._left -= len(name)
            made[name] = self.of(inner)
        return made

    def _list(self, value: Iterable[Any], size: int) -> list[Any]:
        made: list[Any] = []
        for inner in value:
            if self._left <= 0:
                self.is_whole = False
                made.append(f"… {size - len(made)} more items")
                break
            made.append(self.of(inner))
        return made

    def _leaf(self, value: Any) -> Any:
        kind = type(value)
        if kind.__module__ == "numpy" and getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
            plain = value.item()
            return self._atom(plain) if isinstance(plain, int | float | str) else str(plain)
        self.has_objects = True
        if kind.__module__.partition(".")[0] in LIBRARIES:
            self.is_whole = False
            return describe(value)
        if isinstance(value, bytes | bytearray):
            self.is_whole = False
            return describe(value)
        return self._told(value)

    def _told(self, value: Any) -> str:
        """Let an object say itself what it is; one that cannot is named, and the rest is none the worse for it."""
        self.has_objects = True
        try:
            text = without_addresses(plain_text(own_form(value) or repr(value)))
        except Exception as error:  # noqa: BLE001 - what the code of a person's own class raises, whatever it is
            self.is_whole = False
            text = f"{describe(value)} (it cannot be shown: {type_name(type(error))})"
        self._left -= len(text)
        return text


def has_own_form(value: Any) -> bool:
    """Whether a class says itself, by `_repr_llm_`, how a model should read its objects."""
    return inspect.getattr_static(type(value), "_repr_llm_", None) is not None


def own_form(value: Any) -> str | None:
    """Give what `_repr_llm_` says; None where there is none, or where it gives no text."""
    text = value._repr_llm_() if has_own_form(value) else None
    return text if isinstance(text, str) else None


def _fields(value: Any) -> dict[str, Any] | None:
    """Give the fields of a record: a dataclass, a pydantic model, a named tuple."""
    kind = type(value)
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value) if field.repr}
    if isinstance(fields := getattr(kind, "model_fields", None), dict):
        return {name: getattr(value, name, None) for name, field in fields.items() if getattr(field, "repr", True)}
    if isinstance(value, tuple) and isinstance(names := getattr(kind, "_fields", None), tuple):
        return dict(zip(names, value, strict=False))
    return None
