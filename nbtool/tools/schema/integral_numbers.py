"""Integers that are written as numbers with a fraction of zero, such as `5.0` and `1e3`.

JSON Schema has it that each number with a fraction of zero is an integer, and some models write all numbers so. `5.5`
is none, and neither are `"5"` and `true`. The keys of an object are texts, and are read as pydantic reads them.
"""

from __future__ import annotations

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
