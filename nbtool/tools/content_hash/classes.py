"""Writing classes: those of the notebook by what they are made of, all others by their names.

The source of a class is not read: Python finds it by a line number alone (https://docs.python.org/3/library/inspect.html
#inspect.getsource), in a file that may not be where the class was made. What a class holds is there to be seen, and its
methods are code, whose source is certain or said to be unknown. A class that holds what cannot be compared is unknown.
"""

from __future__ import annotations

import collections
import enum
import functools
import inspect
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from nbtool.tools.content_hash.fields import (
    bases,
    class_name,
    direct_bases,
    field,
    module_of,
    namespace,
    of_class,
    short_name,
)
from nbtool.tools.content_hash.hasher import Ink, Unknown, UnknownCode

Write = Callable[[Any, Ink], None]

NOTEBOOK = "__main__"
"""The module of a notebook's own cells: what a function of it calls there may change from run to run."""

_BOOKKEEPING = frozenset((
    "__module__", "__qualname__", "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__",
    "__type_params__", "__annotations_cache__", "__annotate_func__", "__annotate__", "__abstractmethods__",
    "__match_args__", "__parameters__", "_abc_impl", "__dataclass_params__", "__protocol_attrs__",
    "_is_protocol", "_is_runtime_protocol", "__non_callable_proto_members__", "__signature__", "__class_vars__",
    "__orig_bases__", "__annotations__", "__classdictcell__", "__doc__", "__pydantic_decorators__",
))  # fmt: skip
"""What Python and its libraries keep in a class for themselves, or what is written in another way."""

_METHODS = tuple(map(id, (types.FunctionType, property, staticmethod, classmethod)))
_PARTS: dict[int, tuple[str, ...]] = {
    id(property): ("fget", "fset", "fdel"),
    id(staticmethod): ("__func__",),
    id(classmethod): ("__func__",),
    id(functools.cached_property): ("func",),
    id(functools.partialmethod): ("func", "args", "keywords"),
    id(functools._lru_cache_wrapper): ("__wrapped__",),
}
"""Members that are made of others, by the identity of their type: asking it for its hash could run a metaclass."""
_ANNOTATIONS = ("__annotate_func__", "__annotations__", "__annotations_cache__")
_DESCRIPTORS = {
    *map(id, (types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType)),
    *map(id, (types.MethodDescriptorType, types.ClassMethodDescriptorType, types.BuiltinFunctionType)),
    id(type(vars(collections.namedtuple("_Pair", "a b"))["a"])),
}
"""Members that Python made of what is written beside them."""
_GENERATED = "<string>"
"""The file name of methods that `dataclasses` and the like write from the fields."""


def is_class(value: Any) -> bool:
    """Whether a value is a class, of whatever metaclass."""
    return issubclass(type(value), type)


def write_class(kind: type, ink: Ink, write: Write) -> None:
    """Write a class.

    Raises:
        UnknownCode: it is the notebook's own, and holds what cannot be compared.
    """
    ink.mark(class_name(kind))
    if not is_of_notebook(kind) or not ink.enter(kind):
        return
    known, part = namespace(kind), ""
    ink.mark(class_name(type(kind)))
    doc = known.get("__doc__")
    ink.mark(inspect.cleandoc(doc) if type(doc) is str else "")
    for base in direct_bases(kind):
        write_class(base, ink, write)
    try:
        for part, held in {**_members(kind, known), **_parameters(known)}.items():
            ink.mark(part)
            _member(held, ink, write)
    except UnknownCode:
        raise
    except (Unknown, RecursionError) as why:
        raise UnknownCode(f"its class {short_name(kind)} holds `{part}`: {why}") from None
    ink.leave()


def is_of_notebook(kind: type) -> bool:
    """Whether a class was made in a cell."""
    return namespace(kind).get("__module__") == NOTEBOOK


def _members(kind: type, known: dict[str, Any]) -> dict[str, Any]:
    """Give what the author of a class put into it, its annotations with the rest."""
    noted = {name: known[name] for name in _ANNOTATIONS if known.get(name)}
    noted = dict([*noted.items()][:1])  # from Python 3.14 on they are code; what came of it may lie beside it
    if any(base is enum.Enum for base in bases(kind)):
        members = {name: (one._name_, one._value_) for name, one in known.get("_member_map_", {}).items()}
        methods = {name: held for name, held in known.items() if id(type(held)) in _METHODS and name not in members}
        return {**members, **{name: held for name, held in methods.items() if not _is_sunder(name)}}
    if "__pydantic_fields__" in known:
        own = ("__pydantic_fields__", "__private_attributes__")
        is_internal = {name for name in known if name.startswith("__pydantic_") or _is_sunder(name)}.difference(own)
        known = {name: held for name, held in known.items() if name not in is_internal}
    return {**noted, **{name: held for name, held in known.items() if name not in _BOOKKEEPING}}


