"""What Gemini takes of a schema in normal form, and what OpenAI enforces."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from nbtool import Chat, tool
from nbtool.errors import BadUsage
from nbtool.json_schema import normalize
from nbtool.json_schema.dialects import MAX_STRICT_LEVELS, MAX_STRICT_PROPERTIES, for_gemini, is_strict
from nbtool.plugins.structured import schema_for
from nbtool.testing import ScriptedWire, call
from nbtool.tools.schema.parameters import Parameters
from nbtool.tools.tool import Tool, as_tools
from nbtool.tools.tool_views import left_out_tools
from nbtool.tools.toolset import Toolset
from nbtool.wire.dialect import find_dialect


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"type": "string", "format": "uri"}, {"type": "string", "description": "format: 'uri'"}),
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        ({"const": 5, "description": "It."}, {"description": "It. (const: 5)"}),
        ({"enum": ["x", None]}, {"type": ["string", "null"], "enum": ["x"]}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "description": "enum: [1, 2]"}),
        ({"enum": [None]}, {"description": "enum: [None]"}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"allOf": [{"minItems": 1}, {"$ref": "#/$defs/D"}]}, {"minItems": 1, "type": "string"}),
        ({"$ref": "#/$defs/D", "description": "It."}, {"type": "string", "description": "It."}),
        ({"$ref": "#/$defs/none"}, {}),
        ({"exclusiveMinimum": 0, "default": 1}, {"description": "exclusiveMinimum: 0; default: 1"}),
        ({"additionalProperties": False, "x-y": 1}, {"additionalProperties": False}),
    ],
)
def test_gemini_gets_the_keywords_that_it_takes_and_the_others_in_words(given: Any, made: Any) -> None:
    schema = {"properties": {"a": given}, "$defs": {"D": {"type": "string"}}}

    assert for_gemini(schema) == {"properties": {"a": made}}


def test_a_recursive_type_is_written_some_levels_deep_for_gemini() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}
    end = {"type": "object"}
    inside = {"type": "object", "properties": {"next": {"type": "object", "properties": {"next": end}}}}

    assert for_gemini({"properties": {"a": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}}) == {
        "properties": {"a": inside}
    }


CLOSED = {"type": "object", "additionalProperties": False}


def closed(**properties: Any) -> dict[str, Any]:
    return {**CLOSED, "properties": properties, "required": list(properties)}


def deep(levels: int) -> dict[str, Any]:
    return closed(a=deep(levels - 1)) if levels else {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "is_enforced"),
    [
        (closed(a={"type": "string", "format": "date", "pattern": "^x"}), True),
        (closed(a={"type": ["string", "null"], "description": "It."}), True),
        (closed(a={"$ref": "#/$defs/N"}) | {"$defs": {"N": closed(b={"enum": [1]})}}, True),
        (closed(a={"anyOf": [{"type": "string"}, closed()]}), True),
        (closed(a={"const": {"default": 1}}), True),
        (closed(a={"type": "array", "items": {"type": "string"}, "minItems": 1}), True),
        (deep(MAX_STRICT_LEVELS - 1), True),
        (deep(MAX_STRICT_LEVELS + 1), False),
        (closed(**{f"p{n}": {"type": "string"} for n in range(MAX_STRICT_PROPERTIES + 1)}), False),
        (closed(a={"type": "array", "items": {}, "prefixItems": [{"type": "string"}]}), False),
        (closed(a={"type": "array", "items": {}}), False),
        (closed(a={}), False),
        (closed(a={"type": "string", "default": "x"}), False),
        (closed(a={"type": "string", "format": "uri"}), False),
        (closed(a={"type": "string", "pattern": "(?=x)"}), False),
        (closed(a={"oneOf": [{"type": "string"}]}), False),
        (closed(a={"$ref": "#/$defs/N", "description": "It."}), False),
        (closed(a={"type": "object"}), False),
        ({**CLOSED, "properties": {"a": {"type": "string"}}}, False),
        (True, False),
    ],
)
def test_only_what_openai_can_enforce_is_strict(schema: Any, is_enforced: bool) -> None:
    assert is_strict(schema) is is_enforced


class Pair(BaseModel):
    at: tuple[int, str]


@pytest.mark.parametrize("type_", [tuple[int, str], Pair, dict[str, tuple[int, ...]], list[tuple[int, str]]])
def test_an_answer_with_a_tuple_is_not_enforced_and_its_lists_have_items(type_: Any) -> None:
    _, schema, _ = schema_for(type_)

    assert not is_strict(schema)
    assert normalize(schema, renames=False).schema == schema
    assert find_dialect("gemini").answer_options(schema, False)["generationConfig"]["responseJsonSchema"] == for_gemini(
        schema
    )


@tool
def measure(größe: int, *, art: str = "x") -> str:
    """Measure.

    Args:
        größe: The size.
    """
    return f"{größe} {art}"


def test_a_function_with_a_name_that_servers_refuse_gets_its_own_argument() -> None:
    (schema,) = [one for name, one in as_tools(measure)[0].spec["parameters"]["properties"].items() if name != "art"]
    assert schema == {"type": "integer", "description": "The size. The parameter 'größe'."}

    (offered,) = as_tools(measure)[0].offer.names
    with ScriptedWire([[call("measure", **{offered: 3}), call("measure", größe=4)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[tool(run="auto")(measure)]).send("Go.")

    assert [record.result for record in turn.calls] == ["3 x", "4 x"]


def make_tool(name: str, schema: Any) -> Tool:
    return Tool(lambda: "done", name, "It.", Parameters({}, None, schema))


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (
            make_tool("list", {"type": "array"}),
            "'list' is not offered to the model: its schema is not that of an object.",
        ),
        (make_tool("a b", {}), "'a b' is not offered to the model: its name is not of 1 to 64 letters"),
    ],
)
def test_a_tool_that_cannot_be_offered_is_named_and_the_others_are_offered(other: Tool, reason: str) -> None:
    with ScriptedWire(["Hi.", "Ho."]) as wire:
        chat = Chat(wire=wire, tools=[other, make_tool("good", {})])
        first, second = chat.send("One."), chat.send("Two.")

    assert [spec.name for spec in wire.prompts[0].tools if spec.name in ("good", other.name)] == ["good"]
    (notice,) = first.notices
    assert reason in notice.text
    assert second.notices == ()
    assert left_out_tools(Toolset("it", [other])) == (notice.text,)


class Deep(BaseModel):
    a: dict[str, Any] = Field(json_schema_extra={"enum": list(range(60_000))})


def test_a_type_that_is_too_large_for_any_model_is_refused_when_the_tool_is_made() -> None:
    def use(a: Deep) -> str:
        return str(a)

    with pytest.raises(BadUsage, match="cannot be described to a model: its schema has more than 50,000 values"):
        as_tools(use)
