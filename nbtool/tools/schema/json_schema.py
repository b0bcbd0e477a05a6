"""Schemas that pydantic made, for models and servers: without the titles that it makes from names, in normal form."""

from __future__ import annotations

from typing import Any

from nbtool.errors import BadUsage
from nbtool.json_schema import UnfitSchema, normalize
from nbtool.json_schema.keywords import map_subschemas

ANSWER_SCHEMA_PROMPT = "Your final answer must be JSON that matches this schema, and nothing else:\n"
"""The system text before the schema of an answer; the practice model finds the schema by it."""


def drop_titles(schema: Any) -> Any:
    """Remove the titles that pydantic creates from names; properties named `title` remain."""
    return drop_keyword(schema, "title")


def drop_keyword(schema: Any, keyword: str) -> Any:
    """Remove a keyword everywhere in a schema; properties of its name remain, and so does data."""
    if not isinstance(schema, dict):
        return schema
    remaining = {key: value for key, value in schema.items() if key != keyword}
    return map_subschemas(remaining, lambda item: drop_keyword(item, keyword))


def inline_refs(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the normal form of a schema, in which only recursive and large definitions are references.

    Raises:
        BadUsage: it is too large, or too deep.
    """
    try:
        return normalize(schema, renames=False).schema
    except UnfitSchema as problem:
        text = f"This cannot be described to a model: {problem}."
        raise BadUsage(text, fix="Use smaller types, or pass an object by reference.") from None
