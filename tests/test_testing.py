from __future__ import annotations

import asyncio
import doctest
from contextlib import aclosing

import pytest

from nbtool import testing
from nbtool.errors import ConnectionFailed, ServerOverloaded
from nbtool.events import CallDelta, Delta, ReplyEnd, TextDelta, UsageDelta
from nbtool.messages import Media, ToolCall, Usage, results, user
from nbtool.messages import ToolResult as Result
from nbtool.testing import ScriptedApprover, ScriptedWire, ScriptError, call, cut, play, say, thinking
from nbtool.tools.approval import Approved, Decision, Denied, Question, Released, Withheld
from nbtool.wire.base import Endpoint, Prompt, ToolSpec

HELLO = Prompt((user("Hello"),))


def question(tool: str = "price", gate: str = "run", shown: str = "{}") -> Question:
    return Question("c1", "run" if gate == "run" else "result", "digest", tool, shown)


def deltas_of(wire: Endpoint) -> list[Delta]:
    async def read() -> list[Delta]:
        return [delta async for delta in wire.stream(HELLO)]

    return asyncio.run(read())


def test_the_examples_in_the_docstrings_hold() -> None:
    outcome = doctest.testmod(testing)

    assert outcome.attempted >= 8
    assert outcome.failed == 0


def test_replies_come_in_order_and_the_prompts_are_kept() -> None:
    with ScriptedWire(["One.", say("Two.")]) as wire:
        said = [play(wire, HELLO).text, play(wire, Prompt((user("Again"),))).text]

    assert said == ["One.", "Two."]
    assert [prompt.messages[-1].text for prompt in wire.prompts] == ["Hello", "Again"]


def test_a_reply_is_complete_and_comes_in_several_deltas() -> None:
    deltas = deltas_of(ScriptedWire(["A text of some length."]))

    assert len([delta for delta in deltas if isinstance(delta, TextDelta)]) > 2
    assert deltas[-1] == ReplyEnd("end", "stop")


def test_thinking_prose_and_calls_come_in_the_order_of_the_list() -> None:
    wire = ScriptedWire([[thinking("Hm."), "I look.", call("price", ticker="A"), call("price", ticker="B")]])

    reply = play(wire, HELLO)

    assert [part.kind for part in reply.message.parts] == ["thinking", "text", "call", "call"]
    assert [one.args for one in reply.calls] == [{"ticker": "A"}, {"ticker": "B"}]
    assert all(one.runnable for one in reply.calls)
    assert reply.stop_reason == "tools"


def test_a_tool_may_have_an_argument_called_name() -> None:
    assert play(ScriptedWire([call("greet", name="Ada")]), HELLO).calls[0].args == {"name": "Ada"}


def test_broken_arguments_stay_broken() -> None:
    reply = play(ScriptedWire([ToolCall("price", '{"ticker": ')]), HELLO)

    assert reply.complete
    assert not reply.calls[0].runnable
    assert reply.calls[0].arguments == '{"ticker": '


def test_a_cut_reply_has_no_end_and_its_calls_do_not_run() -> None:
    reply = play(ScriptedWire([["So far", call("price", ticker="A"), cut(), " and never this"]]), HELLO)

    assert not reply.complete
    assert reply.text == "So far"
    assert not reply.calls[0].runnable


def test_an_error_is_raised_at_its_place() -> None:
    wire = ScriptedWire([["So far", ServerOverloaded("Come back later.")], ConnectionFailed("Gone.")])
    seen: list[Delta] = []

    async def read() -> None:
        async for delta in wire.stream(HELLO):
            seen.append(delta)

    with pytest.raises(ServerOverloaded, match="Come back later"):
        asyncio.run(read())
    with pytest.raises(ConnectionFailed, match="Gone"):
        asyncio.run(read())

    assert seen == [TextDelta("So far")]
    wire.assert_done()


def test_deltas_pass_as_they_are_and_the_script_keeps_its_own() -> None:
    scripted = [UsageDelta(Usage(10, 2)), CallDelta("k", "id1", "price", "{}"), ReplyEnd("length", "length")]
    wire = ScriptedWire([scripted, scripted])

    first, second = deltas_of(wire), deltas_of(wire)

    assert first == second == scripted
    assert all(given is not stored for given, stored in zip(first[:2], scripted, strict=False))


