"""The last word of a turn: it counts as a round, plugins hear of it, and why it was asked for is said everywhere."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.blocks.labels import footer_line
from nbtool.blocks.render.mimebundle import turn_mimebundle
from nbtool.chain.hooks import ReplyContext, TurnContext
from nbtool.chain.limits import HookSeconds, Limits
from nbtool.chain.stop_reasons import CALL_IN_FINAL_REPLY, OR_RAISE_LIMIT, end_reason_of
from nbtool.chat.chat import TurnSettings
from nbtool.chat.journal import journal
from nbtool.events import ReplyEnd
from nbtool.messages import Message, ToolCall
from nbtool.plugins.continuation import NO_REQUEST_LEFT, Continuation
from nbtool.testing import ScriptedReply, ScriptedWire, call
from nbtool.wire.reply import Reply


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


class ReplyCollector:
    """Notes every reply that it is told of."""

    def __init__(self) -> None:
        self.replies: list[tuple[str, bool, bool]] = []

    async def on_after_request(self, reply: ReplyContext) -> None:
        self.replies.append((reply.reply.text, reply.is_final, reply.can_request))


LIMITED: dict[str, tuple[Limits, list[ScriptedReply]]] = {
    "rounds": (Limits(max_rounds=2), [call("double", n=1)]),
    "calls": (Limits(max_calls=1), [call("double", n=1)]),
    "repetition": (Limits(), [call("double", n=1)] * 3),
}
"""Limits by the reason that they give, and what a model says until it is reached."""


@pytest.mark.promise("bounded")
@pytest.mark.parametrize("reason", LIMITED)
def test_a_limit_that_ends_a_turn_is_reported_once_in_the_view_in_saved_data_and_in_the_journal(reason: str) -> None:
    limits, replies = LIMITED[reason]
    with ScriptedWire([*replies, "That is all."]) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go", settings=TurnSettings(limits=limits))

    (notice,) = [event for event in turn.log if event.kind == "notice"]
    assert (notice.topic, notice.level) == (reason, "warning")
    assert (turn.status, turn.text, turn.end_reason) == ("completed", "That is all.", reason)
    assert turn.end_note == ""  # it has a reply, and its calls ran
    transcript = turn.transcript()
    shown = re.sub("</?code[^>]*>", "`", str(turn_mimebundle(transcript.document(), transcript.media)["text/html"]))
    assert notice.text.replace("'", "&#x27;") in shown
    stored = [event for event in journal().events(turn.turn_id) if event["kind"] == "notice"]
    assert [(event["topic"], event["text"]) for event in stored] == [(reason, notice.text)]


@pytest.mark.promise("bounded")
@pytest.mark.parametrize("rounds", [1, 2, 3, 5])
def test_a_turn_makes_as_many_requests_as_it_may_and_the_last_forbids_calls(rounds: int) -> None:
    replies: list[ScriptedReply] = [*(call("double", n=n) for n in range(rounds - 1)), "Enough."]
    with ScriptedWire(replies) as wire:
        turn = Chat(wire=wire, tools=[double], max_rounds=rounds).send("Go")

    assert [prompt.is_final for prompt in wire.prompts[1:]] == [False] * (rounds - 2) + [True] * (rounds > 1)
    assert [prompt.tools for prompt in wire.prompts] == [wire.prompts[0].tools] * rounds
    assert bool(wire.prompts[0].tools) is (rounds > 1)
    assert (turn.stats.rounds, turn.text) == (rounds, "Enough.")


def test_one_round_leaves_none_for_tools_and_says_so() -> None:
    with ScriptedWire([call("double", n=1)]) as wire:
        turn = Chat(wire=wire, tools=[double], max_rounds=1).send("Go")

    assert turn.calls == []
    assert "no tools were offered" in next(event.text for event in turn.log if event.kind == "notice")
    assert turn.end_reason == "empty"


def test_a_reply_without_the_tools_that_its_only_round_left_out_names_the_limit() -> None:
    with ScriptedWire(["Enough."]) as wire:
        turn = Chat(wire=wire, tools=[double], max_rounds=1).send("Go")
    with ScriptedWire(["Enough."]) as wire:
        without_tools = Chat(wire=wire, max_rounds=1).send("Go")

    assert (turn.status, turn.end_reason) == ("completed", "rounds")
    assert "limit on rounds reached" in footer_line(turn.transcript().document()["head"])
    assert without_tools.end_reason == ""


def test_plugins_receive_the_final_reply_and_whether_anything_may_follow() -> None:
    received = ReplyCollector()
    with ScriptedWire([call("double", n=1), "Enough."]) as wire:
        Chat(wire=wire, tools=[double], plugins=[received], max_rounds=2).send("Go")

    assert received.replies == [("", False, True), ("Enough.", True, False)]


def test_a_final_reply_that_is_cut_off_is_continued_while_there_are_rounds() -> None:
    with ScriptedWire([*[call("double", n=1)] * 3, ["The first half", cut_at_length()], " and the second."]) as wire:
        turn = Chat(wire=wire, tools=[double], plugins=[Continuation()]).send("Go")

    assert turn.text == "The first half and the second."
    assert [prompt.is_final for prompt in wire.prompts] == [False, False, False, True, True]
    assert "rounds" not in [event.topic for event in turn.log if event.kind == "notice"]


def test_a_final_reply_that_only_calls_a_tool_is_requested_again_without_tools() -> None:
    with ScriptedWire([*[call("double", n=1)] * 4, "That is all."]) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go")

    assert (turn.text, len(turn.calls)) == ("That is all.", 3)
    assert [bool(prompt.tools) for prompt in wire.prompts] == [True] * 4 + [False]
    text = CALL_IN_FINAL_REPLY.format(advice=OR_RAISE_LIMIT.format(name="max_repeats"))
    assert text in [event.text for event in turn.log if event.kind == "notice"]


def test_the_only_request_of_a_turn_names_the_limit_that_made_it_the_last() -> None:
    with ScriptedWire([[call("double", n=1), "Two."]]) as wire:
        turn = Chat(wire=wire, tools=[double], max_rounds=1).send("Go")

    text = CALL_IN_FINAL_REPLY.format(advice=OR_RAISE_LIMIT.format(name="max_rounds"))
    assert text in [event.text for event in turn.log if event.kind == "notice"]


def test_a_final_reply_that_goes_on_gets_no_prompt_of_its_own() -> None:
    replies: list[ScriptedReply] = [*[call("double", n=1)] * 3, ["Half, ", cut_at_length()], "whole."]
    with ScriptedWire(replies) as wire:
        turn = Chat(wire=wire, tools=[double], plugins=[Continuation()]).send("Go")

    assert turn.text == "Half, whole."
    assert wire.prompts[-1].messages[-1] == turn.messages.chain[-2]


@pytest.mark.promise("bounded")
@pytest.mark.parametrize(("limits", "replies"), [(Limits(max_rounds=3), 3), (Limits(), 5)])
def test_calls_in_every_final_reply_end_the_turn_and_none_of_them_runs(limits: Limits, replies: int) -> None:
    with ScriptedWire([call("double", n=1)] * replies) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go", settings=TurnSettings(limits=limits))

    assert (turn.stats.rounds, turn.end_reason) == (replies, "rounds" if limits.max_rounds == 3 else "repetition")
    assert len(turn.calls) == min(replies - 1, 3)
    assert turn.messages.chain[-1].calls == ()


def test_a_final_reply_that_only_calls_a_tool_is_requested_again_after_an_empty_reply_too() -> None:
    replies: list[ScriptedReply] = [call("double", n=1), "", call("double", n=2), "Two."]
    with ScriptedWire(replies) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go")

    assert [(prompt.is_final, bool(prompt.tools)) for prompt in wire.prompts] == [
        (False, True), (False, True), (True, True), (False, False)
    ]  # fmt: skip
    assert (turn.text, [record.result for record in turn.calls]) == ("Two.", [2])


def test_a_final_reply_that_is_cut_off_with_no_round_left_says_so() -> None:
    with ScriptedWire([call("double", n=1), ["The first half", cut_at_length()]]) as wire:
        turn = Chat(wire=wire, tools=[double], plugins=[Continuation()], max_rounds=2).send("Go")

    assert turn.text == "The first half"
    assert NO_REQUEST_LEFT in [event.text for event in turn.log if event.kind == "notice"]
    assert turn.messages.chain[-1].role == "assistant"


def cut_at_length() -> ReplyEnd:
    return ReplyEnd("length", "length")


@pytest.mark.promise("bounded")
@pytest.mark.parametrize("hook", ["on_turn_end", "clean-up"])
def test_the_seconds_of_a_turn_bound_its_end_too(hook: str) -> None:
    class Hanging:
        def on_turn_start(self, _: TurnContext) -> Any:
            return hang if hook == "clean-up" else None

    async def hang(*_: object) -> None:
        await asyncio.Event().wait()

    plugin = Hanging()
    if hook == "on_turn_end":
        plugin.on_turn_end = hang  # type: ignore[attr-defined]  # a hook may be any function
    turn = Chat(wire=ScriptedWire(["Hello"]), plugins=[plugin]).send(
        "Hi", settings=TurnSettings(limits=Limits(seconds=0.3))
    )

    assert turn.status == "timeout"
    assert "longer than 0.3 s" in str(turn.error)
    assert turn.stats.seconds < 30, "the hook never ends by itself"


def test_every_clean_up_runs_though_others_hang_or_fail() -> None:
    limits = Limits(hooks=HookSeconds(end=0.1))
    ran: list[str] = []

    class Cleaning:
        def __init__(self, name: str, fault: str) -> None:
            self.name, self.fault = name, fault

        def on_turn_start(self, _: TurnContext) -> Any:
            return self.clean_up

        async def clean_up(self) -> None:
            ran.append(self.name)
            if self.fault == "hangs":
                await asyncio.Event().wait()
            if self.fault:
                raise SystemExit

    plugins = [Cleaning("a", ""), Cleaning("b", "fails"), Cleaning("c", "hangs"), Cleaning("d", "")]
    turn = Chat(wire=ScriptedWire(["Hello"]), plugins=plugins).send("Hi", settings=TurnSettings(limits=limits))

    assert ran == ["d", "c", "b", "a"]
    assert turn.status == "error"
    assert len(turn.error.exceptions) == 2  # type: ignore[union-attr]  # a group, as the assertion says


def test_an_action_that_the_provider_asks_for_beside_calls_is_reported() -> None:
    reply = Reply(Message("assistant", [ToolCall("go", "{}")]), "tools", "completed", explanation="a computer")

    assert end_reason_of(reply) == "provider_action"
    assert end_reason_of(replace(reply, explanation="")) == ""
