"""What single servers take less of than the normal form: Gemini always, OpenAI where a schema is enforced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbtool.json_schema.bounds import MAX_VALUES
from nbtool.json_schema.keywords import keyword_set, map_subschemas, subschemas, type_names
from nbtool.json_schema.references import DEFINITION
from nbtool.text import shorten

Schema = dict[str, Any]

GEMINI_KEYWORDS = keyword_set(
    "type format title description enum items prefixItems minItems maxItems minimum maximum anyOf properties"
    " additionalProperties required"
)
"""See https://ai.google.dev/api/caching#Schema and its `parametersJsonSchema`."""

GEMINI_FORMATS = frozenset({"date-time", "date", "time", "int32", "int64", "float", "double"})

MAX_DESCRIBED = 200
"""Maximum number of characters of what Gemini has no keyword for, in a description."""

MAX_UNROLLED = 2
"""How often a recursive type is written inside itself."""

_DESCRIBED = ("const", "enum", "format", "pattern", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "default")
"""Keywords that are in the description where a server does not take them."""

STRICT_KEYWORDS = keyword_set(
    "type properties required additionalProperties items anyOf enum const description title $ref $defs pattern format"
    " multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems"
)
"""See https://platform.openai.com/docs/guides/structured-outputs#supported-schemas."""

STRICT_FORMATS = keyword_set("date-time time date duration email hostname ipv4 ipv6 uuid")

MAX_STRICT_LEVELS = 10
"""Maximum number of objects and lists inside each other that OpenAI enforces."""

MAX_STRICT_PROPERTIES = 5_000
"""Maximum number of properties that OpenAI enforces."""


def for_gemini(schema: Mapping[str, Any]) -> Schema:
    """Return a schema in normal form with the keywords that Gemini takes; other constraints are in descriptions."""
    return _GeminiForm(schema.get("$defs", {})).of(dict(schema), ())


@dataclass(slots=True)
class _GeminiForm:
    """Writes one schema; `values` is how many values it may still have, since references are replaced."""

    definitions: Mapping[str, Schema]
    values: int = MAX_VALUES // 5

    def of(self, schema: Schema, within: tuple[str, ...]) -> Schema:
        """Return the form of a schema inside the definitions of these names."""
        self.values -= len(schema)
        if self.values < 0:
            return _outline(schema)
        if "$ref" in schema:
            return self._unrolled(schema, within)
        given = dict(schema)
        for part in given.pop("allOf", ()):
            given = {**self.of(part, within), **given}
        given.setdefault("anyOf", given.get("oneOf"))
        if isinstance(given.get("const"), str):
            given |= {"type": "string", "enum": [given.pop("const")]}
        accepted = {key: value for key, value in given.items() if key in GEMINI_KEYWORDS and value is not None}
        if given.get("format") not in GEMINI_FORMATS:
            accepted.pop("format", None)
        _keep_text_choices(accepted)
        if others := {key: given[key] for key in _DESCRIBED if key in given and key not in accepted}:
            sentence = shorten("; ".join(f"{key}: {value!r}" for key, value in others.items()), MAX_DESCRIBED)
            accepted["description"] = (
                f"{accepted['description']} ({sentence})" if accepted.get("description") else sentence
            )
        return map_subschemas(accepted, lambda item: self.of(item, within) if isinstance(item, dict) else item)

    def _unrolled(self, schema: Schema, within: tuple[str, ...]) -> Schema:
        """Return what a reference refers to in its place: a recursive type some levels deep, then any of its type."""
        name = schema["$ref"].removeprefix(DEFINITION)
        whole = {**self.definitions.get(name, {}), **{key: item for key, item in schema.items() if key != "$ref"}}
        return _outline(whole) if within.count(name) >= MAX_UNROLLED else self.of(whole, (*within, name))


def _outline(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key in ("type", "description")}


def _keep_text_choices(schema: Schema) -> None:
    """Keep choices if all of them are texts, or null, which is a type of its own; others are refused."""
    choices = [item for item in schema.get("enum", ()) if item is not None]
    if not choices or not all(isinstance(choice, str) for choice in choices):
        schema.pop("enum", None)
        return
    if None in schema["enum"]:
        schema["type"] = ["string", "null"]
    schema.setdefault("type", "string")
    schema["enum"] = choices


def is_strict(schema: Any) -> bool:
    """Whether OpenAI can enforce a schema in normal form.

    Then every object is closed and requires all its properties, and every keyword is one of those it enforces.
    """
    return _is_strict(schema, 1) and _count_properties(schema) <= MAX_STRICT_PROPERTIES


def _is_strict(schema: Any, level: int) -> bool:
    if not isinstance(schema, dict) or level > MAX_STRICT_LEVELS or not schema.keys() <= STRICT_KEYWORDS:
        return False
    if not schema.keys() & {"type", "anyOf", "enum", "const", "$ref"}:
        return False
    if "$ref" in schema and len(schema.keys() - {"$defs"}) > 1:
        return False
    if "object" in type_names(schema) and (
        schema.get("additionalProperties") is not False
        or set(schema.get("required", ())) != set(schema.get("properties", ()))
    ):
        return False
    if schema.get("format", "date") not in STRICT_FORMATS or "(?" in schema.get("pattern", ""):
        return False
    deeper = level + bool({"object", "array"} & set(type_names(schema)))
    return all(_is_strict(subschema, deeper) for subschema in subschemas(schema) if subschema is not False)


def _count_properties(schema: Schema) -> int:
    return len(schema.get("properties", ())) + sum(map(_count_properties, filter(None, subschemas(schema))))
