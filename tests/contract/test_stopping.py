"""A stop or an interrupt ends a turn and keeps what was received; every turn has bounds, and says which it reached."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
import threading
from typing import Any

import pytest

from nbtool import Approved, Chat, Turn, tool
from nbtool.errors import LimitReached, ReplyTooLarge
from tests.contract.dialects import Answer
from tests.contract.simulator import WAIT_SECONDS, Body, Provider, call, held
from tests.contract.tools import wait_for_end

RECEIVED = "The first half and the s"
"""What a held reply sends before its gate."""


def stop_in_reply(model: Provider, **settings: Any) -> tuple[Chat, Turn]:
    """Stop a turn once the first half of its reply has been received."""
    received: list[str] = []
    has_received = threading.Event()

    class Listener:
        def on_event(self, context: Any) -> None:
            received.append(getattr(context.event, "text", ""))
            if "".join(received) == RECEIVED:
                has_received.set()

    model.say(held("The first half and the second half."))
    chat = model.chat(plugins=[Listener()], **settings)
    turn = chat.start("Tell me.")
    assert has_received.wait(WAIT_SECONDS), received
    turn.cancel()
    return chat, asyncio.run(wait_for_end(turn))


@pytest.mark.promise("stops")
def test_a_stop_in_a_reply_keeps_what_was_received(model: Provider) -> None:
    _, turn = stop_in_reply(model)

    assert (turn.status, turn.text) == ("cancelled", RECEIVED)


@pytest.mark.promise("stops")
@pytest.mark.parametrize("history", ["compact", "native", "results", "text"])
def test_a_stopped_reply_is_sent_with_the_next_prompt_and_a_note(model: Provider, history: Any) -> None:
    chat, _ = stop_in_reply(model, history=history)
    model.say("Hello.")

    chat.send("Hello?")

    _, reply, prompt = model.requests[1].json["messages"]
    text, note = reply["content"].split("\n\n")
    assert (reply["role"], text, prompt["content"]) == ("assistant", RECEIVED, "Hello?")
    assert all(word in note for word in ("[nbtool]", "user", "stopped"))


@pytest.mark.promise("stops")
def test_a_chat_that_sends_no_history_sends_nothing_of_a_stopped_reply(model: Provider) -> None:
    chat, _ = stop_in_reply(model, history="none")
    model.say("Hello.")

    chat.send("Hello?")

    assert RECEIVED[:9] not in model.requests[1].text


@pytest.mark.promise("stops")
def test_a_stop_while_a_question_waits_runs_nothing(model: Provider, pay: Any, paid: list[Any]) -> None:
    is_asked = threading.Event()

    async def wait_for_a_person(question: Any) -> Approved:
        is_asked.set()
        await asyncio.Event().wait()
        return Approved()

    model.say(call("pay", amount=1))
    turn = model.chat(tools=[pay], approver=wait_for_a_person).start("Pay.")
    assert is_asked.wait(WAIT_SECONDS)

    turn.cancel()
    asyncio.run(wait_for_end(turn))

    assert (turn.status, paid) == ("cancelled", [])
    assert turn.calls[0].status == "cancelled"


@pytest.mark.promise("stops")
def test_a_stop_ends_an_asynchronous_tool(model: Provider) -> None:
    has_started, ends = threading.Event(), []

    @tool(run="auto")
    async def wait() -> str:
        "Wait."
        has_started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("stopped")
        return "waited"

    model.say(call("wait"))
    turn = model.chat(tools=[wait]).start("Wait.")
    assert has_started.wait(WAIT_SECONDS)

    turn.cancel()
    asyncio.run(wait_for_end(turn))

    assert (turn.status, turn.calls[0].status, ends) == ("cancelled", "cancelled", ["stopped"])


@pytest.mark.promise("stops")
def test_a_stop_abandons_a_tool_that_cannot_be_stopped_and_says_so(model: Provider) -> None:
    has_started, is_over = threading.Event(), threading.Event()

    @tool(run="auto", thread=True)
    def block() -> str:
        "Block."
        has_started.set()
        is_over.wait(WAIT_SECONDS)
        return "done"

    model.say(call("block"))
    turn = model.chat(tools=[block]).start("Block.")
    assert has_started.wait(WAIT_SECONDS)

    turn.cancel()
    try:
        asyncio.run(wait_for_end(turn))
        assert turn.status == "cancelled"
        assert turn.calls[0].status == "unknown"
    finally:
        is_over.set()


@pytest.mark.promise("stops")
def test_an_interrupt_ends_the_turn_and_reaches_the_caller(model: Provider) -> None:
    @tool(run="auto")
    def interrupt() -> str:
        "Interrupt."
        signal.raise_signal(signal.SIGINT)
        return "went on"

    model.say(call("interrupt"))
    chat = model.chat(tools=[interrupt])

    with pytest.raises(KeyboardInterrupt):
        chat.send("Interrupt it.")

    assert len(model.requests) == 1


@pytest.mark.promise("stops")
def test_an_interrupt_that_a_tool_catches_is_the_tools(model: Provider) -> None:
    @tool(run="auto")
    def interrupt() -> str:
        "Interrupt."
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return "caught"
        return "went on"

    model.say(call("interrupt"), "Fine.")

    turn = model.chat(tools=[interrupt]).send("Interrupt it.")

    assert (turn.status, turn.calls[0].result) == ("completed", "caught")


@pytest.mark.promise("stops")
def test_after_a_stop_the_chat_goes_on(model: Provider) -> None:
    reply = held("A long story.")
    model.say(reply, "Hello.")
    chat = model.chat()
    turn = chat.start("Tell me.")
    reply.wait()
    turn.cancel()
    asyncio.run(wait_for_end(turn))

    assert chat.send("Hello?").text == "Hello."


@pytest.mark.promise("stops")
def test_the_plugins_of_a_stopped_turn_are_called_at_its_end(model: Provider) -> None:
    ends: list[str] = []

    class Listener:
        def on_turn_start(self, context: Any) -> Any:
            return lambda: ends.append("clean-up")

        def on_turn_end(self, context: Any) -> None:
            ends.append("end")

    reply = held("A long story.")
    model.say(reply)
    turn = model.chat(plugins=[Listener()]).start("Tell me.")
    reply.wait()
    turn.cancel()
    asyncio.run(wait_for_end(turn))

    assert ends == ["end", "clean-up"]


@pytest.mark.promise("bounded")
def test_a_turn_has_a_limit_of_rounds_and_says_that_it_was_reached(model: Provider) -> None:
    @tool(run="auto")
    def step(n: int) -> int:
        "Make a step."
        return n + 1

    counter = iter(range(100))
    model.always(
        lambda request: call("step", n=next(counter)) if request.json.get("tool_choice") != "none" else "Enough."
    )

    turn = model.chat(tools=[step], max_rounds=4).send("Go on.")

    assert (turn.stats.rounds, len(model.requests), turn.text) == (4, 4, "Enough.")
    assert any("max_rounds" in notice.text for notice in turn.notices)


@pytest.mark.promise("bounded")
def test_a_turn_has_a_limit_of_calls(model: Provider) -> None:
    ran = []

    @tool(run="auto")
    def step(n: int) -> int:
        "Make a step."
        ran.append(n)
        return n + 1

    model.say([call("step", n=n) for n in range(9)], "Enough.")

    turn = model.chat(tools=[step], max_calls=5).send("Go on.")

    assert len(ran) == 5
    assert len(turn.calls) == 9
    assert {one.status for one in turn.calls} == {"ok", "not_run"}


@pytest.mark.promise("bounded")
def test_the_same_calls_with_the_same_results_end_a_turn(model: Provider) -> None:
    @tool(run="auto")
    def look() -> str:
        "Look."
        return "nothing"

    model.always(lambda request: call("look") if request.json.get("tool_choice") != "none" else "Nothing is there.")

    turn = model.chat(tools=[look], max_rounds=50).send("Look until something is there.")

    assert turn.status == "completed"
    assert turn.stats.rounds < 10


@pytest.mark.promise("bounded")
def test_a_tool_has_its_own_time_limit(model: Provider) -> None:
    @tool(run="auto", timeout=0.05)
    async def wait() -> str:
        "Wait."
        await asyncio.Event().wait()
        return "waited"

    model.say(call("wait"), "It took too long.")

    turn = model.chat(tools=[wait]).send("Wait.")

    assert (turn.status, turn.calls[0].status) == ("completed", "timed_out")
    assert "0.05" in model.requests[1].text


@pytest.mark.promise("bounded")
def test_a_turn_has_a_limit_of_seconds(model: Provider) -> None:
    model.say(held("never"))
    chat = model.chat()
    chat.limits = dataclasses.replace(chat.limits, seconds=0.3)

    turn = chat.send("Tell me.")

    assert turn.status == "timeout"
    assert isinstance(turn.error, LimitReached)


@pytest.mark.promise("bounded")
def test_a_turn_has_a_limit_of_tokens_that_is_checked_before_each_request(model: Provider) -> None:
    @tool(run="auto")
    def step() -> str:
        "Make a step."
        return "made"

    model.say(Answer("", (call("step"),), input_tokens=90_000))
    chat = model.chat(tools=[step])
    chat.limits = dataclasses.replace(chat.limits, tokens=50_000)

    turn = chat.send("Go on.")

    assert len(model.requests) == 1
    assert isinstance(turn.error, LimitReached)


@pytest.mark.promise("bounded")
def test_a_reply_without_an_end_does_not_fill_the_memory(model: Provider) -> None:

    model.say(Body(b"data: " + b"x" * (80 * 1024 * 1024)))

    turn = model.chat().send("Tell me.")

    assert isinstance(turn.error, ReplyTooLarge)


@pytest.mark.promise("bounded")
def test_a_hook_that_hangs_ends_the_turn(model: Provider) -> None:
    class Slow:
        hook_seconds = 0.05

        async def on_before_request(self, context: Any) -> None:
            await asyncio.Event().wait()

    turn = model.chat(plugins=[Slow()]).send("Tell me.")

    assert turn.status == "error"
    assert "Slow" in str(turn.error)
    assert model.requests == []
