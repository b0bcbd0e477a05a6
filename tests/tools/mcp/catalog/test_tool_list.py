from __future__ import annotations

import json
import random
from typing import Any

import pytest
from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations

from nbtool.errors import InvalidArguments, McpFailed, ToolFailed
from nbtool.tools.mcp.catalog.result_content import result_value
from nbtool.tools.mcp.catalog.tool_list import RemoteParameters, RemoteTool, diff_tools, model_tool_name, parse_tools
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


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(McpFailed, match="lists the tool 'say' twice"):
        parse_tools("it", [Tool(name="say", input_schema={}), Tool(name="say", input_schema={})])


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_schema_that_is_not_json_is_refused_before_a_model_gets_it(number: float) -> None:
    with pytest.raises(McpFailed, match="a number that is not JSON"):
        parse_tools("it", [Tool(name="say", input_schema={"properties": {"a": {"default": number}}})])


def test_a_name_that_does_not_fit_is_made_to_and_stays_its_own() -> None:
    long = [model_tool_name("server", "x" * 80 + end) for end in "ab"]

    assert model_tool_name("my server", "do.it") == "my_server_do_it"
    assert len(model_tool_name("s", "x" * 62)) == 64
    assert [len(name) for name in long] == [64, 64]
    assert long[0] != long[1]


def test_a_difference_is_a_unified_diff_of_the_whole_definition() -> None:
    before, now = RemoteTool("say", "One.\nTwo.", '{"a": 1}'), RemoteTool("say", "One.\nThree.", '{"a": 2}')
    head, name, hunk, *lines = diff_tools(before, now).splitlines()

    assert (head, name) == ("--- definition of the tool", "+++ definition of the tool")
    assert hunk.startswith("@@ -1,")
    assert [line for line in lines if line[0] != " "] == ["-Two.", "+Three.", '- "a": 1', '+ "a": 2']


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("description", "Sends it.", "+Sends it."),
        ("input_schema", {"type": "object", "properties": {"to": {}}}, '+  "to": {}'),
        ("annotations", ToolAnnotations(read_only_hint=True), '+ "read_only_hint": true'),
        ("title", "Harmless", '+"Harmless"'),
        ("output_schema", {"type": "object"}, "+output schema:"),
    ],
)
def test_whatever_a_server_says_of_a_tool_is_part_of_its_definition(field: str, value: Any, line: str) -> None:
    tool = Tool(name="say", input_schema={"type": "object"})
    before, now = (parse_tools("it", [one])["say"] for one in (tool, tool.model_copy(update={field: value})))

    assert before != now
    assert line in diff_tools(before, now).splitlines()


def test_all_tools_together_are_bounded_page_after_page() -> None:
    pages = [[Tool(name=f"say{number}", description="x" * 3_000, input_schema={})] for number in range(4)]
    found: dict[str, RemoteTool] = {}
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
