"""Writing code: functions by their source and what they hold, classes, modules; nothing of it is called."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from nbtool.tools.content_hash.classes import NOTEBOOK, HashValue, closure_values, is_class, is_of_notebook
from nbtool.tools.content_hash.fields import class_name, module_of, namespace
from nbtool.tools.content_hash.hasher import CodeNotHashable, Hasher, NotHashable
from nbtool.tools.content_hash.source import MAX_SOURCE, source_of

_METHODS = (FunctionType, staticmethod, classmethod)


def hash_function(function: FunctionType, hasher: Hasher, hash_value: HashValue) -> None:
    """Write a function: its source, its defaults, the code it closes over, and the notebook's functions that it calls.

    What it holds that cannot be compared counts by its type alone, and so does what it closes over and may change from
    call to call (see `global_data`): a function is what its author wrote.
    """
    if not hasher.enter(function):
        return
    hasher.update_text(function.__qualname__ if type(function.__qualname__) is str else "")
    hasher.update_text(source_of(function.__code__))
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        hash_captured(value, hasher, hash_value)
    for value in closure_values(function).values():
        if is_code(value):
            hash_captured(value, hasher, hash_value)
        else:
            hasher.update_text(class_name(type(value)))
    for name, callee in sorted(called_functions(function).items()):
        hasher.update_text(name)
        hash_captured(callee, hasher, hash_value)
    for name, (file, functions) in sorted(own_modules(function).items()):
        hasher.update_text(f"{name} {_file_hash(file)}")
        for value in functions:  # a file that was edited since says nothing of the code that is loaded
            hash_captured(value, hasher, hash_value)
    hasher.exit()


def hash_captured(value: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Write something that code holds: its content, or its type alone where that cannot be compared.

    Raises:
        UnknownCode: it is code of the notebook itself, which must not change unnoticed.
    """
    child = hasher.fork()
    try:
        hash_value(value, child)
    except CodeNotHashable:
        raise
    except (NotHashable, RecursionError):
        hasher.update_text(class_name(type(value)))
    else:
        hasher.merge_unordered([child])


def is_code(value: Any) -> bool:
    """Whether a value is a function, a class or a module: what somebody wrote, and no state."""
    return type(value) in (FunctionType, BuiltinFunctionType, MethodType, ModuleType) or is_class(value)


def global_data(function: Any) -> dict[str, Any]:
    """Give the data that a function works on beside its arguments, and the functions of the notebook that it calls.

    That is what they close over, and what they name in the notebook.
    """
    data: dict[str, Any] = {}
    queue, visited = [function], set[int]()
    while queue:
        current = queue.pop(0)
        if type(current) is FunctionType and id(current) not in visited:
            visited.add(id(current))
            data = {**_referenced_data(current), **data}
            queue += called_functions(current).values()
        elif is_class(current) and id(current) not in visited:
            visited.add(id(current))
            queue += [
                getattr(member, "__func__", member)
                for member in namespace(current).values()
                if type(member) in _METHODS
            ]
    return {name: data[name] for name in sorted(data)}


def _referenced_data(function: FunctionType) -> dict[str, Any]:
    module_globals = function.__globals__
    is_notebook = module_globals.get("__name__") == NOTEBOOK
    globals_used = {
        name: module_globals[name] for name in names_in(function.__code__) if is_notebook and name in module_globals
    }
    data = {**globals_used, **closure_values(function)}
    return {name: value for name, value in data.items() if not is_code(value)}


def called_functions(function: FunctionType) -> dict[str, Any]:
    """Give the functions and classes of the same notebook that a function names."""
    module_globals = function.__globals__
    if module_globals.get("__name__") != NOTEBOOK:
        return {}
    globals_used = {name: module_globals[name] for name in names_in(function.__code__) if name in module_globals}
    return {name: value for name, value in globals_used.items() if _is_notebook_code(value, module_globals)}


