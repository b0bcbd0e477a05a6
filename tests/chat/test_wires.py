"""The whole loop over each dialect: a call, its result in the next request, the answer; over a real socket."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.registry import WIRES
from tests.chaos import event, finish, head, serve_each, text
from tests.wire.validators import check_anthropic, check_chat, check_gemini, check_responses

CHECKS = {
    "chat": check_chat,
    "responses": check_responses,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
}


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


def chat_rounds() -> list[list[bytes]]:
    call = {"index": 0, "id": "c1", "function": {"name": "double", "arguments": '{"n": 21}'}}
    asked = event({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})
    return [[head(), asked], [head(), text("42."), finish()]]


def responses_rounds() -> list[list[bytes]]:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "double", "arguments": '{"n": 21}'}
    said = {"type": "message", "id": "m_1", "role": "assistant", "content": [{"type": "output_text", "text": "42."}]}

    def reply(*items: dict[str, Any]) -> list[bytes]:
        done = [
            event({"type": "response.output_item.done", "output_index": at, "item": {**item, "status": "completed"}})
            for at, item in enumerate(items)
        ]
        whole = {"id": "r", "status": "completed", "output": [{**item, "status": "completed"} for item in items]}
        return [head(), *done, event({"type": "response.completed", "response": whole})]

    return [reply(reasoning, call), reply(said)]


def anthropic_rounds() -> list[list[bytes]]:
    thinking = {"type": "thinking", "thinking": "Hm", "signature": "signed"}
    call = {"type": "tool_use", "id": "c1", "name": "double", "input": {"n": 21}}

    def reply(stop_reason: str, *blocks: dict[str, Any]) -> list[bytes]:
        started = event({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}})
        actual = [
            event({"type": kind, "index": at, **({"content_block": block} if kind.endswith("start") else {})})
            for at, block in enumerate(blocks)
            for kind in ("content_block_start", "content_block_stop")
        ]
        ended = event({"type": "message_delta", "delta": {"stop_reason": stop_reason}})
        return [head(), started, *actual, ended, event({"type": "message_stop"})]

    return [reply("tool_use", thinking, call), reply("end_turn", {"type": "text", "text": "42."})]


def gemini_rounds() -> list[list[bytes]]:
    thought = {"text": "Hm", "thought": True}
    call = {"functionCall": {"name": "double", "args": {"n": 21}, "id": "g1"}, "thoughtSignature": "c2lnbmVk"}

    def reply(*parts: dict[str, Any]) -> list[bytes]:
        actual = [event({"candidates": [{"content": {"role": "model", "parts": [part]}}]}) for part in parts]
        return [
            head(),
            *actual,
            event({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}]}),
        ]

    return [reply(thought, call), reply({"text": "42."})]


ROUNDS = {
    "chat": chat_rounds,
    "responses": responses_rounds,
    "anthropic": anthropic_rounds,
    "gemini": gemini_rounds,
}


def test_every_dialect_that_has_calls_has_a_row() -> None:
    assert set(ROUNDS) == set(CHECKS) == set(WIRES) - set(MEDIA_KINDS)


@pytest.mark.parametrize("wire", ROUNDS)
def test_a_call_and_its_result_go_round_over_every_dialect(wire: str) -> None:
    with serve_each(*ROUNDS[wire](), *ROUNDS[wire]()[1:]) as server:
        chat = Chat("openai:tiny", base_url=server.url, api_key="k", wire=wire, tools=[double], history="native")
        first = chat.send("Double 21.")
        second = chat.send("Again?")

    bodies = [request.json for request in server.requests]
    assert [(c.name, c.status, c.result) for c in first.calls] == [("double", "ok", 42)]
    assert (first.text, second.text) == ("42.", "42.")
    assert len(bodies) == 3
    for body in bodies:
        CHECKS[wire](body)


def test_reasoning_of_responses_goes_back_before_its_call() -> None:
    with serve_each(*responses_rounds()) as server:
        Chat("openai:tiny", base_url=server.url, api_key="k", wire="responses", tools=[double]).send("Double 21.")

    sent = server.requests[1].json["input"]
    kinds = [item.get("type", item.get("role")) for item in sent]
    assert kinds[-3:] == ["reasoning", "function_call", "function_call_output"]
    assert sent[-3]["encrypted_content"] == "sealed"
    assert sent[-1]["output"] == "42"


def test_thinking_of_anthropic_goes_back_signed() -> None:
    with serve_each(*anthropic_rounds()) as server:
        Chat("anthropic:tiny", base_url=server.url, api_key="k", tools=[double]).send("Double 21.")

    asked, answered = server.requests[1].json["messages"][-2:]
    assert [block["type"] for block in asked["content"]] == ["thinking", "tool_use"]
    assert asked["content"][0]["signature"] == "signed"
    assert [block["type"] for block in answered["content"]] == ["tool_result"]


def test_a_thought_signature_of_gemini_goes_back_in_the_part_it_came_in() -> None:
    with serve_each(*gemini_rounds()) as server:
        Chat("tiny", base_url=server.url, wire="gemini", tools=[double]).send("Double 21.")

    asked, answered = server.requests[1].json["contents"][-2:]
    assert [sorted(part) for part in asked["parts"]] == [["text", "thought"], ["functionCall", "thoughtSignature"]]
    assert asked["parts"][1]["thoughtSignature"] == "c2lnbmVk"
    assert answered["parts"] == [
        {"functionResponse": {"name": "double", "response": {"output": "42"}, "id": "g1"}},
    ]
