"""Situations of public reports about schemas of tools and about MCP servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from nbtool import Approved
from nbtool.json_schema.dialects import is_strict
from nbtool.plugins.structured import schema_for
from nbtool.tools.mcp import McpServers
from nbtool.tools.mcp.catalog.tool_names import model_tool_name
from nbtool.wire.base import Prompt, Target, ToolSpec
from nbtool.wire.registry import find_wire
from tests.json_schema.provider_rules import RULES
from tests.tools.calling import ask_for, make_harness
from tests.tools.mcp.answering import Serve, start_servers, tool


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with start_servers(tmp_path) as start:
        yield start


def sent(servers: McpServers, name: str, dialect: str = "anthropic") -> dict[str, Any]:
    """Return the schema of a tool as a wire sends it, which its server does not refuse."""
    spec = ToolSpec(**servers.tools()[name].spec)
    (one,) = find_wire(dialect).encode(Prompt((), tools=(spec,)), Target("h", "m")).body["tools"]
    one = one.get("functionDeclarations", [one])[0]
    schema = one.get("input_schema") or one.get("parametersJsonSchema") or one.get("function", one).get("parameters")
    assert list(RULES[dialect](schema)) == []
    return dict(schema)


def outcome(servers: McpServers, name: str, **arguments: Any) -> Any:
    return make_harness(servers, approver=lambda _: Approved()).run(ask_for(name, **arguments))


def test_an_impact_tool_that_needs_a_route_or_a_file(serve: Serve) -> None:
    """anomalyco/opencode#35516, MoonshotAI/kimi-code#2328: `anyOf` of `required` at the root of one schema; Anthropic
    refuses all tools. Right: the root is an object, and its description says what is needed. Before: wrong."""
    properties = {"route": {"type": "string"}, "file": {"type": "string"}}
    servers = serve(
        tool("impact", {"properties": properties, "anyOf": [{"required": ["route"]}, {"required": ["file"]}]})
    )

    schema = sent(servers, "it_impact")
    assert schema["properties"] == properties
    assert schema["description"] == "Give one of these sets of arguments: route; or file."


@pytest.mark.parametrize("name", ["$.xgafv", "projects.any", "rule_name[]", "settings[x]", "fälligkeit"])
def test_a_key_that_poisons_the_list_of_tools(serve: Serve, name: str) -> None:
    """anthropics/claude-code#34771, roychri/mcp-server-asana#16, erikmaday/unusual-whales-mcp#57: a name of a parameter
    such as `$.xgafv` or `settings[x]` makes a provider refuse every tool. Right: the model is offered a name that it
    takes, and the server gets its own. Before: wrong."""
    servers = serve(tool("find", {"properties": {name: {"type": "string"}}, "required": [name]}))
    (offered,) = sent(servers, "it_find")["properties"]

    assert json.loads(outcome(servers, "it_find", **{offered: "x"}).result) == {name: "x"}


def test_flattened_names_of_seventy_characters(serve: Serve) -> None:
    """ComposioHQ/composio#2330: names of parameters above 64 characters, which differ at their ends only, are refused.
    Right: two names that the model takes, and the server gets its own. Before: wrong."""
    stem = "settings__approved__or__denied__countries__or__regions__"
    names = [f"{stem}approved__list", f"{stem}denied__list"]
    servers = serve(tool("meet", {"properties": {name: {"type": "array"} for name in names}}))
    offered = list(sent(servers, "it_meet")["properties"])

    assert len(set(offered)) == 2
    assert json.loads(outcome(servers, "it_meet", **{offered[1]: []}).result) == {names[1]: []}


@pytest.mark.parametrize("dialect", ["chat", "responses", "gemini"])
def test_targets_without_items(serve: Serve, dialect: str) -> None:
    """spacelift-io/spacectl#402: "array schema missing items". Right: an array without `items` has any item. Before:
    wrong."""
    servers = serve(tool("preview", {"properties": {"targets": {"type": "array"}}}))

    assert sent(servers, "it_preview", dialect)["properties"]["targets"] == {"type": "array", "items": {}}


def test_required_inside_of_the_properties(serve: Serve) -> None:
    """mastra-ai/mastra#23731: `required` stands among the properties, as a list. Right: the tool works, without a
    parameter `required`, and the flaw is named. Before: wrong."""
    properties = {"coin": {"type": "string"}, "required": ["coin"]}
    servers = serve(tool("price", {"type": "object", "properties": properties}), tool("other"))

    assert list(sent(servers, "it_price")["properties"]) == ["coin"]
    assert "the parameter 'required' is no schema" in servers["it"].notices[0]
    assert json.loads(outcome(servers, "it_price", coin="x").result) == {"coin": "x"}


def test_a_schema_of_a_string_beside_a_healthy_tool(serve: Serve) -> None:
    """sandialabs/atlas-ui-3#727: one tool with a schema of a string takes the healthy tools of its server with it.
    Right: it is left out and named, the healthy one works. Before: wrong."""
    servers = serve(tool("lookup", {"type": "string", "description": "the document title"}), tool("healthy"))

    assert list(servers.tools()) == ["it_healthy"]
    assert "the tool 'lookup', which is left out: its schema is not that of an object" in servers["it"].notices[0]


def test_a_schema_that_is_a_marker_of_its_dialect_and_nothing_else(serve: Serve) -> None:
    """kerlenton/mcpsnoop#199: a schema is `$schema` and nothing else. Right: the tool takes anything. Before: wrong."""
    servers = serve(tool("read_file", {"$schema": "http://json-schema.org/draft-07/schema#"}))

    assert sent(servers, "it_read_file") == {"type": "object", "properties": {}}
    assert json.loads(outcome(servers, "it_read_file", path="x").result) == {"path": "x"}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"enum": ["A", "B"], "type": "null"}, {"type": "null"}),
        (
            {"enum": [0, 1], "type": "array", "items": {"type": "integer"}},
            {"type": "array", "items": {"type": "integer"}},
        ),
    ],
)
def test_choices_that_are_not_of_their_type(serve: Serve, given: Any, made: Any) -> None:
    """can1357/oh-my-pi#2652: `enum` of a null or of a list has choices that can never be met. Right: they are left out.
    Before: wrong."""
    servers = serve(tool("pick", {"properties": {"a": given}}))

    assert sent(servers, "it_pick")["properties"]["a"] == made


