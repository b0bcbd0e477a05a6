"""Simplify JSON schemas for models and servers: without titles, and without `$ref` if possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ANSWER_SCHEMA_PROMPT = "Your final answer must be JSON that matches this schema, and nothing else:\n"
"""The system text before the schema of an answer; the practice model finds the schema by it."""


def drop_titles(schema: Any) -> Any:
    """Remove the titles that pydantic creates from names; properties named `title` remain."""
    return drop_keyword(schema, "title")


def drop_keyword(schema: Any, keyword: str, *, is_property_map: bool = False) -> Any:
    """Remove a keyword everywhere in a schema; properties of its name remain."""
    if isinstance(schema, list):
        return [drop_keyword(item, keyword) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: drop_keyword(value, keyword, is_property_map=key in ("properties", "$defs") and not is_property_map)
        for key, value in schema.items()
        if is_property_map or key != keyword
    }


def inline_refs(schema: dict[str, Any]) -> dict[str, Any]:
    """Inline definitions, because several servers do not resolve `$ref`; recursive ones remain."""
    definitions = schema.get("$defs", {})
    recursive = {name for name in definitions if _is_recursive(definitions[name], name, definitions, set())}
    result: dict[str, Any] = _inline(
        {key: value for key, value in schema.items() if key != "$defs"}, definitions, recursive
    )
    if recursive:
        result["$defs"] = {name: _inline(definitions[name], definitions, recursive) for name in sorted(recursive)}
    return result


def _inline(schema: Any, definitions: Mapping[str, Any], recursive: set[str]) -> Any:
    if isinstance(schema, list):
        return [_inline(item, definitions, recursive) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = _ref_name(schema)
    if name and name not in recursive:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_inline(definitions[name], definitions, recursive), **_inline(rest, definitions, recursive)}
    return {key: _inline(value, definitions, recursive) for key, value in schema.items()}


def _is_recursive(schema: Any, goal: str, definitions: Mapping[str, Any], visited: set[str]) -> bool:
    if isinstance(schema, list):
        return any(_is_recursive(item, goal, definitions, visited) for item in schema)
    if not isinstance(schema, dict):
        return False
    name = _ref_name(schema)
    if name == goal:
        return True
    if name and name not in visited:
        visited.add(name)
        if _is_recursive(definitions[name], goal, definitions, visited):
            return True
    return any(_is_recursive(value, goal, definitions, visited) for value in schema.values())


def _ref_name(schema: Mapping[str, Any]) -> str:
    ref = schema.get("$ref")
    return ref.removeprefix("#/$defs/") if isinstance(ref, str) else ""
