"""Writing code: functions by their source and what they hold, classes, modules; nothing of it is called."""

from __future__ import annotations

import hashlib
import inspect
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from nbtool.tools.fingerprint.fields import class_name
from nbtool.tools.fingerprint.ink import Ink, Unknown

Write = Callable[[Any, Ink], None]
"""Writes any value; code holds values, and values code."""

NOTEBOOK = "__main__"
"""The module of a notebook's own cells: what a function of it calls there may change from run to run."""

_PLAIN = (str, int, float, bool, type(None))

MAX_SOURCE = 4 * 1024 * 1024
"""Bytes of a module's file that are read."""


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
    for held in _closed_over(function).values():
        if is_code(held):
            write_held(held, ink, write)
        else:
            ink.mark(class_name(type(held)))
    for name, called in sorted(called_in_notebook(function).items()):
        ink.mark(name)
        write_held(called, ink, write)
    ink.leave()


def write_held(value: Any, ink: Ink, write: Write) -> None:
    """Write something that code holds: its content, or its type alone where that cannot be compared."""
    part = ink.apart()
    try:
        write(value, part)
    except (Unknown, RecursionError):
        ink.mark(class_name(type(value)))
    else:
        ink.take([part])


def is_code(value: Any) -> bool:
    """Whether a value is a function, a class or a module: what somebody wrote, and no state."""
    return type(value) in (FunctionType, BuiltinFunctionType, MethodType, ModuleType, type)


def data_of(function: Any) -> dict[str, Any]:
    """Give the data that a function works on beside its arguments: what it closes over, and the notebook's."""
    if type(function) is not FunctionType:
        return {}
    around = function.__globals__
    is_of_notebook = around.get("__name__") == NOTEBOOK
    named = {name: around[name] for name in names_in(function.__code__) if is_of_notebook and name in around}
    found = {**named, **_closed_over(function)}
    return {name: found[name] for name in sorted(found) if not is_code(found[name])}


def called_in_notebook(function: FunctionType) -> dict[str, Any]:
    """Give the functions and classes of the same notebook that a function names."""
    around = function.__globals__
    if around.get("__name__") != NOTEBOOK:
        return {}
    named = {name: around[name] for name in names_in(function.__code__) if name in around}
    return {name: found for name, found in named.items() if _is_of_notebook(found, around)}


def names_in(code: CodeType) -> set[str]:
    """Give the names that code looks up outside itself, in its inner functions too."""
    inner = (names_in(part) for part in code.co_consts if type(part) is CodeType)
    return set(code.co_names).union(*inner)


def source_of(code: CodeType) -> str:
    """Give the source of a function; of a lambda, which shares its line, the compiled form too."""
    try:
        source = textwrap.dedent(inspect.getsource(code))
    except (OSError, TypeError, SyntaxError, IndexError):
        source = ""
    return source if source and code.co_name != "<lambda>" else source + _compiled(code)


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


def write_class(kind: type, ink: Ink, write: Write) -> None:  # noqa: ARG001 - one shape for all code
    """Write a class: its name, and where it is the notebook's own what it is made of.

    That is its source, or what can be seen of it: until Python 3.13 the source of a class in a cell is not found.
    """
    ink.mark(class_name(kind))
    if kind.__module__ == NOTEBOOK:
        try:
            ink.mark(textwrap.dedent(inspect.getsource(kind)))
        except (OSError, TypeError, SyntaxError, IndexError):
            for base in kind.__bases__:
                ink.mark(class_name(base))
            for name, held in vars(kind).items():
                ink.mark(f"{name} {_made_of(held)}")


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
    return type(found) is type and found.__module__ == NOTEBOOK


def _made_of(held: Any) -> str:
    """Give the source of a method, the text of plain data, or the kind of what else a class holds."""
    if type(held) is property:
        return _made_of(held.fget)
    if type(held) in (staticmethod, classmethod):
        return _made_of(held.__func__)
    if type(held) is FunctionType:
        return source_of(held.__code__)
    if type(held) is dict:  # annotations, above all
        return " ".join(f"{_made_of(key)} {_made_of(value)}" for key, value in held.items())
    if isinstance(held, type):
        return class_name(held)
    return repr(held) if type(held) in _PLAIN else type(held).__name__


def _closed_over(function: FunctionType) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # the name is bound later
            held[name] = cell.cell_contents
    return held


def _compiled(code: CodeType) -> str:
    constants = [
        _compiled(part)
        if type(part) is CodeType
        else str(sorted(map(repr, part)))
        if type(part) is frozenset
        else repr(part)
        for part in code.co_consts
    ]
    return f"{sys.version_info[:2]} {code.co_code.hex()} {constants} {code.co_names}"
