"""What a caller may still pass to a callable: its signature without what its author has bound.

`inspect.signature` shows the bound keywords of a `functools.partial` as parameters with a default, which a caller may
override, and it follows `__wrapped__` past a partial, as if nothing were bound. Here each layer of a callable is taken
off by itself: what a partial or a method binds is no parameter any more.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

_KINDS = inspect.Parameter

_BY_POSITION = (_KINDS.POSITIONAL_ONLY, _KINDS.POSITIONAL_OR_KEYWORD)

_PLACEHOLDER: Any = getattr(functools, "Placeholder", object())
"""Keeps a position of a partial open, from Python 3.14 on."""


@dataclass(frozen=True, slots=True)
class OpenSignature:
    """The parameters that a caller may pass, and the names that no caller may: those of bound arguments.

    `function` is the innermost callable, in whose module the annotations are resolved.
    """

    parameters: tuple[inspect.Parameter, ...]
    function: Any
    bound: frozenset[str] = frozenset()


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
        return _without_positions(open_signature(function.__func__), [function.__self__])
    if "__signature__" not in getattr(function, "__dict__", {}):
        call = None if inspect.isroutine(function) or inspect.isclass(function) else getattr(function, "__call__", None)  # noqa: B004 - its layers are looked at
        if (wrapped := getattr(function, "__wrapped__", None)) is not None and _passes_everything_on(function):
            return open_signature(wrapped)
        if wrapped is None and isinstance(call, MethodType | functools.partial):
            return open_signature(call)
    signature = inspect.signature(function, follow_wrapped=False)
    return OpenSignature(tuple(signature.parameters.values()), function)


def _passes_everything_on(wrapper: Any) -> bool:
    """Whether a decorator's wrapper takes any arguments, so that its own signature does not say which."""
    try:
        own = inspect.signature(wrapper, follow_wrapped=False).parameters.values()
    except (ValueError, TypeError):  # a wrapper in C, such as that of `functools.cache`
        return True
    return any(one.kind in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD) for one in own)


def _without_positions(signature: OpenSignature, values: Sequence[Any]) -> OpenSignature:
    """Return a signature whose first parameters have these values; a placeholder stays open, by position only."""
    by_position = [one for one in signature.parameters if one.kind in _BY_POSITION]
    taken = by_position[: len(values)]
    is_open = [
        one.replace(kind=_KINDS.POSITIONAL_ONLY)
        for one, value in zip(taken, values, strict=False)
        if value is _PLACEHOLDER
    ]
    bound = {one.name for one, value in zip(taken, values, strict=False) if value is not _PLACEHOLDER}
    rest = [one for one in signature.parameters if one not in taken]
    return OpenSignature((*is_open, *rest), signature.function, signature.bound | bound)


def _without_keywords(signature: OpenSignature, names: frozenset[str]) -> OpenSignature:
    """Return a signature in which these names have values: what follows one of them is passed by keyword only."""
    parameters: list[inspect.Parameter] = []
    is_keyword_only = False
    for one in signature.parameters:
        is_bound = one.name in names and one.kind in (_KINDS.POSITIONAL_OR_KEYWORD, _KINDS.KEYWORD_ONLY)
        is_keyword_only = is_keyword_only or (is_bound and one.kind is _KINDS.POSITIONAL_OR_KEYWORD)
        if is_bound or (is_keyword_only and one.kind is _KINDS.VAR_POSITIONAL):
            continue
        moves = is_keyword_only and one.kind is _KINDS.POSITIONAL_OR_KEYWORD
        parameters.append(one.replace(kind=_KINDS.KEYWORD_ONLY) if moves else one)
    return OpenSignature(tuple(parameters), signature.function, signature.bound | names)