def test_a_reply_may_be_made_from_the_prompt() -> None:
    wire = ScriptedWire([lambda prompt: [thinking("It said"), prompt.messages[-1].text.upper()]])

    assert play(wire, HELLO).text == "HELLO"


def test_an_unexpected_request_says_what_came_and_is_remembered() -> None:
    wire = ScriptedWire(["One."])
    play(wire, HELLO)
    prompt = Prompt((user("Hello"), results(Result("price", "10"))), tools=(ToolSpec("price", "", {}),))

    with pytest.raises(ScriptError) as error:
        play(wire, prompt)
    with pytest.raises(ScriptError, match="no more than 1 replies"):
        wire.assert_done()

    assert "a request that ends with tool '10', tools: price" in str(error.value)


def test_a_long_prompt_is_cut_in_the_error() -> None:
    with pytest.raises(ScriptError) as error:
        play(ScriptedWire([]), Prompt((user("x" * 10_000),)))

    assert len(str(error.value)) < 300


def test_a_reply_that_nobody_asked_for_is_an_error_at_the_end() -> None:
    complaint = r"Expected 2 replies .* 1 were\. Next in the script: 'Two\.'"

    with pytest.raises(ScriptError, match=complaint), ScriptedWire(["One.", "Two."]) as wire:
        play(wire, HELLO)


def test_an_error_inside_the_block_is_not_covered_up_by_what_is_left() -> None:
    with pytest.raises(ZeroDivisionError), ScriptedWire(["Never."]):
        raise ZeroDivisionError


def test_what_no_model_can_say_is_an_error() -> None:
    wire = ScriptedWire([[Media("image/png", b"")]])

    with pytest.raises(ScriptError, match="a reply of a model"):
        play(wire, HELLO)
    with pytest.raises(ScriptError):
        wire.assert_done()


def test_a_reply_that_is_closed_early_is_taken() -> None:
    wire = ScriptedWire(["A text of some length."])

    async def preview() -> Delta:
        async with aclosing(wire.stream(HELLO)) as deltas:  # type: ignore[type-var]  # it is a generator
            return await anext(deltas)

    assert asyncio.run(preview()) == TextDelta("A text")
    wire.assert_done()


def test_decisions_come_in_order_by_ask_or_by_call() -> None:
    decisions: list[Decision] = [Approved(), Denied("no"), Released("…"), Withheld("secret")]
    gates = ["run", "run", "result", "result"]

    with ScriptedApprover(decisions) as approver:
        given = [approver.ask(question(gate=gates[0])), *(approver(question(gate=gate)) for gate in gates[1:])]

    assert given == decisions
    assert [asked.gate for asked in approver.questions] == gates


def test_a_decision_may_be_made_from_the_question_or_be_an_error() -> None:
    approver = ScriptedApprover([lambda asked: Denied(asked.tool), KeyboardInterrupt()])

    assert approver.ask(question("sell")) == Denied("sell")
    with pytest.raises(KeyboardInterrupt):
        approver.ask(question())


def test_a_question_about_another_tool_is_an_error() -> None:
    approver = ScriptedApprover([("price", Approved())])

    with pytest.raises(
        ScriptError, match="Expected a question about 'price' as number 1, but got the run gate of 'sell'"
    ):
        approver.ask(question("sell"))
    with pytest.raises(ScriptError, match="about 'price'"):
        approver.assert_done()


def test_a_decision_for_the_other_gate_is_an_error() -> None:
    approver = ScriptedApprover([Approved()])

    with pytest.raises(ScriptError, match=r"Approved\(.*\) answers, but got the result gate of 'price': 10"):
        approver.ask(question(gate="result", shown="10"))


def test_an_unexpected_question_and_an_unused_decision_are_errors() -> None:
    with pytest.raises(ScriptError, match=r"no more than 0 decisions .* the run gate of 'price'"):
        ScriptedApprover([]).ask(question())
    with pytest.raises(ScriptError, match="1 decisions to be requested, but 0 were"):
        ScriptedApprover([Approved()]).assert_done()


def test_a_scripted_wire_is_an_endpoint() -> None:
    endpoint: Endpoint = ScriptedWire(["Hello."], host="here", model="tiny")

    assert (endpoint.host, endpoint.model) == ("here", "tiny")
    assert play(endpoint, HELLO).text == "Hello."
