"""Return an answer that fits a schema: values from the prompt, and defaults for the rest.

The arguments of a call are never invented, because a tool runs with them. An answer as a value runs nothing, and a
model that returns none would be useless for trying a notebook; so every type has a default value here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nbtool.practice.arguments import BOOLEAN_WORDS, ArgumentContext, fill_arguments, resolve_schema
from nbtool.practice.request import OfferedTool

MAX_DEPTH = 12
"""Maximum nesting depth; a recursive schema ends there."""

DEFAULT_TEXT = "practice"
"""The default text."""

FORMATS = {
    "date": "2000-01-01",
    "date-time": "2000-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "P0D",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com/",
    "email": "practice@example.com",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "ipv4network": "127.0.0.0/8",
    "ipv6network": "::1/128",
    "ipv4interface": "127.0.0.1/8",
    "ipv6interface": "::1/128",
    "binary": DEFAULT_TEXT,
    "path": DEFAULT_TEXT,
    "regex": "",
}
"""The default text of each format: https://json-schema.org/understanding-json-schema/reference/type#built-in-formats,
and those that pydantic adds.
"""

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_BOOLEAN_WORD = re.compile(r"\b(true|yes|false|no)\b", re.IGNORECASE)


def answer_for(schema: Mapping[str, Any], context: ArgumentContext) -> Any:
    """Return a value that fits a schema, from the prompt as far as the schema allows."""
    return _value_for("", schema, context, schema, MAX_DEPTH)


def _value_for(
    name: str, schema: Mapping[str, Any], context: ArgumentContext, root: Mapping[str, Any], depth: int
) -> Any:
    merged = _merge(schema)
    spec = resolve_schema(merged, root)
    if "const" in spec:
        return spec["const"]
    is_nullable = any(branch.get("type") == "null" for branch in merged.get("anyOf") or [])
    if is_nullable and _type_of(spec) in ("object", "array", ""):
        return None
    match _type_of(spec):
        case "object" if depth:
            return _object_for(spec, context, root, depth - 1)
        case "array" if depth:
            return _array_for(name, spec, context, root, depth - 1)
    for candidate in _from_prompt(name, spec, context, root):
        if _fits(candidate, spec):
            return candidate
    return None if is_nullable else spec["default"] if "default" in spec else _default_value(spec)


def _merge(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Treat `oneOf` as `anyOf`, and merge the parts of an `allOf`."""
    merged: dict[str, Any] = {}
    for part in schema.get("allOf") or []:
        merged |= part
    merged |= {key: value for key, value in schema.items() if key not in ("allOf", "oneOf")}
    return merged | {"anyOf": schema["oneOf"]} if "oneOf" in schema else merged


def _type_of(spec: Mapping[str, Any]) -> str:
    kind = spec.get("type")
    if isinstance(kind, list):
        kind = next((type_name for type_name in kind if type_name != "null"), "null")
    return kind if isinstance(kind, str) else "object" if "properties" in spec else ""


def _object_for(
    spec: Mapping[str, Any], context: ArgumentContext, root: Mapping[str, Any], depth: int
) -> dict[str, Any]:
    """Fill the required properties, and the optional ones for which the prompt has a value."""
    required = spec.get("required") or []
    result = {}
    for name, property_schema in (spec.get("properties") or {}).items():
        if name in required:
            result[name] = _value_for(name, property_schema, context, root, depth)
        elif candidates := [
            candidate
            for candidate in _from_prompt(name, property_schema, context, root, optional=True)
            if _fits(candidate, property_schema)
        ]:
            result[name] = candidates[0]
    others = spec.get("additionalProperties")
    for number in range(len(result), int(spec.get("minProperties", 0))):
        result[f"key{number + 1}"] = _value_for("", others if isinstance(others, dict) else {}, context, root, depth)
    return result


def _array_for(
    name: str, spec: Mapping[str, Any], context: ArgumentContext, root: Mapping[str, Any], depth: int
) -> list[Any]:
    if prefix_items := spec.get("prefixItems"):
        return [_value_for(name, item_schema, context, root, depth) for item_schema in prefix_items]
    items, min_items, max_items = spec.get("items") or {}, int(spec.get("minItems", 0)), spec.get("maxItems")
    for candidate in _from_prompt(name, spec, context, root):
        if isinstance(candidate, list) and all(
            _fits(item_schema, resolve_schema(_merge(items), root)) for item_schema in candidate
        ):
            if spec.get("uniqueItems"):
                candidate = list(dict.fromkeys(candidate))
            if len(candidate) >= min_items:
                return candidate[:max_items]
    result = [_value_for(name, items, context, root, depth) for _ in range(max(min_items, 1 if max_items != 0 else 0))]
    return _distinct(result) if spec.get("uniqueItems") else result


