"""Whatever a model writes as arguments, what goes back in later rounds is the text of a JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool import Chat, tool
from nbtool.messages import Message, results, user
from nbtool.wire import Prompt, Target, ToolSpec, decode, find_wire
from nbtool.wire.arguments import valid_arguments
from nbtool.wire.prompted.prompted_wire import PromptedWire
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.registry import WIRES
from nbtool.wire.transport.request.body_encoding import encode_body
from tests.chaos import serve_each
from tests.wire import anthropics, chatting, responding, streams

HOSTILE = (
    "", " ", "null", "{", "}", "{}", '{"a": 1', '{"a": 1}}', "[1]", '"text"', "7", "true", "NaN", '{"a": NaN}',
    '{"a": Infinity}', '{"a": -Infinity}', '{"a": 1e999}', "{'a': 1}", '{"a": 1,}', '{"a" 1}', '{a: 1}', "\ufeff{}",
    '{"a": "\n"}', '{"a": "\ud800"}', '{"a": 1} {"b": 2}', "```json\n{}\n```", '<tool_call>{"a": 1}</tool_call>',
    "[" * 2_000 + "]" * 2_000, '{"a":' * 3_000 + "1" + "}" * 3_000, '{"a": ' + "9" * 5_000 + "}", "\0",
    '{"a": "b"', "undefined",
    '{"a": 1}\u2028x', "{\u00a0}", '{"a": 01}', '{"a": .5}', '{"a": +1}', '{"a": 0x1}', '{"\\u00": 1}', "\\",
    '{"a": "\\x"}', '{"a": "\\ud800"}', '{"\\uDC00": 1}', '{"a": "\\ude00\\ud83d"}',
    '{"a": ' + "[" * 300 + "]" * 300 + "}",
)  # fmt: skip


MAX_NESTED = 1_000
"""Levels up to which a value is part of a reply, instead of the text of one."""


def chat(arguments: str) -> bytes:
    asked = chatting.call(0, "c1", "price", arguments)
    return chatting.stream(chatting.chunk(asked), chatting.chunk(finish="tool_calls"))


def chat_whole(arguments: str) -> bytes:
    message = {"role": "assistant", "tool_calls": chatting.call(0, "c1", "price", arguments)["tool_calls"]}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode()


def chat_legacy(arguments: str) -> bytes:
    message = {"function_call": {"name": "price", "arguments": arguments}}
    return chatting.stream(chatting.chunk(message), chatting.chunk(finish="function_call"))


def responses(arguments: str) -> bytes:
    return responding.stream(
        responding.completed_event(responding.REASONING, {**responding.CALL_ITEM, "arguments": arguments})
    )


def anthropic(arguments: str) -> bytes:
    delta = {"type": "input_json_delta", "partial_json": arguments}
    return anthropics.stream(
        {"type": "message_start", "message": {"id": "m", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {**anthropics.USE, "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    )


def in_chat(body: dict[str, Any]) -> Iterator[object]:
    for message in body["messages"]:
        yield from (call["function"]["arguments"] for call in message.get("tool_calls", ()))


def in_responses(body: dict[str, Any]) -> Iterator[object]:
    yield from (item["arguments"] for item in body["input"] if item.get("type") == "function_call")


def in_anthropic(body: dict[str, Any]) -> Iterator[object]:
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        yield from (json.dumps(block["input"]) for block in blocks if block["type"] == "tool_use")


def in_gemini(body: dict[str, Any]) -> Iterator[object]:
    for content in body["contents"]:
        yield from (json.dumps(part["functionCall"]["args"]) for part in content["parts"] if "functionCall" in part)


def gemini(arguments: str) -> bytes:
    args = value_of(arguments)
    part = {"functionCall": {"name": "price", "args": args}}
    return streams.lines({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})


def gemini_pieces(arguments: str) -> bytes:
    pieces = [{"jsonPath": "$.text", "stringValue": arguments, "willContinue": True}]
    parts = [
        {"functionCall": {"name": "price", "willContinue": True}},
        {"functionCall": {"partialArgs": pieces, "willContinue": True}},
        {"functionCall": {}},
    ]
    return streams.lines({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})


def value_of(arguments: str) -> Any:
    if arguments.count("[") + arguments.count("{") > MAX_NESTED:
        return arguments  # from Python 3.14 on it can be parsed here, and the reply around it is refused as a whole
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


READ: dict[str, tuple[Callable[[str], bytes], ...]] = {
    "chat": (chat, chat_whole, chat_legacy),
    "responses": (responses,),
    "anthropic": (anthropic,),
    "gemini": (gemini, gemini_pieces),
}
SENT = {"chat": in_chat, "responses": in_responses, "anthropic": in_anthropic, "gemini": in_gemini}
TOOLS = (ToolSpec("price", "", {}),)


def strict(text: object) -> Any:
    assert isinstance(text, str)
    text.encode()
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def next_round(wire: str, body: bytes, to: str, *, same: bool) -> list[object]:
    """Read a reply of one dialect, answer its call, and give the arguments in the next request of another."""
    reply = decode(wire, body, stream=not body.startswith(b"{"))
    native = reply.message.native
    origin = (native.wire, native.host, native.model) if native else (wire, "", "")
    target = Target(*origin[1:]) if same else Target("other.example", "m")
    answer = results(*(_answer(call) for call in reply.calls))
    prompt = Prompt((user("Hi"), reply.message, answer, user("And?")), tools=TOOLS)
    request = find_wire(to).encode(prompt, target)
    sent = json.loads(encode_body(request)[0])
    return list(SENT[to](sent))


def _answer(call: Any) -> Any:
    from nbtool.messages import ToolResult  # noqa: PLC0415 - one use

    return ToolResult(call.name, call.error or "7", call.id, call.call_id, is_error=bool(call.error))


def check(arguments: str) -> None:
    for wire, forms in READ.items():
        for form in forms:
            for to in SENT:
                for same in (True, False):
                    sent = next_round(wire, form(arguments), to, same=same)
                    assert len(sent) == 1, (form.__name__, to)
                    assert isinstance(strict(sent[0]), dict), (form.__name__, to, same)


def test_every_dialect_that_carries_calls_has_a_row() -> None:
    assert set(READ) == set(SENT) == set(WIRES) - set(MEDIA_KINDS)


@pytest.mark.parametrize("arguments", HOSTILE, ids=lambda text: repr(text[:20]))
def test_hostile_arguments_go_back_as_a_json_object_on_every_wire(arguments: str) -> None:
    check(arguments)


@given(
    st.text(max_size=40) | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps)
)
def test_any_arguments_go_back_as_a_json_object_on_every_wire(arguments: str) -> None:
    check(arguments)


@pytest.mark.parametrize("text", ['{"a": 1}', '{"b": [1, {"c": "ü"}], "a": 0.5}', '{ "a" : 1 }'])
def test_sound_arguments_go_back_to_their_own_wire_as_they_came(text: str) -> None:
    assert next_round("chat", chat(text), "chat", same=True) == [text]
    assert next_round("responses", responses(text), "responses", same=True) == [text]


@pytest.mark.parametrize("arguments", HOSTILE, ids=lambda text: repr(text[:20]))
def test_arguments_that_are_written_into_the_text_are_a_json_object_too(arguments: str) -> None:
    reply = decode("chat", chat(arguments))
    messages: tuple[Message, ...] = (user("Hi"), reply.message, results(*map(_answer, reply.calls)), user("And?"))
    body = PromptedWire(find_wire("chat"), "w").encode(Prompt(messages, tools=TOOLS), Target("h", "m")).body
    written = next(message["content"] for message in body["messages"] if message["role"] == "assistant")
    call = strict(written.split("\n")[1])

    assert isinstance(call["arguments"], dict)


def test_numbers_that_json_cannot_write_do_not_stop_the_next_request() -> None:
    body = (
        b'{"type":"message","stop_reason":"tool_use","content":[{"type":"server_tool_use","id":"s","name":"x","input":'
    )
    body += b'{"a":NaN}},{"type":"tool_use","id":"t","name":"price","input":{"a":1e999}}]}'

    assert next_round("anthropic", body, "anthropic", same=True) == ["{}"]


def test_broken_arguments_are_reported_in_the_result_and_the_conversation_goes_on() -> None:
    @tool(run="auto")
    def price(ticker: str) -> int:
        "Give a price."
        return len(ticker)

    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    done = chatting.stream(chatting.chunk({"content": "It is 7."}), chatting.chunk(finish="stop"))
    with serve_each([head, chat('{"ticker": "A"')], [head, done]) as server:
        turn = Chat("m", base_url=server.url, tools=[price]).send("Go")

    sent = server.requests[1].json
    assert (turn.status, turn.text) == ("completed", "It is 7.")
    assert list(in_chat(sent)) == ["{}"]
    assert "not JSON" in sent["messages"][-1]["content"]


def test_arguments_are_sendable_whatever_they_are() -> None:
    assert valid_arguments(None) == valid_arguments(7) == valid_arguments(["a"]) == "{}"
    assert valid_arguments({"a": 1}) == '{"a": 1}'
