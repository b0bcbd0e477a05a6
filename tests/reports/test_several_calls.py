"""Situations of public reports about several calls in one reply, and about calls that a stop or a kill interrupts."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.chain.repair import repair_history
from nbtool.chat.conversation.restore import restore_turn
from nbtool.chat.journal import journal
from nbtool.chat.turn import Turn
from nbtool.event_json import load_events
from nbtool.messages import Message, ToolResult, assistant, user
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools.approval import Question


class Stack:
    """Tools that note what they did, in order."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    @property
    def tools(self) -> list[Any]:
        @tool(run="auto")
        def push(value: int) -> str:
            "Push a value."
            self.done.append(value)
            return f"pushed {value}"

        @tool
        def pay(amount: int) -> str:
            "Pay."
            self.done.append(f"paid {amount}")
            return f"paid {amount}"

        @tool(run="auto")
        def fail() -> None:
            "Fail, without a word."
            raise ValueError

        return [push, pay, fail]


def last_results(wire: ScriptedWire) -> list[ToolResult]:
    """Return the results of the last message that was sent."""
    return list(wire.prompts[-1].messages[-1].results)


def test_a_call_that_fails_beside_others_takes_none_of_them_along() -> None:
    """anthropics/claude-code#64920, anthropics/claude-code#64346, BaseIntelligence/bounty-challenge#49092,
    huggingface/smolagents#2457: one error of several calls in one reply cancelled all others, also those that would
    have worked. Right: each has its own result. Before: right."""
    stack = Stack()
    wire = ScriptedWire([[call("push", value=1), call("fail"), call("push", value=2)], "Done."])

    turn = Chat(wire=wire, tools=stack.tools).send("Go")

    assert stack.done == [1, 2]
    assert [one.status for one in turn.calls] == ["ok", "error", "ok"]
    assert [one.is_error for one in last_results(wire)] == [False, True, False]


def test_the_result_of_a_call_that_failed_names_its_call_and_the_error() -> None:
    """smallest-inc/smallest-python-sdk#118: of a call that failed beside others the result had no id, no name, and for
    an error without a message no text. Right: all three. Before: right."""
    wire = ScriptedWire([[call("push", value=1), call("fail")], "Done."])

    turn = Chat(wire=wire, tools=Stack().tools).send("Go")

    failed = last_results(wire)[1]
    assert (failed.name, failed.id) == ("fail", turn.calls[1].id)
    assert failed.id
    assert "ValueError" in failed.text


def test_calls_with_effects_run_in_the_order_of_the_reply() -> None:
    """karthink/gptel#970, earendil-works/pi#2692, lmstudio-ai/lmstudio-js#335: values that were pushed in one reply
    were on the stack in another order; a file was read before the call before it had written it. Right: plain
    functions run one after another, in the order of the reply. Before: right."""
    stack = Stack()
    wire = ScriptedWire([[call("push", value=value) for value in range(8)], "Done."])

    Chat(wire=wire, tools=stack.tools).send("Push 0 to 7")

    assert stack.done == list(range(8))


def test_two_questions_of_one_reply_are_open_at_once_and_each_has_its_own_answer() -> None:
    """letta-ai/letta-code#101, letta-ai/letta-code#81, open-webui/computer#179: with two calls in one reply no question
    was shown, or the answer to one was sent for the other. Right: both wait, and can be answered in any order.
    Before: right."""
    stack, both = Stack(), asyncio.Event()
    seen: list[Question] = []

    async def ask(question: Question) -> Approved | Denied:
        seen.append(question)
        if len(seen) == 2:
            both.set()
        async with asyncio.timeout(60):
            await both.wait()
        return Denied("too much") if question.arguments["amount"] == 1 else Approved()

    wire = ScriptedWire([[call("pay", amount=1), call("pay", amount=2)], "Done."])

    turn = Chat(wire=wire, tools=stack.tools, approver=ask).send("Go")

    assert [one.status for one in turn.calls] == ["denied", "ok"]
    assert stack.done == ["paid 2"]
    assert [one.id for one in last_results(wire)] == [one.id for one in turn.calls]


def test_a_call_that_asks_leaves_the_ones_beside_it_as_they_are() -> None:
    """letta-ai/letta-code#619: where one call of a reply asks and another one does not, the other one was reported as
    cancelled. Right: each has its own outcome. Before: right."""
    stack = Stack()
    wire = ScriptedWire([[call("push", value=1), call("pay", amount=5), call("push", value=2)], "Done."])

    with ScriptedApprover([Denied("no")]) as person:
        turn = Chat(wire=wire, tools=stack.tools, approver=person).send("Go")

    assert [one.status for one in turn.calls] == ["ok", "denied", "ok"]
    assert stack.done == [1, 2]


