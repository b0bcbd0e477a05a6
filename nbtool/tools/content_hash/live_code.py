"""Hash the code of this process: functions, methods and classes with their captured values and names."""

from __future__ import annotations

import abc
from contextvars import ContextVar
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from nbtool.tools.content_hash.builtins import hash_value
from nbtool.tools.content_hash.classes import closure_values
from nbtool.tools.content_hash.code import names_in
from nbtool.tools.content_hash.code_names import (
    global_names,
    names_in_texts,
    passed_names,
    passes_class,
    passes_object,
    passes_self,
)
from nbtool.tools.content_hash.fields import class_name, instance_dict, mro, namespace
from nbtool.tools.content_hash.live_hasher import LiveHasher
from nbtool.tools.content_hash.live_modules import hash_imports
from nbtool.tools.content_hash.module_origin import has_user_globals, is_user_module
from nbtool.tools.content_hash.source import code_fingerprint

TOOL_ATTRIBUTE = "__nbtool_tool__"
"""The attribute that `@tool` sets on a function; it configures the tool, and does not affect what runs."""


def hash_function(function: FunctionType, hasher: LiveHasher) -> None:
    """Hash a function: its code, defaults, closure, attributes (`__wrapped__` too), named globals and imports."""
    names, looked_up = names_in(function.__code__), {*global_names(function.__code__)}
    names_passed, module_globals = passed_names(function.__code__), function.__globals__
    if names & READS_GLOBALS:
        in_texts = {name for text in names_in_texts(function.__code__) for name in text.split(".")}
        names, looked_up = names | in_texts, looked_up | in_texts
    hasher.found_names |= names
    hasher.passed_names |= names_passed
    hasher.update_text(code_fingerprint(function.__code__))
    for value in (function.__defaults__, function.__kwdefaults__):
        hasher.hash_as(value, is_complete=True)
    _hash_signature(function, hasher)
    for name, value in closure_values(function).items():
        hasher.update_text(name)
        hasher.hash_as(value, is_complete=name in names_passed)
    for name, attribute in function.__dict__.items():
        if name != TOOL_ATTRIBUTE:
            hasher.update_text(str(name))
            hasher.hash_as(attribute, is_complete=True)
    if has_user_globals(function):
        _hash_globals(function, looked_up, hasher)
        _hash_builtins(function, looked_up - module_globals.keys(), hasher)
        hash_imports(function, names, hasher)


def _hash_globals(function: FunctionType, names: set[str], hasher: LiveHasher) -> None:
    """Hash the globals that code looks up; of a context variable its identity, which is enough here."""
    module_globals, names_passed = function.__globals__, passed_names(function.__code__)
    module = module_globals.get("__name__")
    hasher.add_own_module(module)
    for name in sorted(name for name in names if name in module_globals):
        if type(module_globals[name]) is ContextVar:
            hasher.update_identity(module_globals[name])
        else:
            hasher.hash_named(module, name, module_globals[name], is_complete=name in names_passed)


def _hash_builtins(function: FunctionType, names: set[str], hasher: LiveHasher) -> None:
    """Hash what the names that are no globals mean: another function may have taken the place of a builtin."""
    builtin: dict[str, Any] = getattr(function, "__builtins__")  # noqa: B009 - its type does not have it
    with hasher.without_problems():
        for name in sorted(name for name in names if name in builtin):
            hasher.update_text(name)
            hasher.hash_as(builtin[name], is_complete=False)


def _hash_signature(function: FunctionType, hasher: LiveHasher) -> None:
    """Hash what others read of a function that is an object: its name, docstring and annotations."""
    if hasher.names is not None:
        return
    annotate = getattr(function, "__annotate__", None)  # since Python 3.14, annotations are code that is not run here
    with hasher.without_problems():
        for value in (function.__name__, function.__doc__, annotate or function.__annotations__):
            hasher.hash_as(value, is_complete=True)


def hash_method(method: Any, hasher: LiveHasher) -> None:
    """Hash a bound method with its object."""
    hash_value(method.__func__, hasher)
    hasher.hash_as(method.__self__, is_complete=hasher.is_complete or passes_self(method.__func__))


