"""What an annotation admits: how its values are said in an error, and which value is used for one that was passed.

An ordinary right value is admitted in each of its forms: a tuple for a list, an int or a number of numpy for a float.
A bool is no number, a text is no list of texts, a class is no instance, and NaN and the infinities are no numbers.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import isfinite
from numbers import Integral, Real
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)  # fmt: skip

from nbtool.text import with_article

REFUSED: Final = object()
"""What a kind takes a value for that it does not admit."""

MAX_CHOICE = 40
"""Maximum number of characters of a wrong choice in an error."""


@dataclass(frozen=True, slots=True)
class Range:
    """The range of a number, in its annotation: `Annotated[int, Range(at_least=1)]`."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None

    def has(self, number: float) -> bool:
        """Whether a number is in the range."""
        is_low = (self.at_least is not None and number < self.at_least) or (
            self.above is not None and number <= self.above
        )
        return not is_low and not (self.at_most is not None and number > self.at_most)

    def __str__(self) -> str:
        bounds = (("of at least", self.at_least), ("greater than", self.above), ("of at most", self.at_most))
        return " and ".join(f"{words} {bound:,g}" for words, bound in bounds if bound is not None)


POSITIVE: Final = Range(above=0)
"""In the annotation of a number that is greater than 0."""

NOT_NEGATIVE: Final = Range(at_least=0)
"""In the annotation of a number that is not negative."""

Count = Annotated[int, Range(at_least=1)]
Seconds = Annotated[float, POSITIVE]

CHECKED_INSIDE: Final = object()
"""In the annotation of a value that the function itself checks, where its own error says more."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What an annotation admits, in words: of one value (`a text`) and of several (`texts`).

    `take` returns the value to use, which is an equal one of the annotated type, or `REFUSED`. `item` is the kind of
    the items of a list. `classes` are those of which every instance is admitted, and nothing else is. Values whose type
    is one of `exact` are admitted as they are, so that `take` need not be called.
    With `has_choices` a text is one of few, so that a wrong one can be shown in an error.
    """

    words: str
    plural: str
    take: Callable[[Any], Any]
    item: Kind | None = None
    admits_all: bool = False
    classes: tuple[type, ...] = ()
    exact: frozenset[type] = frozenset()
    has_choices: bool = False


def _anything(value: Any) -> Any:
    return value


ANYTHING: Final = Kind("anything", "values", _anything, admits_all=True)


def kind_of(annotation: Any) -> Kind:
    """Return the kind of an annotation: what it does not restrict in a way that can be checked, is anything."""
    try:
        return _cached_kind(annotation)
    except TypeError:  # unhashable, such as a Literal with a list
        return _find_kind(annotation)


def _find_kind(annotation: Any) -> Kind:
    origin = get_origin(annotation)
    if annotation in (Any, object, inspect.Parameter.empty):
        return ANYTHING
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if isinstance(annotation, TypeVar):
        return _of_type_variable(annotation.__bound__)
    if origin is Annotated:
        return _annotated(*get_args(annotation))
    if origin in (Union, types.UnionType):
        return _union(tuple(map(kind_of, get_args(annotation))))
    if origin is Literal:
        return _choice(get_args(annotation))
    if origin is Callable or annotation is Callable:
        return _function(get_args(annotation))
    return _of_class(annotation, origin)


def _of_type_variable(bound: Any) -> Kind:
    if get_origin(bound) is Callable:  # what a decorator takes, which may be a class
        return Kind("a function or a class", "functions", lambda value: value if callable(value) else REFUSED)
    return ANYTHING if bound is None else kind_of(bound)


_cached_kind = cache(_find_kind)


def _of_class(annotation: Any, origin: Any) -> Kind:
    cls = origin or annotation
    arguments = get_args(annotation)
    if not isinstance(cls, type) or isinstance(annotation, ParamSpec):
        return ANYTHING
    if is_typeddict(cls) or issubclass(cls, Mapping):
        return _mapping(cls, arguments)
    if cls is tuple and arguments and arguments[-1] is not Ellipsis:
        return _tuple(tuple(map(kind_of, arguments)))
    if cls in (list, tuple, set, frozenset) or cls in (Sequence, Iterable, Collection):
        return _list(cls, kind_of(arguments[0]) if arguments else ANYTHING)
    if cls is type:
        return Kind("a class", "classes", lambda value: value if isinstance(value, type) else REFUSED)
    if getattr(cls, "_is_protocol", False):
        return _protocol(cls)
    return _instance(cls, with_article(cls.__name__), f"{cls.__name__} objects")


