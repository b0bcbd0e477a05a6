"""The request for a final reply: its tools are those of the requests before it, and it forbids calls where it can."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from nbtool.messages import Message, ToolCall, ToolResult, assistant, user
from nbtool.wire import Prompt, Target, ToolSpec, find_wire
from nbtool.wire.dialect import DIALECTS
from nbtool.wire.prompted.instructions import PromptFormatName
from nbtool.wire.prompted.prompted_wire import PromptedWire
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.registry import WIRES
from tests.wire import validators

FORBIDDEN: dict[str, dict[str, Any]] = {
    "chat": {"tool_choice": "none"},
    "responses": {"tool_choice": "none"},
    "anthropic": {},  # another choice would invalidate the cache of the messages
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
}
"""How calls are forbidden, by dialect."""

BEFORE = Prompt(
    (
        user("What does A cost?"),
        assistant(ToolCall("price", '{"name": "A"}', id="c1")),
        Message("tool", (ToolResult("price", "10", id="c1"),)),
    ),
    system="Be brief.",
    tools=(ToolSpec("price", "The price.", {"properties": {"name": {"type": "string"}}}),),
)
FINAL = replace(BEFORE, messages=(*BEFORE.messages, user("No more calls are possible."))).without_calls()


def bodies(wire: Any, *prompts: Prompt) -> list[dict[str, Any]]:
    return [wire.encode(prompt, Target("h", "m")).body for prompt in prompts]


def test_every_dialect_of_text_has_its_row() -> None:
    assert FORBIDDEN.keys() == set(WIRES) - MEDIA_KINDS.keys()


@pytest.mark.parametrize("dialect", FORBIDDEN)
def test_only_the_choice_and_the_messages_differ_from_the_request_before(dialect: str) -> None:
    before, final = bodies(find_wire(dialect), BEFORE, FINAL)

    messages = {"responses": "input", "gemini": "contents"}.get(dialect, "messages")
    changed = {name: value for name, value in final.items() if before.get(name) != value}
    changed.pop(messages)
    assert changed == FORBIDDEN[dialect]
    assert set(before) <= set(final)
    getattr(validators, f"check_{dialect}")(final)


@pytest.mark.parametrize("dialect", [name for name, row in DIALECTS.items() if row.provider_tools])
def test_tools_of_the_provider_stay_in_the_request(dialect: str) -> None:
    options = {"provider_tools": ["web_search"]}
    before, final = bodies(find_wire(dialect), replace(BEFORE, options=options), replace(FINAL, options=options))

    assert before["tools"] == final["tools"]


def test_responses_forbids_calls_of_the_provider_if_there_are_no_others() -> None:
    options = {"provider_tools": ["web_search"]}
    (final,) = bodies(find_wire("responses"), replace(FINAL, messages=(user("Hi"),), tools=(), options=options))

    assert final["tool_choice"] == "none"


def test_a_plugin_that_forbids_calls_forbids_them_on_the_messages_wire_too() -> None:
    (body,) = bodies(find_wire("anthropic"), replace(BEFORE, tool_choice="none"))

    assert body["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize("form", get_args(PromptFormatName))
def test_tools_in_the_system_text_stay_there(form: PromptFormatName) -> None:
    before, final = bodies(PromptedWire(find_wire("chat"), "call-1", format=form), BEFORE, FINAL)

    *same, last = before["messages"]
    assert final["messages"][:-1] == same
    assert final["messages"][-1]["content"].startswith(last["content"])
    assert "call no tool" in final["messages"][-1]["content"]
    assert not {"tools", "tool_choice"} & final.keys()
