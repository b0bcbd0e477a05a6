"""Literals and members of enumerations that JSON has not, such as `b"a"`, `Color.RED` or a tuple, as they are written.

The schema tells a model the JSON form of each, so this form is what is read. The keys of an object are texts: there a
number, too, is written as one.

So are integers: JSON Schema has it that each number with a fraction of zero is an integer, such as `5.0` and `1e3`, and
some models write all numbers so. `5.5` is none, and neither are `"5"` and `true`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from nbtool.tools.values.core_schemas import Node

MAX_DIGITS = 15
"""Maximum number of significant digits of a number above `MAX_EXACT`: with more, some may have been lost in reading."""

MAX_EXACT = 2**53
"""Up to this each integer is a float too."""


def as_integer(value: Any) -> Any:
    """Return the integer that a float stands for, and any other value as it is.

    Raises:
        PydanticCustomError: the float may have lost digits of the integer.
    """
    if type(value) is not float or not value.is_integer():
        return value
    if abs(value) <= MAX_EXACT:
        return int(value)
    written = Decimal(repr(value))
    if len(written.normalize().as_tuple().digits) > MAX_DIGITS:
        from pydantic_core import PydanticCustomError  # noqa: PLC0415 - loaded when the tool was created

        raise PydanticCustomError("integer_digits", "Input should be an integer with all of its digits")
    return int(written)


def admit_integral(node: Node) -> Node:
    """Return a node of pydantic's core schema that also takes an integral float where it takes an integer.

    Beside a float an integral float remains one.
    """
    kind = node.get("type")
    if kind == "dict" and _is_admitting(keys := node.get("keys_schema", {})):
        return {**node, "keys_schema": keys["schema"]}
    if kind == "union":
        return {**node, "choices": _admitting_choices(node["choices"])}
    if not _takes_integers(node):
        return node
    from pydantic_core import core_schema  # noqa: PLC0415 - needed only when a tool is created

    wrapped: Any = core_schema.no_info_before_validator_function(as_integer, node)
    return dict(wrapped)


def _admitting_choices(choices: list[Any]) -> list[Any]:
    """Return the choices of a union, in which one that was wrapped has its former name in errors."""
    schemas = [item[0] if isinstance(item, tuple) else item for item in choices]
    has_float = any(item.get("type") == "float" for item in schemas)
    admitted: list[Any] = []
    for choice, schema in zip(choices, schemas, strict=True):
        if not _is_admitting(schema):
            admitted.append(choice)
        else:
            admitted.append(schema["schema"] if has_float else (schema, schema["schema"]["type"]))
    return admitted


def _is_admitting(node: Node) -> bool:
    return node.get("type") == "function-before" and node["function"]["function"] is as_integer


def _takes_integers(node: Node) -> bool:
    if node.get("type") == "enum":
        return node.get("sub_type") == "int"
    if node.get("type") == "literal":
        return any(type(item) is int for item in node["expected"])
    return node.get("type") == "int"


_WRITTEN_AS_THEY_ARE = (str, int, bool, type(None))


@dataclass(frozen=True, slots=True)
class StatedValues:
    """Returns the value that a JSON value stands for, and any other JSON value as it is.

    Args:
        forms: the JSON form of each value that is not its own form, and the value.
        read_other: reads what is none of these.
    """

    forms: tuple[tuple[Any, Any], ...]
    read_other: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        """Return the value that is meant."""
        for form, stated in self.forms:
            if form == value and isinstance(form, bool) == isinstance(value, bool):
                return stated
        return self.read_other(value)


_VALUES_OF = {"literal": "expected", "enum": "members"}
"""Where a node has its values, by its type."""


def admit_stated(node: Node) -> Node:
    """Return a node of pydantic's core schema that takes what a model writes for literals, members and integers."""
    if node.get("type") == "dict" and (stated := _values_of(_unwrapped(node.get("keys_schema", {})))):
        forms = tuple((_as_key(form), value) for form, value in stated if not isinstance(form, str) or form != value)
        keys = _unwrapped(node["keys_schema"])
        return {**node, "keys_schema": _reading(StatedValues(forms, _as_it_is), keys)} if forms else node
    others = tuple((form, value) for form, value in _values_of(node) if not _is_read_from_json(value, node))
    admitting = admit_integral(node)
    return (
        admitting
        if not others
        else _reading(StatedValues(others, _as_it_is if admitting is node else as_integer), node)
    )


def _values_of(node: Node) -> list[tuple[Any, Any]]:
    """Return the JSON form and the value of each literal, or of each member of an enumeration."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python  # noqa: PLC0415 - of the tool's schema

    kind = node.get("type")  # of fields by their names, that of a field called so
    values = node.get(_VALUES_OF[kind], ()) if isinstance(kind, str) and kind in _VALUES_OF else ()
    try:
        return [(to_jsonable_python(value), value) for value in values]
    except PydanticSerializationError:  # no JSON form, and none in the schema
        return []


def _is_read_from_json(value: Any, node: Node) -> bool:
    """Whether pydantic itself reads a value from its JSON form."""
    return isinstance(value.value if node["type"] == "enum" else value, _WRITTEN_AS_THEY_ARE)


def _reading(read: Callable[[Any], Any], node: Node) -> Node:
    from pydantic_core import core_schema  # noqa: PLC0415 - needed only when a tool is created

    wrapped: Any = core_schema.no_info_before_validator_function(read, node)
    return dict(wrapped)


def _unwrapped(node: Node) -> Node:
    """Return the literal or the enumeration that this module or that of integers has wrapped; else the node."""
    read = node["function"]["function"] if node.get("type") == "function-before" else None
    return node["schema"] if read is as_integer or isinstance(read, StatedValues) else node


def _as_key(form: Any) -> str:
    return form if isinstance(form, str) else json.dumps(form)


def _as_it_is(value: Any) -> Any:
    return value
