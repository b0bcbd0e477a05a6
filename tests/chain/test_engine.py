from __future__ import annotations

import asyncio

import pytest

from nbtool.chain.cancel_signal import CancelSignal
from nbtool.chain.hooks import AppendContext, ReplyContext, RequestContext, StreamContext, TurnContext
from nbtool.chain.limits import Limits
from nbtool.chain.stop_reasons import CALL_IN_FINAL_REPLY, LIMIT_NOTICE, NO_REPLY, OR_RAISE_LIMIT, RAISE_LIMIT
from nbtool.errors import HookFailed, IncompleteReply, InvalidReply, NbtoolError
from nbtool.events import ReplyEnd, TextDelta, UsageDelta
from nbtool.messages import Message, Native, ToolCall, ToolResult, Usage, results, user
from nbtool.testing import ScriptedWire, call, cut, thinking
from nbtool.wire.base import ToolSpec
from nbtool.wire.reply import Reply
from tests.chain.running import run


class HookLog:
    """A plugin that writes down each hook it is asked by."""

    def __init__(self, name: str, diary: list[str]) -> None:
        self.name, self.diary = name, diary

    def _note(self, what: str) -> None:
        self.diary.append(f"{self.name}:{what}")

    def on_turn_start(self, _: TurnContext):
        self._note("start")
        return lambda: self._note("clean-up")

    async def on_before_request(self, _: RequestContext) -> None:
        self._note("before")

    def on_stream_data(self, _: StreamContext) -> None:
        self._note("data")

    async def on_after_request(self, _: ReplyContext) -> None:
        self._note("after")

    def on_message_append(self, context: AppendContext) -> None:
        self._note(f"append {context.message.role}")

    async def on_turn_end(self, turn: TurnContext) -> None:
        self._note(f"end {turn.status}")


class Answering:
    """Answers every call with a word, as tool calling does."""

    async def on_after_request(self, reply: ReplyContext) -> None:
        if calls := reply.reply.calls:
            answers = (ToolResult(call.name, "done", call.id, call.call_id) for call in calls)
            await reply.append_and_request(results(*answers))


def test_a_turn_asks_its_hooks_in_the_order_of_its_life():
    diary: list[str] = []

    ran = run(["Hi"], HookLog("a", diary), HookLog("b", diary))

    assert diary == [
        "a:start", "b:start", "a:before", "b:before", "a:data", "b:data", "a:data", "b:data",
        "a:append assistant", "b:append assistant", "a:after", "b:after", "a:end completed", "b:end completed",
        "b:clean-up", "a:clean-up",
    ]  # fmt: skip
    assert ran.outcome.status == "completed"
    assert ran.outcome.text == "Hi"


def test_calls_lead_to_another_request_with_their_results():
    ran = run([[thinking("Hm."), call("price", ticker="A")], "It is 10."], Answering())

    assert [len(prompt.messages) for prompt in ran.wire.prompts] == [1, 3]
    assert ran.wire.prompts[1].messages[-1].results[0].text == "done"
    assert [message.role for message in ran.turn.chain] == ["assistant", "tool", "assistant"]
    assert ran.outcome.text == "It is 10."


def test_a_reply_without_its_terminal_signal_is_an_error_and_its_calls_are_not_answered():
    ran = run([[call("price", ticker="A"), cut()]], Answering())

    assert ran.outcome.status == "error"
    assert isinstance(ran.outcome.error, IncompleteReply)
    assert len(ran.wire.prompts) == 1
    assert not ran.turn.chain[0].calls[0].runnable


def test_what_came_before_a_break_is_kept():
    ran = run([["It is", cut()]])

    assert ran.outcome.text == "It is"
    assert ran.of("reply_finished")[0].complete is False


def test_an_error_of_the_wire_ends_the_turn_and_names_its_phase():
    ran = run([InvalidReply("The server sent HTML.")])

    assert ran.outcome.status == "error"
    assert [(event.phase, event.text) for event in ran.of("error_raised")] == [("request", "The server sent HTML.")]


def test_an_error_after_the_first_delta_is_one_of_the_stream():
    ran = run([["It is", InvalidReply("The line broke.")]])

    assert ran.of("error_raised")[0].phase == "stream"