def _is_sunder(name: str) -> bool:
    return name.startswith("_") and name.endswith("_") and not name.startswith("__")


def _parameters(known: dict[str, Any]) -> dict[str, Any]:
    """Give how decorators were told to make the class."""
    decorators = known.get("__pydantic_decorators__")
    groups = {group: getattr(decorators, group) for group in of_class(type(decorators), "__dataclass_fields__") or ()}
    told = {
        f"{group} {name}": decorator.info
        for group, named in groups.items()
        if isinstance(named, dict)
        for name, decorator in named.items()
    }
    return {**told, "dataclass": repr(known.get("__dataclass_params__"))}


def _member(held: Any, ink: Ink, write: Write) -> None:
    kind = type(held)
    ink.mark(short_name(kind))
    if kind is types.FunctionType:
        _function(held, ink, write)
    elif parts := _PARTS.get(id(kind)):
        for name in parts:
            _member(getattr(held, name), ink, write)
    elif kind is dict:
        for name, inner in held.items():
            ink.mark(str(name))
            _member(inner, ink, write)
    elif id(kind) in _DESCRIPTORS:
        ink.mark(str(getattr(held, "__name__", "")))
    else:
        _inner(held, ink, write)


def _function(function: types.FunctionType, ink: Ink, write: Write) -> None:
    if function.__module__ == NOTEBOOK:
        if function.__code__.co_filename != _GENERATED:
            write(function, ink)
        return
    ink.mark(f"{function.__module__}.{function.__qualname__}")  # what a base or a decorator of a library put there
    for held in closed_over(function).values():
        if type(held) is types.FunctionType and held.__module__ == NOTEBOOK:
            write(held, ink)


def closed_over(function: types.FunctionType) -> dict[str, Any]:
    """Return what a function closes over, by name."""
    held: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # the name is bound later
            held[name] = cell.cell_contents
    return held


def _inner(held: Any, ink: Ink, write: Write) -> None:
    """Write what fields and annotations are made of: values, types, and the descriptions of fields."""
    kind = type(held)
    if is_class(held):
        write_class(held, ink, write)
    elif module_of(kind).partition(".")[0] in _OF_TYPES and _is_type_or_mark(held):
        ink.mark(f"{short_name(kind)} {'' if hasattr(held, '__args__') else held!r}")
        parts = (getattr(held, "__origin__", None), *getattr(held, "__args__", ()), *getattr(held, "__metadata__", ()))
        _all(parts, ink, write)
    elif kind is tuple or kind is list:
        _all(held, ink, write)
    elif names := _fields(kind):
        ink.mark(f"{class_name(kind)} {' '.join(names)}")
        _all([field(held, name) for name in names], ink, write)
    elif kind is types.FunctionType or id(kind) in _PARTS:
        _member(held, ink, write)
    else:
        write(held, ink)


def _is_type_or_mark(held: Any) -> bool:
    """Whether a thing of a library is a type with parameters, or is known by its name: `typing.Any`, `MISSING`."""
    return hasattr(held, "__args__") or short_name(type(held)) in _NAMES


def _fields(kind: type) -> Sequence[str]:
    known = of_class(kind, "__dataclass_fields__") or {}
    own = [name for name, one in known.items() if repr(one._field_type) == "_FIELD"]
    return _FIELDS.get(class_name(kind), own)


def _all(parts: Sequence[Any], ink: Ink, write: Write) -> None:
    ink.mark(str(len(parts)))
    for part in parts:
        _inner(part, ink, write)


_OF_TYPES = ("typing", "types", "dataclasses", "pydantic_core", "typing_extensions")
_NAMES = (
    "_SpecialForm", "_LiteralSpecialForm", "_TypedCacheSpecialForm", "_AnyMeta", "TypeVar", "ParamSpec",
    "_MISSING_TYPE", "_KW_ONLY_TYPE", "PydanticUndefinedType",
)  # fmt: skip
_FIELDS = {
    "dataclasses.Field": ("name", "default", "default_factory", "init", "repr", "hash", "compare", "kw_only"),
    "pydantic.fields.FieldInfo": (
        "annotation", "default", "default_factory", "alias", "alias_priority", "validation_alias",
        "serialization_alias", "title", "description", "examples", "exclude", "discriminator", "frozen",
        "validate_default", "repr", "init", "kw_only", "metadata",
    ),
    "pydantic.fields.ModelPrivateAttr": ("default", "default_factory"),
}  # fmt: skip
