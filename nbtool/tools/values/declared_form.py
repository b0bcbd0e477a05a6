"""What the class of a record declares about leaving it: the form in which its author lets it become text or JSON.

A class of pydantic or msgspec is asked itself, and so is a record with a serializer of its own: what it excludes does
not leave, and what it computes, renames or masks leaves as it says. Other dataclasses, classes of attrs and named
tuples have the fields that their representation shows. If a serializer fails there is no form: never the raw fields.
"""

from __future__ import annotations

import dataclasses
import gc
import sys
import types
import typing
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType, SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from nbtool.tools.values.core_schemas import Node, compiled_as_written, with_changed_nodes
from nbtool.tools.values.table_form import object_cells
from nbtool.tools.values.type_names import type_name

OWN_SERIALIZERS = ("__json__", "to_dict")
"""Methods by which a dataclass or a class of attrs returns its own form, as with mashumaro and dataclasses-json."""

NOT_READABLE = "not readable: {kind}: its serializer failed ({error})"

MAX_DEPTH = 20
"""Maximum nesting in which a serializer is looked for; what is deeper is taken to have one."""

MAX_CELLS = 100_000
"""Maximum number of objects in a table or an array that are looked at; a larger one is taken to have such a record."""

_SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes})

Fallback = Callable[[Any], Any]
"""Returns the form of an object inside a record that its serializer does not know."""


class NotReadable(Exception):
    """A record has no form, because its own serializer failed; the text says so."""


def declared_form(value: Any, fallback: Fallback = repr) -> Any:
    """Return a record in the form that its class declares; its fields may contain further records.

    Raises:
        NotReadable: its serializer failed.
        LookupError: it is no record.
    """
    if (serialize := _serializer_of(value)) is None:
        if (fields := _shown_fields(value)) is None:
            raise LookupError(type_name(type(value)))
        return fields
    try:
        return serialize(value, fallback)
    except Exception as error:
        raise NotReadable(NOT_READABLE.format(kind=type_name(type(value)), error=type_name(type(error)))) from error


def is_record(value: Any) -> bool:
    """Whether the class of a value declares a form, or shows fields."""
    return _serializer_of(value) is not None or _shown_fields(value) is not None


