"""Replies that ask for more calls than may run: they cost what their bytes cost, in every dialect and every form."""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.call_arguments import MAX_NESTING
from nbtool.chain.limits import Limits
from nbtool.chat.turn_settings import TurnSettings
from nbtool.events import CallDelta, Notice
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedWire, call
from nbtool.wire import decode
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.registry import WIRES
from nbtool.wire.reply import MAX_ARGUMENT_CHARS, MAX_REPLY_CALLS, ReplyBuilder
from tests.chaos import Repeat, serve_each, text
from tests.chaos import finish as finish_event
from tests.cpu_time import check_growth, run_within
from tests.wire import chatting

MANY = 20_000
LARGE, SMALL = 10_000, 2_500
SECONDS = 3.0
MEGABYTES = 60


def events(*values: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(value).encode() for value in values)


def documents(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


# --- Chat Completions ---------------------------------------------------------------------------------------------


def fragment(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"c{number}", "function": {"name": "count", "arguments": json.dumps({"n": number})}, **more}


def unnamed(number: int, **more: Any) -> dict[str, Any]:
    return {name: value for name, value in fragment(number, **more).items() if name != "id"}


def chat(*deltas: Iterable[dict[str, Any]]) -> bytes:
    chunks = [chatting.chunk({"tool_calls": list(fragments)}) for fragments in deltas]
    return events(*chunks, chatting.chunk(finish="tool_calls"), "[DONE]")


def chat_document(fragments: Iterable[dict[str, Any]]) -> bytes:
    message = {"role": "assistant", "tool_calls": list(fragments)}
    return documents({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})


# --- Responses ----------------------------------------------------------------------------------------------------


def item(number: int, *leave_out: str) -> dict[str, Any]:
    names = {"id": f"fc{number}", "call_id": f"c{number}", "name": "count", "arguments": '{"n": 1}'}
    return {"type": "function_call", **{name: value for name, value in names.items() if name not in leave_out}}


def responses(*values: dict[str, Any], output: Iterable[dict[str, Any]] = ()) -> bytes:
    end = {"type": "response.completed", "response": {"status": "completed", "output": list(output)}}
    return events(*values, end)


def item_added(number: int, **more: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "item": item(number), **more}


def item_done(value: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": value, **more}


def arguments_done(number: int) -> dict[str, Any]:
    return {"type": "response.function_call_arguments.done", "output_index": number, "arguments": "{}"}


# --- Anthropic Messages -------------------------------------------------------------------------------------------


def block(number: int) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"t{number}", "name": "count", "input": {}}


def messages(*values: dict[str, Any]) -> bytes:
    begin = {"type": "message_start", "message": {"id": "m", "content": []}}
    stop = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    return events(begin, *values, stop, {"type": "message_stop"})


def pair(number: int, **place: Any) -> list[dict[str, Any]]:
    delta = {"type": "input_json_delta", "partial_json": '{"n": 1}'}
    return [
        {"type": "content_block_start", "content_block": block(number), **place},
        {"type": "content_block_delta", "delta": delta, **place},
    ]


# --- Gemini -------------------------------------------------------------------------------------------------------


def call_part(number: int) -> dict[str, Any]:
    return {"functionCall": {"name": "count", "args": {"n": number}, "id": f"g{number}"}}


def candidate(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **more}]}


def gemini(*values: dict[str, Any]) -> bytes:
    return events(*values, candidate({"text": ""}, finishReason="STOP"))


def in_pieces(number: int) -> list[dict[str, Any]]:
    piece = {"jsonPath": "$.n", "numberValue": number}
    return [
        candidate({"functionCall": {"name": "count", "willContinue": True}}),
        candidate({"functionCall": {"partialArgs": [piece]}}),
    ]


