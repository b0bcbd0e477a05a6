"""What a type variable admits, and what it stands for in a method of a class that was given type arguments."""

from __future__ import annotations

import collections.abc
import inspect
import operator
import sys
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import reduce
from typing import Annotated, Any, Literal, Union, get_args, get_origin


def admitted_by(variable: Any) -> Any:
    """Return the annotation that a type variable stands for: its constraints, its bound, its default, or Any.

    Others (`ParamSpec`, `TypeVarTuple`) say nothing of a single argument.
    """
    if constraints := getattr(variable, "__constraints__", ()):
        kinds = sorted(
            constraints, key=lambda constraint: constraint is not str
        )  # a JSON text is a `str` before it is `bytes`
        return Union[tuple(_resolved(kind, variable) for kind in kinds)]  # noqa: UP007 - built from values
    if not isinstance(variable, typing.TypeVar):
        return Any
    if variable.__bound__ is not None:
        return _resolved(variable.__bound__, variable)
    default = getattr(variable, "__default__", None)  # PEP 696
    has_default = getattr(variable, "has_default", lambda: default is not None)
    return _resolved(default, variable) if has_default() else Any


def _resolved(annotation: Any, variable: Any) -> Any:
    """Return an annotation in which names are those of the module of a type variable."""
    if not isinstance(annotation, str | typing.ForwardRef):
        return annotation
    module = sys.modules.get(variable.__module__)
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    return typing.get_type_hints(holder, vars(module) if module else {}, include_extras=True)["it"]


def type_arguments(owner: Any, defined_in: type | None) -> dict[Any, Any]:
    """Return what the type variables of a method's class stand for, and `Self`.

    `owner` is what the method is bound to: `Box[int]()`, or an object of `class Numbers(Box[int])`.
    """
    kind = owner if inspect.isclass(owner) else type(owner)
    if owner is None:
        return {} if defined_in is None else dict.fromkeys(_self_types(), defined_in)
    alias = getattr(owner, "__orig_class__", None)
    found = dict.fromkeys(_self_types(), kind)
    return {**_arguments_of_bases(kind, get_args(alias) if alias is not None else ()), **found}


def _self_types() -> list[Any]:
    import typing_extensions  # noqa: PLC0415 - needed only when a tool is created

    return [*dict.fromkeys((typing.Self, typing_extensions.Self))]


def _arguments_of_bases(kind: Any, given: tuple[Any, ...]) -> dict[Any, Any]:
    variables = getattr(kind, "__parameters__", ())
    found = dict(zip(variables, given, strict=False)) if given else {}
    for base in vars(kind).get("__orig_bases__", kind.__bases__):
        origin = get_origin(base) or base
        if inspect.isclass(origin) and origin not in (object, typing.Generic):
            arguments = tuple(substitute(item, found) for item in get_args(base))
            found = {**_arguments_of_bases(origin, arguments), **found}
    return {variable: value for variable, value in found.items() if variable is not value}


def substitute(annotation: Any, meanings: Mapping[Any, Any]) -> Any:
    """Return an annotation in which some parts stand for others."""
    with suppress(TypeError):  # of one that is unhashable, such as one with declarations of pydantic
        if annotation in meanings:
            return meanings[annotation]
    return with_arguments(annotation, lambda item: substitute(item, meanings)) if meanings else annotation


def with_arguments(annotation: Any, change: Callable[[Any], Any]) -> Any:
    """Return an annotation with changed arguments; the annotation itself if none changes."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is None or origin is Literal or origin is collections.abc.Callable:
        return annotation
    if origin is Annotated:
        inner = change(arguments[0])
        return annotation if inner is arguments[0] else Annotated[inner, *arguments[1:]]
    changed = tuple(argument if argument is ... else change(argument) for argument in arguments)
    if all(item is other for item, other in zip(changed, arguments, strict=True)):
        return annotation
    if origin in (Union, types.UnionType):
        return reduce(operator.or_, changed) if origin is types.UnionType else Union[changed]  # noqa: UP007 - as above
    return _specialized(annotation, origin, changed)


def _specialized(annotation: Any, origin: Any, arguments: tuple[Any, ...]) -> Any:
    """Return a generic with other arguments; one that is unpacked remains so."""
    made = origin[arguments if len(arguments) != 1 else arguments[0]]
    return next(iter(made)) if getattr(annotation, "__unpacked__", False) else made
