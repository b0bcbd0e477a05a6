"""A malformed tool, prompt, resource or result of a server costs nothing else: it is named in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat
from nbtool.json_schema.keywords import subschemas
from nbtool.messages import Media
from nbtool.testing import ScriptedWire, call
from nbtool.tools.mcp import McpServer, McpServers
from nbtool.wire.base import Prompt, Target, ToolSpec
from nbtool.wire.registry import find_wire
from tests.json_schema.provider_rules import RULES
from tests.tools.calling import ask_for, make_harness
from tests.tools.mcp.answering import Serve, start_servers, tool


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a server with these tools and results, and these answers to other requests."""
    with start_servers(tmp_path) as start:
        yield start


def shown(servers: McpServers, name: str, **arguments: Any) -> str:
    return make_harness(servers, approver=lambda _: Approved()).run(ask_for(name, **arguments)).shown


MALFORMED = [
    {"name": "bad"},
    {"inputSchema": {}},
    {"name": None, "inputSchema": {}},
    5,
    None,
    tool("bad", None),
    tool("bad", "object"),
    tool("bad", {"type": "string"}),
    tool("bad", {"anyOf": [{"type": "string"}, {"type": "array"}]}),
    tool("bad", {"enum": ["x" * 200_000]}),
]
FLAWED = [
    tool("bad", {"required": "a"}),
    tool("bad", {"required": [1], "properties": {"a": {}}}),
    tool("bad", {"properties": {"a": {"type": "string"}, "required": ["a"]}}),
    tool("bad", {"properties": {"a": {"type": "int"}}}),
    tool("bad", annotations=[], icons="x", execution=5, _meta="y"),
    tool("bad", description=["x"], title=5),
    tool("bad", outputSchema=["x"]),
]
UNUSUAL = [
    tool("bad", {}),
    tool("bad", {"properties": None, "required": None}),
    tool("bad", {"$schema": 5, "type": ["object"]}),
    tool("bad", annotations={"readOnlyHint": "yes", "title": 5}, icons=[{"src": 5}], execution={"taskSupport": "?"}),
    tool("bad", outputSchema={"description": "x"}),
    tool("bad", outputSchema={"type": "array"}, _meta=None, icons=None),
]


@pytest.mark.promise("one-tool")
@pytest.mark.parametrize("entry", MALFORMED)
def test_a_malformed_tool_is_left_out_and_named_and_the_others_work(serve: Serve, entry: Any) -> None:
    servers = serve(tool("first"), entry, tool("last"))

    assert list(servers.tools()) == ["it_first", "it_last"]
    (notice,) = servers["it"].notices
    assert ("'bad'" in notice) is (isinstance(entry, dict) and entry.get("name") == "bad")
    assert "validation error" not in notice
    assert shown(servers, "it_last", a=1) == '{"a": 1}'


@pytest.mark.parametrize("entry", FLAWED)
def test_a_tool_with_a_flaw_works_and_the_flaw_is_named(serve: Serve, entry: Any) -> None:
    servers = serve(entry, tool("last"))

    assert list(servers.tools()) == ["it_bad", "it_last"]
    (notice,) = servers["it"].notices
    assert all(name in notice for name in ("'it'", "'bad'"))
    assert shown(servers, "it_bad", a="x") == '{"a": "x"}'


@pytest.mark.parametrize("entry", UNUSUAL)
def test_a_tool_that_is_merely_unusual_works_without_a_word(serve: Serve, entry: Any) -> None:
    servers = serve(entry)

    assert servers["it"].notices == ()
    assert shown(servers, "it_bad", a="x").startswith('{"a": "x"}')


def test_a_chat_says_once_what_is_left_out(serve: Serve) -> None:
    servers = serve({"name": "bad"}, tool("good"))
    with ScriptedWire(["Hi.", "Ho.", "Hu."]) as wire:
        chat, other = (Chat(wire=wire, tools=[servers.filtered(["it_*"])]) for _ in range(2))
        turns = [chat.send("One."), chat.send("Two."), other.send("One.")]

    assert [["'bad'" in notice.text for notice in turn.notices] for turn in turns] == [[True], [], [True]]