READS_GLOBALS = frozenset({"__globals__", "eval", "exec", "get_ipython", "globals", "user_ns"})
"""Names with which strings in code may be names of globals."""


def hash_builtin(function: Any, hasher: LiveHasher) -> None:
    """Hash a builtin function, with the object that it is bound to."""
    hasher.update_text(function.__qualname__)
    if type(function.__self__) is not ModuleType:
        hash_value(function.__self__, hasher)


def hash_partial(partial: Any, hasher: LiveHasher) -> None:
    """Hash a partial with its function and arguments."""
    for value in (partial.func, partial.args, partial.keywords, instance_dict(partial)):
        hasher.hash_as(value, is_complete=True)


def hash_live_class(kind: type, hasher: LiveHasher) -> None:
    """Hash a class: a user's class by its methods and attributes, which can change, else by its identity."""
    for base in mro(kind):
        hasher.update_text(class_name(base))
        if not is_user_module(namespace(base).get("__module__")):
            hasher.update_identity(base)
        elif hasher.is_first(base):
            hasher.add_own_module(namespace(base).get("__module__"))
            if base is kind and hasher.names is not None and _is_passed_on(kind, hasher.names):
                hasher.complete_ids.update(map(id, mro(kind)))
            with hasher.without_problems():
                _hash_members(base, hasher)


def _is_passed_on(kind: type, names: frozenset[str]) -> bool:
    """Whether a class method, or a method of the metaclass, that may run does more with a class than use attributes."""
    own = [item for base in mro(kind) for item in namespace(base).items()]
    of_metaclass = [
        item
        for base in mro(type(kind))
        if is_user_module(namespace(base).get("__module__"))
        for item in namespace(base).items()
    ]
    return any(can_run(name, member, names) and passes_class(member) for name, member in own) or any(
        can_run(name, member, names) and passes_object(member) for name, member in of_metaclass
    )


def _hash_members(kind: type, hasher: LiveHasher) -> None:
    """Hash the members that a user defined in a class and in its metaclass."""
    is_complete = hasher.names is None or id(kind) in hasher.reach.complete_ids
    for name, member in namespace(kind).items():
        if name not in _NOT_CODE and (is_complete or can_run(name, member, hasher.names or frozenset())):
            hasher.update_text(str(name))
            hasher.hash_as(member, is_complete=is_complete or name in hasher.reach.passed_names)
    if type(kind) is not type:
        _registered(kind, hasher)
        hash_live_class(type(kind), hasher)


def _registered(kind: type, hasher: LiveHasher) -> None:
    """Hash the classes registered with an abstract class: `isinstance` depends on them."""
    dump, registry = getattr(abc, "_get_dump", None), namespace(kind).get("_abc_impl")
    if dump and registry is not None:
        classes = (
            reference() for reference in dump(SimpleNamespace(_abc_impl=registry))[0]
        )  # it reads only this attribute
        hasher.update_text(f"registered {sorted(hasher.identify(class_) for class_ in classes if class_ is not None)}")


def can_run(name: str, member: Any, names: frozenset[str]) -> bool:
    """Whether a member of a class may run, or be read, given the names in the code: Python itself calls some."""
    if name in names:
        return True
    if type(member) is not FunctionType or not name.startswith("__") or name in _CONSTRUCTION_METHODS:
        return False
    return member.__code__.co_filename != _GENERATED and has_user_globals(member)


_GENERATED = "<string>"
"""The file name of methods generated by `dataclasses` and the like from the fields."""

_CONSTRUCTION_METHODS = {"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"}


def hash_wrapped(method: Any, hasher: LiveHasher) -> None:
    """Hash the function in a static method or a class method."""
    hash_value(method.__func__, hasher)


def hash_property(property_: Any, hasher: LiveHasher) -> None:
    """Hash the functions of a property."""
    for function in (property_.fget, property_.fset, property_.fdel):
        hash_value(function, hasher)


def hash_identity(value: Any, hasher: LiveHasher) -> None:
    """Hash an object that never changes in place, or whose state is irrelevant to a tool."""
    hasher.update_identity(value)


_NOT_CODE = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__static_attributes__",
             "__firstlineno__", "__orig_bases__", "__parameters__", "__slotnames__", TOOL_ATTRIBUTE}  # fmt: skip
