"""What identifies a function: its name, its source, and the objects that it captures."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from nbtool.tools.content_hash.object_token import object_token
from nbtool.tools.content_hash.source import code_fingerprint


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a callable."""
    function_with_code = unwrap_function(function)
    return str(getattr(function_with_code, "__name__", type(function_with_code).__name__))


def public_methods(kind: type) -> list[str]:
    """Return the names of the public methods of a class, without those that pydantic gives to every model."""
    names = [name for name in dir(kind) if not name.startswith("_")]
    model = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    given = vars(model) if model is not None and issubclass(kind, model) else {}
    return [
        name
        for name in names
        if inspect.isroutine(found := inspect.getattr_static(kind, name)) and found is not given.get(name)
    ]


def is_made_of_fields(kind: type) -> bool:
    """Whether a class only holds fields: a named tuple, or a dataclass or a model of pydantic without own methods."""
    if issubclass(kind, tuple):
        return hasattr(kind, "_fields")
    model = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    has_fields = dataclasses.is_dataclass(kind) or (model is not None and issubclass(kind, model))
    return has_fields and not public_methods(kind)


def unwrap_function(function: Any) -> Any:
    """Return the function with the code, inside partials and methods."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__func__", function)


def source_of(function: Callable[..., Any]) -> str:
    """Return the source of a function, if it can be read, with a digest of its code."""
    unwrapped = inspect.unwrap(unwrap_function(function))
    code = getattr(unwrapped, "__code__", None)
    try:
        text = inspect.getsource(unwrapped)
    except (OSError, TypeError):
        text = ""
    return text if code is None else f"{text}\n{code_fingerprint(code)}"


def captured_objects(function: Any) -> list[str]:
    """Name the objects by which functions with the same source may differ: instances, partial arguments, closures."""
    if isinstance(function, functools.partial):
        values = [*function.args, *function.keywords.values()]
        return [*captured_objects(function.func), *(object_token(value) for value in values)]
    unwrapped, owner = unwrap_function(function), getattr(function, "__self__", None)
    has_no_state = (
        hasattr(unwrapped, "__code__") and not getattr(unwrapped, "__closure__", None)
    ) or inspect.isbuiltin(unwrapped)
    captured = [] if owner is None or inspect.ismodule(owner) else [owner]
    return [object_token(value) for value in (captured if has_no_state else [*captured, unwrapped])]
