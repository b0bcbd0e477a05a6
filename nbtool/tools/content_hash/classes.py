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
    class_attribute,
    class_name,
    direct_bases,
    get_field,
    module_of,
    mro,
    namespace,
    short_name,
)
from nbtool.tools.content_hash.hasher import CodeNotHashable, Hasher, NotHashable

HashValue = Callable[[Any, Hasher], None]

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


def hash_class(kind: type, hasher: Hasher, hash_value: HashValue) -> None:
    """Write a class.

    Raises:
        UnknownCode: it is the notebook's own, and holds what cannot be compared.
    """
    hasher.update_text(class_name(kind))
    if not is_of_notebook(kind) or not hasher.enter(kind):
        return
    namespace_, part = namespace(kind), ""
    hasher.update_text(class_name(type(kind)))
    doc = namespace_.get("__doc__")
    hasher.update_text(inspect.cleandoc(doc) if type(doc) is str else "")
    for base in direct_bases(kind):
        hash_class(base, hasher, hash_value)
    try:
        for part, value in {**_class_members(kind, namespace_), **_decorator_settings(namespace_)}.items():
            hasher.update_text(part)
            _hash_member(value, hasher, hash_value)
    except CodeNotHashable:
        raise
    except (NotHashable, RecursionError) as error:
        raise CodeNotHashable(f"its class {short_name(kind)} holds `{part}`: {error}") from None
    hasher.exit()


def is_of_notebook(kind: type) -> bool:
    """Whether a class was made in a cell."""
    return namespace(kind).get("__module__") == NOTEBOOK


def _class_members(kind: type, class_dict: dict[str, Any]) -> dict[str, Any]:
    """Give what the author of a class put into it, its annotations with the rest."""
    annotations = {name: class_dict[name] for name in _ANNOTATIONS if class_dict.get(name)}
    annotations = dict(
        [*annotations.items()][:1]
    )  # from Python 3.14 on they are code; what came of it may lie beside it
    if any(base is enum.Enum for base in mro(kind)):
        members = {name: (member._name_, member._value_) for name, member in class_dict.get("_member_map_", {}).items()}
        methods = {
            name: value for name, value in class_dict.items() if id(type(value)) in _METHODS and name not in members
        }
        return {**members, **{name: value for name, value in methods.items() if not _is_sunder(name)}}
    if "__pydantic_fields__" in class_dict:
        own_names = ("__pydantic_fields__", "__private_attributes__")
        is_internal = {name for name in class_dict if name.startswith("__pydantic_") or _is_sunder(name)}.difference(
            own_names
        )
        class_dict = {name: value for name, value in class_dict.items() if name not in is_internal}
    return {**annotations, **{name: value for name, value in class_dict.items() if name not in _BOOKKEEPING}}


def _is_sunder(name: str) -> bool:
    return name.startswith("_") and name.endswith("_") and not name.startswith("__")


def _decorator_settings(class_dict: dict[str, Any]) -> dict[str, Any]:
    """Give how decorators were told to make the class."""
    decorators = class_dict.get("__pydantic_decorators__")
    groups = {
        group: getattr(decorators, group) for group in class_attribute(type(decorators), "__dataclass_fields__") or ()
    }
    settings = {
        f"{group} {name}": decorator.info
        for group, decorators_by_name in groups.items()
        if isinstance(decorators_by_name, dict)
        for name, decorator in decorators_by_name.items()
    }
    return {**settings, "dataclass": repr(class_dict.get("__dataclass_params__"))}


def _hash_member(value: Any, hasher: Hasher, hash_value: HashValue) -> None:
    kind = type(value)
    hasher.update_text(short_name(kind))
    if kind is types.FunctionType:
        _hash_function(value, hasher, hash_value)
    elif parts := _PARTS.get(id(kind)):
        for name in parts:
            _hash_member(getattr(value, name), hasher, hash_value)
    elif kind is dict:
        for name, item in value.items():
            hasher.update_text(str(name))
            _hash_member(item, hasher, hash_value)
    elif id(kind) in _DESCRIPTORS:
        hasher.update_text(str(getattr(value, "__name__", "")))
    else:
        _hash_inner(value, hasher, hash_value)


def _hash_function(function: types.FunctionType, hasher: Hasher, hash_value: HashValue) -> None:
    if function.__module__ == NOTEBOOK:
        if function.__code__.co_filename != _GENERATED:
            hash_value(function, hasher)
        return
    hasher.update_text(
        f"{function.__module__}.{function.__qualname__}"
    )  # what a base or a decorator of a library put there
    for value in closure_values(function).values():
        if type(value) is types.FunctionType and value.__module__ == NOTEBOOK:
            hash_value(value, hasher)


def closure_values(function: types.FunctionType) -> dict[str, Any]:
    """Return what a function closes over, by name."""
    values: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # the name is bound later
            values[name] = cell.cell_contents
    return values


def _hash_inner(value: Any, hasher: Hasher, hash_value: HashValue) -> None:
    """Write what fields and annotations are made of: values, types, and the descriptions of fields."""
    kind = type(value)
    if is_class(value):
        hash_class(value, hasher, hash_value)
    elif module_of(kind).partition(".")[0] in _TYPING_PACKAGES and _is_type_or_marker(value):
        hasher.update_text(f"{short_name(kind)} {'' if hasattr(value, '__args__') else value!r}")
        parts = (
            getattr(value, "__origin__", None),
            *getattr(value, "__args__", ()),
            *getattr(value, "__metadata__", ()),
        )
        _hash_all(parts, hasher, hash_value)
    elif kind is tuple or kind is list:
        _hash_all(value, hasher, hash_value)
    elif names := _fields(kind):
        hasher.update_text(f"{class_name(kind)} {' '.join(names)}")
        _hash_all([get_field(value, name) for name in names], hasher, hash_value)
    elif kind is types.FunctionType or id(kind) in _PARTS:
        _hash_member(value, hasher, hash_value)
    else:
        hash_value(value, hasher)


def _is_type_or_marker(value: Any) -> bool:
    """Whether a thing of a library is a type with parameters, or is known by its name: `typing.Any`, `MISSING`."""
    return hasattr(value, "__args__") or short_name(type(value)) in _NAMES


def _fields(kind: type) -> Sequence[str]:
    fields = class_attribute(kind, "__dataclass_fields__") or {}
    own_names = [name for name, field_ in fields.items() if repr(field_._field_type) == "_FIELD"]
    return _FIELDS.get(class_name(kind), own_names)


def _hash_all(parts: Sequence[Any], hasher: Hasher, hash_value: HashValue) -> None:
    hasher.update_text(str(len(parts)))
    for part in parts:
        _hash_inner(part, hasher, hash_value)


_TYPING_PACKAGES = ("typing", "types", "dataclasses", "pydantic_core", "typing_extensions")
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