def contains_serializer(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether a value is or contains a record with a serializer of its own, which a representation would not ask.

    An exception contains its arguments, a table its cells, and an object that the standard library represents, such as
    a `partial`, what it refers to.
    """
    if type(value) in _SCALARS:
        return False
    if depth == 0 or _serializer_of(value) is not None:
        return True
    if (cells := object_cells(value)) is not None:
        return len(cells) > MAX_CELLS or any(contains_serializer(cell, depth - 1) for cell in cells)
    inner = _members(value)
    return any(contains_serializer(referent, depth - 1) for referent in (_referents(value) if inner is None else inner))


def message_of_arguments(error: BaseException) -> Any:
    """Return what an exception says in place of the text that Python makes of its arguments; None for other texts.

    Python writes the raw fields of a record in its arguments, and all fields of an exception that is a record.
    """
    if type(error).__str__ not in _TEXTS_OF_ARGUMENTS:
        return None
    if is_record(error):
        return error
    if not contains_serializer(error):
        return None
    return error.args[0] if len(error.args) == 1 else list(error.args)


_TEXTS_OF_ARGUMENTS = (BaseException.__str__, KeyError.__str__)


def _members(value: Any) -> Any:
    """Return what a container, a record or an exception contains; None for any other value."""
    if isinstance(value, BaseException):
        return value.args
    container = as_plain_container(value)
    inner: Any = value if container is None else container
    if (fields := _shown_fields(inner)) is not None:
        inner = fields
    if isinstance(inner, dict):
        return (*inner.keys(), *inner.values())
    return inner if isinstance(inner, list | tuple | set | frozenset | deque) else None


def _referents(value: Any) -> Any:
    """Return the containers and records to which an object refers whose representation the standard library writes."""
    if isinstance(value, type | types.ModuleType | types.FunctionType):
        return ()
    author = next(base for base in type(value).__mro__ if "__repr__" in vars(base))
    if author is object or author.__module__.partition(".")[0] not in sys.stdlib_module_names:
        return ()
    return [
        referent
        for referent in gc.get_referents(value)
        if _serializer_of(referent) is not None or _members(referent) is not None
    ]


def as_plain_container(value: Any) -> Any:
    """Return a container of the standard library as a dict or a list; None for any other value.

    Its own representation would show the raw fields of the records in it.
    """
    kind = type(value)
    if kind in (MappingProxyType, SimpleNamespace):
        return dict(value) if kind is MappingProxyType else vars(value)
    if kind.__module__ == "collections" and isinstance(value, Mapping):
        return dict(value)
    if kind.__module__ == "collections" and hasattr(value, "data"):
        return value.data  # a UserList
    return list(value) if kind in (type({}.keys()), type({}.values()), type({}.items())) else None


def _serializer_of(value: Any) -> Callable[[Any, Fallback], Any] | None:
    kind = type(value)
    if isinstance(value, type):
        return None
    if hasattr(kind, "__pydantic_serializer__"):
        return _dump_pydantic
    if hasattr(kind, "__struct_fields__") and "msgspec" in sys.modules:
        return _dump_struct
    if not (dataclasses.is_dataclass(kind) or hasattr(kind, "__attrs_attrs__")):
        return None
    if own := next((name for name in OWN_SERIALIZERS if callable(getattr(kind, name, None))), None):
        return lambda record, _: getattr(record, own)()
    return _dump_dataclass if dataclasses.is_dataclass(kind) and _declares_for_pydantic(kind) else None


def _dump_pydantic(value: Any, fallback: Fallback) -> Any:
    from pydantic import BaseModel  # noqa: PLC0415 - the class is one of pydantic

    kind = type(value)
    if getattr(kind, "model_dump", BaseModel.model_dump) is not BaseModel.model_dump:
        return value.model_dump(mode="json")
    config = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", None) or {}
    return _dump(value, bool(config.get("serialize_by_alias")), fallback)


def _dump_dataclass(value: Any, fallback: Fallback) -> Any:
    return _dump(value, False, fallback)


def _dump(value: Any, by_alias: bool, fallback: Fallback) -> Any:
    kind = type(value)
    if kind not in _serializers:
        _serializers[kind] = _compile_serializer(kind)
    token = _fallback.set(fallback)
    try:
        return _serializers[kind].to_python(value, mode="json", by_alias=by_alias, warnings=False, fallback=fallback)
    finally:
        _fallback.reset(token)


def _dump_struct(value: Any, fallback: Fallback) -> Any:
    return sys.modules["msgspec"].to_builtins(value, str_keys=True, enc_hook=fallback)


_serializers: WeakKeyDictionary[type, Any] = WeakKeyDictionary()

_fallback: ContextVar[Fallback] = ContextVar("nbtool_fallback")


def _compile_serializer(kind: Any) -> Any:
    """Return the serializer of a class, without the fields that a representation does not show.

    A value of no declared type is read here, and not by pydantic, which would show all fields of a dataclass.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415 - the class uses declarations of pydantic
    from pydantic_core import SchemaSerializer  # noqa: PLC0415 - as above

    core: Any = TypeAdapter(kind).core_schema
    with compiled_as_written(core):
        return SchemaSerializer(with_changed_nodes(core, _as_shown))


def _as_shown(node: Node) -> Node:
    kind = node.get("type")
    if kind == "any" or _has_other_form(node.get("cls")):
        return {"serialization": _READ_HERE, **node}
    if item := _UNDECLARED_ITEMS.get(kind or ""):
        return {item: _ANYTHING, **node}
    hidden = _hidden_in(node)
    takes_extra = node.get("config", {}).get("extra_fields_behavior") == "allow"
    if not (hidden or takes_extra):
        return node
    extras: Node = {"extras_schema": _ANYTHING} if takes_extra else {}
    return {**node, "schema": _with_fields_shown(node["schema"], hidden, extras)}


def _has_other_form(kind: Any) -> bool:
    """Whether the objects of a class have a form of which pydantic does not know."""
    is_record = dataclasses.is_dataclass(kind)
    names = ("_repr_llm_", *(OWN_SERIALIZERS if is_record else ()))
    return isinstance(kind, type) and any(callable(getattr(kind, name, None)) for name in names)


def _read_here(value: Any) -> Any:
    return _fallback.get()(value)


_READ_HERE = {"type": "function-plain", "function": _read_here}

_ANYTHING: Node = {"type": "any", "serialization": _READ_HERE}

_UNDECLARED_ITEMS = {
    "list": "items_schema", "set": "items_schema", "frozenset": "items_schema", "dict": "values_schema",
}  # fmt: skip
"""Where the schema of a container has that of its items, if their type is declared."""


def _hidden_in(node: Node) -> frozenset[str]:
    """Return the fields and properties of a class in a core schema that are declared with `repr=False`."""
    kind: Any = node.get("cls")
    declared = [
        *getattr(kind, "__pydantic_fields__", {}).items(),
        *((name, computed_field.info) for name, computed_field in _computed_fields(kind).items()),
        *((item.name, item) for item in getattr(kind, "__dataclass_fields__", {}).values()),
    ]
    return frozenset(name for name, item in declared if not getattr(item, "repr", True))


def _computed_fields(kind: Any) -> dict[str, Any]:
    return getattr(getattr(kind, "__pydantic_decorators__", None), "computed_fields", {})


def _with_fields_shown(node: Node, hidden: frozenset[str], extras: Node) -> Node:
    """Return the fields of one class, which may be inside nodes of its validators, without the hidden ones."""
    if "schema" in node and "fields" not in node:
        return {**node, "schema": _with_fields_shown(node["schema"], hidden, extras)}
    if "fields" not in node:  # a hidden root
        return {"type": "any", "serialization": {"type": "function-plain", "function": _hide}}
    fields = node["fields"]
    marked: Any = (
        {name: _marked(item, name in hidden) for name, item in fields.items()}
        if isinstance(fields, dict)
        else [_marked(field, field["name"] in hidden) for field in fields]
    )
    computed = [item for item in node.get("computed_fields", ()) if item["property_name"] not in hidden]
    return {**extras, **node, "fields": marked, "computed_fields": computed}


def _hide(_value: Any) -> None:
    """Return nothing in the place of a value."""


def _marked(node: Node, is_hidden: bool) -> Node:
    return {**node, "serialization_exclude": True} if is_hidden else node


def _declares_for_pydantic(kind: Any) -> bool:
    """Whether a dataclass has declarations of pydantic, which only pydantic follows.

    Annotations that cannot be resolved are taken for such if they may contain one.
    """
    if "pydantic" not in sys.modules:
        return False
    if kind not in _declaring:
        _declaring[kind] = _has_declarations(kind)
    return _declaring[kind]


_declaring: WeakKeyDictionary[type, bool] = WeakKeyDictionary()


def _has_declarations(kind: Any) -> bool:
    attributes = [var for base in kind.__mro__ for var in vars(base).values()]
    if any(type(attribute).__module__.startswith("pydantic.") for attribute in attributes):
        return True
    try:
        hints = typing.get_type_hints(kind, include_extras=True).values()
    except Exception:  # noqa: BLE001 - a name is known only where the class was defined
        return any("Annotated" in str(field.type) for field in dataclasses.fields(kind))
    metadata = [item for hint in hints for item in getattr(hint, "__metadata__", ())]
    return any(
        type(item).__module__.startswith("pydantic.") or hasattr(item, "__get_pydantic_core_schema__")
        for item in metadata
    )


def _shown_fields(value: Any) -> dict[str, Any] | None:
    """Return the fields that the representation of a dataclass, a class of attrs or a named tuple shows."""
    kind = type(value)
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(kind) if field.repr}
    if hasattr(kind, "__attrs_attrs__"):
        return {
            attrs_attr.name: _shown(attrs_attr.repr, getattr(value, attrs_attr.name, None))
            for attrs_attr in kind.__attrs_attrs__
            if attrs_attr.repr
        }
    if isinstance(value, tuple) and hasattr(kind, "n_sequence_fields"):
        return {name: getattr(value, name) for name in kind.__match_args__}  # such as the result of `os.stat`
    if isinstance(value, tuple) and isinstance(names := getattr(kind, "_fields", None), tuple):
        return dict(zip(names, value, strict=False))
    return None


def _shown(show: Any, value: Any) -> Any:
    """Return a field of attrs, which may have a representation of its own."""
    return show(value) if callable(show) else value
