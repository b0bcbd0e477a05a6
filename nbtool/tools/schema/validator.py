"""Compile validators from annotations with pydantic.

A value that pydantic would validate while it is read (`Iterable`, `Iterator`, `Generator`) is validated at once here,
wherever it stands in a type, and is a list: an invalid item is refused before anything runs, and the function may read
the list twice. An integer may be written as a number with a fraction of zero (`integral_numbers.py`), a literal or a
member of an enumeration in its JSON form (`stated_values.py`). A key that a record does not declare is refused
(`closed_records.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtool.tools.schema.closed_records import close_record
from nbtool.tools.schema.combined_members import schema_generator
from nbtool.tools.schema.stated_values import admit_stated
from nbtool.tools.values.core_schemas import Node, compiled_as_written, nodes, with_changed_nodes

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator


@dataclass(frozen=True, slots=True)
class Validator:
    """A compiled validator of JSON, one of objects, and the JSON schema of what it takes.

    An object that came by reference is only looked at: an iterator is not read.
    """

    of_json: SchemaValidator
    of_objects: SchemaValidator
    json_schema: Mapping[str, Any]

    def validate_json(self, data: str, context: Any = None) -> Any:
        """Return the value of a JSON text; raises pydantic's ValidationError."""
        return self.of_json.validate_json(data, strict=True, context=context)

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
