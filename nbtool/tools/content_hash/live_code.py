"""Writing the code of this process: functions, methods and classes with what they hold and name."""

from __future__ import annotations

import abc
from contextvars import ContextVar
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

from nbtool.tools.content_hash.builtins import write
from nbtool.tools.content_hash.classes import closed_over
from nbtool.tools.content_hash.code import names_in
from nbtool.tools.content_hash.fields import bases, class_name, namespace, state
from nbtool.tools.content_hash.live_hasher import LiveHasher
from nbtool.tools.content_hash.module_origin import has_own_globals, is_own
from nbtool.tools.content_hash.names import passed_on, passes_its_object, words_in
from nbtool.tools.content_hash.source import compiled
from nbtool.tools.values.describe import identity

MARK = "__nbtool_tool__"
"""What `@tool` leaves on a function; it says how the tool is offered, and changes nothing that runs."""


def write_function(function: FunctionType, ink: LiveHasher) -> None:
    """Write a function: its code, its defaults, what it closes over, carries (`__wrapped__` too) and names."""
    names = names_in(function.__code__)
    passed, around = passed_on(function.__code__), function.__globals__
    if names & READS_GLOBALS:
        names |= words_in(function.__code__) & around.keys()
    ink.found |= names
    ink.passed |= passed
    ink.mark(_code(function.__code__))
    for held in (function.__defaults__, function.__kwdefaults__):
        ink.write_as(held, is_whole=True)
    for name, held in closed_over(function).items():
        ink.mark(name)
        _named(held, names, ink, is_whole=name in passed)
    for name, carried in function.__dict__.items():
        if name != MARK:
            ink.mark(str(name))
            ink.write_as(carried, is_whole=True)
    if has_own_globals(function):
        for name in sorted(name for name in names if name in around):
            ink.mark(name)
            _named(around[name], names, ink, is_whole=name in passed)


def _named(held: Any, names: set[str], ink: LiveHasher, *, is_whole: bool) -> None:
    """Write what code names: of a module of the person's own what it names there, of others which module it is."""
    if type(held) not in (ModuleType, ContextVar):
        ink.write_as(held, is_whole=is_whole)
        return
    ink.mark(identity(held))
    if type(held) is ModuleType and is_own(vars(held).get("__name__")):
        inside = vars(held)
        for name in sorted(name for name in names if name in inside and type(inside[name]) is not ModuleType):
            ink.mark(name)
            ink.write_as(inside[name], is_whole=True)


def write_method(method: Any, ink: LiveHasher) -> None:
    """Write a bound method with its object."""
    write(method.__func__, ink)
    ink.write_as(method.__self__, is_whole=ink.is_whole or passes_its_object(method.__func__))


READS_GLOBALS = frozenset({"__globals__", "eval", "exec", "get_ipython", "globals", "user_ns"})
"""Names in whose company the texts in code may be names of globals."""


def write_builtin(function: Any, ink: LiveHasher) -> None:
    """Write a function of Python's own, with the object that it is bound to."""
    ink.mark(function.__qualname__)
    if type(function.__self__) is not ModuleType:
        write(function.__self__, ink)


def write_partial(partial: Any, ink: LiveHasher) -> None:
    """Write a partial with what it holds."""
    for held in (partial.func, partial.args, partial.keywords, state(partial)):
        ink.write_as(held, is_whole=True)


def write_class(kind: type, ink: LiveHasher) -> None:
    """Write a class: what a person wrote by its methods and attributes, which can change, else which class it is."""
    for base in bases(kind):
        ink.mark(class_name(base))
        if not is_own(namespace(base).get("__module__")):
            ink.mark(identity(base))
        elif ink.is_first(base):
            with ink.without_problems():
                _members(base, ink)


def _members(kind: type, ink: LiveHasher) -> None:
    """Write what a person put into a class, and into the class of that class."""
    is_whole = ink.names is None or id(kind) in ink.reach.whole
    for name, held in namespace(kind).items():
        if name not in _NOT_CODE and (is_whole or may_run(name, held, ink.names or frozenset())):
            ink.mark(str(name))
            ink.write_as(held, is_whole=is_whole or name in ink.reach.passed)
    if type(kind) is not type:
        _registered(kind, ink)
        write_class(type(kind), ink)


def _registered(kind: type, ink: LiveHasher) -> None:
    """Write which classes were registered with an abstract one: what `isinstance` says of them depends on it."""
    dump, held = getattr(abc, "_get_dump", None), namespace(kind).get("_abc_impl")
    if dump and held is not None:
        found = (reference() for reference in dump(SimpleNamespace(_abc_impl=held))[0])  # it reads this one attribute
        ink.mark(f"registered {sorted(identity(one) for one in found if one is not None)}")


def may_run(name: str, held: Any, names: frozenset[str]) -> bool:
    """Whether a member of a class may run, or be read, where the code names these: Python itself calls some."""
    if name in names:
        return True
    if type(held) is not FunctionType or not name.startswith("__") or name in _FOR_NEW_ONES:
        return False
    return held.__code__.co_filename != _GENERATED and has_own_globals(held)


_GENERATED = "<string>"
"""The file of methods that `dataclasses` and the like write from the fields."""

_FOR_NEW_ONES = {"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"}


def write_wrapped(method: Any, ink: LiveHasher) -> None:
    """Write the function in a static method or a class method."""
    write(method.__func__, ink)


def write_property(held: Any, ink: LiveHasher) -> None:
    """Write the functions of a property."""
    for function in (held.fget, held.fset, held.fdel):
        write(function, ink)


def write_identity(value: Any, ink: LiveHasher) -> None:
    """Write what never changes in place, or whose own state is no business of a tool."""
    ink.mark(identity(value))


_NOT_CODE = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__static_attributes__",
             "__firstlineno__", "__orig_bases__", "__parameters__", MARK}  # fmt: skip


def _code(code: CodeType) -> str:
    return f"{code.co_name} {code.co_flags} {compiled(code)}"
