"""Writing code: functions by their source and what they hold, classes, modules; nothing of it is called."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from nbtool.tools.content_hash.classes import NOTEBOOK, Write, closed_over, is_class, is_of_notebook
from nbtool.tools.content_hash.fields import class_name, module_of, namespace
from nbtool.tools.content_hash.hasher import Ink, Unknown, UnknownCode
from nbtool.tools.content_hash.source import MAX_SOURCE, source_of

_METHODS = (FunctionType, staticmethod, classmethod)


def write_function(function: FunctionType, ink: Ink, write: Write) -> None:
    """Write a function: its source, its defaults, the code it closes over, and the notebook's functions that it calls.

    What it holds that cannot be compared counts by its type alone, and so does what it closes over and may change from
    call to call (see `data_of`): a function is what its author wrote.
    """
    if not ink.enter(function):
        return
    ink.mark(function.__qualname__ if type(function.__qualname__) is str else "")
    ink.mark(source_of(function.__code__))
    for held in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        write_held(held, ink, write)
    for held in closed_over(function).values():
        if is_code(held):
            write_held(held, ink, write)
        else:
            ink.mark(class_name(type(held)))
    for name, called in sorted(called_in_notebook(function).items()):
        ink.mark(name)
        write_held(called, ink, write)
    for name, (file, used) in sorted(own_modules(function).items()):
        ink.mark(f"{name} {_hash_of(file)}")
        for held in used:  # a file that was edited since says nothing of the code that is loaded
            write_held(held, ink, write)
    ink.leave()


def write_held(value: Any, ink: Ink, write: Write) -> None:
    """Write something that code holds: its content, or its type alone where that cannot be compared.

    Raises:
        UnknownCode: it is code of the notebook itself, which must not change unnoticed.
    """
    part = ink.apart()
    try:
        write(value, part)
    except UnknownCode:
        raise
    except (Unknown, RecursionError):
        ink.mark(class_name(type(value)))
    else:
        ink.take([part])


def is_code(value: Any) -> bool:
    """Whether a value is a function, a class or a module: what somebody wrote, and no state."""
    return type(value) in (FunctionType, BuiltinFunctionType, MethodType, ModuleType) or is_class(value)


def data_of(function: Any) -> dict[str, Any]:
    """Give the data that a function works on beside its arguments, and the functions of the notebook that it calls.

    That is what they close over, and what they name in the notebook.
    """
    found: dict[str, Any] = {}
    waiting, seen = [function], set[int]()
    while waiting:
        one = waiting.pop(0)
        if type(one) is FunctionType and id(one) not in seen:
            seen.add(id(one))
            found = {**_own_data(one), **found}
            waiting += called_in_notebook(one).values()
        elif is_class(one) and id(one) not in seen:
            seen.add(id(one))
            waiting += [getattr(held, "__func__", held) for held in namespace(one).values() if type(held) in _METHODS]
    return {name: found[name] for name in sorted(found)}


def _own_data(function: FunctionType) -> dict[str, Any]:
    around = function.__globals__
    is_of_notebook = around.get("__name__") == NOTEBOOK
    named = {name: around[name] for name in names_in(function.__code__) if is_of_notebook and name in around}
    found = {**named, **closed_over(function)}
    return {name: held for name, held in found.items() if not is_code(held)}


def called_in_notebook(function: FunctionType) -> dict[str, Any]:
    """Give the functions and classes of the same notebook that a function names."""
    around = function.__globals__
    if around.get("__name__") != NOTEBOOK:
        return {}
    named = {name: around[name] for name in names_in(function.__code__) if name in around}
    return {name: found for name, found in named.items() if _is_of_notebook(found, around)}


def own_modules(function: FunctionType) -> dict[str, tuple[Path, list[Any]]]:
    """Give the person's own modules that a function of the notebook names: their files, and what it uses of them.

    Installed packages and Python itself are none: they change with a version, and rarely what a tool gives.
    """
    around = function.__globals__
    if around.get("__name__") != NOTEBOOK:
        return {}
    names = names_in(function.__code__)
    found: dict[str, tuple[Path, list[Any]]] = {}
    for held in (around[name] for name in sorted(names) if name in around):
        module = held if type(held) is ModuleType else sys.modules.get(_module_name(held))
        if module and (file := _own_file(module)):
            inside = (
                [vars(module)[name] for name in sorted(names) if name in vars(module)] if held is module else [held]
            )
            _, used = found.setdefault(module.__name__, (file, []))
            used += [one for one in inside if type(one) is FunctionType]
    return found


def _module_name(held: Any) -> str:
    named = held.__module__ if type(held) is FunctionType else module_of(held) if is_class(held) else ""
    return named if type(named) is str else ""


def _own_file(module: ModuleType) -> Path | None:
    """Give the file of a module that is neither nbtool's, nor Python's, nor installed."""
    file, name = vars(module).get("__file__"), str(vars(module).get("__name__")).partition(".")[0]
    if type(file) is not str or name in (NOTEBOOK, "nbtool") or name in sys.stdlib_module_names:
        return None
    return None if {"site-packages", "dist-packages"} & set(Path(file).parts) else Path(file)


def _hash_of(file: Path) -> str:
    try:
        is_small = file.stat().st_size <= MAX_SOURCE
        return hashlib.sha256(file.read_bytes()).hexdigest() if is_small else ""
    except OSError:
        return ""


def names_in(code: CodeType) -> set[str]:
    """Give the names that code looks up outside itself, in its inner functions too."""
    inner = (names_in(part) for part in code.co_consts if type(part) is CodeType)
    return set(code.co_names).union(*inner)


def write_builtin(function: Any, ink: Ink, write: Write) -> None:  # noqa: ARG001 - one shape for all code
    """Write a function that is part of Python or of an extension: its name says it."""
    owner = function.__self__
    ink.mark(function.__qualname__)
    ink.mark(owner.__name__ if type(owner) is ModuleType else class_name(type(owner)))


def write_method(method: Any, ink: Ink, write: Write) -> None:
    """Write a bound method: the function, and the type of its object, which may change with each call."""
    write_held(method.__func__, ink, write)
    ink.mark(class_name(type(method.__self__)))


def write_partial(partial: Any, ink: Ink, write: Write) -> None:
    """Write a partial: the function and what it is given."""
    for held in (partial.func, *partial.args, *partial.keywords.values()):
        write_held(held, ink, write)
    ink.mark(" ".join(map(str, partial.keywords)))


def write_module(module: ModuleType, ink: Ink, write: Write) -> None:  # noqa: ARG001 - one shape for all code
    """Write a module: its name and version, or else its file.

    Raises:
        Unknown: it has neither.
    """
    known = vars(module)
    ink.mark(str(known.get("__name__")))
    version, file = known.get("__version__"), known.get("__file__")
    if type(version) is str:
        ink.mark(version)
    elif known.get("__name__") in sys.stdlib_module_names:
        ink.mark(sys.version)
    elif type(file) is str and Path(file).is_file() and Path(file).stat().st_size <= MAX_SOURCE:
        ink.mark(hashlib.sha256(Path(file).read_bytes()).hexdigest())
    else:
        raise Unknown("the module cannot be compared")


def _is_of_notebook(found: Any, around: dict[str, Any]) -> bool:
    if type(found) is FunctionType:
        return found.__globals__ is around
    return is_class(found) and is_of_notebook(found)
