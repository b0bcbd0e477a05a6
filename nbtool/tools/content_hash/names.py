"""Names in code: which ones it looks up, and which of the objects behind them it passes on."""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR"}
"""Instructions that take one attribute of an object and leave the rest of it alone."""

_BETWEEN = {"CACHE", "COPY", "EXTENDED_ARG", "NOP"}
"""Instructions that may stand between an object and its attribute."""

_NO_OBJECTS = {"LOAD_CONST", "LOAD_CLOSURE", "LOAD_SMALL_INT"}


@lru_cache(maxsize=4_096)
def passed_on(code: CodeType) -> frozenset[str]:
    """Return the names of objects with which code, its inner functions too, does more than use their attributes.

    What is passed to a function, compared, iterated over, matched, written out or returned may be read as a whole.
    """
    found: set[str] = set()
    steps = [step for step in dis.get_instructions(code) if step.opname not in _BETWEEN]
    for at, step in enumerate(steps):
        if not step.opname.startswith(("LOAD_", "STORE_FAST_LOAD")) or step.opname in _NO_OBJECTS:
            continue
        names = [step.argval] if isinstance(step.argval, str) else list(_texts(step.argval))
        is_taken_from = at + 1 < len(steps) and steps[at + 1].opname in _ATTRIBUTES
        found.update(names[:-1] if is_taken_from else names)
    return frozenset(found.union(*(passed_on(part) for part in code.co_consts if type(part) is CodeType)))


def passes_its_object(function: Any) -> bool:
    """Return whether a method does more with its own object than use attributes of it."""
    if type(function) is not FunctionType:
        return True
    code = function.__code__
    return bool(code.co_argcount) and code.co_varnames[0] in passed_on(code)


def words_in(code: CodeType) -> set[str]:
    """Return the texts in code: names by which it can look up a global that it does not name otherwise."""
    inner = (words_in(part) for part in code.co_consts if type(part) is CodeType)
    return set(_texts(code.co_consts)).union(*inner)


def _texts(found: Any) -> list[str]:
    return [one for one in found if type(one) is str] if isinstance(found, tuple) else []
