"""What a caller may still pass to a callable: its signature without what its author has bound.

`inspect.signature` shows the bound keywords of a `functools.partial` as parameters with a default, which a caller may
override, and it follows `__wrapped__` past a partial, as if nothing were bound. Here each layer of a callable is taken
off by itself: what a partial or a method binds is no parameter any more, and what a decorator takes by position only is
passed so.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import MethodType
from typing import Any, Union

_KINDS = inspect.Parameter

_BY_POSITION = (_KINDS.POSITIONAL_ONLY, _KINDS.POSITIONAL_OR_KEYWORD)

_PLACEHOLDER: Any = getattr(functools, "Placeholder", object())
"""Keeps a position of a partial open, from Python 3.14 on."""


@dataclass(frozen=True, slots=True)
class OpenSignature:
    """The parameters that a caller may pass, and the names that no caller may: those of bound arguments.

    `function` is the innermost callable, in whose module the annotations are resolved, and `owner` the object or class
    that it is bound to.
    """

    parameters: tuple[inspect.Parameter, ...]
    function: Any
    bound: frozenset[str] = frozenset()
    owner: Any = None


def takes_any_position(function: Callable[..., Any]) -> bool:
    """Return whether the code of a callable has `*args`: such a wrapper may look at its first argument."""
    while isinstance(function, functools.partial | MethodType):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    call = inspect.getattr_static(type(function), "__call__", None)
    code = getattr(function, "__code__", None) or getattr(call, "__code__", None)
    return code is not None and bool(code.co_flags & inspect.CO_VARARGS)


def open_signature(function: Callable[..., Any]) -> OpenSignature:
    """Return what a caller may pass to a callable.

    Raises:
        ValueError: it has no signature that can be read; TypeError and RecursionError likewise.
    """
    if isinstance(function, functools.partial):
        return _without_keywords(
            _without_positions(open_signature(function.func), function.args), frozenset(function.keywords)
        )
    if isinstance(function, MethodType):
        method = _without_positions(open_signature(function.__func__), [function.__self__])
        return replace(method, owner=function.__self__)
    if (method_of_many := _dispatched_method(function)) is not None:
        return method_of_many
    if "__signature__" not in getattr(function, "__dict__", {}):
        call = None if inspect.isroutine(function) or inspect.isclass(function) else getattr(function, "__call__", None)  # noqa: B004 - its layers are looked at
        if (wrapped := getattr(function, "__wrapped__", None)) is not None and _passes_everything_on(function):
            return _as_passed_on(function, open_signature(wrapped))
        if wrapped is None and isinstance(call, MethodType | functools.partial):
            return open_signature(call)
    return OpenSignature(tuple(_own_signature(function).parameters.values()), function)


def _own_signature(function: Any) -> inspect.Signature:
    """Return the signature of a callable itself; a name that is not bound yet stays a text (Python 3.14)."""
    try:
        return inspect.signature(function, follow_wrapped=False)
    except NameError:  # pragma: no cover - Python 3.14, where docs/annotations.md is measured too
        form = sys.modules["annotationlib"].Format.FORWARDREF  # which `inspect` has imported
        return inspect.signature(function, follow_wrapped=False, annotation_format=form)  # type: ignore[call-arg,unused-ignore]  # as above


def _as_passed_on(wrapper: Any, signature: OpenSignature) -> OpenSignature:
    """Return the signature behind a wrapper with the kinds of parameters that the wrapper can pass on."""
    if hasattr(wrapper, "dispatch") and hasattr(wrapper, "registry"):  # `functools.singledispatch`
        return _dispatched(signature, wrapper)
    try:
        kinds = {parameter.kind for parameter in _own_signature(wrapper).parameters.values()}
    except (ValueError, TypeError):
        return signature
    if _KINDS.VAR_KEYWORD in kinds and _KINDS.VAR_POSITIONAL in kinds:
        return signature
    kind = _KINDS.KEYWORD_ONLY if _KINDS.VAR_KEYWORD in kinds else _KINDS.POSITIONAL_ONLY
    parameters = (
        parameter.replace(kind=kind) if parameter.kind is _KINDS.POSITIONAL_OR_KEYWORD else parameter
        for parameter in signature.parameters
    )
    return replace(signature, parameters=tuple(parameters))


def _dispatched(signature: OpenSignature, dispatcher: Any) -> OpenSignature:
    """Return the signature of a `functools.singledispatch`: the type of its first argument, by position, selects."""
    if not signature.parameters:
        return signature
    first, *rest = signature.parameters
    if first.annotation is not _KINDS.empty:
        kinds = [item for item in dispatcher.registry if item is not object]
        first = first.replace(annotation=Union[(first.annotation, *kinds)])
    if first.kind is _KINDS.POSITIONAL_OR_KEYWORD:
        first = first.replace(kind=_KINDS.POSITIONAL_ONLY)
    return replace(signature, parameters=(first, *rest))


def _dispatched_method(function: Any) -> OpenSignature | None:
    """Return the signature of a bound `functools.singledispatchmethod`, whose wrapper is not a method itself."""
    descriptor = getattr(getattr(function, "register", None), "__self__", None)
    if not isinstance(descriptor, functools.singledispatchmethod):
        return None
    method = _without_positions(open_signature(descriptor.func), [None])
    return _dispatched(method, descriptor.dispatcher)


def _passes_everything_on(wrapper: Any) -> bool:
    """Whether a decorator's wrapper takes any arguments, so that its own signature does not say which."""
    try:
        own = _own_signature(wrapper).parameters.values()
    except (ValueError, TypeError):  # a wrapper in C, such as that of `functools.cache`
        return True
    return any(parameter.kind in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD) for parameter in own)


def _without_positions(signature: OpenSignature, values: Sequence[Any]) -> OpenSignature:
    """Return a signature whose first parameters have these values; a placeholder stays open, by position only."""
    by_position = [parameter for parameter in signature.parameters if parameter.kind in _BY_POSITION]
    taken = by_position[: len(values)]
    is_open = [
        item.replace(kind=_KINDS.POSITIONAL_ONLY)
        for item, value in zip(taken, values, strict=False)
        if value is _PLACEHOLDER
    ]
    bound = {item.name for item, value in zip(taken, values, strict=False) if value is not _PLACEHOLDER}
    rest = [parameter for parameter in signature.parameters if parameter not in taken]
    return replace(signature, parameters=(*is_open, *rest), bound=signature.bound | bound)


def _without_keywords(signature: OpenSignature, names: frozenset[str]) -> OpenSignature:
    """Return a signature in which these names have values: what follows one of them is passed by keyword only."""
    parameters: list[inspect.Parameter] = []
    is_keyword_only = False
    for parameter in signature.parameters:
        is_bound = parameter.name in names and parameter.kind in (_KINDS.POSITIONAL_OR_KEYWORD, _KINDS.KEYWORD_ONLY)
        is_keyword_only = is_keyword_only or (is_bound and parameter.kind is _KINDS.POSITIONAL_OR_KEYWORD)
        if is_bound or (is_keyword_only and parameter.kind is _KINDS.VAR_POSITIONAL):
            continue
        moves = is_keyword_only and parameter.kind is _KINDS.POSITIONAL_OR_KEYWORD
        parameters.append(parameter.replace(kind=_KINDS.KEYWORD_ONLY) if moves else parameter)
    return replace(signature, parameters=tuple(parameters), bound=signature.bound | names)