def test_numbers_that_gemini_takes_as_texts(serve: Serve) -> None:
    """reposkein/reposkein#14, pizza-bot-app/pizza-bot#62: Gemini refuses `const` of numbers and `exclusiveMinimum`.
    Right: they are told in words. Before: wrong."""
    hops = {"anyOf": [{"const": 1}, {"const": 2}]}
    servers = serve(tool("get", {"properties": {"hops": hops, "max": {"type": "integer", "exclusiveMinimum": 0}}}))
    schema = sent(servers, "it_get", "gemini")["properties"]

    assert schema["hops"] == {"anyOf": [{"description": "const: 1"}, {"description": "const: 2"}]}
    assert schema["max"] == {"type": "integer", "description": "exclusiveMinimum: 0"}


def test_an_error_that_is_structured_only(serve: Serve) -> None:
    """langchain-ai/langchain#40471, anthropics/claude-code#86032: an error has structured content and no text, and the
    model learns nothing. Right: the model gets the structured content. Before: wrong."""
    limited = {"isError": True, "content": [], "structuredContent": {"code": "RATE_LIMITED", "retry_after": 30}}
    record = outcome(serve(tool("do"), results={"do": limited}), "it_do")

    assert record.status == "error"
    assert '{"code": "RATE_LIMITED", "retry_after": 30}' in record.shown


def test_the_output_of_a_compiler_in_structured_content_beside_a_short_text(serve: Serve) -> None:
    """NousResearch/hermes-agent#101330: of a failure its summary is delivered, and not the output of the compiler in
    its structured content. Right: the whole of it is delivered. Before: wrong."""
    content = [{"type": "text", "text": "compile artifact was not created"}]
    failed = {"isError": True, "content": content, "structuredContent": {"output_window_text": "line 121: no ;"}}
    record = outcome(serve(tool("build"), results={"build": failed}), "it_build")

    assert "compile artifact was not created" in record.shown
    assert "line 121: no ;" in record.shown


