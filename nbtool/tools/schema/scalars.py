"""Scalar classes of libraries: numbers, dates and texts that a model writes as JSON and a function gets as the class.

No class is known by its name. A scalar is a class of numpy, a subclass of a scalar that pydantic reads (`pd.Timestamp`
of `datetime`, `class UserId(str)`), a number by Python's `numbers`, or what behaves as a number or as a date. The class
itself makes its value of what was written, and that has to be equal to it: a number that does not fit is refused.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import inspect
import math
import numbers
import re
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, Union

from nbtool.tools.schema.field_classes import MadeOf

MAX_ROUNDING = 0.01
"""Maximum relative difference between a number and what a class of fewer digits, such as `np.float16`, makes of it."""

_FINER = re.compile(r"\.\d{6}\d*[1-9]")
"""Seconds of more digits than Python's own classes hold."""


def make_scalar(kind: Any, written: Any, given: Any) -> Any:
    """Return a value of a class that is equal to what was written.

    Args:
        kind: the class.
        written: the value that pydantic read, such as a `datetime`.
        given: the JSON value that it was read from, which may have more digits.

    Raises:
        ValueError: the class makes no such value.
    """
    if isinstance(written, kind):
        return written
    is_finer = isinstance(given, str) and not isinstance(written, str) and bool(_FINER.search(given))
    for make in _ways(kind, written, given):
        with contextlib.suppress(Exception):  # a class may refuse what it is not made of in any way
            made = make()
            if isinstance(made, kind) and (is_finer or _is_equal(made, written)):
                return made
        is_finer = False
    raise ValueError(f"no value of {kind.__name__}")


def _ways(kind: Any, written: Any, given: Any) -> Iterator[Callable[[], Any]]:
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, numpy.generic):
        yield from _ways_of_numpy(kind, written, given, numpy)
        return
    if isinstance(given, str):
        yield lambda: kind(given)
    if isinstance(written, dt.date | dt.time):
        yield lambda: kind.fromisoformat(written.isoformat())
    yield lambda: kind(written)
    yield lambda: kind.fromdatetime(written)
    yield lambda: kind(*written.__reduce__()[1])  # the parts of a duration


def _ways_of_numpy(kind: Any, written: Any, given: Any, numpy: Any) -> Iterator[Callable[[], Any]]:
    def quietly(make: Callable[[Any], Any], value: Any) -> Any:
        with numpy.errstate(all="ignore"):  # what does not fit is found by comparing
            return make(value)

    if isinstance(written, dt.datetime):
        yield lambda: kind(given.removesuffix("Z").removesuffix("+00:00"))
        written = _without_zone(written)
    yield lambda: quietly(kind, written)
    yield lambda: quietly(numpy.asarray, written)[()]


def _is_equal(made: Any, written: Any) -> bool:
    if isinstance(written, str) and not isinstance(made, str):
        return True  # such as a month, which is equal to no text
    if isinstance(written, dt.datetime) and type(made).__module__ == "numpy":
        return bool(made == _without_zone(written))
    if isinstance(written, dt.datetime) and written.tzinfo is None and getattr(made, "tzinfo", None):
        return bool(
            made.isoformat().startswith(written.isoformat())
        )  # a class whose moments are in UTC if none is said
    if type(written) is float and hasattr(made, "dtype"):  # numpy compares in the smaller of the two types
        rounding = 0 if isinstance(made, float) else MAX_ROUNDING
        return math.isclose(complex(made).real, written, rel_tol=rounding)
    return bool(made == written)


def _without_zone(moment: dt.datetime) -> dt.datetime:
    """Return a moment in UTC, as numpy has it."""
    return moment if moment.tzinfo is None else moment.astimezone(dt.UTC).replace(tzinfo=None)


_WRITTEN = (int, float, str, bool, list, dict)
"""The classes of JSON values; an `int` stands before a `bool`, which is one."""

_SCALAR_TYPES = {"string", "number", "integer", "boolean"}


