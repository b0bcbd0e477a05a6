"""Compile validators from annotations with pydantic.

A value that pydantic would validate while it is read (`Iterable`, `Iterator`, `Generator`) is validated at once here,
wherever it stands in a type, and is a list: an invalid item is refused before anything runs, and the function may read
the list twice. An integer may be written as a number with a fraction of zero, a literal or a member of an enumeration
in its JSON form (`stated_values.py`). The members of a `Flag` are combined.

pydantic drops the keys of an object that a TypedDict, a dataclass or a model does not declare. A call would then run
with less than the person saw on its card, so such a key is refused. A class that says what becomes of other keys
(`extra`), or that reads the object by a validator before its fields, decides itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtool.tools.schema.stated_values import admit_stated
from nbtool.tools.values.core_schemas import Node, compiled_as_written, nodes, with_changed_nodes

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator
import enum
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic.json_schema import GenerateJsonSchema


@cache
def schema_generator() -> type[GenerateJsonSchema]:
    """Return pydantic's generator of JSON schemas, which tells a model that the members of a `Flag` are added."""
    from pydantic.json_schema import GenerateJsonSchema  # noqa: PLC0415 - needed only when a tool is created

    class Generator(GenerateJsonSchema):
        def generate_inner(self, schema: Any) -> dict[str, Any]:
            return super().generate_inner(_with_members(schema) if _is_flag(schema) else close_record(schema))

        def dataclass_args_schema(self, schema: Any) -> dict[str, Any]:
            return super().dataclass_args_schema(schema) | _stated_keys(schema)

        def model_fields_schema(self, schema: Any) -> dict[str, Any]:
            return super().model_fields_schema(schema) | _stated_keys(schema)

        def enum_schema(self, schema: Any) -> dict[str, Any]:
            return {"type": "integer"} if _is_flag(schema) else super().enum_schema(schema)

    return Generator


def _stated_keys(fields: Any) -> dict[str, Any]:
    """Return what the schema of a class says of other keys; pydantic's says it where the class states it."""
    return {"additionalProperties": False} if fields.get("extra_behavior") == "forbid" else {}


def _is_flag(schema: Any) -> bool:
    return schema["type"] == "enum" and issubclass(schema["cls"], enum.Flag)


def _with_members(schema: Any) -> Any:
    """Return the core schema of a `Flag` whose description names the members, after what the class says of itself."""
    members = ", ".join(f"{member.value} ({member.name})" for member in schema["members"])

    def name_members(core: Any, handler: Any) -> Any:
        written = handler(core)
        described = handler.resolve_ref_schema(written)
        about = [described.get("description"), f"One of {members}, or the sum of several."]
        described["description"] = "\n".join(filter(None, about))
        return written

    metadata = schema.get("metadata") or {}
    functions = [*metadata.get("pydantic_js_functions", ()), name_members]
    return {**schema, "metadata": {**metadata, "pydantic_js_functions": functions}}


_FIELDS_OF = {"dataclass": "dataclass-args", "model": "model-fields"}
"""The type of the node that has the fields of a class, by the type of the node of the class."""


def close_record(node: Node) -> Node:
    """Return a node of pydantic's core schema that refuses other keys, if it is a record that says nothing of them."""
    kind = node.get("type")  # a node of its own if it is a field of this name
    if kind == "typed-dict" and not _is_stated(node):
        return _closed(node)
    if not isinstance(kind, str) or kind not in _FIELDS_OF or _is_stated(node):
        return node
    fields = node["schema"]
    return {**node, "schema": _closed(fields)} if fields["type"] == _FIELDS_OF[kind] else node


def _is_stated(node: Node) -> bool:
    return "extra_fields_behavior" in node.get("config", {})


def _closed(fields: Node) -> Node:
    return {**fields, "extra_behavior": "forbid"} if fields.get("extra_behavior", "ignore") == "ignore" else fields


@dataclass(frozen=True, slots=True)
class Validator:
    """A compiled validator of JSON, one of objects, and the JSON schema of what it takes.

    An object that came by reference is only looked at: an iterator is not read.
    """

    of_json: SchemaValidator
    of_objects: SchemaValidator
    json_schema: Mapping[str, Any]

    def validate_json(self, data: str, context: Any = None, *, is_strict: bool = True) -> Any:
        """Return the value of a JSON text, a text for a number only if it is not strict; raises ValidationError."""
        return self.of_json.validate_json(data, strict=is_strict, context=context)

    def validate_object(self, value: Any) -> Any:
        """Return the value of an object; raises pydantic's ValidationError."""
        return self.of_objects.validate_python(value, strict=True)


def compile_validator(annotation: Any, *, closes_records: bool = True) -> Validator:
    """Compile the validator of a type.

    Args:
        annotation: the type.
        closes_records: whether a key that a record does not declare is refused, and not left out as pydantic does.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415 - needed only when a tool is created
    from pydantic_core import SchemaValidator  # noqa: PLC0415 - as above

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a default that has no JSON form is not in the schema
        adapter = TypeAdapter(annotation)
        json_schema = adapter.json_schema(schema_generator=schema_generator())
    core_schema: Any = adapter.core_schema
    of_objects: Any = adapter.validator
    change = _for_closed_json if closes_records else _for_json
    if all(change(node) is node for node in nodes(core_schema) if node.get("type") != "union"):
        return Validator(of_objects, of_objects, json_schema)
    with compiled_as_written(core_schema):
        return Validator(SchemaValidator(with_changed_nodes(core_schema, change)), of_objects, json_schema)


def _for_json(node: Node) -> Node:
    """Return a node as it reads JSON: what is lazy is a list, `5.0` an integer, and a member what the schema says."""
    return {**node, "type": "list"} if node.get("type") == "generator" else admit_stated(node)


def _for_closed_json(node: Node) -> Node:
    """Return a node as `_for_json` does, and a record closed."""
    changed = _for_json(node)
    return changed if changed.get("type") == "list" else close_record(changed)
