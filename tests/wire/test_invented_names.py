"""A tool that a model invented: its name goes back in a form that every wire takes, with its result."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.messages import Message, ToolResult, results, user
from nbtool.wire import Prompt, Target, decode, find_wire
from tests.wire import chatting, geminis, responding

NAMES = [
    "multi_tool_use.parallel",
    "functions.weather",
    "weather<|channel|>commentary",
    "",
    "größe",
    "a b",
    "-x",
    "0",
    ".",
    "x" * 300,
]

FIT = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def use(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t", "name": name, "input": {}}


def function_item(name: str, kind: str = "function_call") -> dict[str, Any]:
    text = {"arguments": "{}"} if kind == "function_call" else {"input": "x"}
    return {"type": kind, "id": "i1", "call_id": "c1", "name": name, "status": "completed", **text}


def custom_call(name: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "id": "A", "type": "custom", "custom": {"name": name, "input": "x"}}]}


REPLIES: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "chat": ("chat", lambda n: chatting.stream(chatting.chunk(chatting.call(0, "A", n, "{}"), "tool_calls"))),
    "chat, custom": ("chat", lambda n: chatting.stream(chatting.chunk(custom_call(n), "tool_calls"))),
    "responses": ("responses", lambda n: responding.stream(responding.completed_event(function_item(n)))),
    "responses, custom": (
        "responses",
        lambda n: responding.stream(responding.completed_event(function_item(n, "custom_tool_call"))),
    ),
    "anthropic": (
        "anthropic",
        lambda n: json.dumps({"type": "message", "stop_reason": "tool_use", "content": [use(n)]}).encode(),
    ),
    "gemini": (
        "gemini",
        lambda n: json.dumps(
            geminis.candidate(
                {"functionCall": {"name": n, "args": {}}, "thoughtSignature": "c2Vh"}, finishReason="STOP"
            )
        ).encode(),
    ),
}


def names_in(value: Any) -> Iterator[Any]:
    """Yield the names of all calls and results in a request."""
    if isinstance(value, dict):
        is_call = value.get("type") in ("tool_use", "function_call", "custom_tool_call") or value.keys() & {
            "args", "arguments", "response", "input"
        }  # fmt: skip
        if "name" in value and is_call:
            yield value["name"]
        for child in value.values():
            yield from names_in(child)
    for child in value if isinstance(value, list) else ():
        yield from names_in(child)


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("is_same_model", [True, False], ids=["same model", "another model"])
@pytest.mark.parametrize("kind", REPLIES)
@pytest.mark.parametrize("name", NAMES)
def test_an_invented_name_goes_back_as_every_wire_takes_it(name: str, kind: str, is_same_model: bool) -> None:
    check_name(name, kind, is_same_model=is_same_model)


@settings(max_examples=100)
@given(
    name=st.sampled_from(NAMES) | st.text(max_size=80) | st.text("aZ0_-. /<|>", max_size=80),
    kind=st.sampled_from(sorted(REPLIES)),
    is_same_model=st.booleans(),
)
def test_whatever_name_a_model_invents_goes_back_as_every_wire_takes_it(
    name: str, kind: str, is_same_model: bool
) -> None:
    check_name(name, kind, is_same_model=is_same_model)


def check_name(name: str, kind: str, *, is_same_model: bool) -> None:
    wire, reply_with = REPLIES[kind]
    here = Target("", "")
    reply = decode(wire, reply_with(name), stream=b"data:" in reply_with(name))
    made = reply.calls[0]
    messages = (
        user("Go"),
        reply.message,
        results(ToolResult(made.name, "There is no such tool.", id=made.id, call_id=made.call_id, is_error=True)),
    )

    body = find_wire(wire).encode(Prompt(messages), here if is_same_model else Target("h", "n")).body

    names = list(names_in(body))
    assert names
    assert all(isinstance(sent, str) and FIT.fullmatch(sent) for sent in names)
    assert len(set(names)) == 1
    assert "There is no such tool." in json.dumps(body, ensure_ascii=False)


def test_the_message_of_an_invented_name_is_still_sent_back_in_its_native_form() -> None:
    reply = decode("gemini", REPLIES["gemini"][1]("functions.weather"), stream=False)

    body = find_wire("gemini").encode(Prompt((user("Go"), reply.message)), Target("", "")).body

    assert isinstance(reply.message, Message)
    assert body["contents"][1]["parts"][0]["thoughtSignature"] == "c2Vh"
