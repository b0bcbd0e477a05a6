"""Hash the user's own modules, whatever way code reaches them: a global, an attribute, an import of its own, a name."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from itertools import accumulate
from types import FunctionType, ModuleType
from typing import Any

from nbtool.tools.content_hash.builtins import hash_value
from nbtool.tools.content_hash.code_names import Import, imports, names_in_texts
from nbtool.tools.content_hash.live_hasher import LiveHasher
from nbtool.tools.content_hash.module_origin import is_own_file, is_user_module

_NAMESPACE = vars(ModuleType)["__dict__"]
_NOT_CONTENT = {
    "__builtins__",
    "__cached__",
    "__file__",
    "__path__",
    "__warningregistry__",
    *vars(ModuleType("")).keys(),
}
"""Attributes of every module, and those that Python sets when it imports or runs one."""

_BY_NAME = ({"import_module"}, {"__import__"}, {"sys", "modules"})
"""Names with which code can reach a module whose name is a value."""


def hash_module(module: ModuleType, hasher: LiveHasher) -> None:
    """Hash a module: of one of the user's own the names that code uses, all if code does more with it than that."""
    namespace: dict[str, Any] = _NAMESPACE.__get__(module)
    hasher.update_identity(module)
    if not is_user_module(namespace.get("__name__")):
        if not hasher.is_of_tool:
            hasher.add_problem("a module cannot be compared")
        return
    hasher.add_own_module(namespace.get("__name__"))
    if type(module) is not ModuleType:
        hash_value(type(module), hasher)
    is_complete = hasher.names is None or hasher.is_complete
    for name in sorted(name for name in namespace if type(name) is str and name not in _NOT_CONTENT):
        if is_complete or name == "__getattr__" or hasher.has_found(name):
            is_passed = is_complete or name in hasher.reach.passed_names
            hasher.hash_named(namespace.get("__name__"), name, namespace[name], is_complete=is_passed)


def hash_imports(function: FunctionType, names: set[str], hasher: LiveHasher) -> None:
    """Hash the user's own modules that a function imports when it runs."""
    package = _package(function)
    found = {name for item in imports(function.__code__) for name in _module_names(item, package)}
    if any(names >= way for way in _BY_NAME):
        hasher.add_code_problem("it loads modules by names that it computes")
        found |= {
            name for text in names_in_texts(function.__code__) for name in _with_parents(text)
        } & sys.modules.keys()
    for name in sorted(found):
        module = sys.modules.get(name)
        if module is None:
            hasher.update_text(f"{name} is not loaded")
            if _is_own(name):
                hasher.add_code_problem(f"the module {name} is not loaded yet")
        elif is_user_module(name):
            hasher.update_text(name)
            is_passed = not {name, name.rpartition(".")[2]}.isdisjoint(hasher.reach.passed_names)
            hasher.hash_as(module, is_complete=is_passed)


def _module_names(item: Import, package: str) -> Iterator[str]:
    """Yield the absolute names of the modules that an import loads, parents included."""
    try:
        name = importlib.util.resolve_name("." * item.level + item.module, package)
    except ImportError:  # a relative import outside a package: it fails when it runs
        return
    yield from _with_parents(name)
    module = sys.modules.get(name)
    is_package = type(module) is ModuleType and _has_name(module, "__path__")
    for part in item.names if is_package else ():
        if not _has_name(sys.modules[name], part) or f"{name}.{part}" in sys.modules:
            yield f"{name}.{part}"


def _has_name(module: ModuleType, name: str) -> bool:
    """Whether a module has a name, without running its code."""
    return name in _NAMESPACE.__get__(module)


def _with_parents(name: str) -> Iterator[str]:
    return accumulate(name.split("."), "{}.{}".format)


def _package(function: FunctionType) -> str:
    module_globals = function.__globals__
    package, name = module_globals.get("__package__"), module_globals.get("__name__")
    if type(package) is str:
        return package
    return name.rpartition(".")[0] if type(name) is str else ""


def _is_own(name: str) -> bool:
    """Whether a module that is not loaded would be loaded from the user's own files."""
    parent, _, _ = name.rpartition(".")
    if parent and parent not in sys.modules:
        return False  # the parent decides
    path = list(getattr(sys.modules[parent], "__path__", ())) if parent else None
    spec = PathFinder.find_spec(name, path)
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    return any(is_own_file(place) for place in places if type(place) is str and place not in ("built-in", "frozen"))
