"""Many tools: the model is given names, asks for definitions, and calls what it found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool import Chat, Toolset, tool
from nbtool.errors import ToolFailed
from nbtool.events import CallAsked, Notice
from nbtool.messages import ToolCall, user
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools.approval import Approved
from nbtool.tools.tool import Tool
from nbtool.tools.tool_search import MAX_FOUND, MAX_LIST, ToolSearch
from nbtool.wire.base import Prompt, Target, ToolSpec
from nbtool.wire.dialect import TOOL_SEARCH
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.registry import find_wire
from tests.chaos import ChaosServer, serve_each, whole
from tests.wire.process_state import clear_adaptations

TOPICS = ("invoice", "parcel", "weather", "holiday", "ledger", "patient", "telescope", "recipe")
VERBS = ("create", "delete", "list", "rename", "archive")


def make_tool(name: str, text: str, *, run: Any = "auto") -> Tool:
    def work(identifier: str, amount: int = 1) -> str:
        return f"{name}({identifier}, {amount})"

    work.__name__, work.__doc__ = name, f"{text}\n\nArgs:\n    identifier: which one.\n    amount: how many of them."
    (made,) = Toolset("one", [tool(run=run)(work)])
    return made


MANY = [
    make_tool(f"{verb}_{topic}_{number}", f"{verb.title()} the {topic} of branch {number}. Takes its number.")
    for topic in TOPICS
    for verb in VERBS
    for number in range(8)
]
"""320 tools."""


@tool
def forecast(city: str, days: int = 1) -> dict[str, Any]:
    """Predict rain and temperature in a place. Only for the next two weeks."""
    return {"city": city, "days": days, "rain": 3.5}


def offered(prompt: Prompt) -> list[str]:
    return [spec.name for spec in prompt.tools]


def test_few_tools_are_offered_in_full_and_many_by_name() -> None:
    with ScriptedWire(["Hi", "Hi"]) as wire:
        Chat(wire=wire, tools=[forecast]).send("Hi")
        Chat(wire=wire, tools=[*MANY, forecast]).send("Hi")
    few, many = wire.prompts

    assert "forecast" in offered(few)
    assert "find_tools" not in offered(few)
    assert [name for name in offered(many) if name not in offered(few)] == ["find_tools", "call_tool"]
    assert "\n- forecast: " in many.system


def test_what_was_found_is_called_through_its_own_gate_and_under_its_own_name() -> None:
    found = call("find_tools", query="will it rain tomorrow, temperature")
    used = call("call_tool", name="forecast", arguments={"city": "Oslo", "days": 2})
    approver = ScriptedApprover([Approved()])
    with ScriptedWire([found, used, "Take an umbrella."]) as wire:
        turn = Chat(wire=wire, tools=[*MANY, forecast], approver=approver).send("Rain in Oslo?")

    assert [(one.name, one.status) for one in turn.calls] == [("find_tools", "ok"), ("forecast", "ok")]
    assert turn.calls[1].result == {"city": "Oslo", "days": 2, "rain": 3.5}
    assert [event.tool for event in turn.log if isinstance(event, CallAsked)] == ["forecast"]
    definition = json.loads(turn.calls[0].shown.splitlines()[0])
    assert definition["name"] == "forecast"
    assert definition["parameters"]["required"] == ["city"]


def test_the_requests_of_a_turn_only_grow_at_their_end() -> None:
    used = call("call_tool", name="list_parcel_3", arguments={"identifier": "a"})
    with ScriptedWire([call("find_tools", names=["list_parcel_3"]), used, "So.", "Again."]) as wire:
        chat = Chat(wire=wire, tools=MANY)
        chat.send("List it.")
        chat.send("And again?")

    first, *later = wire.prompts
    assert all((one.tools, one.system) == (first.tools, first.system) for one in later)
    assert later[1].messages[: len(later[0].messages)] == later[0].messages
    assert later[0].messages[: len(first.messages)] == first.messages


def test_references_go_into_a_tool_that_was_found() -> None:
    @tool(run="auto")
    def count_rows(table: list[int]) -> int:
        """Count the rows of a table."""
        return len(table)

    used = call("call_tool", name="count_rows", arguments={"table": "$VAR_REF{{rows}}"})
    with ScriptedWire([used, "Three."]) as wire:
        chat = Chat(wire=wire, tools=[*MANY, count_rows])
        chat.expose(rows=[1, 2, 3])
        turn = chat.send("How many?")

    assert turn.calls[0].result == 3


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "no_such_tool", "arguments": {}},
        {"name": "forecast", "arguments": {"town": "Oslo"}},
        {"name": "forecast", "arguments": "not json"},
        {"name": "call_tool", "arguments": {"name": "forecast", "arguments": {"city": "Oslo"}}},
        {"arguments": {}},
        {"name": 7},
    ],
    ids=["unknown", "wrong arguments", "arguments as a text", "itself", "no name", "a number"],
)
def test_a_call_that_names_no_tool_or_wrong_arguments_runs_nothing(arguments: dict[str, Any]) -> None:
    with ScriptedWire([call("call_tool", **arguments), "Well."]) as wire:
        turn = Chat(wire=wire, tools=[*MANY, forecast]).send("Rain?")

    assert turn.calls[0].status in ("invalid", "not_found", "error")
    assert turn.calls[0].result is None


def test_arguments_as_the_text_of_an_object_are_read() -> None:
    used = call("call_tool", name="list_parcel_1", arguments='{"identifier": "x"}')
    with ScriptedWire([used, "So."]) as wire:
        turn = Chat(wire=wire, tools=MANY).send("List it.")

    assert turn.calls[0].result == "list_parcel_1(x, 1)"


@pytest.mark.parametrize(("is_on", "tools", "searches"), [(True, [forecast], True), (False, MANY, False)])
def test_a_chat_can_say_whether_its_tools_are_searched(is_on: bool, tools: list[Any], searches: bool) -> None:
    with ScriptedWire(["Hi"]) as wire:
        Chat(wire=wire, tools=tools, search_tools=is_on).send("Hi")

    assert ("find_tools" in offered(wire.prompts[0])) is searches


def test_a_tool_of_the_same_name_keeps_it() -> None:
    shed = make_tool("find_tools", "Find the tools in the shed.")
    with ScriptedWire([call("find_tools", identifier="saw"), "There."]) as wire:
        turn = Chat(wire=wire, tools=[*MANY, shed]).send("Where is the saw?")

    assert turn.calls[0].result == "find_tools(saw, 1)"
    assert {"find_tools_", "call_tool"} <= set(offered(wire.prompts[0]))


def search_among(*tools: Tool) -> ToolSearch:
    search = ToolSearch(is_on=True)
    search.refresh({one.name: one for one in tools})
    return search


def names_in(text: str) -> list[str]:
    return [json.loads(line)["name"] for line in text.splitlines() if line.startswith("{")]


def test_a_search_says_what_it_leaves_out_and_what_it_does_not_know() -> None:
    text = search_among(*MANY).find_tools("archive recipes", ["list_ledger_2", "nothing"])

    assert names_in(text)[0] == "list_ledger_2"
    assert len(names_in(text)) == MAX_FOUND
    assert all("archive" in name or "recipe" in name for name in names_in(text)[1:])
    assert len(text.splitlines()) == MAX_FOUND + 2


def test_a_list_that_is_too_long_has_names_only() -> None:
    long = [make_tool(f"tool_number_{number}", "A description of ninety characters, " * 3) for number in range(500)]
    listing = search_among(*long).listing()

    assert len(listing) < MAX_LIST
    assert "A description" not in listing
    assert all(one.name in listing for one in long)


@given(st.sampled_from(MANY), st.randoms())
def test_the_words_of_a_tool_find_it_in_any_order(wanted: Tool, random: Any) -> None:
    words = wanted.description.split(".")[0].split()
    random.shuffle(words)

    assert wanted.name in names_in(search_among(*MANY).find_tools(" ".join(words)))


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=4))
def test_any_search_is_answered_or_refused(query: str, names: list[str]) -> None:
    try:
        text = search_among(*MANY[:20]).find_tools(query, names)
    except ToolFailed:
        return
    assert 1 <= len(names_in(text)) <= MAX_FOUND


def test_only_a_whole_call_is_unwrapped() -> None:
    search = search_among(forecast_tool())
    broken = ToolCall("call_tool", '{"name": "forecast"', runnable=False)

    assert search.unwrap(broken) is broken
    assert search.unwrap(other := ToolCall("forecast", "{}", runnable=True)) is other


def forecast_tool() -> Tool:
    (made,) = Toolset("one", [forecast])
    return made


@pytest.fixture
def prompt() -> Prompt:
    specs = [ToolSpec(f"f{number}", "x", {}) for number in range(3)]
    return Prompt((user("Hi"),), tools=(specs[0], *(replace(one, is_deferred=True) for one in specs[1:])))


@pytest.mark.parametrize("dialect", ["responses", "anthropic"])
def test_a_provider_that_searches_gets_deferred_tools_and_the_tool_to_search(dialect: str, prompt: Prompt) -> None:
    target = Target("h", "m", frozenset({TOOL_SEARCH}))
    tools = find_wire(dialect).encode(prompt, target).body["tools"]
    plain = find_wire(dialect).encode(prompt, Target("h", "m")).body["tools"]

    assert [one.get("defer_loading") for one in tools] == [None, True, True, None]
    assert str(tools[-1]["type"]).startswith("tool_search")
    assert "cache_control" not in tools[1]
    assert "cache_control" not in tools[2]
    assert not any("defer_loading" in one for one in plain)
    assert len(plain) == 3


@pytest.mark.parametrize(
    ("model", "can_search"),
    [
        ("openai:gpt-5.4", True), ("openai:gpt-6.1-terra", True), ("openai:gpt-5.3", False),
        ("openai:gpt-4.1-mini", False),
        ("anthropic:claude-sonnet-5-5", True), ("anthropic:claude-opus-4-5-20251101", True),
        ("anthropic:claude-sonnet-4-20250514", False), ("google:gemini-3.8-flash", False),
    ],
)  # fmt: skip
def test_which_models_search_by_themselves(model: str, can_search: bool) -> None:
    assert (TOOL_SEARCH in make_endpoint(model, api_key="k").abilities) is can_search


@pytest.fixture
def own_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[ChaosServer], None]]:
    """Return a function that makes a loopback server the own host of OpenAI."""
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def configure(server: ChaosServer) -> None:
        (tmp_path / "providers.toml").write_text(f'[openai]\nbase_url = "{server.url}"\n', encoding="utf-8")

    clear_adaptations()
    yield configure
    clear_adaptations()


def test_a_model_that_refuses_to_search_gets_all_definitions_and_then_names(
    own_host: Callable[[ChaosServer], None],
) -> None:
    place = "tools[0].defer_loading"
    refusal = whole(400, {"error": {"message": f"Unknown parameter: '{place}'.", "param": place}})
    content = [{"type": "output_text", "text": "Hi"}]
    reply = whole(200, {"status": "completed", "output": [{"type": "message", "content": content}]})
    with serve_each([refusal], [reply], [reply]) as server:
        own_host(server)
        chat = Chat("openai:gpt-6.1-terra", tools=MANY)
        first, second = chat.send("Hi"), chat.send("Hi")
    bodies = [request.json for request in server.requests]

    assert (first.text, second.text) == ("Hi", "Hi")
    assert [sum("defer_loading" in one for one in body["tools"]) for body in bodies] == [len(MANY), 0, 0]
    assert len(bodies[1]["tools"]) >= len(MANY)
    assert {"find_tools", "call_tool"} <= {one["name"] for one in bodies[2]["tools"]}
    assert [event.text for event in first.log if isinstance(event, Notice)] != []
