from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.errors import BadUsage
from nbtool.events import ReplyEnd
from nbtool.messages import ToolCall
from nbtool.plugins.continuation import CONTINUE_PROMPT, STILL_TRUNCATED, Continuation
from nbtool.testing import ScriptedWire, call, thinking
from tests.chain.running import run

CUT_OFF = ReplyEnd("length", "length")


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


def test_a_reply_that_was_cut_off_is_continued_and_its_text_is_whole() -> None:
    with ScriptedWire([["To be or n", CUT_OFF], ["ot to", CUT_OFF], " be."]) as wire:
        turn = Chat(wire=wire, plugins=[Continuation()]).send("Say it.")

    assert turn.text == "To be or not to be."
    assert [message.text for message in wire.prompts[2].messages] == [
        "Say it.",
        "To be or n",
        CONTINUE_PROMPT,
        "ot to",
        CONTINUE_PROMPT,
    ]


def test_it_goes_on_so_often_and_no_more() -> None:
    ran = run([["a", CUT_OFF], ["b", CUT_OFF], ["c", CUT_OFF]], Continuation(max_times=2))

    assert ran.outcome.text == "abc"
    assert [event.text for event in ran.of("notice")] == [STILL_TRUNCATED.format(continuations="2 continuations")]


def test_a_call_in_a_reply_that_was_cut_off_is_answered_and_no_user_message_is_between() -> None:
    replies: list[Any] = [["Hm", ToolCall("double", '{"n": 1}'), CUT_OFF], call("double", n=1), "Done."]
    with ScriptedWire(replies) as wire:
        turn = Chat(wire=wire, tools=[double], plugins=[Continuation()]).send("Go.")

    assert [c.status for c in turn.calls] == ["not_run", "ok"]
    assert [m.role for m in wire.prompts[2].messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert turn.text == "Done."


def test_the_answer_after_a_continuation_that_led_to_calls_is_alone() -> None:
    with ScriptedWire([["I will", CUT_OFF], [" look.", call("double", n=1)], "It is 2."]) as wire:
        turn = Chat(wire=wire, tools=[double], plugins=[Continuation()]).send("Go.")

    assert turn.text == "It is 2."


def test_a_reply_of_thoughts_alone_is_not_continued() -> None:
    ran = run([[thinking("Hm"), CUT_OFF]], Continuation())

    assert (len(ran.wire.prompts), ran.outcome.text) == (1, "")


def test_two_turns_of_a_chat_do_not_run_into_each_other() -> None:
    with ScriptedWire([["One ", CUT_OFF], "two.", "Three."]) as wire:
        chat = Chat(wire=wire, plugins=[Continuation()])

        assert [chat.send("Go.").text, chat.send("Go.").text] == ["One two.", "Three."]


@pytest.mark.parametrize("times", [0, 21])
def test_a_number_that_makes_no_sense_is_refused(times: int) -> None:
    with pytest.raises(BadUsage, match="at least 1 and of at most 20"):
        Continuation(times)