FORMS: dict[str, tuple[str, Callable[[range], bytes]]] = {
    "chat: a chunk each": ("chat", lambda each: chat(*([fragment(n, index=n)] for n in each))),
    "chat: one chunk": ("chat", lambda each: chat(fragment(n, index=n) for n in each)),
    "chat: no index": ("chat", lambda each: chat(*([fragment(n)] for n in each))),
    "chat: one index for all": ("chat", lambda each: chat(*([fragment(n, index=0)] for n in each))),
    "chat: no index and no id": ("chat", lambda each: chat(*([unnamed(n)] for n in each))),
    "chat: no index and no id in one chunk": ("chat", lambda each: chat(unnamed(n) for n in each)),
    "chat: one index and no id in one chunk": ("chat", lambda each: chat(unnamed(n, index=0) for n in each)),
    "chat: a document": ("chat", lambda each: chat_document(fragment(n) for n in each)),
    "chat: a document with one id": ("chat", lambda each: chat_document({**fragment(n), "id": "x"} for n in each)),
    "responses: added": ("responses", lambda each: responses(*(item_added(n, output_index=n) for n in each))),
    "responses: added without a place": ("responses", lambda each: responses(*map(item_added, each))),
    "responses: done": ("responses", lambda each: responses(*(item_done(item(n), output_index=n) for n in each))),
    "responses: done without a place": ("responses", lambda each: responses(*(item_done(item(n, "id")) for n in each))),
    "responses: done without a name of any kind": (
        "responses", lambda each: responses(*(item_done(item(n, "id", "call_id")) for n in each)),
    ),
    "responses: one place for all": (
        "responses", lambda each: responses(*(item_added(n, output_index=0) for n in each))
    ),
    "responses: at the end": ("responses", lambda each: responses(output=map(item, each))),
    "responses: at the end without ids": (
        "responses",
        lambda each: responses(*map(arguments_done, each), output=(item(n, "id", "call_id") for n in each)),
    ),
    "responses: a document": (
        "responses", lambda each: documents({"status": "completed", "output": list(map(item, each))}),
    ),
    "anthropic: blocks": ("anthropic", lambda each: messages(*(e for n in each for e in pair(n, index=n)))),
    "anthropic: no index": ("anthropic", lambda each: messages(*(e for n in each for e in pair(n)))),
    "anthropic: a document": (
        "anthropic",
        lambda each: documents({"type": "message", "stop_reason": "tool_use", "content": list(map(block, each))}),
    ),
    "gemini: a part each": ("gemini", lambda each: gemini(*map(candidate, map(call_part, each)))),
    "gemini: one event": ("gemini", lambda each: gemini(candidate(*map(call_part, each)))),
    "gemini: in pieces": ("gemini", lambda each: gemini(*(event for n in each for event in in_pieces(n)))),
    "gemini: calls that never end": ("gemini", lambda each: gemini(*(in_pieces(n)[0] for n in each))),
    "gemini: a document": (
        "gemini", lambda each: documents(candidate(*map(call_part, each), finishReason="STOP")),
    ),
}  # fmt: skip
"""How a reply can hold many calls: a dialect, and how its bytes are made."""


@pytest.fixture(autouse=True)
def _without_garbage_collection() -> Iterator[None]:
    """Its time grows with all that the tests before have left."""
    gc.disable()
    yield
    gc.enable()


def check_reply(wire: str, body: bytes) -> None:
    reply = decode(wire, body, stream=not body.startswith(b"{"))

    assert len(reply.calls) == MAX_REPLY_CALLS
    assert reply.stop_reason == "calls"
    assert not any(made.runnable for made in reply.calls)


def test_every_dialect_that_has_calls_has_a_row() -> None:
    talking = set(WIRES) - set(MEDIA_KINDS)

    assert {wire for wire, _ in FORMS.values()} == talking


@pytest.mark.sampled(3)
@pytest.mark.promise("bounded")
@pytest.mark.parametrize("form", FORMS)
def test_many_calls_cost_no_more_than_their_number(form: str) -> None:
    wire, make = FORMS[form]
    bodies = {size: make(range(size)) for size in (SMALL, LARGE)}

    check_growth(lambda size: check_reply(wire, bodies[size]), (SMALL, LARGE), room=2.5, floor=0.03)
    run_within(SECONDS, lambda: check_reply(wire, bodies[LARGE]))


def test_a_reply_of_as_many_calls_as_may_be_is_whole() -> None:
    reply = decode("chat", chat(*([fragment(n, index=n)] for n in range(MAX_REPLY_CALLS))))

    assert (reply.complete, reply.stop_reason, len(reply.calls)) == (True, "tools", MAX_REPLY_CALLS)


def test_nothing_is_taken_after_the_last_call_that_one_reply_may_have() -> None:
    builder = ReplyBuilder(max_calls=2)
    for number in range(4):
        builder.add(CallDelta(str(number), f"c{number}", "count", "{}"))
    reply = builder.reply()

    assert builder.is_full
    assert [made.id for made in reply.calls] == ["c0", "c1"]
    assert all("more than 2 calls" in str(made.error) for made in reply.calls)
    assert not reply.complete


