"""Check the arguments of public functions against their annotations, so that a wrong type is refused where it enters.

    @check_arguments
    def send(prompt: str | Message, *, options: Mapping[str, Any] | None = None) -> Turn: ...

The annotations are read when the function is first called. Of a class the constructor and the public methods are
checked; what a function takes in place of a value of the annotated type, such as a number of numpy, it gets as that
type.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar
from weakref import WeakSet

from nbtool.annotation_kinds import ANYTHING, REFUSED, Kind, is_async, kind_of
from nbtool.errors import BadUsage
from nbtool.text import count_of, shorten, type_of

T = TypeVar("T")

MAX_SHOWN = 60
"""Maximum number of characters of a wrong value in an error."""

MAX_MEMBERS = 1_000
"""Maximum number of items of a wrong list among which the wrong one is searched."""


def check_arguments(target: T, *, owner: str = "") -> T:
    """Return a function that checks its arguments, or a class whose constructor and public methods do.

    The function raises `nbtool.errors.BadUsage` for an argument that its annotation does not admit. `owner` is its name
    in the error. The hooks of a plugin are not checked: nbtool calls them, some for each token.
    """
    if not isinstance(target, type):
        return _check_function(target, owner or target.__name__)  # type: ignore[attr-defined, arg-type, return-value]  # it is a function
    for name, member in list(vars(target).items()):
        label = (owner or target.__name__) + ("" if name == "__init__" else f".{name}")
        if name.startswith(("_", "on_")) and name not in ("__init__", "__call__"):
            continue
        if inspect.isfunction(member):
            setattr(target, name, _check_function(member, label))
        elif isinstance(member, classmethod | staticmethod):
            setattr(target, name, type(member)(_check_function(member.__func__, label)))
    return target


def check_value(owner: str, name: str, annotation: Any, value: Any) -> Any:
    """Return the value of the annotated type that is used for `value`.

    Raises:
        BadUsage: the annotation does not admit it.
    """
    kind = kind_of(annotation)
    taken = kind.take(value)
    if taken is REFUSED:
        raise refusal(owner, name, kind, value)
    return taken


def check_answer(function: str, annotation: Any, answer: Any) -> Any:
    """Return what a function of the user's returned, as the annotated type; its text is in no error.

    Raises:
        BadUsage: the annotation does not admit it.
    """
    kind = kind_of(annotation)
    if (taken := kind.take(answer)) is REFUSED:
        raise BadUsage(f"{function} returned {describe_value(answer)}.", fix=f"Return {kind.words}.")
    return taken


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of the parameters of a function, evaluated where its module can.

    A name that only type checkers import is None there: its parameter is not checked.
    """
    plain = inspect.unwrap(function)
    names = getattr(plain, "__globals__", {})
    return {
        name: _evaluate(annotation, names) for name, annotation in plain.__annotations__.items() if name != "return"
    }


def _evaluate(annotation: Any, names: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)  # an annotation of nbtool's own
    except NameError:
        return None