def test_when_the_rounds_run_out_the_model_is_asked_once_more_without_calls():
    class Offering(Answering):
        def on_before_request(self, request: RequestContext) -> None:
            request.add_tools([ToolSpec("price", "", {})])

    ran = run([call("price", n=1), call("price", n=2), "I looked twice."], Offering(), limits=Limits(max_rounds=3))

    assert [prompt.is_final for prompt in ran.wire.prompts] == [False, False, True]
    assert "limit of 3 rounds" in ran.wire.prompts[-1].messages[-1].text
    assert (ran.outcome.status, ran.outcome.text) == ("completed", "I looked twice.")
    assert all("limit of" not in message.text for message in ran.turn.chain)


def test_a_call_in_the_final_reply_is_dropped_and_the_missing_answer_is_reported():
    ran = run([call("price", n=1), call("price", n=2)], Answering(), limits=Limits(max_rounds=2))

    assert ran.turn.chain[-1].calls == ()
    assert [(event.topic, event.text) for event in ran.of("notice")] == [
        (
            "rounds",
            f"{LIMIT_NOTICE.format(reason='the limit of 2 rounds was reached')}{RAISE_LIMIT.format(name='max_rounds')}",
        ),
        ("", CALL_IN_FINAL_REPLY.format(advice=OR_RAISE_LIMIT.format(name="max_rounds"))),
        ("empty", NO_REPLY),
    ]


def test_an_empty_reply_after_results_is_asked_for_again():
    ran = run([call("price", n=1), "", "Ten."], Answering())

    assert ran.outcome.text == "Ten."
    assert ran.of("request_started")[-1].final


def test_the_same_calls_with_the_same_results_end_in_a_final_reply():
    class Counting(Answering):
        async def on_after_request(self, reply: ReplyContext) -> None:
            reply.turn.meter.repeats += 1
            await super().on_after_request(reply)

    ran = run([call("price"), call("price"), call("price"), "I go round in circles."], Counting())

    assert "3 times" in ran.wire.prompts[-1].messages[-1].text


def test_a_cancelled_turn_keeps_what_came_and_runs_its_end_hooks():
    diary: list[str] = []
    signal = CancelSignal()

    class Stopping:
        async def on_stream_data(self, _: StreamContext) -> None:
            signal.cancel()
            await asyncio.sleep(0)

    ran = run(["A long reply that is stopped"], HookLog("a", diary), Stopping(), cancel=signal)

    assert ran.outcome.status == "cancelled"
    assert ran.outcome.errors == []
    assert "A long reply that is stopped".startswith(ran.turn.chain[0].text)
    assert diary[-2:] == ["a:end cancelled", "a:clean-up"]


@pytest.mark.promise("bounded")
def test_a_turn_that_takes_too_long_ends_with_a_timeout():
    class Waiting:
        async def on_before_request(self, _: RequestContext) -> None:
            await asyncio.Event().wait()

    ran = run([], Waiting(), limits=Limits(seconds=0.05))

    assert ran.outcome.status == "timeout"
    assert "longer than 0.05 s" in str(ran.outcome.error)


@pytest.mark.parametrize("hook", ["on_turn_start", "on_before_request", "on_after_request", "on_message_append"])
def test_a_plugin_that_raises_ends_the_turn_and_is_named(hook: str):
    class Faulty:
        pass

    def fail(_: object) -> None:
        raise ZeroDivisionError("oh")

    plugin = Faulty()
    setattr(plugin, hook, fail)

    ran = run(["Hi"], plugin)

    assert ran.outcome.status == "error"
    assert isinstance(ran.outcome.error, HookFailed)
    assert isinstance(ran.outcome.error.__cause__, ZeroDivisionError)
    assert hook in str(ran.outcome.error)


def test_clean_ups_run_when_a_later_start_hook_fails_and_its_own_errors_are_joined():
    class Failing:
        def on_turn_start(self, _: TurnContext):
            raise NbtoolError("no start")

    class Littering:
        def on_turn_start(self, _: TurnContext):
            def clean_up() -> None:
                raise ValueError("no end")

            return clean_up

    diary: list[str] = []
    ran = run([], HookLog("a", diary), Littering(), Failing())

    assert diary == ["a:start", "a:clean-up"]
    assert ran.outcome.status == "error"
    assert [type(error).__name__ for error in ran.outcome.errors] == ["NbtoolError", "HookFailed"]
    assert isinstance(ran.outcome.error, ExceptionGroup)


