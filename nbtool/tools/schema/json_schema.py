"""JSON schemas as models and their servers like them: without titles, and without `$ref` where that can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def untitled(schema: Any, *, of_names: bool = False) -> Any:
    """Drop the titles that pydantic makes of names; properties that are called `title` stay."""
    if isinstance(schema, list):
        return [untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: untitled(value, of_names=key in ("properties", "$defs") and not of_names)
        for key, value in schema.items()
        if of_names or key != "title"
    }


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Write definitions where they are used, because several servers do not follow `$ref`; recursive ones stay."""
    shared = schema.get("$defs", {})
    recursive = {name for name in shared if _reaches(shared[name], name, shared, set())}
    made: dict[str, Any] = _written_out(
        {key: value for key, value in schema.items() if key != "$defs"}, shared, recursive
    )
    if recursive:
        made["$defs"] = {name: _written_out(shared[name], shared, recursive) for name in sorted(recursive)}
    return made


def _written_out(schema: Any, shared: Mapping[str, Any], recursive: set[str]) -> Any:
    if isinstance(schema, list):
        return [_written_out(one, shared, recursive) for one in schema]
    if not isinstance(schema, dict):
        return schema
    name = _ref(schema)
    if name and name not in recursive:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_written_out(shared[name], shared, recursive), **_written_out(rest, shared, recursive)}
    return {key: _written_out(value, shared, recursive) for key, value in schema.items()}


def _reaches(schema: Any, goal: str, shared: Mapping[str, Any], seen: set[str]) -> bool:
    if isinstance(schema, list):
        return any(_reaches(one, goal, shared, seen) for one in schema)
    if not isinstance(schema, dict):
        return False
    name = _ref(schema)
    if name == goal:
        return True
    if name and name not in seen:
        seen.add(name)
        if _reaches(shared[name], goal, shared, seen):
            return True
    return any(_reaches(value, goal, shared, seen) for value in schema.values())


def _ref(schema: Mapping[str, Any]) -> str:
    ref = schema.get("$ref")
    return ref.removeprefix("#/$defs/") if isinstance(ref, str) else ""
