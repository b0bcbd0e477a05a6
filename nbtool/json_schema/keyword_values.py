"""The values of keywords: what a keyword may have, what older drafts and OpenAPI mean, and values that fit the type."""

from __future__ import annotations

import json
from typing import Any

from nbtool.json_schema.bounds import is_sendable
from nbtool.json_schema.keywords import (
    CHECKS,
    STRUCTURE,
    TYPES,
    is_number,
    is_of_type,
    is_pattern,
    keyword_set,
    type_names,
)
from nbtool.text import clean_text, list_names

Schema = dict[str, Any]

_READ_ELSEWHERE = keyword_set(
    "$ref $defs definitions allOf $schema $id $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor"
    " $vocabulary $comment dependencies dependentRequired dependentSchemas nullable"
)
"""Keywords that are read elsewhere, identify the schema, or tell which parameters depend on others."""


_TYPED = keyword_set("anyOf oneOf allOf enum const $ref")
"""Keywords beside which a type does not follow from others."""


def clean_keywords(schema: Schema, containers: frozenset[str] = frozenset()) -> tuple[Schema, list[str]]:
    """Return the keywords whose values are of their kind, without nulls, and what is wrong with the others.

    `containers` are places of definitions that are no keywords, such as `components` of OpenAPI.
    """
    given = {key: value for key, value in _current_bounds(schema).items() if key not in _READ_ELSEWHERE | containers}
    valid = {key: value for key, value in given.items() if _is_valid(key, value)}
    problems = [f"has a {key!r} that is not valid" for key, value in given.items() if _is_wrong(key, value, valid)]
    for key in valid.keys() & {"title", "description"}:
        valid[key] = clean_text(valid[key])
    if not is_pattern(valid.get("pattern", "")):  # as of another language
        del valid["pattern"]
    if unknown := _read_types(valid):
        problems.append(f"has the type {list_names(map(repr, unknown), 3)}, which is none of JSON")
    if schema.get("nullable") is True:
        _make_nullable(valid)
    return valid, problems


def _is_valid(key: str, value: Any) -> bool:
    if value is None and key not in ("default", "const"):
        return False
    return (key not in CHECKS or CHECKS[key](value)) and (key in STRUCTURE or is_sendable(value))


def _is_wrong(key: str, value: Any, valid: Schema) -> bool:
    """Whether a keyword was left out for its value: not null, which is none, nor the flag `required` of draft 3."""
    return key not in valid and value is not None and not (key == "required" and isinstance(value, bool))


def _read_types(schema: Schema) -> list[str]:
    """Write the types as JSON Schema does, whatever their case, and return the others."""
    given = schema.pop("type", [])
    names = [given] if isinstance(given, str) else given
    known = list(dict.fromkeys(name.lower() for name in names if name.lower() in TYPES))
    if known:
        schema["type"] = known[0] if len(known) == 1 else known
    return [name for name in names if name.lower() not in TYPES]


def _make_nullable(schema: Schema) -> None:
    """Add null to what OpenAPI says is nullable."""
    types = type_names(schema)
    if types and "null" not in types:
        schema["type"] = [*types, "null"]
    elif not types and isinstance(schema.get("anyOf"), list):
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]


def _current_bounds(schema: Schema) -> Schema:
    """Return bounds as of the current draft: until draft 4 `exclusiveMinimum` was a flag of `minimum`."""
    current = dict(schema)
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(is_exclusive := current.get(flag), bool):
            del current[flag]
            if is_exclusive and is_number(current.get(bound)):
                current[flag] = current.pop(bound)
    return current


def fit_values(schema: Schema) -> Schema:
    """Return a schema whose type is told if it follows, whose choices are of its type, and whose arrays have items."""
    fitted = dict(schema)
    if "type" not in fitted and not fitted.keys() & _TYPED:
        if "properties" in fitted:
            fitted["type"] = "object"
        elif fitted.keys() & {"items", "prefixItems"}:
            fitted["type"] = "array"
    types = type_names(fitted)
    if "array" in types:
        fitted.setdefault("items", {})
    choices = [item for item in fitted.pop("enum", ()) if not types or any(is_of_type(item, name) for name in types)]
    if choices:
        fitted["enum"] = list({json.dumps(choice, sort_keys=True): choice for choice in choices}.values())
    if types and not any(is_of_type(fitted.get("const"), name) for name in types):
        fitted.pop("const", None)
    return fitted