def scalar_type(kind: Any, constraints: tuple[Any, ...] = (), arguments: tuple[Any, ...] = ()) -> Any:
    """Return the annotation of a scalar class, with constraints of what is written for it; None for any other class.

    An abstract class, such as `numbers.Real`, is one if some JSON values are its instances.
    """
    base = None
    if inspect.isclass(kind):
        base = _written_instances(kind, arguments) if isinstance(kind, ABCMeta) else None
        base = base or _base_of(kind)
    if base is None:
        return None
    return Annotated[
        Any, MadeOf(kind, Annotated[base, *constraints] if constraints else base, partial(make_scalar, kind))
    ]


def _written_instances(kind: Any, arguments: tuple[Any, ...]) -> Any:
    """Return the annotation of the JSON values that are instances of an abstract class."""
    written: list[Any] = [item for item in _WRITTEN if _is_subclass(item, kind)]
    if bool in written and int in written:
        written.remove(bool)
    containers = {1: list, 2: dict}
    if (container := containers.get(len(arguments))) in written:
        return container[arguments if len(arguments) > 1 else arguments[0]]  # type: ignore[index]  # is a class
    return Union[tuple(written)] if written else None  # noqa: UP007 - built from values


def _is_subclass(item: type, kind: Any) -> bool:
    try:
        return issubclass(item, kind)
    except TypeError:  # a protocol that Python does not check by itself
        return False


def _base_of(kind: type) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, numpy.generic):
        return _base_of_numpy(kind, numpy)
    for item in kind.__mro__[1:-1]:
        if not isinstance(item, ABCMeta) and _is_scalar(item):
            return _moment() if issubclass(item, dt.datetime) else item
    return _number(kind) or _like_a_number(kind) or _like_a_date(kind)


def _base_of_numpy(kind: Any, numpy: Any) -> Any:
    """Return what is written for a class of numpy's scalars, which says its kind by a letter.

    https://numpy.org/doc/stable/reference/arrays.interface.html
    """
    if kind in (numpy.generic, numpy.number):
        return int | float if kind is numpy.number else int | float | str | bool
    letter = numpy.dtype(kind).kind if kind in numpy.sctypeDict.values() else ""
    written = {"b": bool, "i": int, "u": int, "f": float, "c": complex, "U": str, "S": bytes, "m": dt.timedelta}
    if letter == "M":
        return _moment()
    return None if letter == "O" else written.get(letter) or _number(kind) or _like_a_number(kind)


def _moment() -> Any:
    """Return what is written for a class of moments: a date is its midnight."""
    from pydantic import AfterValidator  # noqa: PLC0415 - needed only when a tool is created

    return dt.datetime | Annotated[dt.date, AfterValidator(_midnight)]


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time())


def _number(kind: type) -> Any:
    """Return what is written for a class that Python knows as a number."""
    if issubclass(kind, numbers.Integral):
        return int
    return float if issubclass(kind, numbers.Number) else None


def _like_a_number(kind: Any) -> Any:
    """Return what is written for a class with the arithmetic of a number, unless it is a container."""
    if any(hasattr(kind, name) for name in ("__len__", "__iter__", "__getitem__")):
        return None
    if not all(hasattr(kind, name) for name in ("__float__", "__add__", "__mul__")) or kind.__eq__ is object.__eq__:
        return None
    base = int if hasattr(kind, "__index__") else float
    try:
        make_scalar(kind, base(1), 1)
    except ValueError:  # such as a formula, which has a value and is not made of one
        return None
    return base


def _like_a_date(kind: Any) -> Any:
    """Return what is written for a class of dates that is none of Python's."""
    if not hasattr(kind, "isoformat"):
        return str if hasattr(kind, "strftime") and hasattr(kind, "now") else None
    if hasattr(kind, "fromdatetime"):
        return _moment()
    if not hasattr(kind, "fromisoformat"):
        return None
    parts = (hasattr(kind, "year"), hasattr(kind, "hour"))
    return {(True, True): _moment(), (True, False): dt.date, (False, True): dt.time}.get(parts)


def _is_scalar(kind: Any) -> bool:
    """Whether pydantic reads a class from a JSON value that is no array and no object."""
    from pydantic import PydanticUserError, TypeAdapter  # noqa: PLC0415 - needed only when a tool is created

    try:
        schema = TypeAdapter(kind).json_schema()
    except (PydanticUserError, TypeError, AttributeError, NameError):
        return False
    return {item.get("type") for item in schema.get("anyOf", [schema])} <= _SCALAR_TYPES
