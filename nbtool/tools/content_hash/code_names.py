"""Names and constants in compiled code: which globals it looks up, what it imports, and what it passes on."""

from __future__ import annotations

import dis
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from nbtool.tools.content_hash.fields import class_attribute

_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR"}
"""Instructions that read one attribute of an object and nothing else of it."""

_SKIPPED = {"CACHE", "COPY", "EXTENDED_ARG", "NOP"}
"""Instructions that may occur between an object and its attribute."""

_NO_OBJECTS = {"LOAD_CONST", "LOAD_CLOSURE", "LOAD_SMALL_INT"}

_LOOKUPS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL"}
"""Instructions that use a global."""

MAX_LEVEL = 100
"""More leading dots than any import has."""

_NAME = re.compile(r"[^\W\d][\w.]*")
"""A name in a text, also one with dots."""


@dataclass(frozen=True, slots=True)
class Import:
    """An import statement in code: the module as written, the number of leading dots, and the names taken from it."""

    module: str
    level: int
    names: tuple[str, ...]


@lru_cache(maxsize=4_096)
def passed_names(code: CodeType) -> frozenset[str]:
    """Return the names of objects with which code, including inner functions, does more than use their attributes.

    An object that is passed to a function, compared, iterated over, matched, printed or returned may be read in full.
    What is imported under another name is meant by both names.
    """
    names_found: set[str] = set()
    steps = _steps(code)
    for index, step in enumerate(steps):
        if not step.opname.startswith(("LOAD_", "STORE_FAST_LOAD")) or step.opname in _NO_OBJECTS:
            continue
        names = _argument_names(step)
        is_attribute_access = index + 1 < len(steps) and steps[index + 1].opname in _ATTRIBUTES
        names_found.update(names[:-1] if is_attribute_access else names)
    names_found.update(*(passed_names(part) for part in code.co_consts if type(part) is CodeType))
    for index, step in enumerate(steps):
        if step.opname in ("IMPORT_NAME", "IMPORT_FROM") and _bound_name(steps, index) in names_found:
            names_found.add(step.argval)
    return frozenset(names_found)


@lru_cache(maxsize=4_096)
def global_names(code: CodeType) -> frozenset[str]:
    """Return the names that code, including inner functions, looks up as globals, and not as attributes."""
    own = {step.argval for step in _steps(code) if step.opname in _LOOKUPS}
    return frozenset(own.union(*(global_names(part) for part in code.co_consts if type(part) is CodeType)))


@lru_cache(maxsize=4_096)
def imports(code: CodeType) -> frozenset[Import]:
    """Return the imports in code, including those of inner functions."""
    steps = _steps(code)
    own = {
        Import(step.argval, level.argval, tuple(_only_texts(names.argval)))
        for level, names, step in zip(steps, steps[1:], steps[2:], strict=False)  # as the compiler writes them
        if step.opname == "IMPORT_NAME"
    }
    return frozenset(own.union(*(imports(part) for part in code.co_consts if type(part) is CodeType)))


def _steps(code: CodeType) -> list[dis.Instruction]:
    """Return the instructions of code; of its constants only levels and lists of names: `dis` writes out each one."""
    constants = tuple(value if _is_of_import(value) else None for value in code.co_consts)
    steps = dis.get_instructions(code.replace(co_consts=constants))
    return [step for step in steps if step.opname not in _SKIPPED]


def _is_of_import(value: Any) -> bool:
    return (type(value) is int and value in range(MAX_LEVEL)) or (type(value) is tuple and {*map(type, value)} <= {str})


def _argument_names(step: dis.Instruction) -> list[str]:
    """Return the names that one instruction uses: two if it does the work of two."""
    return [step.argval] if isinstance(step.argval, str) else _only_texts(step.argval)


def _bound_name(steps: list[dis.Instruction], index: int) -> str:
    """Return the name that is bound to what one step imports; empty if a part of that is."""
    if steps[index + 1].opname == "IMPORT_FROM" and steps[index].opname == "IMPORT_NAME":
        return ""
    stores = (step for step in steps[index + 1 :] if step.opname.startswith("STORE_"))
    return next((name for step in stores for name in _argument_names(step)), "")


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


def names_in_texts(code: CodeType) -> set[str]:
    """Return the names, also with dots, in the strings of code, by which it can look up a global or a module."""
    own = {name for text in _only_texts(code.co_consts) for name in _NAME.findall(text)}
    return own.union(*(names_in_texts(part) for part in code.co_consts if type(part) is CodeType))


def _only_texts(constants: Any) -> list[str]:
    return [item for item in constants if type(item) is str] if isinstance(constants, tuple) else []
