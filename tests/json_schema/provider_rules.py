"""What models' servers refuse of the schema of a tool's parameters, each with the place where somebody met it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from nbtool.json_schema.keywords import keyword_set, subschemas, type_names

Schema = dict[str, Any]

GEMINI = keyword_set(
    "type format title description enum items prefixItems minItems maxItems minimum maximum anyOf properties"
    " additionalProperties required"
)
ROOT = {"anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "if", "then", "else"}


def all_schemas(schema: Any) -> Iterator[Schema]:
    """Yield a schema and everything inside it."""
    if isinstance(schema, dict):
        yield schema
        for one in subschemas(schema):
            yield from all_schemas(one)


def common(schema: Schema) -> Iterator[str]:
    """Yield what any of them refuses."""
    Draft202012Validator.check_schema(schema)  # Anthropic: "JSON schema is invalid. It must match draft 2020-12"
    json.dumps(schema, allow_nan=False, ensure_ascii=False).encode()
    if schema.get("type") != "object" or schema.keys() & ROOT:  # anomalyco/opencode#35516
        yield "root"
    for one in all_schemas(schema):
        names = one.get("properties", {})
        if not all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name) for name in names):  # freee/freee-mcp#15
            yield f"names {list(names)}"
        if not set(one.get("required", ())) <= set(names):
            yield f"required {one['required']}"
        if "array" in type_names(one) and not isinstance(one.get("items"), dict):  # spacelift-io/spacectl#402
            yield "array schema missing items"
        if not str(one.get("$ref", "#/$defs/")).startswith("#/$defs/"):
            yield f"reference {one['$ref']}"


def gemini(schema: Schema) -> Iterator[str]:
    """Yield what Gemini refuses besides."""
    for one in all_schemas(schema):
        if unknown := one.keys() - GEMINI:  # pizza-bot-app/pizza-bot#62
            yield f"unknown names {unknown}"
        if not all(isinstance(choice, str) for choice in one.get("enum", ())):  # reposkein/reposkein#14
            yield f"enum {one['enum']}"


RULES: dict[str, Callable[[Schema], Iterator[str]]] = {
    "chat": common,
    "responses": common,
    "anthropic": common,
    "gemini": gemini,
}
