"""Make a value of a scalar class of what was written for it, and compare the two."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

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
