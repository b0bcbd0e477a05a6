"""One normal form of JSON schemas, which every model's server takes without its strict mode.

Servers of MCP, functions, types and tools of others describe arguments in all drafts of JSON Schema and in dialects of
it, and a model's server refuses a whole request because of one schema. In normal form, references are replaced by what
they refer to (recursive ones refer to `$defs`), arrays have `items`, tuples `prefixItems`, keywords have values of
their kind, parameters names that every server takes. What constrains a value and cannot be said is left out: the tool
itself validates its arguments. Data (`default`, `enum`, …) stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.json_schema.bounds import MAX_LEVELS, UnfitSchema, check_bounds
from nbtool.json_schema.keyword_values import clean_keywords, fit_values
from nbtool.json_schema.keywords import ONE_SCHEMA, SCHEMA_LISTS, is_pattern
from nbtool.json_schema.merging import as_object, merge_all
from nbtool.json_schema.names import fitting_name, quoted_name, with_original_name
from nbtool.json_schema.references import DEFINITION, Targets
from nbtool.text import shorten

MAX_PROBLEMS = 5
"""Maximum number of problems of one schema that are told."""

MAX_PROBLEM = 300
"""Maximum number of characters of one of them."""

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NormalSchema:
    """A schema in normal form.

    `names` has the original names of parameters by those that are offered, where they differ. `problems` says what was
    left out because it is no JSON Schema, each as the beginning of a sentence.
    """

    schema: Schema
    names: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def normalize(schema: Any, *, renames: bool = True) -> NormalSchema:
    """Return the normal form of any schema; without `renames` parameters keep their names.

    Raises:
        UnfitSchema: it is too large or too deep, or no schema at all.
    """
    return _finish(*_build(schema, renames=renames))


def normalize_parameters(schema: Any, *, renames: bool = True) -> NormalSchema:
    """Return the normal form of the schema of a tool's parameters: that of an object.

    Raises:
        UnfitSchema: as `normalize`, or it is not that of an object.
    """
    root, builder = _build(schema, renames=renames)
    return _finish(as_object(root, builder.definitions), builder)


def _build(schema: Any, *, renames: bool) -> tuple[Schema, _Builder]:
    check_bounds(schema)
    if not isinstance(schema, Mapping):
        raise UnfitSchema("its schema is not an object")
    builder = _Builder(dict(schema), renames=renames)
    return builder.build(), builder


def _finish(root: Schema, builder: _Builder) -> NormalSchema:
    needed = _reachable(root, builder.definitions)
    schema = {**root, "$defs": {name: builder.definitions[name] for name in sorted(needed)}} if needed else root
    check_bounds(schema)
    return NormalSchema(schema, builder.names, tuple(builder.problems))


def _reachable(root: Schema, definitions: Mapping[str, Schema]) -> set[str]:
    found: set[str] = set()
    open_values: list[Any] = [root] if definitions else []
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict):
            name = str(value.get("$ref", "")).removeprefix(DEFINITION)
            if name in definitions and name not in found:
                found.add(name)
                open_values.append(definitions[name])
            open_values.extend(value.values())
        elif isinstance(value, list):
            open_values.extend(value)
    return found


class _Builder:
    """Builds the normal form of one schema."""

    def __init__(self, root: Schema, *, renames: bool) -> None:
        self.definitions: dict[str, Schema] = {}
        self.names: dict[str, str] = {}
        self.problems: list[str] = []
        self._renames = renames
        self._targets = Targets(root)

    def build(self) -> Schema:
        """Return the normal form of the root."""
        built = self._refer("#", "the schema", 0)
        name = str(built.get("$ref", "")).removeprefix(DEFINITION)
        return self.definitions[name] if built.keys() == {"$ref"} else built

    def _note(self, place: str, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(shorten(f"{place} {problem}", MAX_PROBLEM))

    def _convert(self, node: Any, place: str, level: int) -> Schema:
        """Return the normal form of a schema that is not False."""
        if level > MAX_LEVELS:
            raise UnfitSchema(f"its schema has more than {MAX_LEVELS} schemas inside each other")
        if node is True:
            return {}
        if not isinstance(node, dict):
            self._note(place, "is no schema")
            return {}
        cleaned, problems = clean_keywords(node, self._targets.containers)
        for problem in problems:
            self._note(place, problem)
        own = self._with_subschemas(cleaned, place, level)
        parts = self._list(node.get("allOf"), "allOf", place, level)
        if isinstance(ref := node.get("$ref"), str):
            parts = [self._refer(ref, place, level), *parts]
        for key in ("anyOf", "oneOf"):
            if len(own.get(key, ())) == 1:
                parts.append(own.pop(key)[0])
        return fit_values(merge_all(own, parts) if parts else own)

    def _refer(self, reference: str, place: str, level: int) -> Schema:
        """Return what a reference refers to, or a reference to its definition."""
        target = self._targets.find(reference)
        if target is None:
            self._note(place, "refers to something else than a part of the schema")
            return {}
        if target.is_open:
            target.is_definition = True
        elif target.schema is None:
            target.is_open = True
            built = self._convert(target.node, place, level + (reference != "#"))
            is_circle = built.get("$ref") == target.reference
            target.close({} if is_circle else built)
            if target.is_definition:
                self.definitions[target.name] = {} if is_circle else built
        return target.in_place

    def _with_subschemas(self, schema: Schema, place: str, level: int) -> Schema:
        built: Schema = {}
        for key, value in schema.items():
            if key == "properties":
                built |= self._properties(value, level)
            elif key in SCHEMA_LISTS:
                built |= {key: options} if (options := self._list(value, key, place, level)) else {}
            elif key == "items":
                built |= self._items(schema, place, level)
            elif key == "patternProperties":
                fitting = {name: item for name, item in value.items() if is_pattern(name) and item is not False}
                built[key] = {name: self._convert(item, place, level + 1) for name, item in fitting.items()}
            elif key in ONE_SCHEMA:
                built[key] = value if isinstance(value, bool) else self._convert(value, place, level + 1)
            elif key != "required":
                built[key] = value
        built.pop("additionalItems", None)
        return built | self._required(schema, built)

    def _properties(self, given: Schema, level: int) -> Schema:
        """Return the properties under names that every server takes; one that is no schema is left out."""
        built: Schema = {}
        for name, item in given.items():
            place = f"the parameter {quoted_name(name)}"
            if not isinstance(item, dict | bool):
                self._note(place, "is no schema")
            elif item is not False:
                converted = self._convert(item, place, level + 1)
                offered = self._offer(name)
                built[offered] = converted if offered == name else with_original_name(converted, name)
        return {"properties": built}

    def _required(self, schema: Schema, built: Schema) -> Schema:
        """Return the names of the required parameters, each of which is a property."""
        properties = schema.get("properties", {})
        marked = [name for name, item in properties.items() if isinstance(item, dict) and item.get("required") is True]
        left_out = {name for name, item in properties.items() if self._offer(name) not in built.get("properties", {})}
        names = [name for name in [*schema.get("required", ()), *marked] if name not in left_out]
        if not names:
            return {}
        offered = [self._offer(name) for name in dict.fromkeys(names)]
        unknown = {self._offer(name): name for name in names if self._offer(name) not in built.get("properties", {})}
        added = {key: {} if key == name else with_original_name({}, name) for key, name in unknown.items()}
        return {"properties": {**built.get("properties", {}), **added}, "required": offered}

    def _offer(self, name: str) -> str:
        if not self._renames:
            return name
        offered = fitting_name(name)
        if offered != name:
            self.names[offered] = name
        return offered

    def _list(self, given: Any, key: str, place: str, level: int) -> list[Schema]:
        """Return the normal forms of a list of schemas, without what is none, and what nothing fits."""
        built = []
        for item in given if isinstance(given, list) else ():
            if not isinstance(item, dict | bool):
                self._note(place, f"has something in {key} that is no schema")
            elif item is not False:
                built.append(self._convert(item, place, level + 1))
        return built

    def _items(self, schema: Schema, place: str, level: int) -> Schema:
        """Return the keywords of an array's items; a list of them, of older drafts, is that of a tuple."""
        items = schema["items"]
        if not isinstance(items, list):
            closed = {"items": {}, "maxItems": len(schema.get("prefixItems", ()))}
            return closed if items is False else {"items": self._convert(items, place, level + 1)}
        further = schema.get("additionalItems", True)
        first = self._list(items, "items", place, level)
        built: Schema = {"prefixItems": first} if first else {}
        if further is False:
            return {**built, "items": {}, "maxItems": len(items)}
        return {**built, "items": self._convert(further, place, level + 1)}