@pytest.mark.parametrize("answer", [{}, {"tools": None}, {"tools": {}}, {"tools": [], "nextCursor": 5}])
def test_an_answer_without_a_list_is_no_list(serve: Serve, answer: Any) -> None:
    servers = serve(tools__list=answer)

    assert list(servers.tools()) == []
    assert bool(servers["it"].notices) is ("nextCursor" not in answer)


@pytest.mark.parametrize(
    "start",
    [
        {"serverInfo": None, "instructions": 5},
        {"serverInfo": {"name": 5}, "capabilities": None},
        {"capabilities": {"tools": True, "prompts": None, "logging": {"x": 5}}},
    ],
)
def test_what_a_server_says_of_itself_may_be_malformed(serve: Serve, start: Any) -> None:
    assert list(serve(tool("say"), initialize=start).tools()) == ["it_say"]


@pytest.mark.promise("one-tool")
def test_malformed_prompts_and_resources_are_left_out_and_named(serve: Serve) -> None:
    prompts = [
        5,
        {"name": "ask", "arguments": [{"name": "a", "required": "yes"}, 5, {"name": "b", "required": True}]},
        {},
    ]
    resources = [{"name": "x"}, {"uri": "it://y", "name": None, "mimeType": 5, "size": "large"}]
    it = serve(prompts__list={"prompts": prompts}, resources__list={"resources": resources})["it"]

    (prompt,) = it.prompts()
    (resource,) = it.resources()
    assert (prompt.usage, prompt.description) == ("it.ask b=… [a=…]", "")
    assert (resource.uri, resource.name, resource.mime) == ("it://y", "it://y", "")
    it.prompts()
    of_prompts, of_resources = it.notices
    assert all(part in of_prompts for part in ("2 of 3", "'name'"))
    assert all(part in of_resources for part in ("1 of 2", "'uri'"))


def test_lists_of_prompts_and_resources_that_are_none_are_empty_and_named(serve: Serve) -> None:
    it = serve(prompts__list={"prompts": "x"}, resources__list={})["it"]

    assert (it.prompts(), it.resources()) == ((), ())
    (notice,) = it.notices
    assert "'it'" in notice


def test_malformed_contents_of_prompts_and_resources_are_texts(serve: Serve) -> None:
    messages = [
        {"role": "system", "content": "Hello."},
        5,
        {"content": [{"type": "text", "text": "Ho."}, {"type": "x"}]},
    ]
    contents = [{"text": "a"}, {"blob": "eA==", "mimeType": "image/png"}, {"uri": "x"}, 5]
    it = serve(prompts__get={"messages": messages}, resources__read={"contents": contents})["it"]

    unknown = "[Content in a form that is not of MCP] "
    assert it.get_prompt("ask") == f'User: Hello.\n\nUser: {unknown}5\n\nUser: Ho.\n\nUser: {unknown}{{"type": "x"}}'
    text, image, *others = it.read_resource("it://x")
    assert (text, image) == ("a", Media("image/png", b"x", name=""))
    assert others == [f'{unknown}{{"uri": "x"}}', f"{unknown}5"]
    assert (serve(resources__read={})["it"].read_resource("x"), serve(prompts__get={})["it"].get_prompt("x")) == (
        [],
        "",
    )


def too_deep() -> dict[str, Any]:
    """Return a schema that is valid, and of too many schemas inside each other."""
    schema: dict[str, Any] = {}
    for _ in range(70):
        schema = {"not": schema}
    return schema


TEXT = {"type": "text", "text": "row 7 was written"}
OUT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
MARK = "[nbtool: "