# --- the whole way ------------------------------------------------------------------------------------------------


def counting() -> tuple[list[int], Any]:
    ran: list[int] = []

    @tool(run="auto")
    def count(n: int) -> int:
        "Count."
        ran.append(n)
        return n

    return ran, count


@pytest.mark.promise("bounded")
@pytest.mark.promise("positive-end")
def test_a_reply_of_20_000_calls_is_stopped_while_it_arrives_and_the_model_is_informed() -> None:
    ran, count = counting()
    flood = [chatting.chunk({"tool_calls": [fragment(n, index=n)]}) for n in range(MANY)]
    stream = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    answer = [stream, *(events(*flood[at : at + 500]) for at in range(0, MANY, 500)), Repeat(b": on\n\n", every=0.01)]
    with serve_each(answer, [stream, text("I ask for fewer."), finish_event()]) as server:
        chat = Chat("lab", base_url=server.url, tools=[count])
        tracemalloc.start()
        began = time.monotonic()
        turn = chat.send("Go")
        seconds = time.monotonic() - began
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert (turn.status, turn.text, ran) == ("completed", "I ask for fewer.", [])
    assert {made.status for made in turn.calls} == {"not_run"}
    assert len(turn.calls) == MAX_REPLY_CALLS
    assert [n.topic for n in turn.log if isinstance(n, Notice)] == ["too_many_calls"]
    actual = [message for message in server.requests[1].json["messages"] if message["role"] == "tool"]
    assert len(actual) == MAX_REPLY_CALLS
    assert all("did not run" in message["content"] for message in actual)
    assert server.left.wait(240)
    assert seconds < 60, "the stream never ends by itself"
    assert most < MEGABYTES * 1_000_000


def test_calls_within_one_reply_but_over_the_limit_of_the_turn_are_answered_one_by_one() -> None:
    ran, count = counting()
    asked: list[ToolCall] = [call("count", n=n) for n in range(5)]
    with ScriptedWire([asked, "Done."]) as wire:
        turn = Chat(wire=wire, tools=[count]).send("Go", settings=TurnSettings(limits=Limits(max_calls=3)))

    assert ran == [0, 1, 2]
    assert [made.status for made in turn.calls] == ["ok", "ok", "ok", "not_run", "not_run"]


def test_a_person_may_allow_more_calls_than_one_reply_usually_has() -> None:
    ran, count = counting()
    asked: list[ToolCall] = [call("count", n=n) for n in range(MAX_REPLY_CALLS + 20)]
    with ScriptedWire([asked, "Done."]) as wire:
        turn = Chat(wire=wire, tools=[count]).send("Go", settings=TurnSettings(limits=Limits(max_calls=1_000)))

    assert turn.status == "completed"
    assert sorted(ran) == list(range(MAX_REPLY_CALLS + 20))


def arguments_of(size: int) -> Iterator[CallDelta]:
    yield CallDelta("a", "c1", "write")
    for _ in range(size // 1_000):
        yield CallDelta("a", arguments="x" * 1_000)


def test_arguments_longer_than_one_reply_may_write_stop_it_and_none_of_its_calls_runs() -> None:
    builder = ReplyBuilder()
    taken = 0
    for delta in arguments_of(40_000_000):
        builder.add(delta)
        taken += len(delta.arguments)
        if builder.is_full:
            break
    reply = builder.reply()

    assert taken <= MAX_ARGUMENT_CHARS + 1_000
    assert (reply.stop_reason, reply.calls[0].runnable) == ("calls", False)
    assert f"{MAX_ARGUMENT_CHARS:,} characters" in (reply.calls[0].error or "")
    assert f"{MAX_ARGUMENT_CHARS:,} characters" in reply.explanation


@pytest.mark.parametrize("depth", [MAX_NESTING - 1, MAX_NESTING, 300, 900, 100_000])
def test_arguments_nested_too_deeply_are_refused_to_the_model_and_the_turn_goes_on(depth: int) -> None:
    @tool(run="auto")
    def keep(value: Any) -> int:
        "Count it."
        return len(value)

    nested = '{"value": ' + "[" * depth + "]" * depth + "}"
    with ScriptedWire([ToolCall("keep", nested), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[keep]).send("Go")

    assert (turn.status, turn.text, turn.error) == ("completed", "Done.", None)
    assert (turn.calls[0].status == "ok") is (depth < MAX_NESTING)
    assert turn.calls[0].shown.startswith("1" if depth < MAX_NESTING else "The arguments are ")
