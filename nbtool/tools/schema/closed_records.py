"""Records that take no other keys than they declare.

pydantic drops the keys of an object that a TypedDict, a dataclass or a model does not declare. A call would then run
with less than the person saw on its card, so such a key is refused. A class that says what becomes of other keys
(`extra`), or that reads the object by a validator before its fields, decides itself.
"""

from __future__ import annotations

from nbtool.tools.values.core_schemas import Node

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
