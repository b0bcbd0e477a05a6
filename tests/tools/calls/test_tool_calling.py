from __future__ import annotations

import asyncio
import threading
from typing import Any

from nbtool import Chat, Denied, tool
from nbtool.chain.hooks import CallContext, CallsContext
from nbtool.chain.limits import Limits
from nbtool.chat.chat import TurnSettings
from nbtool.chat.turn import Turn
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedWire, call


def result_texts(turn: Turn) -> list[str]:
    """Give the results that the model was told, in order."""
    return [result.text for message in turn.messages.chain for result in message.results]


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


def test_several_calls_of_a_round_are_answered_in_the_order_asked_for() -> None:
    first_may_end = threading.Event()

    @tool(run="auto", thread=True)
    def slow() -> str:
        "Wait for the other."
        return "slow" if first_may_end.wait(240) else "never"

    @tool(run="auto")
    async def quick() -> str:
        "Let the other go."
        first_may_end.set()
        return "quick"

    with ScriptedWire([[call("slow"), call("quick")], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[slow, quick]).send("Go")

    assert result_texts(turn) == ["slow", "quick"]
    assert [c.name for c in turn.calls] == ["slow", "quick"]


def test_a_failed_call_touches_no_sibling() -> None:
    @tool(run="auto")
    def broken() -> None:
        "Break."
        raise ValueError("oh")

    with ScriptedWire([[call("broken"), call("double", n=4)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[broken, double]).send("Go")

    assert [c.status for c in turn.calls] == ["error", "ok"]
    assert result_texts(turn)[1] == "8"


def test_calls_over_the_limit_are_answered_and_do_not_run() -> None:
    settings = TurnSettings(limits=Limits(max_calls=2))
    with ScriptedWire([[call("double", n=n) for n in range(3)], "I was stopped."]) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go", settings=settings)

    assert [c.status for c in turn.calls] == ["ok", "ok", "not_run"]
    assert "limit of 2 tool calls" in result_texts(turn)[2]
    assert [prompt.is_final for prompt in wire.prompts] == [False, True]


def test_a_call_that_is_not_json_is_an_answer_and_never_an_empty_call() -> None:
    with ScriptedWire([ToolCall("double", '{"n": '), "Sorry."]) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go")

    assert turn.calls[0].status == "invalid"
    assert "not JSON" in result_texts(turn)[0]


def test_the_same_calls_with_the_same_results_are_stopped() -> None:
    with ScriptedWire([call("double", n=1)] * 3 + ["Enough."]) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go")

    assert turn.text == "Enough."
    assert len(turn.calls) == 3


def test_watchers_receive_calls_whatever_becomes_of_them() -> None:
    received: list[Any] = []

    class Watching:
        def on_before_calls(self, calls: CallsContext) -> None:
            received.append([c.name for c in calls.calls])

        async def on_call_start(self, call: CallContext) -> None:
            received.append(("start", call.call.name, call.record))

        def on_call_end(self, call: CallContext) -> None:
            received.append(("end", call.record.status))

    with ScriptedWire([call("nothing"), "Sorry."]) as wire:
        Chat(wire=wire, tools=[double], plugins=[Watching()]).send("Go")

    assert received == [["nothing"], ("start", "nothing", None), ("end", "not_found")]


def test_cancelling_answers_every_call_and_waits_for_what_ran() -> None:
    starts, ended = threading.Semaphore(0), list[str]()

    @tool(run="auto")
    async def endless() -> None:
        "Never end."
        starts.release()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("drained")

    turn = Chat(wire=ScriptedWire([[call("endless"), call("endless")]]), tools=[endless]).start("Go")
    for _ in range(2):
        assert starts.acquire(timeout=240)
    turn.cancel()
    turn.done.result(240)

    assert turn.status == "cancelled"
    assert ended == ["drained", "drained"]
    assert [c.status for c in turn.calls] == ["cancelled", "cancelled"]
    assert len(turn.messages.chain[-1].results) == 2


def test_a_turn_may_use_the_tools_that_were_chosen_for_it_and_no_others() -> None:
    @tool(run="auto")
    def other() -> str:
        "Another one."
        return "ran"

    with ScriptedWire([[call("double", n=1), call("other")], "Done."]) as wire:
        chat = Chat(wire=wire, tools=[double, other])
        chat.choose_tools = lambda turn: ["double"] if "only" in turn.prompt.text else ["other"]
        turn = chat.send("only this one")

    assert [spec.name for spec in wire.prompts[0].tools] == ["double"]
    assert [c.status for c in turn.calls] == ["ok", "not_found"]


def test_the_words_for_an_outcome_can_be_ones_own() -> None:
    @tool
    def asking() -> str:
        "Ask."
        return "never"

    with ScriptedWire([call("asking"), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[asking], approver=lambda _: Denied("not now"))
        chat.call_texts = {"denied": "{name} is off today: {reason}."}
        turn = chat.send("Go")

    assert result_texts(turn) == ["asking is off today: not now."]
    assert turn.calls[0].reason == "not now"


def test_a_failure_of_a_call_names_its_phase() -> None:
    @tool(run="auto")
    def broken(n: int) -> None:
        "Break."
        raise ValueError(n)

    with ScriptedWire([[call("broken", n=1), call("broken", n="x"), call("nothing")], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[broken]).send("Go")

    phases = [event.phase for event in turn.log if event.kind == "error_raised"]
    assert sorted(phases) == ["arguments", "arguments", "tool"]
    assert turn.status == "completed"


def test_long_results_that_are_the_same_are_seen_as_the_same() -> None:
    @tool(run="auto")
    def long() -> str:
        "Give much."
        return "x" * 20_000

    with ScriptedWire([call("long")] * 3 + ["Enough."]) as wire:
        turn = Chat(wire=wire, tools=[long]).send("Go")

    assert (turn.text, len(turn.calls)) == ("Enough.", 3)


def test_the_tools_keep_their_order_from_request_to_request() -> None:
    with ScriptedWire([call("double", n=1), "Done."]) as wire:
        Chat(wire=wire, tools=[double]).send("Go")

    first, second = ([spec.name for spec in prompt.tools] for prompt in wire.prompts)
    assert first == second == ["double", "ListVars", "ReadVar"]