class CheckedAttributes:
    """An object whose annotated attributes take values of their type only, and whose properties without a setter none.

    Private attributes, and those whose type only type checkers import, are not checked.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        cls: type = type(self)
        if not name.startswith("_") and type(value) not in _attribute_kinds(cls).get(name, ANYTHING).exact:
            value = _check_attribute(cls, name, value)
        object.__setattr__(self, name, value)


def _check_attribute(cls: type, name: str, value: Any) -> Any:
    kind = _attribute_kinds(cls).get(name)
    if kind is None:
        member = getattr(cls, name, None)
        if isinstance(member, property) and member.fset is None:
            raise BadUsage(f"{name} of a {cls.__name__} cannot be set.", fix="It follows from the others: read it.")
        return value
    if (taken := kind.take(value)) is REFUSED:
        raise refusal(cls.__name__, name, kind, value)
    return taken


@cache
def _attribute_kinds(cls: type) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for base in reversed(cls.__mro__):
        names = vars(sys.modules[base.__module__])
        found = {name: _evaluate(annotation, names) for name, annotation in inspect.get_annotations(base).items()}
        kinds |= {name: kind_of(annotation) for name, annotation in found.items() if annotation is not None}
    return {name: kind for name, kind in kinds.items() if not kind.admits_all}


_NO_TYPES: frozenset[type] = frozenset()

_checked: WeakSet[Callable[..., Any]] = WeakSet()
"""Functions that check their arguments already: a class that has one as a method checks them no second time."""


class _Plan:
    """The kinds of the parameters of one function."""

    def __init__(self, function: Callable[..., Any], owner: str) -> None:
        self.owner = owner
        kinds = {
            name: kind_of(annotation) for name, annotation in annotations_of(function).items() if annotation is not None
        }
        checked = {name: kind for name, kind in kinds.items() if not kind.admits_all}
        parameters = inspect.signature(function).parameters.values()
        positional = (
            parameter
            for parameter in parameters
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        )
        self.by_position = [(parameter.name, checked.get(parameter.name)) for parameter in positional]
        self.by_name = checked
        self.more = next(
            (
                (parameter.name, checked.get(parameter.name))
                for parameter in parameters
                if parameter.kind is parameter.VAR_POSITIONAL
            ),
            ("", None),
        )
        keywords = next((parameter.name for parameter in parameters if parameter.kind is parameter.VAR_KEYWORD), "")
        self.keywords = self.by_name.pop(keywords, None)
        self.names = {
            parameter.name
            for parameter in parameters
            if parameter.kind not in (parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY)
        }
        is_method = "." in owner
        self.bound = {
            "self",
            *(parameter.name for parameter in parameters if is_method and parameter.kind is parameter.POSITIONAL_ONLY),
        }
        self.exact_by_position = [None if kind is None else kind.exact for _, kind in self.by_position]
        exact = {name: kind.exact for name, kind in self.by_name.items()}
        self.exact_by_name = {name: exact.get(name) for name in self.names}
        self.takes_any_keyword = bool(keywords)
        self.required = {parameter.name for parameter in parameters if parameter.default is parameter.empty}

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the positional arguments to use, and change the others in their dict."""
        if len(args) > len(self.by_position) and not self.more[0]:
            raise self._too_many()
        taken = list(args)
        for index, value in enumerate(args):
            name, kind = self.by_position[index] if index < len(self.by_position) else self.more
            if kind and type(value) not in kind.exact:
                taken[index] = self._take(name, kind, value)
        for name, value in kwargs.items():
            if name not in self.names and not self.takes_any_keyword:
                raise self._unknown(name)
            kind = self.by_name.get(name) if name in self.names else self.keywords
            if kind and type(value) not in kind.exact:
                kwargs[name] = self._take(name, kind, value)
        return tuple(taken)

    def has_exact(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether each argument has just a type that its parameter admits, as nearly all have."""
        if len(args) > len(self.exact_by_position):
            return False
        for value, exact in zip(args, self.exact_by_position, strict=False):
            if exact is not None and type(value) not in exact:
                return False
        for name, value in kwargs.items():
            exact = self.exact_by_name.get(name, _NO_TYPES)
            if exact is not None and type(value) not in exact:
                return False
        return True

    def _take(self, name: str, kind: Kind, value: Any) -> Any:
        used = kind.take(value)
        if used is REFUSED:
            raise refusal(self.owner, name, kind, value, has_default=name not in self.required)
        return used

    def _too_many(self) -> BadUsage:
        """Return the error for more arguments by position than the function has."""
        count = len([name for name, _ in self.by_position if name not in self.bound])
        return BadUsage(
            f"{self.owner} takes {count_of(count, 'argument')} by position.",
            fix=f"Pass the others by name: {self.owner.rpartition('.')[2]}(name=…).",
        )

    def _unknown(self, name: str) -> BadUsage:
        """Return the error for a keyword that the function does not have."""
        from difflib import get_close_matches  # noqa: PLC0415 - only for an error

        names = sorted(self.names - {"self"})
        if near := get_close_matches(name, names, 1):
            fix = f"Did you mean {near[0]}?"
        else:
            others = " What the request to the model takes besides is passed as options={…}." * ("options" in names)
            fix = f"It takes {', '.join(names)}.{others}"
        return BadUsage(f"{self.owner} has no argument {shorten(name, MAX_SHOWN)!r}.", fix=fix)


def _check_function(function: Callable[..., Any], owner: str) -> Callable[..., Any]:
    if function in _checked:
        return function
    is_generator = inspect.isasyncgenfunction(function)  # of an endpoint, which nbtool calls with what it has made
    if is_generator or not any(name != "return" for name in inspect.unwrap(function).__annotations__):
        return function
    plan: _Plan | None = None

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        nonlocal plan
        if plan is None:
            plan = _Plan(function, owner)
        if not plan.has_exact(args, kwargs):
            args = plan.check(args, kwargs)
        return function(*args, **kwargs)

    _checked.add(checked)
    if not inspect.iscoroutinefunction(function):
        return checked

    @wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await checked(*args, **kwargs)

    return awaited


def refusal(owner: str, name: str, kind: Kind, value: Any, *, has_default: bool = True) -> BadUsage:
    """Return the error for a value that a parameter does not admit: what came, and what to pass instead."""
    keys = [key for key in value if type(key) is not str] if isinstance(value, dict) else []
    if keys and kind.take({}) is not REFUSED:
        shown = f"a dict with {describe_value(keys[0])} as a key"
        return BadUsage(f"{owner}: {name} cannot be {shown}.", fix="Make its keys texts.")
    if position := _position_of_wrong(kind, value):
        shown = f"{type_of(value)} with {describe_value(position[1])} {position[0]}"
    elif kind.has_choices and isinstance(value, str):
        shown = shorten(repr(value), MAX_SHOWN)
    else:
        shown = describe_value(value)
    return BadUsage(f"{owner}: {name} cannot be {shown}.", fix=_fix(name, kind, value, has_default=has_default))


def describe_value(value: Any) -> str:
    """Return a wrong value as it is said in an error: of what is no number only the type, for it may be secret."""
    if isinstance(value, bool | int | float) and type(value).__module__ == "builtins":
        return shorten(repr(value), MAX_SHOWN)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if inspect.iscoroutine(value):
        value.close()  # it is never awaited
        return "a coroutine"
    if is_async(value):
        return "an async function"
    return "a function" if inspect.isroutine(value) else type_of(value)


def _position_of_wrong(kind: Kind, value: Any) -> tuple[str, Any] | None:
    """Return where in a list or a dict the first wrong value is, and that value."""
    if kind.item is None or not isinstance(value, list | tuple | dict) or len(value) > MAX_MEMBERS:
        return None
    if isinstance(value, dict):
        return next(
            (
                (f"under {shorten(repr(name), MAX_SHOWN)}", item)
                for name, item in value.items()
                if _is_wrong(kind, item)
            ),
            None,
        )
    return next(((f"at position {index}", item) for index, item in enumerate(value) if _is_wrong(kind, item)), None)


def _is_wrong(kind: Kind, member: Any) -> bool:
    return kind.item is not None and kind.item.take(member) is REFUSED


def _fix(name: str, kind: Kind, value: Any, *, has_default: bool) -> str:
    """Return what to pass instead, as near to the wrong value as it can be said."""
    if isinstance(value, type) and value.__module__ != "builtins":
        return f"Pass an instance: {value.__name__}(…)."
    if inspect.iscoroutine(value):
        return "Await it first."
    if kind.item and kind.item.take(value) is not REFUSED and kind.words.startswith("a list"):
        if isinstance(value, str) and kind.item.admits_all:
            example = value if value.isidentifier() else "…"
            return f"Pass a list of objects, without quotes: {name}=[{shorten(example, MAX_SHOWN)}]."
        shown = repr(value) if isinstance(value, str) else "…"
        return f"Pass a list: {name}=[{shorten(shown, MAX_SHOWN)}]."
    if isinstance(value, str) and (number := _number_in(value)) is not None and kind.take(number) is not REFUSED:
        return f"Pass {kind.words}, without quotes: {name}={number!r}."
    if value is None and has_default:
        return f"Leave {name} out, or pass {kind.words}."
    return f"Pass {kind.words}."


def _number_in(text: str) -> float | None:
    for read in (int, float):
        try:
            return read(text) if len(text) <= MAX_SHOWN else None
        except ValueError:
            continue
    return None