def _distinct(values: list[Any]) -> list[Any]:
    """Make values distinct: numbers are incremented, texts get a number."""
    return [
        value + index if type(value) in (int, float) else f"{value}{index}" if index and type(value) is str else value
        for index, value in enumerate(values)
    ]


def _from_prompt(
    name: str, spec: Mapping[str, Any], context: ArgumentContext, root: Mapping[str, Any], *, optional: bool = False
) -> list[Any]:
    """Return the value of a property in the prompt: a list of one value, or of none."""
    if _type_of(resolve_schema(spec, root)) == "boolean":
        match = _BOOLEAN_WORD.search(context.blanked)
        explicit, _ = _fill_one(name, spec, context, root, [])
        return explicit or ([BOOLEAN_WORDS[match[1].lower()]] if match and not optional else [])
    values, _ = _fill_one(name, spec, context, root, [] if optional else [name])
    return values


def _fill_one(
    name: str, spec: Mapping[str, Any], context: ArgumentContext, root: Mapping[str, Any], required: list[str]
) -> tuple[list[Any], str]:
    parameters = {"properties": {name: spec}, "required": required, "$defs": root.get("$defs") or {}}
    filled, missing = fill_arguments(OfferedTool("", "", parameters), replace(context, own_positions=set()))
    return [arguments[name] for arguments in filled if name in arguments], missing


def _fits(value: Any, spec: Mapping[str, Any]) -> bool:
    """Whether a value fits a schema's type and bounds."""
    kind = _KINDS.get(_type_of(spec))
    if kind and (not isinstance(value, kind) or (isinstance(value, bool) and kind != (bool,))):
        return False
    if "enum" in spec and value not in spec["enum"]:
        return False
    if isinstance(value, str):
        return _fits_text(value, spec)
    return _fits_number(value, spec) if isinstance(value, int | float) and not isinstance(value, bool) else True


def _fits_text(value: str, spec: Mapping[str, Any]) -> bool:
    is_long_enough = int(spec.get("minLength", 0)) <= len(value) <= int(spec.get("maxLength", len(value)))
    if spec.get("format") == "date":
        return re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])", value) is not None
    if "format" in spec:
        return spec["format"] in ("path", "binary")
    return is_long_enough and ("pattern" not in spec or _matches(spec["pattern"], value))


def _fits_number(value: float, spec: Mapping[str, Any]) -> bool:
    return (
        value >= spec.get("minimum", value)
        and value <= spec.get("maximum", value)
        and ("exclusiveMinimum" not in spec or value > spec["exclusiveMinimum"])
        and ("exclusiveMaximum" not in spec or value < spec["exclusiveMaximum"])
        and ("multipleOf" not in spec or value % spec["multipleOf"] == 0)
    )


def _default_value(spec: Mapping[str, Any]) -> Any:
    """Return the default value of a type."""
    if spec.get("enum"):
        return spec["enum"][0]
    match _type_of(spec):
        case "boolean":
            return False
        case "integer" | "number":
            return _default_number(spec)
        case "object":
            return {}
        case "array":
            return []
        case "null":
            return None
    return _default_text(spec)


def _default_number(spec: Mapping[str, Any]) -> float:
    step = spec.get("multipleOf", 1)
    bounds = [spec.get(name, 0) for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")]
    candidates = [bound - bound % step + more * step for bound in (0, *bounds) for more in (0, 1, -1, 2)]
    midpoint = (bounds[0] or bounds[2]) / 2 + (bounds[1] or bounds[3]) / 2
    valid = [candidate for candidate in [*candidates, midpoint] if _fits_number(candidate, spec)]
    return valid[0] if valid else 0


def _default_text(spec: Mapping[str, Any]) -> str:
    if spec.get("format") in FORMATS:
        return FORMATS[spec["format"]]
    min_length, max_length = (
        int(spec.get("minLength", 0)),
        int(spec.get("maxLength", max(len(DEFAULT_TEXT), int(spec.get("minLength", 0))))),
    )
    candidates = [
        (DEFAULT_TEXT * (min_length // len(DEFAULT_TEXT) + 1))[: max(min_length, min(len(DEFAULT_TEXT), max_length))],
        "0",
        "0" * min_length,
        "A" * min_length,
    ]
    pattern = spec.get("pattern")
    return next(
        (candidate for candidate in candidates if pattern is None or _matches(pattern, candidate)), candidates[0]
    )


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False
