"""A call that has to be made, where the server constrains what the model can write."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from nbtool.events import TextDelta
from nbtool.messages import user
from nbtool.wire import Prompt, Target, ToolSpec, find_wire
from nbtool.wire.prompted.constrained_call import MAX_BEGIN, MAX_CONSTRAINED
from nbtool.wire.prompted.instructions import PromptFormatName
from nbtool.wire.prompted.prompted_wire import PromptedWire
from tests.wire.prompting import FENCE, INNER, read, stream_body

WORD = f"call-{FENCE}"
CONSTRAINING = Target("host", "model", frozenset({"json_schema"}))
PRICE = ToolSpec(
    "price", "The price.", {"type": "object", "properties": {"ticker": {"type": "string"}}, "required": ["ticker"]}
)
TREE = ToolSpec(
    "plant",
    "Plant a tree.",
    {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}},
        "required": ["root"],
        "$defs": {
            "Node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
        },
    },
)
CALL = {WORD: {"name": "price", "arguments": {"ticker": "AAPL"}}}


def encoded(choice: str, *tools: ToolSpec, target: Target = CONSTRAINING, **prompt: Any) -> dict[str, Any]:
    wire = PromptedWire(INNER, FENCE)
    return wire.encode(Prompt((user("Go"),), tools=tools, tool_choice=choice, **prompt), target).body


def schema_of(body: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = body["response_format"]["json_schema"]["schema"]
    return schema


@pytest.mark.parametrize("choice", ["required", "price"])
def test_a_call_that_has_to_be_made_is_all_that_the_server_lets_the_model_write(choice: str) -> None:
    schema = schema_of(encoded(choice, PRICE, TREE))

    jsonschema.validate(CALL, schema)
    for other in (
        {},
        "AAPL",
        {"tool": CALL[WORD]},
        {WORD: {"name": "price", "arguments": {"ticker": 1}}},
        {**CALL, "b": 1},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(other, schema)


def test_a_tool_with_definitions_keeps_them() -> None:
    schema = schema_of(encoded("plant", PRICE, TREE))

    jsonschema.validate({WORD: {"name": "plant", "arguments": {"root": {"children": [{}]}}}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({WORD: {"name": "plant", "arguments": {"root": {"children": [1]}}}}, schema)


def test_among_several_tools_one_with_definitions_takes_any_object() -> None:
    schema = schema_of(encoded("required", PRICE, TREE))

    jsonschema.validate({WORD: {"name": "plant", "arguments": {"root": {"children": [1]}}}}, schema)


@pytest.mark.parametrize(
    ("choice", "target"), [("auto", CONSTRAINING), ("none", CONSTRAINING), ("required", Target("host", "model"))]
)
def test_a_free_reply_and_another_server_are_not_constrained(choice: str, target: Target) -> None:
    assert "response_format" not in encoded(choice, PRICE, target=target)


def test_the_persons_own_option_takes_precedence() -> None:
    assert encoded("required", PRICE, options={"response_format": {"type": "text"}})["response_format"] == {
        "type": "text"
    }


@pytest.mark.parametrize("format", ["json", "hermes", "pythonic"])
@pytest.mark.parametrize("dialect", ["chat", "responses"])
def test_every_dialect_and_format_asks_for_it(dialect: str, format: PromptFormatName) -> None:
    wire = PromptedWire(find_wire(dialect), FENCE, format=format)

    body = wire.encode(Prompt((user("Go"),), tools=(PRICE,), tool_choice="price"), CONSTRAINING).body

    assert WORD in json.dumps(body)
    assert '"enum": ["price"]' in json.dumps(body)


@pytest.mark.parametrize("indent", [None, 2])
def test_the_reply_is_the_call_wherever_it_is_cut(indent: int | None) -> None:
    body = stream_body(*json.dumps(CALL, indent=indent))

    for cut in range(0, len(body), 97):
        reply, _ = read(body, cut=cut)
        assert [(call.name, call.args, call.runnable) for call in reply.calls] == [("price", {"ticker": "AAPL"}, True)]
        assert reply.answer == ""


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"call-0000": {"name": "price", "arguments": {}}}',
        '{"answer": 1}',
        " \n",
        " " * (MAX_BEGIN + 1) + "Late.",
    ],
)
def test_any_other_reply_is_text_as_it_is(text: str) -> None:
    reply, _ = read(stream_body(*text))

    assert reply.calls == ()
    assert reply.answer.strip() == text.strip()


def test_a_reply_in_prose_begins_to_stream_at_once() -> None:
    _, deltas = read(stream_body("Hel", "lo"))

    assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["Hel", "lo"]


def test_thinking_before_the_call_changes_nothing() -> None:
    reply, _ = read(stream_body(json.dumps(CALL), "", thinking="Which?"))

    assert [call.name for call in reply.calls] == ["price"]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CALL)[:-1],
        json.dumps({WORD: {"name": "price"}}),
        json.dumps({WORD: {"name": 1, "arguments": {}}}),
        json.dumps({WORD: [CALL[WORD]]}),
        json.dumps(CALL) + " and more",
        json.dumps({WORD: {"name": "price", "arguments": {"ticker": "A" * MAX_CONSTRAINED}}}),
    ],
    ids=["open", "no arguments", "no name", "a list", "more", "too long"],
)
def test_what_is_no_whole_call_is_reported_and_never_runs(text: str) -> None:
    reply, _ = read(stream_body(text))

    assert [(call.runnable, bool(call.error)) for call in reply.calls] == [(False, True)]


def test_a_reply_that_was_cut_off_does_not_run() -> None:
    reply, _ = read(stream_body(json.dumps(CALL), finish="length"))

    assert not reply.calls[0].runnable
