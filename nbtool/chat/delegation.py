"""Attributes and methods of an object that belong to one of its parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, get_args, overload

from nbtool.argument_check import check_value
from nbtool.errors import BadUsage

T = TypeVar("T")
P = ParamSpec("P")
Part = Callable[[Any], object]


class PartAttribute(Generic[T]):
    """An attribute that is read from a part, under the same name, and set there; `doc` is its docstring.

    A value of another type than `T` is refused; `fix` says what to assign instead of that `{value!r}`. `check` raises
    for a value that its type does not tell apart.
    """

    __orig_class__: Any
    """`PartAttribute[T]`, as it was called: set by `typing`."""

    def __init__(self, part: Part, doc: str, *, fix: str = "", check: Callable[[T], object] = lambda _: None) -> None:
        self._part, self._fix, self._check = part, fix, check
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
        try:
            taken = check_value(type(owner).__name__, self._name, self.annotation, value)
        except BadUsage as error:
            raise error.changed(fix=self._fix.format(value=value)) if self._fix else error from None
        self._check(taken)
        setattr(self._part(owner), self._name, taken)

    @property
    def annotation(self) -> Any:
        """The type of the attribute."""
        return get_args(self.__orig_class__)[0]


def part_method(part: Part, method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that calls this method of a part, with its signature and its docstring."""

    @wraps(method)
    def call(owner: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(part(owner), *args, **kwargs)

    return call