def test_content_that_does_not_match_the_announced_schema(serve: Serve) -> None:
    """rekog-labs/MCP-Nest#79: a tool announces a schema of its output, and its content does not match. Right: the tool
    ran, and its text is delivered, with a line that says what was announced. Before: wrong."""
    servers = serve(
        tool("getUserProfile", outputSchema={"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}),
        results={"getUserProfile": {"content": [{"type": "text", "text": "Ada, level 7"}]}},
    )
    record = outcome(servers, "it_getUserProfile")

    assert record.status == "ok"
    assert record.shown.startswith("Ada, level 7\n\n[nbtool: The tool ran. Its result is not what the server announced")


def test_a_malformed_output_schema_of_one_tool(serve: Serve) -> None:
    """ThinkInAIXYZ/deepchat#2075: the malformed output schema of one tool had all tools of its server refused. Right:
    the tool works, and its result is delivered. Before: wrong."""
    properties = {"data": {"items": {"properties": {"list": {"items": {"properties": {"type": "string"}}}}}}}
    servers = serve(
        tool("mall-order-list", outputSchema={"type": "object", "properties": properties}),
        results={"mall-order-list": {"content": [], "structuredContent": {"data": [{"list": [{"type": "x"}]}]}}},
    )

    assert outcome(servers, "it_mall-order-list").result == {"data": [{"list": [{"type": "x"}]}]}


def test_names_that_differ_by_punctuation_only(serve: Serve) -> None:
    """sourcebot-dev/sourcebot#1423, ayunis-core/ayunis-core#973: `catalog.query` and `catalog_query` have one name for
    the model. Right: both are offered, and each reaches its own tool. Before: wrong."""
    servers = serve(
        tool("catalog.query"),
        tool("catalog_query"),
        results={name: {"content": [{"type": "text", "text": name}]} for name in ("catalog.query", "catalog_query")},
    )

    assert [outcome(servers, name).result for name in servers.tools()] == ["catalog.query", "catalog_query"]


def test_names_of_servers_without_a_letter_that_a_model_takes() -> None:
    """agentscope-ai/QwenPaw#6561: servers are named `...`, `@` or `阿里巴巴`, without a letter that a model takes.
    Right: the names of their tools begin with a letter, and differ. Before: wrong."""
    names = {model_tool_name(server, "find") for server in ("...", "@", "阿里巴巴", "123MCP", "MCP")}

    assert len(names) == 5
    assert all(name[0].isalpha() for name in names)


def test_one_tool_on_two_pages(serve: Serve) -> None:
    """softwaremill/sttp-ai#520: a server lists the same tool on two pages; of two tools of one name the last one won
    silently. Right: the same tool again is no second one; another of its name is named. Before: wrong."""
    servers = serve(tool("say"), tool("say", _meta={"page": 2}), tool("say", description="Otherwise."))

    assert list(servers.tools()) == ["it_say"]
    assert servers["it"].notices == ("The MCP server 'it' lists the tool 'say' again, differently: the first counts.",)


class Source(BaseModel):
    model_config = ConfigDict(extra="forbid")
    url: str


class Hero(BaseModel):
    model_config = ConfigDict(extra="forbid")
    source: Source = Field(description="Where the chart is from.")


class Node(BaseModel):
    model_config = ConfigDict(extra="forbid")
    next: list[Node]
    other: Node = Field(description="Another one.")


class Offer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    offered: set[str] = Field(min_length=1, max_length=5)


def test_a_reference_with_a_description_beside_it() -> None:
    """defog-ai/defog#244: "$ref cannot have keywords {'description'}" of OpenAI's strict mode. Right: the reference is
    replaced by what it names; where it cannot be, strict mode is not asked for. Before: wrong."""
    schema, recursive = schema_for(Hero)[1], schema_for(Node)[1]

    assert schema["properties"]["source"]["description"] == "Where the chart is from."
    assert is_strict(schema)
    assert "$ref" in recursive["properties"]["other"]
    assert not is_strict(recursive)


def test_unique_items_of_an_answer() -> None:
    """mastra-ai/mastra#23321: a schema with `uniqueItems` is sent in OpenAI's strict mode, which refuses it. Right:
    strict mode is not asked for. Before: wrong."""
    assert not is_strict(schema_for(Offer)[1])
