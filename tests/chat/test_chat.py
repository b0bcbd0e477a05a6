"""A chat: turns that are sent, awaited, iterated and cancelled, and what they leave."""

from __future__ import annotations

import asyncio
import threading

import pandas as pd
import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.chain.hooks import EventContext
from nbtool.chat.journal import journal
from nbtool.errors import AuthenticationFailed, BadUsage, IncompleteReply
from nbtool.events import TextDelta
from nbtool.testing import ScriptedApprover, ScriptedWire, call, cut, thinking
from tests.chaos import event, finish, head, serve_each, text


class Table:
    """Stands for a big object of the notebook."""

    rows = ("SENTINEL",)


@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    return {"A": 10}[ticker]


@tool
def count(table: Table) -> int:
    "Count the rows of a table."
    return len(table.rows)


def test_a_chat_calls_tools_and_answers() -> None:
    with ScriptedWire([[thinking("Hm."), call("price", ticker="A")], "It costs 10."]) as wire:
        turn = Chat(wire=wire, tools=[price]).send("What does A cost?")

    assert (turn.text, turn.thinking, turn.status, turn.error) == ("It costs 10.", "Hm.", "completed", None)
    assert [(c.name, c.status, c.result, c.shown) for c in turn.calls] == [("price", "ok", 10, "10")]
    assert (turn.stats.rounds, turn.stats.calls) == (2, 1)
    assert [message.role for message in turn.messages.complete] == ["user", "assistant", "tool", "assistant"]


