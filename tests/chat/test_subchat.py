from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.chain.hooks import RequestContext
from nbtool.chain.limits import Limits
from nbtool.chat.subchat import MAX_DEPTH, subchat
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import AuthenticationFailed, LimitReached
from nbtool.events import ReplyEnd, UsageDelta
from nbtool.messages import Text, Usage
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools.approval import Question


@tool
def price(ticker: str) -> int:
    "The price of a ticker."
    return {"A": 10}[ticker]


def test_a_question_is_answered_in_a_conversation_of_its_own() -> None:
    with ScriptedWire(["Ten."]) as inner, ScriptedWire([call("ask", question="How much is A?"), "It is ten."]) as outer:
        chat = Chat(wire=outer, system="OUTER", tools=[subchat(Chat(wire=inner), system="INNER")])
        turn = chat.send("SECRET of the outer conversation")

    assert turn.text == "It is ten."
    assert turn.calls[0].shown.startswith("Ten.\n[1 request, 0 calls, ")
    assert [message.text for message in inner.prompts[0].messages] == ["How much is A?"]
    assert "INNER" in inner.prompts[0].system
    assert "OUTER" not in inner.prompts[0].system


def test_each_question_starts_again() -> None:
    ask = [call("ask", question="one"), call("ask", question="two")]
    with ScriptedWire(["1", "2"]) as inner, ScriptedWire([*ask, "Done."]) as outer:
        Chat(wire=outer, tools=[subchat(Chat(wire=inner))]).send("Go.")

    assert [[message.text for message in prompt.messages] for prompt in inner.prompts] == [["one"], ["two"]]


def test_what_its_tools_ask_the_person_is_asked_and_sees() -> None:
    inner = ScriptedWire([call("price", ticker="A"), "Ten."])
    outer = ScriptedWire([call("ask", question="How much?"), "Done."])
    asked: list[Question] = []
    approver = ScriptedApprover([lambda question: asked.append(question) or Approved()])
    with inner, outer, approver:
        chat = Chat(wire=outer, approver=approver, tools=[subchat(Chat(wire=inner), tools=[price])])
        turn = chat.send("Go.")

    assert asked[0].tool == "price"
    actual = [(event.kind, event.call_id) for event in turn.log if event.kind.startswith("call_")]
    inside = asked[0].call_id
    assert [kind for kind, call_id in actual if call_id == inside] == [
        "call_ready", "call_asked", "call_decided", "call_started", "call_finished",
    ]  # fmt: skip
    assert [c.name for c in turn.calls] == ["ask"]
    names = [block["name"] for block in turn.transcript().document()["blocks"] if block["kind"] == "call"]
    assert names == ["ask", "price"]


def test_a_click_in_the_queue_of_the_chat_decides_for_its_sub_chat() -> None:
    inner = ScriptedWire([call("price", ticker="A"), "Ten."])
    outer = ScriptedWire([call("ask", question="How much?"), "Done."])

    class Page:
        """Leaves the question on the desk, where a click comes from another thread."""

        def ask(self, question: Question) -> None:
            threading.Thread(target=chat.approvals.decide, args=(question.digest, Approved())).start()

    with inner, outer:
        chat = Chat(wire=outer, approver=Page(), tools=[subchat(Chat(wire=inner), tools=[price])])
        turn = chat.send("Go.")

    assert turn.calls[0].shown.startswith("Ten.")
    assert chat.approvals.pending() == ()


def test_a_remembered_approval_holds_for_the_next_question_too() -> None:
    inner = ScriptedWire([call("price", ticker="A"), "Ten.", call("price", ticker="A"), "Ten."])
    outer = ScriptedWire([call("ask", question="one"), call("ask", question="two"), "Done."])
    with inner, outer, ScriptedApprover([Approved(remember="tool")]) as approver:
        turn = Chat(wire=outer, approver=approver, tools=[subchat(Chat(wire=inner), tools=[price])]).send("Go.")

    assert [c.status for c in turn.calls] == ["ok", "ok"]


def test_a_call_is_denied_where_nobody_can_be_asked() -> None:
    inner = ScriptedWire([call("price", ticker="A"), "I may not."])
    with inner, ScriptedWire([call("ask", question="How much?"), "Done."]) as outer:
        Chat(wire=outer, tools=[subchat(Chat(wire=inner), tools=[price])]).send("Go.")

    assert "Nobody could be asked" in inner.prompts[1].messages[-1].results[0].text


