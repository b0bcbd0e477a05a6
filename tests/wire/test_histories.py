"""Any mended history, with replies of any origin in it, becomes a request that its provider accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtool.chain.repair import repair_history
from nbtool.ids import new_id
from nbtool.messages import Message, Native, Part, Refusal, Text, Thinking, ToolCall, ToolResult, results, user
from nbtool.wire import find_wire
from nbtool.wire.base import Prompt, Target, ToolSpec
from tests.wire.validators import check_anthropic, check_chat, check_gemini, check_responses

CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "chat": check_chat,
    "responses": check_responses,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
}
HERE = Target("api.example", "thinker-1")
LOOK = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})

words = st.sampled_from(["", " ", "Hm.", "a\ud800b", "Well, yes."])
ids = st.sampled_from(["", "call_0", "call_1", "functions.look:0", "x" * 80])
names = st.sampled_from(["look", "functions.look", ""])
arguments = st.sampled_from(["", "{}", '{"a": 1}', '{"a', "null", "[1]"])


@st.composite
def replies(draw: st.DrawFn) -> list[Message]:
    """A reply of the model, of this provider or another, and answers to some of its calls."""
    calls = [
        ToolCall(draw(names), draw(arguments), id=draw(ids), call_id=new_id("call"))
        for _ in range(draw(st.integers(0, 3)))
    ]
    parts: list[Part] = [
        Thinking(draw(words)),
        Text(draw(words)),
        *calls,
        *([Refusal("No.")] if draw(st.booleans()) else []),
    ]
    native = draw(st.sampled_from([None, _items(calls), _blocks(calls), _contents(calls)]))
    reply = Message("assistant", tuple(part for part in parts if part.kind == "call" or part.text), native=native)
    answered = draw(st.lists(st.sampled_from(calls), unique_by=lambda call: call.call_id)) if calls else []
    return [reply, *(results(_answer(call, draw(words))) for call in answered)]


def _answer(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call.name, text, id=call.id, call_id=call.call_id)


def _items(calls: list[ToolCall]) -> Native:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed", "content": None}
    items = [
        {"type": "function_call", "id": "fc", "call_id": call.id, "name": "look", "arguments": call.arguments}
        for call in calls
    ]
    return Native("responses", HERE.host, HERE.model, [reasoning, *items])


def _blocks(calls: list[ToolCall]) -> Native:
    thinking = {"type": "thinking", "thinking": "", "signature": "sealed"}
    blocks = [{"type": "tool_use", "id": call.id, "name": "look", "input": {}} for call in calls]
    return Native("anthropic", HERE.host, HERE.model, [thinking, *blocks])


def _contents(calls: list[ToolCall]) -> Native:
    parts = [
        {"functionCall": {"name": call.name, "args": {}, "id": call.id}, "thoughtSignature": "c2VhbGVk"}
        for call in calls
    ]
    return Native("gemini", HERE.host, HERE.model, [{"text": "Hm", "thought": True}, *parts])


histories = st.lists(st.one_of(words.map(lambda text: [user(text)]), replies()), max_size=8)


@settings(deadline=None, max_examples=150)
@given(histories)
def test_any_repaired_history_is_a_request_that_every_dialect_accepts(rounds: list[list[Message]]) -> None:
    check(rounds)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@settings(deadline=None, max_examples=50_000, suppress_health_check=list(HealthCheck))
@given(histories)
def test_fifty_thousand_repaired_histories_are_requests_that_every_dialect_accepts(rounds: list[list[Message]]) -> None:
    check(rounds)


def check(rounds: list[list[Message]]) -> None:
    """Mend a history, mend it again, and encode it for every dialect, with tools and without."""
    said = [user("Begin."), *(message for group in rounds for message in group), user("Go on.")]
    messages = tuple(repair_history(said))
    assert tuple(repair_history(messages)) == messages
    for wire, accepts in CHECKS.items():
        for tools in ((), (LOOK,)):
            accepts(find_wire(wire).encode(Prompt(messages, system="S", tools=tools), HERE).body)