DELIVERED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"content": None}, ""),
    ({"content": "plain"}, "plain"),
    ({"content": TEXT}, "row 7 was written"),
    ({"content": [{**TEXT, "annotations": {"priority": "high"}, "_meta": 5}]}, "row 7 was written"),
    ({"content": [TEXT], "isError": None}, "row 7 was written"),
    ({"content": [{"type": "sound", "x": 1}, TEXT]}, 'MCP] {"type": "sound", "x": 1}\nrow 7 was written'),
    ({"content": [{"type": "text", "text": 7}]}, 'MCP] {"type": "text", "text": 7}'),
    ({"content": [{"type": "resource_link", "uri": "it://y"}]}, "[it://y: it://y]"),
    ({"content": [{"type": "resource", "resource": {"text": "inside"}}]}, "inside"),
    ({"content": [{"type": "resource", "resource": {"uri": "x"}}]}, "MCP] {"),
    ({"structuredContent": [1, 2]}, "[1, 2]"),
    ({"structuredContent": "text"}, "text"),
    ({"isError": True, "structuredContent": {"code": 429}}, '{"code": 429}'),
    ({"isError": True, "content": [{"type": "text", "text": "no"}], "structuredContent": {"why": "full"}}, "no\n{"),
    ({"isError": True, "content": [{"type": "image", "data": "eA==", "mimeType": "image/png"}]}, "image/png"),
    ({"isError": "yes"}, "failed"),
    ({"error": {"code": -32602, "message": "No.", "data": {"field": "n"}}}, 'No. ({"field": "n"})'),
    ({"error": {"code": -32602, "message": "No.", "data": "why"}}, "No. (why)"),
    ({"error": {"code": -32602, "message": "No.", "data": ""}}, "No."),
)
"""Results of a call, and what the model gets of them."""


@pytest.mark.parametrize(("result", "text"), DELIVERED)
def test_what_came_of_a_call_is_delivered(serve: Serve, result: Any, text: str) -> None:
    assert text in shown(serve(tool("do"), results={"do": result}), "it_do")


ANNOUNCED: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"content": [TEXT]}, ["row 7 was written", MARK]),
    ({"content": []}, [MARK]),
    ({"content": [TEXT], "structuredContent": {"x": "no"}}, ["row 7", '"no"', MARK, "['x']"]),
    ({"content": [], "structuredContent": {"y": [1]}}, ['"y"', MARK, "'x'"]),
    ({"structuredContent": [1, 2]}, ["[1, 2]", MARK, "'object'"]),
)
"""Results that are not what `OUT` announces, and what the model gets of them."""


@pytest.mark.promise("one-tool")
@pytest.mark.parametrize(("result", "parts"), ANNOUNCED)
def test_a_result_that_is_not_what_was_announced_is_delivered_and_marked(
    serve: Serve, result: Any, parts: list[str]
) -> None:
    servers = serve(tool("do", outputSchema=OUT), results={"do": result})
    record = make_harness(servers, approver=lambda _: Approved()).run(ask_for("it_do"))

    assert record.status == "ok"
    assert all(json.dumps(part)[1:-1] in json.dumps(record.result) or part in record.shown for part in parts), (
        record.shown
    )


@pytest.mark.parametrize(
    "schema",
    [
        OUT,
        {"$ref": "https://x.example/out"},
        {"type": 5},
        {"properties": {"x": {"pattern": "(a+)+$"}}},
        {"$ref": "#"},
        too_deep(),
    ],
)
def test_a_result_as_announced_or_that_nobody_can_check_is_as_it_is(serve: Serve, schema: Any) -> None:
    servers = serve(tool("do", outputSchema=schema), results={"do": {"structuredContent": {"x": 1}, "content": []}})

    assert json.loads(shown(servers, "it_do")) == {"x": 1}


def test_an_answer_that_cannot_be_repaired_is_an_error_in_words(serve: Serve) -> None:
    servers = serve(tool("do"), results={"do": {"resultType": "input_required", "inputRequests": 5}})

    record = make_harness(servers, approver=lambda _: Approved()).run(ask_for("it_do"))
    assert (record.status, "'it'" in record.shown, "pydantic" in record.shown) == ("error", True, False)