def test_synchronous_tools_of_a_sub_chat_run_on_the_thread_that_waits() -> None:
    threads: list[Any] = []

    @tool(run="auto")
    def where() -> str:
        "Say where this runs."
        threads.append(threading.current_thread())
        return "here"

    inner = ScriptedWire([call("where"), "Here."])
    with inner, ScriptedWire([call("ask", question="Where?"), "Done."]) as outer:
        Chat(wire=outer, tools=[subchat(Chat(wire=inner), tools=[where])]).send("Go.")

    assert threads == [threading.main_thread()]


def test_its_limits_are_its_own() -> None:
    inner = ScriptedWire([call("price", ticker="A"), call("price", ticker="B"), "As far as I came."])
    approver = ScriptedApprover([Approved(), Approved()])
    with inner, approver, ScriptedWire([call("ask", question="How much?"), "It gave up."]) as outer:
        ask = subchat(Chat(wire=inner), tools=[price], limits=Limits(max_rounds=3))
        turn = Chat(wire=outer, approver=approver, max_rounds=9, tools=[ask]).send("Go.")

    assert (turn.status, turn.calls[0].status) == ("completed", "ok")
    assert turn.calls[0].shown.startswith("As far as I came.\n[3 requests, 2 calls, ")


def test_an_error_of_its_model_is_an_answer() -> None:
    inner, outer = (
        ScriptedWire([AuthenticationFailed("The key was refused.")]),
        ScriptedWire([call("ask", question="x"), "Oh."]),
    )
    with inner, outer:
        turn = Chat(wire=outer, tools=[subchat(Chat(wire=inner))]).send("Go.")

    assert turn.calls[0].shown.startswith("The sub-chat did not complete (The key was refused.). [")


def test_a_sub_chat_that_is_left_does_not_take_the_thread_with_it() -> None:
    @tool(run="auto")
    async def hang() -> None:
        "Never end."
        await asyncio.sleep(60)

    @tool(run="auto")
    def after() -> str:
        "Run on the thread that waits."
        return threading.current_thread().name

    slow = replace(subchat(Chat(wire=ScriptedWire([call("hang")])), tools=[hang]), timeout=0.2)
    with ScriptedWire([call("ask", question="x"), call("after"), "Done."]) as outer:
        turn = Chat(wire=outer, tools=[slow, after]).send("Go.")

    assert [(c.status, c.shown) for c in turn.calls][1] == ("ok", "MainThread")
    assert turn.calls[0].status == "timed_out"


def test_sub_chats_inside_each_other_come_to_an_end() -> None:
    questions = [call("ask", question="deeper") for _ in range(MAX_DEPTH + 1)]
    with ScriptedWire([*questions, *(["Enough."] * (MAX_DEPTH + 1))]) as wire:
        ask: Any = None
        for _ in range(MAX_DEPTH + 1):
            ask = subchat(Chat(wire=wire), tools=[ask] if ask else [])
        turn = Chat(wire=wire, tools=[ask]).send("Go.")

    assert turn.status == "completed"
    refused = [result.text for prompt in wire.prompts for m in prompt.messages for result in m.results]
    assert "Sub-chats can be nested at most 3 deep." in refused


def test_it_goes_by_the_name_and_words_it_is_given() -> None:
    ask = subchat("practice:fast", name="ask_expert", description="Ask somebody who knows.")

    assert (ask.spec["name"], ask.spec["description"]) == ("ask_expert", "Ask somebody who knows.")


class Upper:
    """Writes every message of a request in capitals, and says where it was."""

    def __init__(self) -> None:
        self.rounds = 0

    def on_before_request(self, request: RequestContext) -> None:
        self.rounds += 1
        request.set_messages([message.with_parts([Text(message.text.upper())]) for message in request.messages])


