"""Attributes and methods of an object that belong to one of its parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from nbtool.errors import BadUsage
from nbtool.text import type_of

T = TypeVar("T")
P = ParamSpec("P")
Part = Callable[[Any], object]


class PartAttribute(Generic[T]):
    """An attribute that is read from a part, under the same name, and set there; `doc` is its docstring.

    With a `kind`, a value of another type is refused; `fix` says what to assign instead of that `{value!r}`.
    """

    def __init__(self, part: Part, doc: str, *, kind: type[T] | None = None, fix: str = "") -> None:
        self._part, self._kind, self._fix = part, kind, fix
        self.__doc__ = doc

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: type) -> T: ...
    def __get__(self, owner: object | None, kind: type) -> Self | T:
        if owner is None:
            return self
        value: T = getattr(self._part(owner), self._name)
        return value

    def __set__(self, owner: object, value: T) -> None:
        if self._kind and not isinstance(value, self._kind):
            expected = f"{self._name} is a {self._kind.__name__}, not {type_of(value)}."
            raise BadUsage(expected, fix=self._fix.format(value=value))
        setattr(self._part(owner), self._name, value)


def part_method(part: Part, method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that calls this method of a part, with its signature and its docstring."""

    @wraps(method)
    def call(owner: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(part(owner), *args, **kwargs)

    return call
