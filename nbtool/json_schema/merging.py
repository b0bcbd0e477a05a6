"""Merge schemas that hold at once, and write the alternatives of an object as one object.

No model's server takes alternatives at the root of a tool's parameters. What gets lost (which arguments go together)
is told in the description, and checked by the tool itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from nbtool.json_schema.bounds import UnfitSchema
from nbtool.json_schema.keywords import type_names
from nbtool.json_schema.references import DEFINITION
from nbtool.text import list_names

Schema = dict[str, Any]

MAX_ALTERNATIVES = 12
"""Maximum number of alternatives, and of their arguments, in a description."""

ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
"""Keywords that constrain nothing."""

_COMBINING = frozenset({"$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const"})
"""Keywords that no model's server takes at the root."""


def merge_all(first: Schema, others: Iterable[Schema]) -> Schema:
    """Return one schema for those that hold at once. Where two differ and cannot be merged the first one stays.

    A reference cannot be merged: those of recursive types stay beside the rest.
    """
    given = [first, *others]
    empty: Schema = {}
    merged = reduce(_merge, (record for record in given if "$ref" not in record), empty)
    references = [{"$ref": record["$ref"]} for record in given if "$ref" in record]
    beside = [{key: value for key, value in record.items() if key != "$ref"} for record in given if "$ref" in record]
    merged = reduce(_merge, beside, merged)
    if len(references) == 1 and merged.keys() <= ANNOTATIONS:
        return {**merged, **references[0]}
    return {**merged, "allOf": [*merged.get("allOf", ()), *references]} if references else merged


def _merge(item: Schema, other: Schema) -> Schema:
    merged = {**other, **item}
    if "properties" in item and "properties" in other:
        merged["properties"] = _merge_properties(item["properties"], other["properties"])
    if "required" in item and "required" in other:
        merged["required"] = list(dict.fromkeys([*item["required"], *other["required"]]))
    if (
        "type" in item
        and "type" in other
        and (shared := [name for name in type_names(item) if name in type_names(other)])
    ):
        merged["type"] = shared[0] if len(shared) == 1 else shared
    if "enum" in item and "enum" in other and (values := [value for value in item["enum"] if value in other["enum"]]):
        merged["enum"] = values
    for key in ("anyOf", "oneOf"):
        if key in item and key in other and item[key] != other[key]:
            merged["allOf"] = [*merged.get("allOf", ()), {key: other[key]}]
    return merged


def _merge_properties(ones: Schema, others: Schema) -> Schema:
    merged = {**ones}
    for name, schema in others.items():
        merged[name] = merge_all(merged[name], [schema]) if name in merged else schema
    return merged


def as_object(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return a schema in normal form as that of an object, without alternatives at its root.

    Raises:
        UnfitSchema: it is not that of an object.
    """
    folded = _fold(schema, definitions, ())
    if folded is None:
        raise UnfitSchema("its schema is not that of an object")
    return {"type": "object", **{key: value for key, value in folded.items() if key != "type"}}


def _fold(schema: Schema, definitions: Mapping[str, Schema], within: tuple[str, ...]) -> Schema | None:
    """Return the schema of an object without what combines it; None if it is not that of an object."""
    if "object" not in (type_names(schema) or ["object"]):
        return None
    folded = {key: value for key, value in schema.items() if key not in _COMBINING}
    parts = [(part, within) for part in schema.get("allOf", ())]
    if (ref := schema.get("$ref")) and ref not in within:
        parts.append((definitions[ref.removeprefix(DEFINITION)], (*within, ref)))
    for part, inside in parts:
        if (record := _fold(part, definitions, inside)) is None:
            return None
        folded = _merge(folded, record)
    for key in ("anyOf", "oneOf"):
        if options := schema.get(key):
            branches = [branch for option in options if (branch := _fold(option, definitions, within)) is not None]
            if not branches:
                return None
            folded = _with_alternatives(folded, branches)
    conditional = [schema[key] for key in ("then", "else") if isinstance(schema.get(key), dict)]
    optional = [_fold(item, definitions, within) or {} for item in conditional]
    return _with_alternatives(folded, [*optional, {}]) if optional else folded


def _with_alternatives(base: Schema, branches: list[Schema]) -> Schema:
    """Return an object that has what any branch has, and requires what all of them require."""
    merged = {**base}
    properties = dict(base.get("properties", {}))
    for name in dict.fromkeys(name for branch in branches for name in branch.get("properties", {})):
        found = [branch["properties"][name] for branch in branches if name in branch.get("properties", {})]
        if not properties.get(name):
            properties[name] = _any_of(found)
    if properties:
        merged["properties"] = properties
    shared = [name for name in _required(branches[0]) if all(name in _required(branch) for branch in branches)]
    if required := list(dict.fromkeys([*base.get("required", ()), *shared])):
        merged["required"] = required
    if all(branch.get("additionalProperties") is False for branch in branches):
        merged.setdefault("additionalProperties", False)
    sets = [[name for name in _required(branch) if name not in required] for branch in branches]
    described = list(dict.fromkeys(list_names(names, MAX_ALTERNATIVES) for names in sets if names))
    if len(described) > 1:
        more = f"; or one of {len(described) - MAX_ALTERNATIVES} more" if len(described) > MAX_ALTERNATIVES else ""
        sentence = f"Give one of these sets of arguments: {'; or '.join(described[:MAX_ALTERNATIVES])}{more}."
        merged["description"] = f"{merged['description']} {sentence}" if merged.get("description") else sentence
    return merged


def _required(schema: Schema) -> list[str]:
    required: list[str] = schema.get("required", [])
    return required


def _any_of(found: list[Schema]) -> Schema:
    """Return one schema for those of a property in several branches; constants become choices."""
    distinct = list({json.dumps(record, sort_keys=True): record for record in found}.values())
    if len(distinct) == 1:
        return distinct[0]
    if all(record.keys() <= ANNOTATIONS | {"const", "type"} and "const" in record for record in distinct):
        types = list(dict.fromkeys(name for record in distinct for name in type_names(record)))
        chosen: Schema = {"enum": [record["const"] for record in distinct]}
        return {"type": types[0], **chosen} if len(types) == 1 else chosen
    return {"anyOf": distinct}
