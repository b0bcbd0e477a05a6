from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.chain.limits import Limits
from nbtool.chat.agent_turns import use_agent
from nbtool.chat.chat import Chat, TurnSettings
from nbtool.tools.approval import Denied, Question
from nbtool.wire.agents.endpoint import NO_MORE
from nbtool.wire.agents.limits import AgentLimits
from nbtool.wire.transport.traffic import HostTraffic, totals
from tests.wire.agents.agents import MakeAgent, tool_call


def add(a: int, b: int) -> dict[str, Any]:
    return {"call": {"name": "add", "arguments": {"a": a, "b": b}}}


def chunk(kind: str, text: str, message_id: str) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return {"update": {"sessionUpdate": f"agent_{kind}_chunk", "messageId": message_id, "content": content}}


def usage(amount: float) -> dict[str, Any]:
    cost = {"amount": amount, "currency": "USD"}
    return {"update": {"sessionUpdate": "usage_update", "used": 10, "size": 200_000, "cost": cost}}


def test_an_agent_answers_in_a_turn_and_calls_a_tool_through_the_gate(
    make_agent: MakeAgent, chat: Chat, questions: list[Question]
) -> None:
    agent = make_agent([
        {"say": "Let me add. "},
        tool_call(rawInput={}),
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "rawInput": {"a": 1, "b": 2}}},
        add(1, 2),
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"}},
        {"say": "It is 3."},
    ])  # fmt: skip

    turn = chat.send("What is 1 + 2?")

    assert (turn.status, turn.text, turn.error) == ("completed", "It is 3.", None)
    assert [(call.name, call.status, call.round) for call in turn.calls] == [("add", "ok", 1)]
    assert [question.tool for question in questions] == ["add"]
    assert agent.all_of("result") == ["3"]
    assert agent.all_of("tools") == [["add", "ListVars", "ReadVar"]]


def test_what_an_agent_gets_is_counted_as_what_a_provider_gets(make_agent: MakeAgent, chat: Chat) -> None:
    make_agent([add(1, 2), {"say": "It is 3."}])
    before = totals().get("acp:claude", HostTraffic())

    chat.send("What is 1 + 2?")

    after = totals()["acp:claude"]
    assert after.requests - before.requests == 2
    assert after.size - before.size > len("What is 1 + 2?")


def test_a_denied_call_does_not_run_and_the_agent_goes_on(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([add(1, 2), {"say": "Then not."}])
    chat.approver = lambda _: Denied("never")

    turn = chat.send("Add.")

    assert (turn.status, turn.text) == ("completed", "Then not.")
    assert [call.status for call in turn.calls] == ["denied"]
    assert "never" in agent.all_of("result")[0]


def test_an_object_reaches_a_tool_by_reference(make_agent: MakeAgent, chat: Chat) -> None:
    received: list[object] = []

    def measure(table: list[int]) -> int:
        """Return the number of rows."""
        received.append(table)
        return len(table)

    table = [1, 2, 3]
    chat.tools.add(measure)
    chat.expose(table=table)
    agent = make_agent([{"call": {"name": "measure", "arguments": {"table": "$VAR_REF{{table}}"}}}, {"say": "3"}])

    chat.send("How many rows has $VAR_REF{{table}}?")

    assert received[0] is table
    assert agent.all_of("result") == ["3"]
    assert "$VAR_REF{{table}}" in agent.prompts()[0]


def test_a_call_that_the_agent_does_not_report_is_a_call_like_any_other(make_agent: MakeAgent, chat: Chat) -> None:
    make_agent([add(1, 2), {"say": "3"}])

    assert [call.status for call in chat.send("Add.").calls] == ["ok"]


def test_two_calls_at_once_are_one_round(make_agent: MakeAgent, chat: Chat) -> None:
    use_agent(chat, AgentLimits(gather=3.0))  # two processes in between: a busy machine takes longer
    agent = make_agent([{"calls": [add(1, 2)["call"], add(3, 4)["call"]]}, {"say": "3 and 7"}])

    turn = chat.send("Add.")

    assert [(call.status, call.round) for call in turn.calls] == [("ok", 1), ("ok", 1)]
    assert agent.all_of("result") == ["3", "7"]


def test_texts_thoughts_and_plans_arrive_as_parts_of_the_reply(make_agent: MakeAgent, chat: Chat) -> None:
    steps = [{"content": "Look", "status": "completed", "priority": "high"}, {"content": "Say", "status": "pending"}]
    make_agent([
        chunk("thought", "Hm. ", "m1"),
        chunk("thought", "Well.", "m1"),
        {"update": {"sessionUpdate": "plan", "entries": steps}},
        {"update": {"sessionUpdate": "plan", "entries": steps}},
        chunk("message", "One. ", "m2"),
        chunk("message", "Still one.", "m2"),
        chunk("message", "Two.", "m3"),
    ])  # fmt: skip

    turn = chat.send("Think.")

    kinds = [(part.kind, getattr(part, "text", "")) for part in turn.messages.chain[0].parts]
    assert kinds == [
        ("thinking", "Hm. Well.\n\nPlan:\n[x] Look\n[ ] Say\n"),
        ("text", "One. Still one.\n\nTwo."),
    ]  # fmt: skip


def test_an_image_of_the_agent_is_a_part_of_the_reply(make_agent: MakeAgent, chat: Chat) -> None:
    content = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}
    make_agent([{"update": {"sessionUpdate": "agent_message_chunk", "content": content}}, {"say": "There."}])

    assert [media.mime for media in chat.send("Draw.").media] == ["image/png"]


