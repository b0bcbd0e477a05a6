"""What other chats got wrong, each as one test whose name says how it is right."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.chain.cancel_signal import CancelSignal
from nbtool.chain.hooks import ReplyContext, RequestContext, StreamContext
from nbtool.chain.limits import Limits
from nbtool.chat.chat import TurnSettings, wait_for_turn
from nbtool.chat.turn import Turn
from nbtool.errors import HookFailed, InvalidReply
from nbtool.events import CallDelta, MediaDelta, ReplyEnd, UsageDelta
from nbtool.messages import Media, ToolCall, Usage
from nbtool.testing import ScriptedApprover, ScriptedWire, call, cut, say
from nbtool.tools.approval import Question
from nbtool.wire.base import Target
from nbtool.wire.dialects.chat_completions.encoder import ChatCompletions
from tests.chain.running import run

ran: list[int] = []


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    ran.append(n)
    return 2 * n


@tool(run="auto")
def echo(text: str) -> str:
    "Say it again."
    return text


@tool
def delete(name: str) -> str:
    "Delete something."
    return f"deleted {name}"


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


def send(*replies: Any, plugins: tuple[object, ...] = (), **how: Any) -> Turn:
    with ScriptedWire(replies) as wire:
        return Chat(wire=wire, tools=[double, echo, delete], plugins=plugins, **how).send("Go.")


# --- hooks ----------------------------------------------------------------------------------------------------


def test_when_one_plugin_fails_after_a_reply_nothing_of_the_others_outlives_the_round() -> None:
    diary: list[str] = []

    class Slow:
        async def on_after_request(self, _: ReplyContext) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                diary.append("ended")

        def on_turn_start(self, _: object) -> Any:
            return lambda: diary.append("clean-up")

    class Failing:
        async def on_after_request(self, _: ReplyContext) -> None:
            raise ValueError("oh")

    outcome = run(["Hi."], Slow(), Failing()).outcome

    assert outcome.status == "error"
    assert diary == ["ended", "clean-up"]


@pytest.mark.parametrize("hook", ["on_before_request", "on_after_request", "on_message_append"])
def test_a_genuine_error_beside_a_cancel_is_not_hidden(hook: str) -> None:
    signal = CancelSignal()

    def stop_and_fail(_: object) -> None:
        signal.cancel()
        raise ValueError("a defect")

    plugin = type("Faulty", (), {})()
    setattr(plugin, hook, stop_and_fail)
    outcome = run(["Hi."], plugin, cancel=signal).outcome

    assert outcome.status == "cancelled"
    assert isinstance(outcome.error, HookFailed)
    assert isinstance(outcome.error.__cause__, ValueError)


def test_what_a_provider_wants_back_is_sent_back_within_the_turn() -> None:
    payload = {"role": "assistant", "content": "", "reasoning_details": [{"signature": "c2ln"}]}
    with ScriptedWire([[call("double", n=1), ReplyEnd("tools", "tool_calls", native=payload)], "Done."]) as wire:
        Chat(wire=wire, tools=[double]).send("Go.")

    native = wire.prompts[1].messages[1].native
    assert native
    assert native.payload == payload


def test_an_id_or_name_that_is_repeated_with_every_fragment_is_kept_once() -> None:
    fragments = [CallDelta("0", "id1", "double", '{"n"'), CallDelta("0", "id1", "double", ": 4}")]

    turn = send(fragments, "Done.")

    assert [(c.name, c.arguments) for c in turn.calls] == [("double", '{"n": 4}')]
    assert turn.messages.chain[0].calls[0].id == "id1"


def test_calls_run_though_the_provider_says_stop() -> None:
    turn = send([call("double", n=4), ReplyEnd("end", "stop")], "Done.")

    assert turn.calls[0].result == 8


def test_a_plugin_that_empties_a_request_leaves_the_kept_messages_alone() -> None:
    class Emptying:
        def on_before_request(self, request: RequestContext) -> None:
            request.messages.clear()

    turn = send("Hi.", plugins=(Emptying(),))

    assert [message.text for message in turn.messages.complete] == ["Go.", "Hi."]


# --- calls ----------------------------------------------------------------------------------------------------


def test_calls_with_the_same_id_in_every_round_keep_their_own_results() -> None:
    replies = [ToolCall("double", json.dumps({"n": n}), id="call_0") for n in (1, 2)]

    turn = send(*replies, "Done.")

    assert [(c.arguments, c.result) for c in turn.calls] == [('{"n": 1}', 2), ('{"n": 2}', 4)]
    assert len({c.call_id for c in turn.calls}) == 2
    assert [r.text for m in turn.messages.chain for r in m.results] == ["2", "4"]


def test_calls_with_the_same_id_in_one_round_are_distinguished() -> None:
    replies = [ToolCall("double", json.dumps({"n": n}), id="call_0") for n in (1, 2)]

    turn = send(replies, "Done.")

    ids = [r.id for m in turn.messages.chain for r in m.results]
    assert len(set(ids)) == 2
    assert ids == [c.id for c in turn.messages.chain[0].calls]


def test_every_result_names_its_tool() -> None:
    turn = send([call("double", n=1), call("missing")], "Done.")

    assert [r.name for r in turn.messages.chain[1].results] == ["double", "missing"]


def test_a_call_whose_arguments_cannot_be_read_is_in_the_log_as_any_other() -> None:
    turn = send(ToolCall("double", '{"n": '), "Sorry.")

    assert [(c.status, c.arguments) for c in turn.calls] == [("invalid", '{"n": ')]
    assert 'Arguments: {"n": ' in turn.natural_flow
    assert ran == []


def test_all_pieces_that_a_tool_gives_on_the_way_are_reported() -> None:
    @tool(run="auto")
    def steps() -> Any:
        "Go step by step."
        yield "first"
        yield {"second": 2}

    with ScriptedWire([call("steps"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[steps]).send("Go.")

    shown = "".join(getattr(event, "text", "") for event in turn.log if event.kind == "call_progress")
    assert "first" in shown + turn.calls[0].shown
    assert "second" in shown + turn.calls[0].shown


# --- stopping -------------------------------------------------------------------------------------------------


def test_after_a_stop_the_other_calls_of_the_round_do_not_run() -> None:
    @tool(run="auto")
    def stop() -> str:
        "Stop everything."
        turn.cancel()
        return "stopped"

    wire = ScriptedWire([[call("stop"), call("double", n=1), call("double", n=2)]])
    turn = Chat(wire=wire, tools=[stop, double]).compose("Go.")
    wait_for_turn(turn)

    assert turn.status == "cancelled"
    assert ran == []
    assert len(turn.messages.chain[-1].results) == 3


def test_after_an_interrupt_the_other_calls_of_the_round_do_not_run() -> None:
    @tool(run="auto")
    def interrupted() -> None:
        "Be interrupted by the person."
        raise KeyboardInterrupt

    wire = ScriptedWire([[call("interrupted"), call("double", n=1), call("double", n=2)]])
    turn = Chat(wire=wire, tools=[interrupted, double]).compose("Go.")
    with pytest.raises(KeyboardInterrupt):
        wait_for_turn(turn)

    assert turn.status == "cancelled"
    assert ran == []


def test_an_interrupted_tool_stops_the_turn_before_its_caller_does() -> None:
    @tool(run="auto")
    def interrupted() -> None:
        "Be interrupted by the person."
        raise KeyboardInterrupt

    wire = ScriptedWire([[call("interrupted"), call("double", n=1)]])
    turn = Chat(wire=wire, tools=[interrupted, double]).compose("Go.")
    with pytest.raises(KeyboardInterrupt):
        turn.caller_thread.run_until(turn.done, on_start=turn.start)
    turn.caller_thread.run_until(turn.done)

    assert (turn.status, turn.error) == ("cancelled", None)


def test_calls_of_a_reply_that_was_stopped_in_the_middle_do_not_run() -> None:
    class Stopping:
        async def on_stream_data(self, context: StreamContext) -> None:
            if isinstance(context.delta, ReplyEnd):
                context.turn.cancel.cancel()
                await asyncio.Event().wait()

    turn = send(call("double", n=1), plugins=(Stopping(),))

    assert turn.status == "cancelled"
    assert ran == []
    assert turn.calls == []


def test_a_reply_that_breaks_off_after_its_calls_runs_none_of_them() -> None:
    turn = send([call("double", n=1), cut()])

    assert (turn.status, ran) == ("error", [])


def test_a_stop_ends_the_wait_for_an_approval() -> None:
    async def main() -> Turn:
        asked = asyncio.Event()

        async def ask(_: Question) -> None:
            asked.set()

        turn = Chat(wire=ScriptedWire([call("delete", name="x")]), tools=[delete], approver=ask).start("Go.")
        async for event in turn:
            if event.kind == "call_asked":
                turn.cancel()
        return turn

    turn = asyncio.run(main())

    assert turn.status == "cancelled"
    assert turn.calls[0].status in ("cancelled", "denied")


def test_a_cancelled_call_is_answered_with_words() -> None:
    @tool(run="auto")
    async def endless() -> None:
        "Never end."
        await asyncio.Event().wait()

    async def main() -> Turn:
        turn = Chat(wire=ScriptedWire([call("endless")]), tools=[endless]).start("Go.")
        async for event in turn:
            if event.kind == "call_started":
                turn.cancel()
        return turn

    turn = asyncio.run(main())

    assert [r.text for r in turn.messages.chain[-1].results] == [turn.calls[0].shown]
    assert "stopped while it ran" in turn.calls[0].shown


@pytest.mark.parametrize("how", ["cancelled", "error"])
def test_what_was_done_before_a_turn_broke_off_is_kept_and_sent_with_the_next_one(how: str) -> None:
    class Stopping:
        async def on_before_request(self, request: RequestContext) -> None:
            if request.round == 2:
                request.turn.cancel.cancel()
                await asyncio.Event().wait()

    plugins = [Stopping()] if how == "cancelled" else []
    replies: list[Any] = [["Looking.", call("double", n=4)], *([] if plugins else [InvalidReply("HTML")]), "Again."]
    with ScriptedWire(replies) as wire:
        chat = Chat(wire=wire, tools=[double], plugins=plugins)
        first = chat.send("Go.")
        chat.plugins.clear()
        chat.send("Go on.")

    assert first.status == how
    assert (first.calls[0].result, first.stats.calls, first.text) == (8, 1, "Looking.")
    assert "`double`" in wire.prompts[-1].messages[1].text


# --- the last word --------------------------------------------------------------------------------------------


def test_a_final_reply_that_fails_makes_the_turn_an_error() -> None:
    settings = TurnSettings(limits=Limits(max_rounds=2))
    with ScriptedWire([call("double", n=1), InvalidReply("HTML")]) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go.", settings=settings)

    assert turn.status == "error"
    assert [event.phase for event in turn.log if event.kind == "error_raised"] == ["final_reply"]


def test_an_empty_reply_is_sent_nowhere() -> None:
    with ScriptedWire([call("double", n=1), "", "Two.", "Ok."]) as wire:
        chat = Chat(wire=wire, tools=[double], history="native")
        chat.send("Go.")
        chat.send("And now?")

    for prompt in wire.prompts[2:]:
        body = ChatCompletions().encode(prompt, Target("h", "m")).body
        assert all(message.get("content") or message.get("tool_calls") for message in body["messages"])


def test_a_call_in_a_final_reply_is_dropped_also_where_a_plugin_changed_the_message() -> None:
    picture = Media("image/png", b"\x89PNG")
    settings = TurnSettings(limits=Limits(max_rounds=2))
    with ScriptedWire([call("double", n=1), [say("See."), MediaDelta(picture), call("double", n=2)]]) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go.", settings=settings)

    assert turn.messages.chain[-1].calls == ()


# --- usage ----------------------------------------------------------------------------------------------------


def test_usage_is_kept_for_each_request_and_summed_apart_from_it() -> None:
    settings = TurnSettings(limits=Limits(max_rounds=2))
    first = [call("double", n=1), UsageDelta(Usage(100, 10)), ReplyEnd("tools", "tool_calls")]
    with ScriptedWire([first, ["Two.", UsageDelta(Usage(150, 5)), ReplyEnd("end", "stop")]]) as wire:
        turn = Chat(wire=wire, tools=[double]).send("Go.", settings=settings)

    assert [reply.usage for reply in turn.rounds] == [Usage(100, 10), Usage(150, 5)]
    assert turn.usage == Usage(250, 15)


def test_a_provider_that_reports_no_usage_costs_nothing_known() -> None:
    assert send("Hi.").usage == Usage()


# --- the compact form -----------------------------------------------------------------------------------------


def test_a_turn_without_calls_has_no_hint() -> None:
    turn = send("Hi.")

    assert (turn.system_hint, turn.hint_size, turn.content) == ("", 0, "Hi.")


def test_the_size_of_the_hint_counts_characters() -> None:
    turn = send(call("echo", text="😀"), "😀 done.")

    assert turn.content[: turn.hint_size] == turn.system_hint
    assert turn.content[turn.hint_size :] == turn.natural_flow
    assert "😀" in turn.natural_flow


def test_a_tool_that_does_not_exist_is_not_reported_as_rejected() -> None:
    turn = send(call("missing"), "Sorry.")

    assert "Status: ✗ not_found" in turn.natural_flow
    assert "Denied" not in turn.natural_flow


def test_a_denied_call_is_reported_with_its_reason() -> None:
    turn = send(call("delete", name="x"), "Sorry.", approver=ScriptedApprover([Denied("not today")]))

    assert "Status: ⚠ Denied" in turn.natural_flow
    assert "not today" in turn.natural_flow


def test_a_result_with_a_fence_does_not_break_out_of_its_log_block() -> None:
    turn = send(call("echo", text="```\nescaped\n````"), "Done.")

    block = turn.natural_flow.partition("**[Tool Execution Log]**")[2]
    fence = block.split("\n")[1].removesuffix("accesslog")
    assert len(fence) > 4
    assert block.count(fence) == 2


def test_a_short_result_is_sent_unchanged() -> None:
    turn = send(call("double", n=4), "Done.")

    assert "Status: ✓ Success\n\n8\n```" in turn.natural_flow


def test_a_model_that_imitates_a_log_block_runs_nothing_and_is_quoted() -> None:
    fake = send(call("double", n=1), "Done.").natural_flow
    ran.clear()

    turn = send(fake)

    assert ran == []
    assert turn.calls == []
    assert "[Tool Execution Log]" not in turn.natural_flow


def test_long_arguments_are_cut_whatever_they_are_called() -> None:
    turn = send(call("delete", name="x" * 80), "Done.", approver=ScriptedApprover([Approved()]))

    assert "x" * 50 + "…" in turn.natural_flow
    assert "x" * 51 not in turn.natural_flow.partition("Status")[0]
