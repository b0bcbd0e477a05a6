"""Schemas of all drafts, dialects and mistakes become ones that no model's server refuses; data in them stays."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest

from nbtool.json_schema import UnfitSchema, normalize, normalize_parameters
from nbtool.json_schema.bounds import MAX_DEPTH, MAX_LEVELS, MAX_VALUES
from nbtool.json_schema.dialects import for_gemini
from nbtool.json_schema.keywords import CHECKS, MAX_PATTERN, SCHEMA_LISTS, SCHEMA_MAPS, STRUCTURE
from nbtool.json_schema.names import restore_names
from nbtool.json_schema.normal_form import MAX_PROBLEMS
from tests.json_schema.provider_rules import common, gemini

OPEN: dict[str, Any] = {"type": "object"}


def of(schema: Any) -> dict[str, Any]:
    return normalize_parameters(schema).schema


def of_one(schema: Any) -> Any:
    """Return the normal form of a parameter."""
    return of({"properties": {"a": schema}})["properties"]["a"]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, OPEN),
        ({"type": ["object", "null"]}, OPEN),
        ({"type": "OBJECT", "properties": None, "required": None}, OPEN),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "x", "$comment": "y"}, OPEN),
        ({"not": {}, "enum": [1], "const": 2}, OPEN),
        ({"properties": {"a": True, "b": False}}, {**OPEN, "properties": {"a": {}}}),
        ({"required": ["a"]}, {**OPEN, "properties": {"a": {}}, "required": ["a"]}),
        (
            {"properties": {"a": {"required": True, "type": "string"}, "b": {"required": False}}},
            {**OPEN, "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]},
        ),
        ({"properties": {"a": False}, "required": ["a"]}, {**OPEN, "properties": {}}),
        ({"required": ["a", "a"], "properties": {"a": {}}}, {**OPEN, "properties": {"a": {}}, "required": ["a"]}),
        (
            {"patternProperties": {"(": {}, "^a": {"type": "string"}, "b": False}},
            {**OPEN, "patternProperties": {"^a": {"type": "string"}}},
        ),
        ({"$ref": "#/$defs/P", "$defs": {"P": {"properties": {"a": {}}}}}, {**OPEN, "properties": {"a": {}}}),
        ({"additionalProperties": {"type": "string"}}, {**OPEN, "additionalProperties": {"type": "string"}}),
    ],
)
def test_the_root_is_that_of_an_object(given: Any, made: Any) -> None:
    assert of(given) == made


@pytest.mark.parametrize("given", [None, 5, [], True, {"type": "string"}, {"type": ["array", "null"]}])
def test_what_is_not_of_an_object_is_refused(given: Any) -> None:
    with pytest.raises(UnfitSchema, match="its schema is not"):
        normalize_parameters(given)


@pytest.mark.parametrize("key", ["anyOf", "oneOf"])
def test_alternatives_of_scalars_at_the_root_are_refused(key: str) -> None:
    with pytest.raises(UnfitSchema, match="not that of an object"):
        normalize_parameters({key: [{"type": "string"}, {"$ref": "#/$defs/N"}], "$defs": {"N": {"type": "null"}}})


def test_alternatives_of_recursive_lists_at_the_root_are_refused() -> None:
    lists = {"type": "array", "items": {"$ref": "#/$defs/L"}}
    with pytest.raises(UnfitSchema, match="not that of an object"):
        normalize_parameters(
            {"anyOf": [{"$ref": "#/$defs/L"}, {"$ref": "#/$defs/L", "minItems": 1}], "$defs": {"L": lists}}
        )


A, B = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize("key", ["anyOf", "oneOf"])
@pytest.mark.parametrize(
    ("branches", "made"),
    [
        (
            [{"required": ["a"]}, {"required": ["b"]}],
            {"properties": {"a": A, "b": B}, "description": "Give one of these sets of arguments: a; or b."},
        ),
        (
            [{"type": "object", "properties": {"c": A}, "required": ["a", "c"]}, {"type": "null"}],
            {"properties": {"a": A, "b": B, "c": A}, "required": ["a", "c"]},
        ),
        (
            [{"properties": {"kind": {"const": "x"}}}, {"properties": {"kind": {"const": "y", "type": "string"}}}],
            {"properties": {"a": A, "b": B, "kind": {"enum": ["x", "y"], "type": "string"}}},
        ),
        (
            [{"properties": {"c": {"const": 1}}}, {"properties": {"c": {"const": "y"}}}],
            {"properties": {"a": A, "b": B, "c": {"enum": [1, "y"]}}},
        ),
        (
            [
                {"properties": {"c": A}, "additionalProperties": False},
                {"properties": {"c": B}, "additionalProperties": False},
            ],
            {"properties": {"a": A, "b": B, "c": {"anyOf": [A, B]}}, "additionalProperties": False},
        ),
    ],
)
def test_alternatives_at_the_root_become_one_object(key: str, branches: list[Any], made: dict[str, Any]) -> None:
    assert of({"properties": {"a": A, "b": B}, key: branches}) == {**OPEN, **made}


def test_conditions_at_the_root_add_optional_parameters() -> None:
    made = of({"if": {}, "then": {"required": ["a"]}, "else": {"properties": {"b": A}}, "description": "Do."})

    assert made == {**OPEN, "properties": {"a": {}, "b": A}, "description": "Do."}


def test_many_alternatives_are_counted() -> None:
    made = of({"anyOf": [{"required": [f"p{number}"]} for number in range(20)]})

    assert made["description"].endswith("p11; or one of 8 more.")


def test_what_holds_at_once_is_merged() -> None:
    made = of(
        {
            "allOf": [
                {"$ref": "#/definitions/P"},
                {
                    "properties": {"a": {"minLength": 1, "enum": ["x", "y"], "type": ["string", "null"]}},
                    "required": ["b"],
                },
            ],
            "definitions": {"P": {"properties": {"a": {"type": "string", "enum": ["y", "z"]}}, "required": ["a"]}},
        }
    )

    assert made["properties"]["a"] == {"type": "string", "enum": ["y"], "minLength": 1}
    assert made["required"] == ["a", "b"]
    both = of_one({"anyOf": [A, B], "allOf": [{"anyOf": [B, {"type": "null"}]}]})
    assert both == {"anyOf": [A, B], "allOf": [{"anyOf": [B, {"type": "null"}]}]}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}),
        ({"items": True}, {"type": "array", "items": {}}),
        ({"type": "array", "items": False}, {"type": "array", "items": {}, "maxItems": 0}),
        ({"items": [A, B]}, {"type": "array", "prefixItems": [A, B], "items": {}}),
        ({"items": []}, {"type": "array", "items": {}}),
        ({"items": [A], "additionalItems": False}, {"type": "array", "prefixItems": [A], "items": {}, "maxItems": 1}),
        ({"items": [A], "additionalItems": B}, {"type": "array", "prefixItems": [A], "items": B}),
        ({"prefixItems": [A]}, {"type": "array", "prefixItems": [A], "items": {}}),
        ({"prefixItems": [A], "items": False}, {"type": "array", "prefixItems": [A], "items": {}, "maxItems": 1}),
        ({"properties": {"b": A}}, {"type": "object", "properties": {"b": A}}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": True, "enum": ["x"]}, {"type": ["string", "null"], "enum": ["x", None]}),
        ({"type": ["string", "null"], "nullable": True}, {"type": ["string", "null"]}),
        ({"anyOf": [A, B], "nullable": True}, {"anyOf": [A, B, {"type": "null"}]}),
        ({"nullable": True}, {}),
        ({"anyOf": [A]}, A),
        ({"anyOf": [A, False]}, A),
        ({"anyOf": []}, {}),
        ({"type": "string", "enum": ["x", 1, None, "x"]}, {"type": "string", "enum": ["x"]}),
        ({"type": "integer", "enum": ["x"]}, B),
        ({"type": "integer", "enum": [1.0, 1.5, True]}, {"type": "integer", "enum": [1.0]}),
        ({"type": "array", "enum": ["x", ["y"]]}, {"type": "array", "items": {}, "enum": [["y"]]}),
        ({"type": "object", "enum": [{"x": 1}, 5]}, {"type": "object", "enum": [{"x": 1}]}),
        ({"enum": ["x", 1, True, None]}, {"enum": ["x", 1, True, None]}),
        ({"type": "string", "const": 5}, A),
        ({"const": None}, {"const": None}),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 1}),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": False}, {"type": "number", "maximum": 1}),
        ({"exclusiveMinimum": True}, {}),
        ({"type": "string", "pattern": r"\p{L}"}, A),
        ({"type": "string", "pattern": "x" * (MAX_PATTERN + 1)}, A),
        ({"type": "string", "pattern": "^x"}, {"type": "string", "pattern": "^x"}),
        ({"dependentRequired": {"b": ["c"]}, "dependencies": {}, "type": "string"}, A),
        (
            {"contains": {"type": "array"}, "type": "array"},
            {"type": "array", "items": {}, "contains": {"type": "array", "items": {}}},
        ),
        ({"x-vendor": {"$ref": "#/y"}}, {"x-vendor": {"$ref": "#/y"}}),
    ],
)
def test_a_parameter_is_written_as_every_server_takes_it(given: Any, made: Any) -> None:
    normal = normalize_parameters({"properties": {"a": given}})

    assert normal.schema["properties"]["a"] == made
    assert normal.problems == ()


@pytest.mark.parametrize(
    ("given", "made", "problem"),
    [
        ({"type": "int"}, {}, "the parameter 'a' has the type 'int', which is none of JSON"),
        ({"type": 5}, {}, "the parameter 'a' has a 'type' that is not valid"),
        ({"minLength": -1, "type": "string"}, A, "the parameter 'a' has a 'minLength' that is not valid"),
        ({"multipleOf": 0}, {}, "the parameter 'a' has a 'multipleOf' that is not valid"),
        ({"maximum": float("inf")}, {}, "the parameter 'a' has a 'maximum' that is not valid"),
        ({"default": float("nan")}, {}, "the parameter 'a' has a 'default' that is not valid"),
        ({"enum": []}, {}, "the parameter 'a' has a 'enum' that is not valid"),
        ({"enum": ["\ud800"]}, {}, "the parameter 'a' has a 'enum' that is not valid"),
        ({"properties": []}, {}, "the parameter 'a' has a 'properties' that is not valid"),
        ({"anyOf": [A, 5]}, A, "the parameter 'a' has something in anyOf that is no schema"),
        (
            {"items": 5, "type": "array"},
            {"type": "array", "items": {}},
            "the parameter 'a' has a 'items' that is not valid",
        ),
        ({"additionalProperties": "no"}, {}, "the parameter 'a' has a 'additionalProperties' that is not valid"),
        ({"$ref": "other.json#/x"}, {}, "the parameter 'a' refers to something else than a part of the schema"),
        ({"$ref": "#/properties/b/c"}, {}, "the parameter 'a' refers to something else than a part of the schema"),
        ({"$ref": "#/$defs/1"}, {}, "the parameter 'a' refers to something else than a part of the schema"),
        ("text", None, "the parameter 'a' is no schema"),
        (["b"], None, "the parameter 'a' is no schema"),
    ],
)
def test_what_is_no_schema_is_left_out_and_named(given: Any, made: Any, problem: str) -> None:
    normal = normalize_parameters({"properties": {"a": given}, "$defs": {}})

    assert normal.schema["properties"].get("a") == made
    assert normal.problems == (problem,)


def test_problems_are_bounded() -> None:
    normal = normalize_parameters({"properties": {f"p{number}": 5 for number in range(20)}})

    assert len(normal.problems) == MAX_PROBLEMS


@pytest.mark.parametrize(
    ("reference", "where"),
    [
        ("#/$defs/a~1b", {"$defs": {"a/b": A}}),
        ("#/$defs/a%20b", {"$defs": {"a b": A}}),
        ("#/definitions/x", {"definitions": {"x": A}}),
        ("#/components/schemas/x", {"components": {"schemas": {"x": A}}}),
        ("#/properties/b", {"properties": {"b": A}}),
        ("#/anyList/0", {"anyList": [A]}),
        ("#here", {"$defs": {"x": {**A, "$anchor": "here"}}}),
        ("https://x.example/x", {"$defs": {"x": {**A, "$id": "https://x.example/x"}}}),
        ("https://x.example/root#/$defs/x", {"$id": "https://x.example/root", "$defs": {"x": A}}),
    ],
)
def test_a_reference_is_replaced_by_what_it_refers_to(reference: str, where: dict[str, Any]) -> None:
    properties = {"a": {"$ref": reference, "description": "It."}, **where.get("properties", {})}
    made = of({**where, "properties": properties})

    assert made["properties"]["a"] == {**A, "description": "It."}
    assert made.keys() == {"type", "properties"}


@pytest.mark.parametrize(
    ("schema", "definitions"),
    [
        ({"properties": {"a": {"$ref": "#"}}}, {"root"}),
        ({"$ref": "#/$defs/N", "$defs": {"N": {"properties": {"a": {"$ref": "#/$defs/N"}}}}}, {"N"}),
        (
            {
                "properties": {"a": {"$ref": "#/$defs/A"}},
                "$defs": {"A": {"properties": {"b": {"$ref": "#/$defs/B"}}}, "B": {"items": {"$ref": "#/$defs/A"}}},
            },
            {"A"},
        ),
        ({"anyOf": [{"$ref": "#/$defs/N"}], "$defs": {"N": {"properties": {"a": {"$ref": "#/$defs/N"}}}}}, {"N"}),
        ({"oneOf": [{"required": ["a"]}, {"$ref": "#"}]}, set()),
    ],
)
def test_recursive_types_refer_to_definitions(schema: Any, definitions: set[str]) -> None:
    made = of(schema)

    assert set(made.get("$defs", {})) == definitions
    assert list(common(made)) == []
    assert list(gemini(for_gemini(made))) == []


def test_references_in_a_circle_without_anything_else_are_anything() -> None:
    made = of(
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}
    )

    assert made["$defs"] == {"A": {}}


def test_names_of_definitions_are_plain_and_differ() -> None:
    node = {"properties": {"next": {"$ref": "#/$defs/Box[int]"}, "other": {"$ref": "#/definitions/Box[int]"}}}
    made = of(
        {
            "properties": {"a": {"$ref": "#/$defs/Box[int]"}},
            "$defs": {"Box[int]": node},
            "definitions": {"Box[int]": {"items": {"$ref": "#/definitions/Box[int]"}}},
        }
    )

    assert len(made["$defs"]) == 2
    assert all(name.replace("_", "").isalnum() for name in made["$defs"])


def test_a_reference_beside_constraints_stays_one_of_those_that_hold_at_once() -> None:
    made = of({"properties": {"a": {"$ref": "#", "minProperties": 1}, "b": {"$ref": "#", "description": "It."}}})

    assert made["properties"]["a"] == {"minProperties": 1, "allOf": [{"$ref": "#/$defs/root"}]}
    assert made["properties"]["b"] == {"$ref": "#/$defs/root", "description": "It."}


DATA = {"title": "Dune", "$ref": "#/x", "$defs": {"a": 1}, "properties": {"$filter": 5}, "type": "int", "x": None}


@pytest.mark.parametrize("key", ["default", "const", "examples", "enum", "example"])
def test_data_in_a_schema_is_data(key: str) -> None:
    data: Any = [DATA] if key in ("examples", "enum") else DATA

    assert of_one({key: data})[key] == data


NAMES = ["$filter", "settings[x]", "größe", "获取", "a.b", "a b", "", "2fa", "x" * 65, "a\nb", "\ud800", "-", "🙂"]


def test_names_that_a_server_refuses_are_replaced_everywhere_and_found_again() -> None:
    inner = {"type": "object", "properties": dict.fromkeys(NAMES, B), "required": NAMES}
    normal = normalize_parameters(
        {"properties": {"in": {"items": inner}, "or": {"anyOf": [inner, A]}, **dict.fromkeys(NAMES, A)}}
    )
    value: dict[str, Any] = dict.fromkeys(normal.names, 1)

    assert sorted(normal.names.values()) == sorted(NAMES)
    assert list(common(normal.schema)) == []
    assert restore_names({"in": [value], "or": value, **value}, normal.names) == {
        "in": [dict.fromkeys(NAMES, 1)],
        "or": dict.fromkeys(NAMES, 1),
        **dict.fromkeys(NAMES, 1),
    }
    assert restore_names(5, normal.names) == 5
    assert restore_names({"a": value}, {}) == {"a": value}
    assert normalize_parameters({"properties": dict.fromkeys(NAMES[::-1], A)}).names == normal.names


def test_a_replaced_name_is_described_and_can_stay() -> None:
    (schema,) = of({"properties": {"$top": {"description": "How many."}}})["properties"].values()

    assert schema == {"description": "How many. The parameter '$top'."}
    assert normalize_parameters({"properties": {"$top": A}}, renames=False).schema["properties"] == {"$top": A}


def nested(levels: int) -> Any:
    schema: Any = {}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema


def chain(length: int, width: int) -> Any:
    definitions = {
        f"D{n}": {"properties": {f"p{w}": {"$ref": f"#/$defs/D{n + 1}"} for w in range(width)}} for n in range(length)
    }
    return {"$ref": "#/$defs/D0", "$defs": {**definitions, f"D{length}": A}}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (nested(MAX_DEPTH), "levels deep"),
        (nested(MAX_LEVELS + 2), "schemas inside each other"),
        ({"enum": list(range(MAX_VALUES))}, "more than 50,000 values"),
        ({"properties": {5: {}}}, "a key that is not text"),
        (chain(MAX_LEVELS + 2, 1), "schemas inside each other"),
    ],
)
def test_what_is_too_much_is_refused_with_its_bound(schema: Any, words: str) -> None:
    with pytest.raises(UnfitSchema, match=words):
        normalize_parameters(schema)


def test_definitions_that_would_grow_without_end_stay_definitions() -> None:
    made = of(chain(24, 2))

    assert 1 < len(made["$defs"]) < 24
    assert len(json.dumps(made)) < 200_000
    assert list(common(made)) == []
    assert len(json.dumps(for_gemini(made))) < 2_000_000


def test_a_schema_of_itself_is_refused() -> None:
    schema: dict[str, Any] = {}
    schema["properties"] = {"a": schema}
    with pytest.raises(UnfitSchema, match="levels deep"):
        normalize_parameters(schema)


def test_the_work_grows_with_the_size_of_the_schema() -> None:
    def seconds(size: int) -> float:
        properties = {f"p{number}": {"$ref": f"#/$defs/D{number}"} for number in range(size)}
        definitions = {f"D{number}": {"type": "object", "properties": {"$x": A}} for number in range(size)}
        begin = time.process_time()
        normalize_parameters({"properties": properties, "$defs": definitions})
        return time.process_time() - begin

    seconds(100)
    assert seconds(4_000) < 12 * max(seconds(1_000), 0.01)


def random_value(chance: random.Random, depth: int) -> Any:
    if depth and chance.random() < 0.6:
        return random_schema(chance, depth - 1)
    plain: list[Any] = [None, True, False, 0, 1.5, -3, "a", "string", "object", "int", [], {}, ["a", "b"], [1, None]]
    return chance.choice(
        [*plain, float("nan"), "\ud800", "(", [{}], ["a", A], {"$filter": A, "größe": True, "x": False}]
    )


def random_schema(chance: random.Random, depth: int) -> Any:
    if chance.random() < 0.1:
        return chance.choice([True, False, None, 5, "x", []])
    schema: dict[str, Any] = {}
    for key in chance.sample([*sorted(STRUCTURE | CHECKS.keys()), "nullable", "const", "default", "$anchor"], 5):
        schema[key] = random_value(chance, depth)
        if key in SCHEMA_MAPS:
            schema[key] = {
                name: random_value(chance, depth) for name in chance.sample(["a", "b", "$filter", "required"], 2)
            }
        if key in SCHEMA_LISTS:
            schema[key] = [random_value(chance, depth) for _ in range(2)]
    if chance.random() < 0.3:
        schema["$ref"] = chance.choice(["#", "#/$defs/a", "#/definitions/b", "#/properties/a", "#a", "other"])
    return schema


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_is_refused_or_becomes_what_every_server_takes(seed: int) -> None:
    chance, count = random.Random(seed), 0
    for _ in range(40):
        schema = random_schema(chance, 3)
        try:
            made = of(schema)
        except UnfitSchema:
            continue
        count += 1
        assert list(common(made)) == [], schema
        assert list(gemini(for_gemini(made))) == [], schema
        assert normalize(made).schema == normalize(normalize(made).schema).schema
    assert count > 10
