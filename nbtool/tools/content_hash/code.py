"""Hash code: functions by their source and captured values, classes, modules; nothing is called."""

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
    """Hash a function: its source, its defaults, its closure, and the notebook's functions that it calls.

    A captured value that cannot be compared counts by its type only, and so does a closure variable that may change
    from call to call (see `global_data`): a function is identified by its code.
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
        for value in functions:  # an edited file does not show the code that is loaded
            hash_captured(value, hasher, hash_value)
    hasher.exit()


def hash_captured(value: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Hash a captured value: its content, or its type if it cannot be compared.

    Raises:
        CodeNotHashable: it is code of the notebook itself, whose changes must not go unnoticed.
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
    """Whether a value is a function, a class or a module: code without state."""
    return type(value) in (FunctionType, BuiltinFunctionType, MethodType, ModuleType) or is_class(value)


def global_data(function: Any) -> dict[str, Any]:
    """Return the data that a function uses besides its arguments, and the functions of the notebook that it calls.

    These are its closure variables, and the notebook names in its code.
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
    """Return the functions and classes of the same notebook that a function names."""
    module_globals = function.__globals__
    if module_globals.get("__name__") != NOTEBOOK:
        return {}
    globals_used = {name: module_globals[name] for name in names_in(function.__code__) if name in module_globals}
    return {name: value for name, value in globals_used.items() if _is_notebook_code(value, module_globals)}


def own_modules(function: FunctionType) -> dict[str, tuple[Path, list[Any]]]:
    """Return the user's own modules that a function of the notebook names: their files, and the names that it uses.

    Installed packages and Python itself are excluded: they change with a version, and rarely affect results.
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
    """Return the file of a module that is not nbtool's, Python's or installed."""
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
    """Return the global names that code looks up, including its inner functions."""
    inner = (names_in(part) for part in code.co_consts if type(part) is CodeType)
    return set(code.co_names).union(*inner)


def hash_builtin(function: Any, hasher: Hasher, hash_value: HashValue) -> None:  # noqa: ARG001 - the signature of all code hashers
    """Hash a function of Python or of an extension: by its name."""
    owner = function.__self__
    hasher.update_text(function.__qualname__)
    hasher.update_text(owner.__name__ if type(owner) is ModuleType else class_name(type(owner)))


def hash_method(method: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Hash a bound method: the function, and the type of its object, whose state may change with each call."""
    hash_captured(method.__func__, hasher, hash_value)
    hasher.update_text(class_name(type(method.__self__)))


def hash_partial(partial: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Hash a partial: the function and its arguments."""
    for value in (partial.func, *partial.args, *partial.keywords.values()):
        hash_captured(value, hasher, hash_value)
    hasher.update_text(" ".join(map(str, partial.keywords)))


def hash_module(module: ModuleType, hasher: Hasher, hash_value: HashValue) -> None:  # noqa: ARG001 - the signature of all code hashers
    """Hash a module: its name and version, or else its file.

    Raises:
        NotHashable: it has neither.
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