def test_a_whole_argument_is_the_very_object_and_no_value_of_it_leaves() -> None:
    received: list[Table] = []
    table = Table()

    @tool(run="auto")
    def look(table: Table) -> str:
        "Look at a table."
        received.append(table)
        return "seen"

    with ScriptedWire([call("look", table="$VAR_REF{{table}}"), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[look])
        chat.expose(table=table)
        chat.send("Look at $VAR_REF{{table}}")

    assert received[0] is table
    assert "$VAR_REF{{table}}: " in wire.prompts[0].messages[0].text
    assert "SENTINEL" not in str(wire.prompts)


def test_no_value_of_an_exposed_frame_is_in_any_request_body() -> None:
    frame = pd.DataFrame({"ticker": ["SENTINEL-A", "SENTINEL-B"], "close": [7.25, 99.5]})
    received: list[pd.DataFrame] = []

    @tool(run="auto")
    def rows(df: pd.DataFrame) -> int:
        "Count the rows of a frame."
        received.append(df)
        return len(df)

    asked = {"index": 0, "id": "c1", "function": {"name": "rows", "arguments": '{"df": "$VAR_REF{{frame}}"}'}}
    calls = event({"choices": [{"delta": {"tool_calls": [asked]}, "finish_reason": "tool_calls"}]})
    with serve_each([head(), calls], [head(), text("Two."), finish()]) as server:
        chat = Chat("tiny", base_url=server.url, tools=[rows])
        chat.expose(frame=frame)
        turn = chat.send("How many rows has $VAR_REF{{frame}}?")

    bodies = b"".join(request.body for request in server.requests)
    assert received[0] is frame
    assert turn.text == "Two."
    assert b"ticker" in bodies
    assert b"SENTINEL" not in bodies
    assert b"99.5" not in bodies


def test_an_approver_decides_and_a_denied_call_gives_the_model_the_reason() -> None:
    approver = ScriptedApprover([("count", Approved()), ("count", Denied("enough"))])
    with ScriptedWire([call("count", table="$VAR_REF{{t}}"), call("count", table="$VAR_REF{{t}}"), "ok"]) as wire:
        chat = Chat(wire=wire, tools=[count], approver=approver)
        chat.expose(t=Table())
        turn = chat.send("Count twice")

    assert [(c.status, c.reason) for c in turn.calls] == [("ok", ""), ("denied", "enough")]
    assert "enough" in wire.prompts[2].messages[-1].results[0].text


def test_without_an_approver_a_call_that_asks_is_denied() -> None:
    with ScriptedWire([call("count", table="$VAR_REF{{t}}"), "I could not."]) as wire:
        chat = Chat(wire=wire, tools=[count])
        chat.expose(t=Table())
        turn = chat.send("Count")

    assert turn.calls[0].status == "denied"


def test_a_synchronous_tool_runs_on_the_calling_thread() -> None:
    where: list[threading.Thread] = []

    @tool(run="auto")
    def here() -> None:
        "Say where."
        where.append(threading.current_thread())

    with ScriptedWire([call("here"), "Done."]) as wire:
        Chat(wire=wire, tools=[here]).send("Where?")

    assert where == [threading.current_thread()]


def test_send_works_inside_a_running_loop() -> None:
    async def main() -> str:
        return Chat(wire=ScriptedWire(["Hi."])).send("Hello").text

    assert asyncio.run(main()) == "Hi."


def test_a_turn_can_be_awaited() -> None:
    async def main() -> str:
        return (await Chat(wire=ScriptedWire(["Hi."])).start("Hello")).text

    assert asyncio.run(main()) == "Hi."


def test_a_turn_can_be_iterated_and_gives_every_event_in_order() -> None:
    async def main() -> list[str]:
        return [event.kind async for event in Chat(wire=ScriptedWire(["Hi."])).start("Hello")]

    assert asyncio.run(main()) == [
        "turn_started", "request_started", "text_delta", "reply_end", "reply_finished", "message_appended",
        "turn_ended",
    ]  # fmt: skip


def test_a_turn_that_is_the_value_of_a_cell_is_kept_as_the_turn_of_a_chat_cell_is() -> None:
    turn = Chat(wire=ScriptedWire(["Hi."])).send("Hello")
    bundle = turn._repr_mimebundle_()

    assert set(bundle) == {TURN_MIME, "text/html", "text/plain"}
    assert bundle[TURN_MIME]["head"]["turn_id"] == turn.turn_id


def test_a_late_listener_receives_what_it_missed() -> None:
    async def main() -> list[str]:
        turn = await Chat(wire=ScriptedWire(["Hello world"])).start("Hello")
        return [event.text async for event in turn if isinstance(event, TextDelta)]

    assert "".join(asyncio.run(main())) == "Hello world"


def test_cancelling_who_awaits_cancels_the_turn() -> None:
    @tool(run="auto")
    async def endless() -> None:
        "Never end."
        await asyncio.Event().wait()

    async def main():
        turn = Chat(wire=ScriptedWire([call("endless")]), tools=[endless]).start("Go")
        waiting = asyncio.ensure_future(_wait_end(turn))
        async for happened in turn:
            if happened.kind == "call_started":
                waiting.cancel()
        return turn

    turn = asyncio.run(main())

    assert turn.status == "cancelled"
    assert [c.status for c in turn.calls] == ["cancelled"]
    assert turn.messages.chain[-1].results[0].is_error


async def _wait_end(turn):
    await turn


def test_a_reply_that_breaks_off_is_kept_and_the_next_turn_works() -> None:
    chat = Chat(wire=ScriptedWire([["One two three", cut()], "Fine."]))

    broken = chat.send("Count")
    after = chat.send("Go on")

    assert (broken.status, broken.text) == ("error", "One two three")
    assert isinstance(broken.error, IncompleteReply)
    assert after.text == "Fine."


def test_an_error_of_the_provider_is_kept_in_the_turn() -> None:
    turn = Chat(wire=ScriptedWire([AuthenticationFailed("The key was refused.", fix="Set another.")])).send("Hello")

    assert turn.status == "error"
    assert str(turn.error) == "The key was refused. Set another."


def test_a_tool_may_hold_a_chat_of_its_own() -> None:
    @tool(run="auto")
    def ask() -> str:
        "Ask another chat."
        return Chat(wire=ScriptedWire(["inner"])).send("Hello").text

    with ScriptedWire([call("ask"), "outer"]) as wire:
        turn = Chat(wire=wire, tools=[ask]).send("Go")

    assert (turn.calls[0].result, turn.text) == ("inner", "outer")


def test_every_event_that_matters_is_in_the_journal() -> None:
    with ScriptedWire([call("price", ticker="A"), "It costs 10."]) as wire:
        turn = Chat(wire=wire, tools=[price]).send("What does A cost?")

    kinds = [event["kind"] for event in journal().events(turn.turn_id)]
    assert kinds.index("call_started") < kinds.index("call_finished")
    assert (kinds[0], kinds[-1]) == ("turn_started", "turn_ended")
    assert kinds.count("reply_finished") == 2


def test_a_listener_that_fails_is_dropped_and_named() -> None:
    def faulty(_event: object) -> None:
        raise ValueError("oh")

    chat = Chat(wire=ScriptedWire(["Hi."]))
    turn = chat.compose("Hello")
    turn.add_listener(faulty)

    with pytest.warns(UserWarning, match="faulty was removed: ValueError: oh"):
        chat_ended = asyncio.run(_wait_for(turn.start()))

    assert chat_ended.status == "completed"


async def _wait_for(turn):
    return await turn


def test_a_rehearsal_gives_the_request_and_makes_none() -> None:
    chat = Chat("practice:fast", tools=[price], options={"temperature": 0})

    request = chat.rehearse("What does A cost?")

    assert request.path == "/chat/completions"
    assert request.body["temperature"] == 0
    assert request.body["tools"][0]["function"]["name"] == "price"
    assert chat.tree.active_path == ()


def test_the_practice_model_speaks_over_a_real_socket() -> None:
    turn = Chat("practice:fast", tools=[price]).send('Use &`price` for the ticker "A".')

    assert turn.calls[0].result == 10
    assert "10" in turn.text
    assert turn.usage.input_tokens > 0


def test_a_plugin_that_receives_events_receives_all_of_them_with_their_turn() -> None:
    captured: list[tuple[str, str]] = []

    class Hearing:
        def on_event(self, context: EventContext) -> None:
            captured.append((context.turn_id, context.event.kind))

    with ScriptedWire(["Hi."]) as wire:
        turn = Chat(wire=wire, plugins=[Hearing()]).send("Hello")

    assert {turn_id for turn_id, _ in captured} == {turn.turn_id}
    assert [kind for _, kind in captured] == [
        "turn_started", "request_started", "text_delta", "reply_end", "reply_finished", "message_appended",
        "turn_ended",
    ]  # fmt: skip


def test_a_plugin_that_fails_at_an_event_is_dropped_and_the_turn_goes_on() -> None:
    class Failing:
        def on_event(self, _: EventContext) -> None:
            raise ValueError("oh")

    with ScriptedWire(["Hi."]) as wire, pytest.warns(UserWarning, match="was removed: ValueError: oh"):
        turn = Chat(wire=wire, plugins=[Failing()]).send("Hello")

    assert turn.text == "Hi."


def test_a_rehearsal_that_a_plugin_forbids_says_so() -> None:
    class Forbidding:
        def on_before_request(self, _: object) -> None:
            raise BadUsage("not today")

    with pytest.raises(BadUsage, match="not today"):
        Chat("practice:fast", plugins=[Forbidding()]).rehearse("Hello")


def test_a_forked_chat_has_the_settings_and_exposed_names_but_no_turns() -> None:
    chat = Chat(wire=ScriptedWire(["One.", "Two."]), system="Be brief.")
    chat.expose(n=1)
    chat.send("Go.")

    forked = chat.fork(chat_id="other")
    forked.expose(m=2)
    forked.send("Go on.")

    assert (forked.system, forked.chat_id, len(list(forked.tree.nodes()))) == ("Be brief.", "other", 1)
    assert {one.name for one in forked.exposed_variables()} == {"n", "m"}
    assert {one.name for one in chat.exposed_variables()} == {"n"}
