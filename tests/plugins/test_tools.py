from __future__ import annotations

import asyncio
import threading
from typing import Any

from nbtool import Chat, tool
from nbtool.chain.hooks import CallContext, CallsContext
from nbtool.chain.limits import Limits
from nbtool.chat.chat import TurnSettings
from nbtool.chat.turn import Turn
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedWire, call


def told(turn: Turn) -> list[str]:
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
        return "slow" if first_may_end.wait(10) else "never"

    @tool(run="auto")
    async def quick() -> str:
        "Let the other go."
        first_may_end.set()
        return "quick"

    with ScriptedWire([[call("slow"), call("quick")], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[slow, quick]).send("Go")

    assert told(turn) == ["slow", "quick"]
    assert [c.name for c in turn.calls] == ["slow", "quick"]


def test_a_failed_call_touches_no_sibling() -> None:
    @tool(run="auto")
    def broken() -> None:
        "Break."
        raise ValueError("oh")

    with ScriptedWire([[call("broken"), call("double", n=4)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[broken, double]).send("Go")

    assert [c.status for c in turn.calls] == ["error", "ok"]
    assert told(turn)[1] == "8"


def test_calls_over_the_limit_are_answered_and_do_not_run() -> None:
    settings = TurnSettings(limits=Limits(max_calls=2))
    with ScriptedWire([[call("double", n=n) for n in range(3)], "I was stopped."]) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go", settings=settings)

    assert [c.status for c in turn.calls] == ["ok", "ok", "not_run"]
    assert "limit of 2 tool calls" in told(turn)[2]
    assert wire.prompts[-1].tools == ()


def test_a_call_that_is_not_json_is_an_answer_and_never_an_empty_call() -> None:
    with ScriptedWire([ToolCall("double", '{"n": '), "Sorry."]) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go")

    assert turn.calls[0].status == "invalid"
    assert "not JSON" in told(turn)[0]


def test_the_same_calls_with_the_same_results_are_stopped() -> None:
    with ScriptedWire([call("double", n=1)] * 3 + ["Enough."]) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go")

    assert turn.text == "Enough."
    assert len(turn.calls) == 3


def test_watchers_hear_of_calls_whatever_becomes_of_them() -> None:
    heard: list[Any] = []

    class Watching:
        def on_before_calls(self, calls: CallsContext) -> None:
            heard.append([c.name for c in calls.calls])

        async def on_call_start(self, call: CallContext) -> None:
            heard.append(("start", call.call.name, call.record))

        def on_call_end(self, call: CallContext) -> None:
            heard.append(("end", call.record.status))

    with ScriptedWire([call("nothing"), "Sorry."]) as wire:
        Chat(wire=wire, tools=[double], plugins=[Watching()]).send("Go")

    assert heard == [["nothing"], ("start", "nothing", None), ("end", "not_found")]


def test_cancelling_answers_every_call_and_waits_for_what_ran() -> None:
    ended: list[str] = []

    @tool(run="auto")
    async def endless() -> None:
        "Never end."
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("drained")

    async def main() -> Turn:
        turn = Chat(wire=ScriptedWire([[call("endless"), call("endless")]]), tools=[endless]).start("Go")
        started = 0
        async for event in turn:
            started += event.kind == "call_started"
            if started == 2:
                turn.cancel()
        return turn

    turn = asyncio.run(main())

    assert turn.status == "cancelled"
    assert ended == ["drained", "drained"]
    assert [c.status for c in turn.calls] == ["cancelled", "cancelled"]
    assert len(turn.messages.chain[-1].results) == 2


def test_the_tools_keep_their_order_from_request_to_request() -> None:
    with ScriptedWire([call("double", n=1), "Done."]) as wire:
        Chat(wire=wire, tools=[double]).send("Go")

    first, second = ([spec.name for spec in prompt.tools] for prompt in wire.prompts)
    assert first == second == ["double", "ListVars", "ReadVar"]
