"""Literals and members of enumerations that JSON has not, such as `b"a"`, `Color.RED` or a tuple, as they are written.

The schema tells a model the JSON form of each, so this form is what is read. The keys of an object are texts: there a
number, too, is written as one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nbtool.tools.schema.integral_numbers import admit_integral, as_integer
from nbtool.tools.values.core_schemas import Node

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
