from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from mcp.types import CallToolResult, TextContent, Tool

from nbtool.errors import InvalidArguments, McpFailed, ToolFailed
from nbtool.tools.mcp.catalog.result_content import result_value
from nbtool.tools.mcp.catalog.tool_list import (
    MAX_SCHEMA,
    RemoteParameters,
    RemoteTool,
    ToolListing,
    diff_tools,
    parse_tools,
)
from nbtool.tools.mcp.catalog.tool_names import model_tool_name, model_tool_names
from nbtool.tools.mcp.config import read_config
from nbtool.tools.mcp.connection.exchange import Exchange
from nbtool.tools.mcp.connection.http_transport import _key_fix
from nbtool.tools.tool import NAME
from nbtool.tools.variables.references import without_references
from tests.cpu_time import run_within

SCHEMA = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}


def check_arguments(schema: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return RemoteParameters({}, None, schema).check(without_references(arguments))


def test_arguments_go_on_as_they_are_where_the_schema_is_open() -> None:
    assert check_arguments(SCHEMA, a=1, c="x") == {"a": 1, "c": "x"}
    assert check_arguments({}, c=1) == {"c": 1}
    assert check_arguments({"additionalProperties": False}, c=1) == {"c": 1}


def test_arguments_that_are_missing_or_not_expected_are_named_together() -> None:
    with pytest.raises(InvalidArguments, match=r"^'a' is missing; 'c' is not expected; 'd' is not expected\."):
        check_arguments({**SCHEMA, "additionalProperties": False}, c=1, d=2)


def tool(name: Any, **fields: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **fields}


LEFT_OUT: tuple[tuple[Any, str], ...] = (
    (5, "without a name"),
    ({"inputSchema": {}}, "without a name"),
    (tool(None), "without a name"),
    (tool("good", title="x"), "'good'"),
    ({"name": "bad"}, "'bad'"),
    (tool("bad", inputSchema=[]), "'bad'"),
    (tool("bad", inputSchema={"type": "string"}), "'bad'"),
    (tool("bad", inputSchema={"x": ["x" * MAX_SCHEMA]}), "100,013"),
    (tool("bad", inputSchema={"default": float("nan")}), "JSON"),
    (tool("bad", inputSchema={"default": float("inf")}), "JSON"),
)
"""Entries of a list of tools that are none, and what the notice names."""


@pytest.mark.parametrize(("entry", "named"), LEFT_OUT)
def test_one_entry_that_is_no_tool_is_left_out_with_its_reason_and_the_others_stay(entry: Any, named: str) -> None:
    listing = parse_tools("it", [tool("good"), entry, tool("also")])

    assert list(listing) == ["good", "also"]
    (notice,) = listing.left_out
    assert "'it'" in notice
    assert named in notice


def test_a_tool_that_is_listed_twice_alike_is_one() -> None:
    listing = parse_tools("it", [tool("say")], parse_tools("it", [tool("say")]))

    assert (list(listing), listing.left_out) == (["say"], ())


@pytest.mark.parametrize("field", ["inputSchema", "outputSchema", "annotations"])
def test_a_tool_that_is_nested_too_deeply_is_left_out(field: str) -> None:
    deep: Any = {}
    for _ in range(2_000):
        deep = {"items": deep}
    listing = parse_tools("it", [tool("bad", **{field: deep}), tool("good")])

    assert list(listing) == ["good"]
    (notice,) = listing.left_out
    assert "'bad'" in notice


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"annotations": "none"}, ["annotations"]),
        ({"description": 5, "title": []}, ["description", "title"]),
        ({"outputSchema": "x"}, ["outputSchema"]),
        ({"inputSchema": {"required": "a"}}, ["required"]),
        ({"inputSchema": {"properties": {"required": ["a"]}}}, ["required"]),
    ],
)
def test_a_flaw_of_a_tool_is_named_and_the_tool_stays(fields: dict[str, Any], named: list[str]) -> None:
    listing = parse_tools("it", [tool("bad", **fields)])

    assert list(listing) == ["bad"]
    (notice,) = listing.left_out
    assert re.findall("'(\\w+)'", notice) == ["it", "bad", *named]


def test_fields_that_are_null_are_none() -> None:
    fields = dict.fromkeys(["description", "title", "annotations", "outputSchema", "icons", "_meta", "execution"])
    listing = parse_tools("it", [tool("say", **fields)])

    assert listing.left_out == ()
    assert (listing["say"].description, listing["say"].hint, listing["say"].output_schema) == ("", "", None)


@pytest.mark.parametrize("answer", [None, {}, "tools"])
def test_an_answer_without_a_list_is_named(answer: Any) -> None:
    listing = parse_tools("it", answer)

    (notice,) = listing.left_out
    assert (list(listing), "'it'" in notice) == ([], True)


@pytest.mark.parametrize("names", [["获取", "删除"], ["get.user", "get_user"], ["a b", "a.b", "a_b", "a/b"], ["", "?"]])
def test_names_that_would_be_the_same_differ_in_any_order(names: list[str]) -> None:
    made = model_tool_names("it", names)

    assert len(set(made.values())) == len(names)
    assert all(NAME.fullmatch(name) for name in made.values())
    assert model_tool_names("it", names[::-1]) == made