ODATA = tool(
    "find",
    {
        "properties": {
            "$filter": {"type": "string"},
            "größe": {"type": "integer"},
            "where": {"type": "array", "items": {"properties": {"a.b": {}, "x" * 70: {}}, "required": ["a.b"]}},
        },
        "required": ["$filter"],
        "anyOf": [{"required": ["größe"]}, {"required": ["where"]}],
    },
)
REFUSED = [
    ODATA,
    tool("lists", {"properties": {"xs": {"type": "array"}, "pair": {"items": [{"type": "string"}, {}]}}}),
    tool("nulls", {"properties": None, "required": None}),
    tool("refs", {"properties": {"a": {"$ref": "#/definitions/A"}}, "definitions": {"A": {"type": "string"}}}),
    tool(
        "root",
        {"$ref": "#/$defs/N", "$defs": {"N": {"properties": {"next": {"$ref": "#/$defs/N"}}, "required": ["next"]}}},
    ),
    tool(
        "types",
        {"properties": {"a": {"type": ["string", "null"], "enum": ["x", 1, None]}, "b": True, "c": {"const": 5}}},
    ),
    tool(
        "none",
        {"oneOf": [{"type": "null"}, {"properties": {"a": {"format": "uri", "nullable": True, "type": "string"}}}]},
    ),
]


@pytest.mark.parametrize("dialect", list(RULES))
def test_no_wire_sends_what_its_server_refuses(serve: Serve, dialect: str) -> None:
    servers = serve(*REFUSED)
    prompt = Prompt((), tools=tuple(ToolSpec(**one.spec) for one in servers.tools().values()))
    body = json.loads(json.dumps(find_wire(dialect).encode(prompt, Target("h", "m")).body, allow_nan=False))

    schemas = list(sent_schemas(body))
    assert len(schemas) >= 6
    assert [problem for schema in schemas for problem in RULES[dialect](schema)] == []


def sent_schemas(body: Any) -> Iterator[dict[str, Any]]:
    """Yield the schemas of the tools of a request, whatever its dialect."""
    for value in body.values() if isinstance(body, dict) else body if isinstance(body, list) else ():
        if isinstance(value, dict) and value.get("type") == "object":
            yield value
        else:
            yield from sent_schemas(value)


def test_a_model_writes_the_names_that_it_was_given_and_the_server_gets_its_own(serve: Serve) -> None:
    servers = serve(ODATA)
    schema = servers.tools()["it_find"].spec["parameters"]["properties"]
    names = {one["description"]: name for name, one in schema.items() if "description" in one}
    (inner,) = [name for one in subschemas(schema["where"]) for name in one["required"]]
    arguments = {names["The parameter '$filter'."]: "x", names["The parameter 'größe'."]: 1, "where": [{inner: 2}]}
    asked: list[Any] = []

    def approve(question: Any) -> Approved:
        asked.append(question.arguments)
        return Approved()

    with ScriptedWire([call("it_find", **arguments), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[servers], approver=approve).send("Find.")

    own = {"$filter": "x", "größe": 1, "where": [{"a.b": 2}]}
    assert asked == [own]
    assert json.loads(turn.calls[0].result) == own


def test_arguments_under_their_own_names_and_an_edit_reach_the_server_too(serve: Serve) -> None:
    harness = make_harness(serve(ODATA), approver=lambda _: Approved({"$filter": "y"}))

    assert json.loads(harness.run(ask_for("it_find", **{"$filter": "x"})).result) == {"$filter": "y"}


def test_a_tool_source_that_lists_a_server_alone_is_a_server(serve: Serve) -> None:
    it = serve(tool("a b"), tool("a.b"))["it"]

    assert isinstance(it, McpServer)
    assert len(it.tools()) == 2