def own_modules(function: FunctionType) -> dict[str, tuple[Path, list[Any]]]:
    """Give the person's own modules that a function of the notebook names: their files, and what it uses of them.

    Installed packages and Python itself are none: they change with a version, and rarely what a tool gives.
    """
    module_globals = function.__globals__
    if module_globals.get("__name__") != NOTEBOOK:
        return {}
    names = names_in(function.__code__)
    modules: dict[str, tuple[Path, list[Any]]] = {}
    for value in (module_globals[name] for name in sorted(names) if name in module_globals):
        module = value if type(value) is ModuleType else sys.modules.get(_module_name(value))
        if module and (file := _own_file(module)):
            values = (
                [vars(module)[name] for name in sorted(names) if name in vars(module)] if value is module else [value]
            )
            _, used = modules.setdefault(module.__name__, (file, []))
            used += [value_ for value_ in values if type(value_) is FunctionType]
    return modules


def _module_name(value: Any) -> str:
    name = value.__module__ if type(value) is FunctionType else module_of(value) if is_class(value) else ""
    return name if type(name) is str else ""


def _own_file(module: ModuleType) -> Path | None:
    """Give the file of a module that is neither nbtool's, nor Python's, nor installed."""
    file, name = vars(module).get("__file__"), str(vars(module).get("__name__")).partition(".")[0]
    if type(file) is not str or name in (NOTEBOOK, "nbtool") or name in sys.stdlib_module_names:
        return None
    return None if {"site-packages", "dist-packages"} & set(Path(file).parts) else Path(file)


def _file_hash(file: Path) -> str:
    try:
        is_small = file.stat().st_size <= MAX_SOURCE
        return hashlib.sha256(file.read_bytes()).hexdigest() if is_small else ""
    except OSError:
        return ""


def names_in(code: CodeType) -> set[str]:
    """Give the names that code looks up outside itself, in its inner functions too."""
    inner = (names_in(part) for part in code.co_consts if type(part) is CodeType)
    return set(code.co_names).union(*inner)


def hash_builtin(function: Any, hasher: Hasher, hash_value: HashValue) -> None:  # noqa: ARG001 - one shape for all code
    """Write a function that is part of Python or of an extension: its name says it."""
    owner = function.__self__
    hasher.update_text(function.__qualname__)
    hasher.update_text(owner.__name__ if type(owner) is ModuleType else class_name(type(owner)))


def hash_method(method: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Write a bound method: the function, and the type of its object, which may change with each call."""
    hash_captured(method.__func__, hasher, hash_value)
    hasher.update_text(class_name(type(method.__self__)))


def hash_partial(partial: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Write a partial: the function and what it is given."""
    for value in (partial.func, *partial.args, *partial.keywords.values()):
        hash_captured(value, hasher, hash_value)
    hasher.update_text(" ".join(map(str, partial.keywords)))


def hash_module(module: ModuleType, hasher: Hasher, hash_value: HashValue) -> None:  # noqa: ARG001 - one shape for all code
    """Write a module: its name and version, or else its file.

    Raises:
        Unknown: it has neither.
    """
    namespace_ = vars(module)
    hasher.update_text(str(namespace_.get("__name__")))
    version, file = namespace_.get("__version__"), namespace_.get("__file__")
    if type(version) is str:
        hasher.update_text(version)
    elif namespace_.get("__name__") in sys.stdlib_module_names:
        hasher.update_text(sys.version)
    elif type(file) is str and Path(file).is_file() and Path(file).stat().st_size <= MAX_SOURCE:
        hasher.update_text(hashlib.sha256(Path(file).read_bytes()).hexdigest())
    else:
        raise NotHashable("the module cannot be compared")


def _is_notebook_code(value: Any, module_globals: dict[str, Any]) -> bool:
    if type(value) is FunctionType:
        return value.__globals__ is module_globals
    return is_class(value) and is_of_notebook(value)