def test_what_has_ended_is_in_the_file_while_a_call_beside_it_hangs() -> None:
    """earendil-works/pi#7053: the results of a reply's calls were stored when all had ended; one hung, the process was
    killed, and the model read of each that it had no result. Right: what ended is known, of what ran it is unknown.
    Before: right."""
    hangs, may_end = threading.Event(), threading.Event()

    @tool(run="auto")
    def hang() -> None:
        "Hang."
        hangs.set()
        may_end.wait(60)

    stack = Stack()
    chat = Chat(wire=ScriptedWire([[call("push", value=1), call("hang"), call("push", value=2)], "Done."]))
    chat.tools.add(*stack.tools, hang)
    turn = chat.start("Go")
    assert hangs.wait(60)
    written = events_with(turn, "call_finished")
    may_end.set()

    killed = restore_turn(written)

    assert [one.status for one in killed.calls] == ["ok", "unknown", "unknown"]
    assert killed.calls[0].shown == "pushed 1"


def events_with(turn: Turn, kind: str) -> list[Any]:
    """Return the events of a turn in the file once there is one of a kind."""
    for _ in range(6_000):
        events = load_events(journal().events(turn.turn_id))
        if any(event.kind == kind for event in events):
            return events
        threading.Event().wait(0.01)
    raise AssertionError(f"There is no {kind}.")


@pytest.mark.parametrize("history", ["native", "results", "compact"])
def test_after_a_kill_the_next_request_says_what_is_unknown_and_nothing_runs_again(history: Any) -> None:
    """GEMISIS/leviath#96, AVADSA25/codec#122, anthony-chaudhary/fak#5913: after a crash all calls of the reply ran once
    more, or the model was not informed that it had been interrupted. Right: no call that may have started runs again,
    and the model reads, in every form of history, that its outcome is unknown. Before: wrong."""
    stack = Stack()
    wire = ScriptedWire([[call("push", value=1), call("push", value=2)], "Done."])
    turn = Chat(wire=wire, tools=stack.tools).send("Go")
    start = next(at for at, event in enumerate(turn.log) if event.kind == "call_started")
    killed = restore_turn(turn.log[: start + 1])
    resumed = ScriptedWire(["I do not know."])
    chat = Chat(wire=resumed, tools=stack.tools, history=history)
    chat.tree.add_version(chat.tree.node_from_event(killed.state.began), killed)

    chat.send("What happened?")

    texts = [message.text + "".join(one.text for one in message.results) for message in resumed.prompts[-1].messages]
    assert stack.done == [1, 2]
    assert "".join(texts).count("its outcome is unknown") == 2
    assert "did not run" not in "".join(texts)


def test_each_call_of_a_stopped_turn_has_a_result_in_the_next_request() -> None:
    """cubeplexai/cubeloop#116, langchain-ai/agent-chat-ui#80, olimorris/codecompanion.nvim#3073: a stop left calls
    without results, and the provider refused every later request. Right: each call has one. Before: right."""
    started, may_end = threading.Event(), threading.Event()

    @tool(run="auto")
    def hang() -> None:
        "Hang."
        started.set()
        may_end.wait(60)

    wire = ScriptedWire([[call("push", value=1), call("hang"), call("push", value=2)], "Hello."])
    chat = Chat(wire=wire, tools=[*Stack().tools, hang], history="native")
    turn = chat.start("Go")
    assert started.wait(60)
    turn.cancel()
    may_end.set()
    turn.done.result(60)

    chat.send("Hello?")

    sent = wire.prompts[-1].messages
    calls = [one.id for message in sent for one in message.calls]
    assert len(calls) == 3
    assert [one.id for message in sent for one in message.results] == calls


def test_the_results_of_one_reply_are_sent_together() -> None:
    """Prism-Shadow/penguin-harness#621: the first of two results closed the request, and the second one came alone.
    Right: all results of a reply follow it in one message, in the order of its calls. Before: right."""
    wire = ScriptedWire([[call("push", value=1), call("push", value=2)], "Done."])

    turn = Chat(wire=wire, tools=Stack().tools).send("Go")

    assert [message.role for message in wire.prompts[-1].messages] == ["user", "assistant", "tool"]
    assert [one.id for one in last_results(wire)] == [one.id for one in turn.calls]


@pytest.mark.parametrize("call_id", ["toolu_01ATkq", ""])
def test_a_result_without_its_call_is_not_sent(call_id: str) -> None:
    """posit-dev/positron#15719: a result whose call was missing was sent with every later message, and each of them was
    refused. Right: it is left out. Before: right."""
    orphan = Message("tool", (ToolResult("read", "a text", call_id, call_id),))

    repaired = repair_history([user("Hello"), orphan, assistant("Hi.")])

    assert [message.role for message in repaired] == ["user", "assistant"]