def test_deferred_messages_come_by_priority_then_in_the_order_of_the_plugins():
    class Late:
        def __init__(self, text: str, priority: int) -> None:
            self.text, self.priority = text, priority

        async def on_after_request(self, reply: ReplyContext) -> None:
            await reply.append(user(self.text), deferred=True, priority=self.priority)

    class Soon:
        async def on_after_request(self, reply: ReplyContext) -> None:
            await reply.append(user("at once"))

    ran = run(["Hi"], Late("low", 0), Late("high", 5), Late("low too", 0), Soon())

    assert [message.text for message in ran.turn.chain] == ["Hi", "at once", "high", "low", "low too"]


def test_a_message_appended_after_its_round_is_refused():
    stored: list[ReplyContext] = []

    class Keeping:
        async def on_after_request(self, reply: ReplyContext) -> None:
            stored.append(reply)

    run(["Hi"], Keeping())

    with pytest.raises(NbtoolError, match="after its round was over"):
        asyncio.run(stored[0].append(user("too late")))


def test_a_plugin_may_change_a_message_or_keep_it_out_of_the_chain():
    class Editing:
        def on_message_append(self, context: AppendContext) -> None:
            if context.message.text == "Hi":
                context.message = user("Ho")
            else:
                context.prevent_default()

    class Adding:
        async def on_after_request(self, reply: ReplyContext) -> None:
            await reply.append(user("not this"))

    ran = run(["Hi"], Editing(), Adding())

    assert [message.text for message in ran.turn.chain] == ["Ho"]


def test_a_plugin_may_change_a_delta_or_drop_it():
    class Loud:
        def on_stream_data(self, context: StreamContext) -> None:
            if isinstance(context.delta, TextDelta):
                context.delta = TextDelta(context.delta.text.upper()) if "w" not in context.delta.text else None

    ran = run(["Hello world!"], Loud())

    assert ran.outcome.text == "HELLO "
    assert [event.text for event in ran.of("text_delta")] == ["HELLO "]


def test_request_again_is_enough_for_another_round():
    class Twice:
        def on_after_request(self, reply: ReplyContext) -> None:
            if reply.round == 1:
                reply.request_again()

    ran = run(["One", "Two"], Twice())

    assert ran.outcome.text == "Two"
    assert ran.of("turn_ended")[0].rounds == 2


def test_a_paused_reply_is_sent_back_and_goes_on():
    ran = run([["I look", ReplyEnd("paused", "pause_turn")], " and I found it."])

    assert [message.role for message in ran.wire.prompts[1].messages] == ["user", "assistant"]
    assert ran.outcome.text == " and I found it."


def test_a_reply_that_ends_without_a_reason_is_marked():
    ran = run([["Perhaps", ReplyEnd("unknown")]])

    assert ran.outcome.status == "completed"
    assert [event.text for event in ran.of("notice")] == [
        "The server did not report why the reply ended: it may be truncated."
    ]


def test_set_messages_changes_what_is_sent_and_not_the_chain():
    class Replacing:
        def on_before_request(self, request: RequestContext) -> None:
            request.set_messages([user("Only this")])

    ran = run(["Hi"], Replacing(), history=[user("before")])

    assert [message.text for message in ran.wire.prompts[0].messages] == ["Only this"]
    assert ran.turn.messages[0].text == "before"


def test_two_tools_of_one_name_are_refused():
    class Offering:
        def on_before_request(self, request: RequestContext) -> None:
            request.add_tools([ToolSpec("price", "", {})])

    ran = run([], Offering(), Offering())

    assert "Two tools are named 'price'" in str(ran.outcome.error)


def test_usage_is_summed_once_per_request():
    ran = run(
        [
            [UsageDelta(Usage(5, 1)), UsageDelta(Usage(7, 2)), call("price")],
            ["Ten.", UsageDelta(Usage(9, 3)), ReplyEnd("end", "stop")],
        ],
        Answering(),
    )

    assert ran.of("turn_ended")[0].usage == Usage(16, 5)


def test_the_last_event_says_how_the_turn_ended():
    ran = run(["Hi"])

    assert ran.events[-1].kind == "turn_ended"
    assert (ran.events[-1].status, ran.events[-1].text, ran.events[-1].rounds) == ("completed", "", 1)


def test_the_chain_never_shares_a_message_with_the_history():
    before = [user("before"), Message("assistant")]

    ran = run(["Hi"], history=before)

    assert ran.turn.history == tuple(before)
    assert len(ran.turn.chain) == 1


