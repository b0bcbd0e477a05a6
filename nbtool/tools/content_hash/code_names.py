"""Names and constants in compiled code: which globals it looks up, and which of these objects it passes on."""

from __future__ import annotations

import dis
from functools import cached_property, lru_cache
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from nbtool.tools.content_hash.fields import class_attribute

_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR"}
"""Instructions that read one attribute of an object and nothing else of it."""

_SKIPPED = {"CACHE", "COPY", "EXTENDED_ARG", "NOP"}
"""Instructions that may occur between an object and its attribute."""

_NO_OBJECTS = {"LOAD_CONST", "LOAD_CLOSURE", "LOAD_SMALL_INT"}


@lru_cache(maxsize=4_096)
def passed_names(code: CodeType) -> frozenset[str]:
    """Return the names of objects with which code, including inner functions, does more than use their attributes.

    An object that is passed to a function, compared, iterated over, matched, printed or returned may be read in full.
    """
    names_found: set[str] = set()
    steps = [step for step in dis.get_instructions(code) if step.opname not in _SKIPPED]
    for index, step in enumerate(steps):
        if not step.opname.startswith(("LOAD_", "STORE_FAST_LOAD")) or step.opname in _NO_OBJECTS:
            continue
        names = [step.argval] if isinstance(step.argval, str) else list(_only_texts(step.argval))
        is_attribute_access = index + 1 < len(steps) and steps[index + 1].opname in _ATTRIBUTES
        names_found.update(names[:-1] if is_attribute_access else names)
    return frozenset(names_found.union(*(passed_names(part) for part in code.co_consts if type(part) is CodeType)))


def passes_self(function: Any) -> bool:
    """Return whether a method does more with its own object than use attributes of it."""
    if type(function) is not FunctionType:
        return True
    code = function.__code__
    return bool(code.co_argcount) and code.co_varnames[0] in passed_names(code)


def passes_object(member: Any) -> bool:
    """Return whether a member of a class does more with the object that it is used on than use attributes of it."""
    kind = type(member)
    if kind is property:
        return any(passes_self(part) for part in (member.fget, member.fset, member.fdel) if part is not None)
    if kind is cached_property:
        return passes_self(member.func)
    if kind in _WITHOUT_OBJECT:
        return False
    return class_attribute(kind, "__get__") is not None and passes_self(member)


def passes_class(member: Any) -> bool:
    """Return whether a member is a class method that does more with its class than use attributes of it."""
    return type(member) is classmethod and passes_self(member.__func__)


_WITHOUT_OBJECT = (staticmethod, classmethod, MemberDescriptorType, GetSetDescriptorType)
"""Descriptors that run no code with the object."""


def constant_texts(code: CodeType) -> set[str]:
    """Return the strings in code: names by which it can look up a global dynamically."""
    inner = (constant_texts(part) for part in code.co_consts if type(part) is CodeType)
    return set(_only_texts(code.co_consts)).union(*inner)


def _only_texts(constants: Any) -> list[str]:
    return [item for item in constants if type(item) is str] if isinstance(constants, tuple) else []