@pytest.mark.parametrize("depth", [1, 2])
def test_a_sub_chat_however_deep_has_the_plugins_of_the_chat_that_asks_and_of_the_chat_it_takes(depth: int) -> None:
    class Own:
        def on_before_request(self, request: RequestContext) -> None:
            request.system += " own"

    both = Upper()
    inner = ScriptedWire(["a@example.org"])
    ask = subchat(Chat(wire=inner, plugins=[Own(), both]))
    steps: list[Any] = []
    for _ in range(depth - 1):
        middle = ScriptedWire([call("ask", question="write to ada@example.org"), "Done."])
        steps.append(middle)
        ask = subchat(Chat(wire=middle), tools=[ask])
    with inner, ScriptedWire([call("ask", question="write to ada@example.org"), "Done."]) as outer:
        turn = Chat(wire=outer, tools=[ask], plugins=[both]).send("go")

    assert turn.status == "completed"
    assert [message.text for message in inner.prompts[0].messages] == ["WRITE TO ADA@EXAMPLE.ORG"]
    assert inner.prompts[0].system.endswith(" own")
    assert both.rounds == 1 + 2 * depth


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("question", ["$VAR_REF{{rows}}", "Repeat: $VAR_REF{{rows}}", "And $VAR_REF{{rows[0]}}."])
@pytest.mark.parametrize("name", ["ask", "ask-me"])
def test_what_was_exposed_by_reference_alone_is_no_part_of_a_question_even_where_everything_is_approved(
    question: str, name: str
) -> None:
    inner = ScriptedWire([])
    with inner, ScriptedWire([call(name, question=question), "Done."]) as outer:
        chat = Chat(wire=outer, tools=[subchat(Chat(wire=inner), name=name)], approver=lambda _: Approved())
        chat.expose(rows=["SENTINEL"])
        turn = chat.send("Go.")

    assert turn.calls[0].status == "invalid"
    assert "was exposed by reference only" in turn.calls[0].shown
    assert "--read rows" in turn.calls[0].shown
    assert inner.prompts == []


def test_what_was_opened_may_be_part_of_a_question() -> None:
    with ScriptedWire(["Ok."]) as inner, ScriptedWire([call("ask", question="$VAR_REF{{rows}}"), "Done."]) as outer:
        chat = Chat(wire=outer, tools=[subchat(Chat(wire=inner))])
        chat.expose(read=True, rows="some words")
        turn = chat.send("Go.")

    assert turn.calls[0].status == "ok"
    assert inner.prompts[0].messages[0].text == "some words"


def test_a_cancelled_turn_cancels_its_sub_chat() -> None:
    started = threading.Event()

    @tool(run="auto")
    async def hang() -> str:
        "Never end."
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return ""

    ended = threading.Event()
    inner = ScriptedWire([call("hang")])
    with ScriptedWire([call("ask", question="x")]) as outer:
        turn = Chat(wire=outer, tools=[subchat(Chat(wire=inner), tools=[hang])]).start("Go.")
        assert started.wait(240)
        turn.cancel()
        turn.done.result(240)

    assert turn.status == "cancelled"
    assert ended.wait(240)


@pytest.mark.parametrize("verdict", [Denied("no"), Approved()])
def test_the_view_shows_the_inner_call_with_its_own_outcome(verdict: Any) -> None:
    inner = ScriptedWire([call("price", ticker="A"), "Fine."])
    outer = ScriptedWire([call("ask", question="How much?"), "Done."])
    with inner, outer, ScriptedApprover([verdict]) as approver:
        turn = Chat(wire=outer, approver=approver, tools=[subchat(Chat(wire=inner), tools=[price])]).send("Go.")

    states = {b["name"]: b["state"] for b in turn.transcript().document()["blocks"] if b["kind"] == "call"}
    assert states == {"ask": "ok", "price": "denied" if isinstance(verdict, Denied) else "ok"}


def test_what_sub_chats_use_counts_towards_the_budget_of_the_turn() -> None:
    spent = [UsageDelta(Usage(0, 600)), ReplyEnd("end", "stop")]
    asks = [call("ask", question=question) for question in ("One?", "Two?", "Three?")]
    first = [*asks, UsageDelta(Usage(10, 10)), ReplyEnd("tools", "tool_calls")]
    with ScriptedWire([["A.", *spent], ["B.", *spent]]) as inner, ScriptedWire([first]) as wire:
        chat = Chat(wire=wire, tools=[subchat(Chat(wire=inner))])
        turn = chat.send("Go.", settings=TurnSettings(limits=Limits(tokens=1_000)))

    assert len(inner.prompts) == 2
    assert len(wire.prompts) == 1
    assert [one.status for one in turn.calls].count("error") == 1
    assert isinstance(turn.error, LimitReached)