# --- plain values -------------------------------------------------------------------------------------------


def _take_bool(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    cls = type(value)
    return bool(value) if cls.__module__ == "numpy" and cls.__name__ in ("bool", "bool_") else REFUSED


def _take_int(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if type(value) is not bool and isinstance(value, Integral) else REFUSED


def _take_float(value: Any) -> Any:
    if type(value) is bool or not isinstance(value, int | float | Real):
        return REFUSED
    if isinstance(value, int):
        return value
    number = value if isinstance(value, float) else float(value)
    return number if isfinite(number) else REFUSED


def _instance(cls: type, words: str, plural: str) -> Kind:
    return Kind(
        words,
        plural,
        lambda value: value if isinstance(value, cls) else REFUSED,
        classes=(cls,),
        exact=frozenset((cls,)),
    )


_NONE = Kind("None", "None", lambda value: value if value is None else REFUSED, exact=frozenset((type(None),)))

_PLAIN: dict[Any, Kind] = {
    str: _instance(str, "a text", "texts"),
    bytes: _instance(bytes, "bytes", "bytes"),
    bool: Kind("True or False", "truth values", _take_bool, exact=frozenset((bool,))),
    int: Kind("a whole number", "whole numbers", _take_int, exact=frozenset((int,))),
    float: Kind("a number", "numbers", _take_float, exact=frozenset((int,))),
    type(None): _NONE,
    None: _NONE,
}


def _annotated(annotation: Any, *notes: Any) -> Kind:
    if any(note is CHECKED_INSIDE for note in notes):
        return ANYTHING
    kind = kind_of(annotation)
    bounds = next((note for note in notes if isinstance(note, Range)), None)
    if bounds is None:
        return kind

    def take(value: Any) -> Any:
        number = kind.take(value)
        return number if number is not REFUSED and bounds.has(number) else REFUSED

    return Kind(f"{kind.words} {bounds}", f"{kind.plural} {bounds}", take)


def _choice(choices: tuple[Any, ...]) -> Kind:
    def take(value: Any) -> Any:
        same = (choice for choice in choices if isinstance(value, type(choice)) and bool(choice == value))
        return next(same, REFUSED)

    words = ", ".join(map(repr, choices))
    return Kind(words if len(choices) == 1 else f"one of {words}", words, take, has_choices=True)


def _function(arguments: tuple[Any, ...]) -> Kind:
    """A function; one that is not awaited must be sync, for nobody would await what an async one returns."""
    may_be_async = not arguments or _admits_awaitable(arguments[-1])

    def take(value: Any) -> Any:
        if not callable(value) or isinstance(value, type):
            return REFUSED
        return value if may_be_async or not is_async(value) else REFUSED

    return Kind(*(("a function", "functions") if may_be_async else ("a sync function", "sync functions")), take)


def is_async(value: Any) -> bool:
    """Whether calling a value returns a coroutine or an async generator."""
    call = value if inspect.isroutine(value) or isinstance(value, partial) else getattr(value, "__call__", value)  # noqa: B004 - the method itself is inspected
    return inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)


def _admits_awaitable(annotation: Any) -> bool:
    origin = get_origin(annotation) or annotation
    if origin in (Union, types.UnionType):
        return any(map(_admits_awaitable, get_args(annotation)))
    if origin in (Any, object) or isinstance(origin, TypeVar | ForwardRef | str):
        return True
    return isinstance(origin, type) and issubclass(origin, Awaitable)


def _protocol(cls: type) -> Kind:
    members = _protocol_members(cls)
    has = " and ".join(sorted(members))

    def take(value: Any) -> Any:
        if isinstance(value, type):
            return REFUSED
        return value if all(hasattr(value, name) for name in members) else REFUSED

    return Kind(f"an object with {has}", f"objects with {has}", take)


def _protocol_members(cls: type) -> frozenset[str]:
    bases = [base for base in cls.__mro__ if getattr(base, "_is_protocol", False) and base is not Protocol]
    names = {name for base in bases for name in (*vars(base), *inspect.get_annotations(base))}
    return frozenset(name for name in names if name == "__call__" or not name.startswith("_"))


# --- values of several kinds --------------------------------------------------------------------------------


def _union(kinds: tuple[Kind, ...]) -> Kind:
    if any(kind.admits_all for kind in kinds):
        return ANYTHING

    classes = tuple(cls for kind in kinds for cls in kind.classes)
    others = [kind for kind in kinds if not kind.classes]

    def take(value: Any) -> Any:
        if isinstance(value, classes):
            return value
        for kind in others:
            if (taken := kind.take(value)) is not REFUSED:
                return taken
        return REFUSED

    item = next((kind.item for kind in kinds if kind.item), None)
    words, plural = join_words(kind.words for kind in kinds), join_words(kind.plural for kind in kinds)
    has_choices = any(kind.has_choices for kind in kinds)
    exact: frozenset[type] = frozenset().union(*(kind.exact for kind in kinds))
    return Kind(words, plural, take, item, classes=() if others else classes, exact=exact, has_choices=has_choices)


def join_words(words: Iterable[str]) -> str:
    """Return alternatives as they are said: `a, b or c`, each once."""
    several = list(dict.fromkeys(words))
    return f"{', '.join(several[:-1])} or {several[-1]}" if len(several) > 1 else several[0]


def _list(cls: Any, item: Kind) -> Kind:
    """A list in any of its forms; an iterator becomes a list where its items are checked."""

    def take(value: Any) -> Any:
        if type(value) is cls and item.exact.issuperset(map(type, value)):
            return value
        is_no_list = isinstance(value, str | bytes | bytearray | Mapping | type)
        if is_no_list or not (isinstance(value, Iterable) or hasattr(type(value), "__getitem__")):
            return REFUSED
        is_kept = (isinstance(value, cls) or cls is Iterable) and not (
            isinstance(value, Iterator) and not item.admits_all
        )
        if is_kept and item.admits_all:
            return value
        items = list(value)
        taken = items if item.admits_all else [item.take(entry) for entry in items]
        if any(entry is REFUSED for entry in taken):
            return REFUSED
        if is_kept and all(old is new for old, new in zip(items, taken, strict=True)):
            return value
        return cls(taken) if cls in (tuple, set, frozenset) else taken

    words = "a list" if item.admits_all else f"a list of {item.plural}"
    return Kind(words, words.replace("a list", "lists"), take, item)


def _tuple(items: tuple[Kind, ...]) -> Kind:
    def take(value: Any) -> Any:
        if not isinstance(value, tuple | list) or len(value) != len(items):
            return REFUSED
        taken = tuple(kind.take(entry) for kind, entry in zip(items, value, strict=True))
        if any(entry is REFUSED for entry in taken):
            return REFUSED
        is_same = isinstance(value, tuple) and all(old is new for old, new in zip(value, taken, strict=True))
        return value if is_same else taken

    inside = ", ".join(kind.words for kind in items)
    return Kind(f"a tuple of {inside}", f"tuples of {inside}", take)


def _mapping(cls: Any, arguments: tuple[Any, ...]) -> Kind:
    keys, values = map(kind_of, arguments) if len(arguments) == 2 else (ANYTHING, ANYTHING)

    def take(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return REFUSED
        if keys.admits_all and values.admits_all:
            pairs, is_same = value, True
        else:
            pairs = {keys.take(name): values.take(entry) for name, entry in value.items()}
            if any(pair is REFUSED for pair in (*pairs, *pairs.values())):
                return REFUSED
            is_same = all(pair is value[name] for name, pair in pairs.items())
        if is_same and (is_typeddict(cls) or isinstance(value, cls)):
            return value
        return dict(pairs)

    words = "a dict" if values.admits_all else f"a dict of {values.plural}"
    return Kind(words, words.replace("a dict", "dicts"), take, values)