def test_what_the_agent_says_of_its_usage_is_that_of_the_turn(make_agent: MakeAgent, chat: Chat) -> None:
    tokens = {
        "totalTokens": 170,
        "inputTokens": 10,
        "outputTokens": 20,
        "cachedReadTokens": 100,
        "cachedWriteTokens": 40,
    }
    make_agent(
        [usage(0.25), {"say": "a"}, usage(0.5), {"result": {"stopReason": "end_turn", "usage": tokens}}],
        [usage(0.75), {"say": "b"}],
        [usage(0.125), {"say": "c"}],
    )

    first, second, third = (chat.send("Go.") for _ in range(3))

    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.cached_tokens) == (150, 20, 100)
    assert (first.usage.cost, first.usage.is_cost_estimated) == (0.5, True)
    assert (second.usage.cost, third.usage.cost) == (0.25, 0.0)  # the total began anew


def test_calls_are_counted_and_not_rounds(make_agent: MakeAgent, chat: Chat) -> None:
    make_agent([*(add(1, number) for number in range(12)), {"say": "Done."}])

    turn = chat.send("Add.")

    assert (turn.status, turn.text, len(turn.calls)) == ("completed", "Done.", 12)


def test_beyond_the_limit_of_calls_the_agent_is_asked_for_its_answer(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([add(1, 2), add(3, 4), add(5, 6), {"say": "Enough."}])

    turn = chat.send("Add.", settings=TurnSettings(limits=Limits(max_calls=2)))

    assert (turn.status, turn.text, [call.status for call in turn.calls]) == ("completed", "Enough.", ["ok", "ok"])
    assert agent.all_of("result")[2] == NO_MORE


def test_an_agent_that_goes_on_calling_is_stopped(make_agent: MakeAgent, chat: Chat) -> None:
    make_agent([*(add(1, number) for number in range(9)), {"say": "Enough."}])

    turn = chat.send("Add.", settings=TurnSettings(limits=Limits(max_calls=2)))

    assert (turn.status, type(turn.error).__name__, len(turn.calls)) == ("error", "AgentStopped", 2)


@pytest.mark.parametrize(
    ("reason", "status", "end"),
    [
        ("end_turn", "completed", ""),
        ("max_tokens", "completed", "length"),
        ("max_turn_requests", "completed", "too_many_calls"),
        ("refusal", "completed", "refused"),
        ("cancelled", "error", ""),
        ("a new one", "error", ""),
    ],
)
def test_why_a_prompt_ended_is_why_the_turn_ended(
    make_agent: MakeAgent, chat: Chat, reason: str, status: str, end: str
) -> None:
    make_agent([{"say": "So far."}, {"result": {"stopReason": reason}}])

    turn = chat.send("Go.")

    assert (turn.status, turn.end_reason) == (status, end)
    assert turn.text == "So far."


def test_an_answer_is_a_value_of_the_type_that_is_asked_for(make_agent: MakeAgent, chat: Chat) -> None:
    agent = make_agent([{"say": "three"}], [{"say": json.dumps({"value": [1, 2]})}])

    turn = chat.send("Which?", as_=list[int])

    assert turn.value == [1, 2]
    assert len(agent.prompts()) == 2
    assert len(agent.requests("session/new")) == 1


def test_a_tool_is_stopped_at_three_equal_rounds(make_agent: MakeAgent, chat: Chat) -> None:
    make_agent([*(add(1, 2) for _ in range(4)), {"say": "Still 3."}])

    turn = chat.send("Add.")

    assert (turn.status, turn.text, len(turn.calls)) == ("completed", "Still 3.", 3)