def test_a_plugin_may_put_deltas_before_a_delta_and_the_next_plugin_sees_them_all():
    class Holding:
        held = ""

        def on_stream_data(self, context: StreamContext) -> None:
            if isinstance(context.delta, TextDelta):
                self.held += context.delta.text
                context.delta = None
            elif isinstance(context.delta, ReplyEnd):
                context.put_before(TextDelta(self.held))

    seen: list[str] = []

    class Watching:
        def on_stream_data(self, context: StreamContext) -> None:
            seen.append(context.delta.kind if context.delta else "")

    ran = run(["Hello world!"], Holding(), Watching())

    assert ran.outcome.text == "Hello world!"
    assert seen == ["text_delta", "reply_end"]


def test_a_plugin_may_make_the_turns_text_of_more_than_the_last_reply():
    class Joining:
        def on_after_request(self, reply: ReplyContext) -> None:
            reply.turn.text += reply.reply.text
            if reply.round == 1:
                reply.request_again()

    ran = run(["One, ", "two."], Joining())

    assert ran.outcome.text == ran.of("turn_ended")[0].text == "One, two."


def test_a_turn_knows_who_is_asked():
    ran = run(["Hi"])

    assert (ran.turn.host, ran.turn.model, ran.turn.dialect, ran.turn.abilities) == (
        "scripted", "scripted", "scripted", frozenset(),
    )  # fmt: skip


def test_replies_of_an_earlier_run_count_as_rounds_and_nothing_is_sent_for_them():
    recorded = [Reply(Message("assistant", [ToolCall("look", "{}")]), "tools", complete=True), None]

    async def next_reply(_: TurnContext) -> Reply | None:
        return recorded.pop(0)

    ran = run(["Done."], Answering(), reply_source=next_reply)

    assert [(event.round, event.given) for event in ran.of("request_started")] == [(1, True), (2, False)]
    assert [event.round for event in ran.of("reply_finished")] == [1, 2]
    assert ran.of("turn_ended")[0].rounds == 2
    assert len(ran.wire.prompts) == 1
    assert ran.outcome.text == "Done."


@pytest.mark.parametrize(
    ("limits", "needs_price", "asked"),
    [(Limits(), None, 0), (Limits(), False, 0), (Limits(), True, 1), (Limits(cost=1.0), None, 1)],
    ids=["nothing", "a plugin that says no", "a plugin", "a limit"],
)
def test_the_price_of_a_model_is_looked_up_only_if_something_depends_on_it(
    limits: Limits, needs_price: bool | None, asked: int
):
    lookups: list[None] = []

    class Priced(ScriptedWire):
        async def find_price(self):
            lookups.append(None)
            return lambda _: 0.01

    plugin = HookLog("a", [])
    if needs_price is not None:
        plugin.needs_price = needs_price  # type: ignore[attr-defined]  # a plugin may say so

    ran = run(["Hi"], plugin, limits=limits, wire=Priced)

    assert ran.outcome.status == "completed"
    assert len(lookups) == asked


def test_a_hook_and_a_clean_up_may_be_objects_whose_call_is_async():
    ran: list[str] = []

    class Noting:
        def __init__(self, what: str) -> None:
            self.what = what

        async def __call__(self, *_: object) -> object:
            await asyncio.sleep(0)
            ran.append(self.what)
            return Noting("clean-up") if self.what == "start" else None

    plugin = HookLog("a", [])
    plugin.on_turn_start, plugin.on_before_request = Noting("start"), Noting("before")  # type: ignore[method-assign, assignment]  # a hook may be any callable

    assert run(["Hi"], plugin).outcome.status == "completed"
    assert ran == ["start", "before", "clean-up"]


def test_the_providers_own_form_of_a_reply_is_kept_with_the_server_that_sent_it():
    ran = run([["Hi", ReplyEnd("end", "stop", native={"id": "r1"}, prefix="p")]])

    assert ran.turn.chain[0].native == Native("scripted", "scripted", "scripted", {"id": "r1"}, "p")


@pytest.mark.parametrize(("needs", "cost"), [(True, 0.25), (False, None)])
def test_the_listed_price_of_a_model_is_looked_up_for_a_plugin_that_needs_it(needs: bool, cost: float | None):
    class Listed(ScriptedWire):
        async def find_listed_price(self):
            return lambda usage: usage.input_tokens / 4

    plugin = HookLog("a", [])
    plugin.needs_listed_price = needs  # type: ignore[attr-defined]  # a plugin may say so

    price_of = run(["Hi"], plugin, wire=Listed).turn.meter.listed_price_of

    assert (price_of and price_of(Usage(1))) == cost
