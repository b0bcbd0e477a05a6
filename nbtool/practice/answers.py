"""An answer that fits a schema: filled from the words of the prompt, and where these lack with the plainest value.

The arguments of a call are never invented, since something runs with them. An answer as a value runs nothing, and a
model that gives none is of no use in a notebook that somebody tries; so here every type has a plainest value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nbtool.practice.arguments import TRUTH, Scene, fill, settle
from nbtool.practice.request import Offer

MAX_DEPTH = 12
"""Levels of objects inside each other; a schema that refers to itself ends there."""

TEXT = "practice"
"""The plainest text."""

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
    "binary": TEXT,
    "path": TEXT,
    "regex": "",
}
"""The plainest text of each format: https://json-schema.org/understanding-json-schema/reference/type#built-in-formats,
and those that pydantic adds."""

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_TRUTH_WORD = re.compile(r"\b(true|yes|false|no)\b", re.IGNORECASE)


def answer_for(schema: Mapping[str, Any], scene: Scene) -> Any:
    """Return a value that fits a schema, as near to the words of the prompt as the schema allows."""
    return _value("", schema, scene, schema, MAX_DEPTH)


def _value(name: str, schema: Mapping[str, Any], scene: Scene, root: Mapping[str, Any], depth: int) -> Any:
    merged = _merge(schema)
    spec = settle(merged, root)
    if "const" in spec:
        return spec["const"]
    is_nullable = any(one.get("type") == "null" for one in merged.get("anyOf") or [])
    if is_nullable and _kind_of(spec) in ("object", "array", ""):
        return None
    match _kind_of(spec):
        case "object" if depth:
            return _object(spec, scene, root, depth - 1)
        case "array" if depth:
            return _array(name, spec, scene, root, depth - 1)
    for found in _from_prompt(name, spec, scene, root):
        if _fits(found, spec):
            return found
    return None if is_nullable else spec["default"] if "default" in spec else _plainest(spec)


def _merge(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Read `oneOf` as `anyOf`, and join the parts of an `allOf`."""
    joined: dict[str, Any] = {}
    for part in schema.get("allOf") or []:
        joined |= part
    joined |= {key: value for key, value in schema.items() if key not in ("allOf", "oneOf")}
    return joined | {"anyOf": schema["oneOf"]} if "oneOf" in schema else joined


def _kind_of(spec: Mapping[str, Any]) -> str:
    kind = spec.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    return kind if isinstance(kind, str) else "object" if "properties" in spec else ""


def _object(spec: Mapping[str, Any], scene: Scene, root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Fill the required properties, and those of the others that the prompt has a value for."""
    required = spec.get("required") or []
    made = {}
    for name, inner in (spec.get("properties") or {}).items():
        if name in required:
            made[name] = _value(name, inner, scene, root, depth)
        elif found := [one for one in _from_prompt(name, inner, scene, root, optional=True) if _fits(one, inner)]:
            made[name] = found[0]
    others = spec.get("additionalProperties")
    for place in range(len(made), int(spec.get("minProperties", 0))):
        made[f"key{place + 1}"] = _value("", others if isinstance(others, dict) else {}, scene, root, depth)
    return made


def _array(name: str, spec: Mapping[str, Any], scene: Scene, root: Mapping[str, Any], depth: int) -> list[Any]:
    if fixed := spec.get("prefixItems"):
        return [_value(name, one, scene, root, depth) for one in fixed]
    items, least, most = spec.get("items") or {}, int(spec.get("minItems", 0)), spec.get("maxItems")
    for found in _from_prompt(name, spec, scene, root):
        if isinstance(found, list) and all(_fits(one, settle(_merge(items), root)) for one in found):
            if spec.get("uniqueItems"):
                found = list(dict.fromkeys(found))
            if len(found) >= least:
                return found[:most]
    made = [_value(name, items, scene, root, depth) for _ in range(max(least, 1 if most != 0 else 0))]
    return _distinct(made) if spec.get("uniqueItems") else made


def _distinct(values: list[Any]) -> list[Any]:
    """Make values different from each other: numbers are counted on, texts get a number."""
    return [
        value + place if type(value) in (int, float) else f"{value}{place}" if place and type(value) is str else value
        for place, value in enumerate(values)
    ]


def _from_prompt(
    name: str, spec: Mapping[str, Any], scene: Scene, root: Mapping[str, Any], *, optional: bool = False
) -> list[Any]:
    """Return what the words of the prompt say for one property: a list of one value, or of none."""
    if _kind_of(settle(spec, root)) == "boolean":
        said = _TRUTH_WORD.search(scene.plain)
        own, _ = _filled(name, spec, scene, root, [])
        return own or ([TRUTH[said[1].lower()]] if said and not optional else [])
    found, _ = _filled(name, spec, scene, root, [] if optional else [name])
    return found


def _filled(
    name: str, spec: Mapping[str, Any], scene: Scene, root: Mapping[str, Any], required: list[str]
) -> tuple[list[Any], str]:
    parameters = {"properties": {name: spec}, "required": required, "$defs": root.get("$defs") or {}}
    filled, missing = fill(Offer("", "", parameters), replace(scene, own=set()))
    return [one[name] for one in filled if name in one], missing


def _fits(value: Any, spec: Mapping[str, Any]) -> bool:
    """Whether a value keeps to a schema's type and bounds."""
    kind = _KINDS.get(_kind_of(spec))
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


def _plainest(spec: Mapping[str, Any]) -> Any:
    """Return the plainest value of a type."""
    if spec.get("enum"):
        return spec["enum"][0]
    match _kind_of(spec):
        case "boolean":
            return False
        case "integer" | "number":
            return _plainest_number(spec)
        case "object":
            return {}
        case "array":
            return []
        case "null":
            return None
    return _plainest_text(spec)


def _plainest_number(spec: Mapping[str, Any]) -> float:
    step = spec.get("multipleOf", 1)
    bounds = [spec.get(name, 0) for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")]
    near = [bound - bound % step + more * step for bound in (0, *bounds) for more in (0, 1, -1, 2)]
    middle = (bounds[0] or bounds[2]) / 2 + (bounds[1] or bounds[3]) / 2
    fitting = [one for one in [*near, middle] if _fits_number(one, spec)]
    return fitting[0] if fitting else 0


def _plainest_text(spec: Mapping[str, Any]) -> str:
    if spec.get("format") in FORMATS:
        return FORMATS[spec["format"]]
    least, most = (
        int(spec.get("minLength", 0)),
        int(spec.get("maxLength", max(len(TEXT), int(spec.get("minLength", 0))))),
    )
    plain = [(TEXT * (least // len(TEXT) + 1))[: max(least, min(len(TEXT), most))], "0", "0" * least, "A" * least]
    pattern = spec.get("pattern")
    return next((one for one in plain if pattern is None or _matches(pattern, one)), plain[0])


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False
