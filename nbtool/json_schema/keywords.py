"""The keywords of JSON Schema by what stands under them: schemas, data, or a value of one kind.

What stands under another keyword (`default`, `examples`, `const`, `enum`, a vendor's own) is data: a `title` or a
`$ref` in it is none of the schema. See https://json-schema.org/draft/2020-12/json-schema-core#section-10.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any


def keyword_set(names: str) -> frozenset[str]:
    """Return the keywords in a text."""
    return frozenset(names.split())


ONE_SCHEMA = keyword_set(
    "additionalItems additionalProperties contains contentSchema else if items not propertyNames then"
    " unevaluatedItems unevaluatedProperties"
)
"""Keywords with one schema; `items` of older drafts may have a list of them."""

SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords with a list of schemas."""

SCHEMA_MAPS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords with schemas by name."""

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
"""The values of `type`."""

MAX_PATTERN = 1_000
"""Maximum number of characters of a regular expression that is sent; a longer one is left to who validates."""

Convert = Callable[[Any], Any]


def map_subschemas(schema: dict[str, Any], convert: Convert) -> dict[str, Any]:
    """Return a schema whose direct subschemas, objects or booleans, are converted; everything else stays."""
    return {key: _map_value(key, value, convert) for key, value in schema.items()}


def subschemas(schema: dict[str, Any]) -> Iterator[Any]:
    """Yield the direct subschemas."""
    found: list[Any] = []
    map_subschemas(schema, found.append)
    yield from found


def _map_value(key: str, value: Any, convert: Convert) -> Any:
    if key in SCHEMA_MAPS and isinstance(value, dict):
        return {name: convert(item) for name, item in value.items()}
    if isinstance(value, list) and (key in SCHEMA_LISTS or key == "items"):
        return [convert(item) for item in value]
    return convert(value) if key in ONE_SCHEMA and isinstance(value, dict | bool) else value


def is_pattern(value: Any) -> bool:
    """Whether a regular expression is one in Python too, as servers that check schemas ask."""
    if not isinstance(value, str) or len(value) > MAX_PATTERN:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(value)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return is_number(value) and value >= 0 and value == int(value)


STRUCTURE = ONE_SCHEMA | SCHEMA_LISTS | SCHEMA_MAPS
"""Keywords with schemas."""


def _of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(ONE_SCHEMA, _of(dict, bool)),
    **dict.fromkeys(SCHEMA_LISTS, _of(list)),
    **dict.fromkeys(SCHEMA_MAPS, _of(dict)),
    **dict.fromkeys(keyword_set("minLength maxLength minItems maxItems minProperties maxProperties"), _is_count),
    **dict.fromkeys(keyword_set("minContains maxContains"), _is_count),
    **dict.fromkeys(keyword_set("minimum maximum exclusiveMinimum exclusiveMaximum"), is_number),
    **dict.fromkeys(keyword_set("title description format pattern contentEncoding contentMediaType"), _of(str)),
    **dict.fromkeys(keyword_set("uniqueItems deprecated readOnly writeOnly"), _of(bool)),
    "items": _of(dict, bool, list),
    "type": lambda value: isinstance(value, str) or _is_text_list(value),
    "required": _is_text_list,
    "multipleOf": lambda value: is_number(value) and value > 0,
    "examples": _of(list),
    "enum": lambda value: isinstance(value, list) and bool(value),
}
"""Whether a value fits a keyword, by keyword."""


def type_names(schema: dict[str, Any]) -> list[str]:
    """Return the types of a schema in normal form; empty for any."""
    given = schema.get("type", [])
    return [given] if isinstance(given, str) else list(given)


def is_of_type(value: Any, name: str) -> bool:
    """Whether a value of JSON is of a type."""
    match value:
        case None:
            return name == "null"
        case bool():
            return name == "boolean"
        case int() | float():
            return name == "number" or (name == "integer" and is_number(value) and value == int(value))
        case str():
            return name == "string"
        case dict():
            return name == "object"
        case _:
            return name == "array"