def test_the_name_that_is_written_so_stays_and_others_get_a_suffix() -> None:
    made = model_tool_names("it", ["get.user", "get_user"])

    assert made["get_user"] == "it_get_user"
    assert made["get.user"].startswith("it_get_user_")
    assert model_tool_names("it", ["find"], taken={"it_find"})["find"].startswith("it_find_")
    assert model_tool_name("it", "获取").startswith("it_tool_")


@pytest.mark.parametrize("server", ["123", "-x", "_", "阿里", "百度", "."])
def test_a_name_begins_with_a_letter(server: str) -> None:
    assert model_tool_name(server, "find")[0].isalpha()
    assert model_tool_name("阿里", "find") != model_tool_name("百度", "find")


def test_a_name_that_does_not_fit_is_made_to_and_stays_its_own() -> None:
    long = [model_tool_name("server", "x" * 80 + end) for end in "ab"]

    assert model_tool_name("my server", "do.it") == "my_server_do_it"
    assert len(model_tool_name("s", "x" * 62)) == 64
    assert [len(name) for name in long] == [64, 64]
    assert long[0] != long[1]


def test_a_difference_is_a_unified_diff_of_the_whole_definition() -> None:
    before, now = RemoteTool("say", "One.\nTwo.", '{"a": 1}'), RemoteTool("say", "One.\nThree.", '{"a": 2}')
    head, name, hunk, *lines = diff_tools(before, now).splitlines()

    assert (head[:4], name[:4], head[4:]) == ("--- ", "+++ ", name[4:])
    assert hunk.startswith("@@ -1,")
    assert [line for line in lines if line[0] != " "] == ["-Two.", "+Three.", '- "a": 1', '+ "a": 2']


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("description", "Sends it.", "+Sends it."),
        ("inputSchema", {"type": "object", "properties": {"to": {}}}, '+  "to": {}'),
        ("annotations", {"readOnlyHint": True}, '+ "readOnlyHint": true'),
        ("title", "Harmless", '+"Harmless"'),
        ("outputSchema", {"type": "object"}, "+output schema:"),
    ],
)
def test_whatever_a_server_says_of_a_tool_is_part_of_its_definition(field: str, value: Any, line: str) -> None:
    before, now = (parse_tools("it", [one])["say"] for one in (tool("say"), tool("say") | {field: value}))

    assert before != now
    assert line in diff_tools(before, now).splitlines()


def test_all_tools_together_are_bounded_page_after_page() -> None:
    pages = [[tool(f"say{number}", description="x" * 3_000)] for number in range(4)]
    found = ToolListing()
    for page in pages[:3]:
        found = parse_tools("it", page, found, max_chars=10_000)

    assert list(found) == ["say0", "say1", "say2"]
    with pytest.raises(McpFailed, match="describes its tools in more than 10000 characters"):
        parse_tools("it", pages[3], found, max_chars=10_000)


@pytest.mark.parametrize(
    "name", ["", "x" * 100_000, "a\x1b[31m\u202eb", "../../etc", "ünï", "DROP TABLE;", "__class__"]
)
def test_any_name_of_a_tool_becomes_one_that_a_model_can_call(name: str) -> None:
    assert NAME.fullmatch(model_tool_name("it", name))


def test_the_definition_holds_every_field_that_the_protocol_gives_a_tool() -> None:
    covered = {"name", "description", "input_schema", "annotations", "title", "output_schema"}

    assert set(Tool.model_fields) - covered == {"icons", "meta", "execution"}, (
        "a new field has to be compared, or said why not"
    )


def test_a_difference_of_two_hostile_schemas_takes_no_time() -> None:
    """Of shuffled lines, which `difflib` compares in cubic time."""
    chance = random.Random(1)
    schemas = [{"enum": [chance.choice("abc") for _ in range(15_000)]} for _ in range(2)]
    before, now = (RemoteTool("say", "", json.dumps(schema)) for schema in schemas)

    text = run_within(2, lambda: diff_tools(before, now))

    assert text.count("\n") > 15_000


def result(*texts: str, **more: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text) for text in texts], **more)


def test_texts_are_joined_and_an_error_is_in_the_servers_words() -> None:
    assert result_value(result("one", "two"), "lab") == "one\ntwo"
    assert result_value(result(), "lab") is None
    assert result_value(result("3", structured_content={"result": 3}), "lab") == 3
    assert result_value(result("a 3", structured_content={"a": 1, "result": 3}), "lab") == {"a": 1, "result": 3}
    with pytest.raises(ToolFailed, match=r"^one\ntwo$"):
        result_value(result("one", "two", is_error=True), "lab")
    with pytest.raises(ToolFailed, match="failed without a message"):
        result_value(result(is_error=True), "lab")


def test_a_name_of_the_longest_length_stays() -> None:
    assert model_tool_name("s", "x" * 62) == "s_" + "x" * 62


def test_the_key_of_a_server_that_offers_oauth_can_be_replaced_by_a_login() -> None:
    (spec,) = read_config({"mcpServers": {"lab": {"url": "https://lab.example/mcp"}}})

    offered = _key_fix(spec, Exchange(challenge='Bearer resource_metadata="https://lab.example/x"'))
    bare = _key_fix(spec, Exchange(challenge="Bearer"))

    assert "It offers OAuth" in offered
    assert "OAuth" not in bare
