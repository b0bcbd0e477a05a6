"""What all verbs keep: whole logs, what was done, what was edited."""

from __future__ import annotations

import pytest

from nbtool import Chat
from nbtool.chat.chat import TurnSettings
from nbtool.chat.conversation.restore import restore_turn as recalled
from nbtool.chat.rerun.operations import Reexecute, Rerun
from nbtool.errors import BadUsage
from nbtool.events import TextDelta
from nbtool.testing import ScriptedWire, call
from tests.chat.again import make_chat, outcomes, price


@pytest.mark.parametrize("verb", [Rerun(from_round=3), Reexecute()])
def test_a_new_version_is_whole_in_its_own_log(verb: Rerun | Reexecute, asked_tickers: list[str]) -> None:
    chat, _, _ = make_chat("The end.")

    again = chat.send("", settings=TurnSettings(operation=verb))

    rebuilt = recalled(again.log)
    assert outcomes(rebuilt) == outcomes(again)
    assert rebuilt.content == again.content
    assert rebuilt.messages.chain == again.messages.chain
    assert [reply.text for reply in rebuilt.rounds] == [reply.text for reply in again.rounds]
    shown = again.transcript().document()["blocks"]
    assert [block["kind"] for block in shown] == ["notice", "thinking", "call", "call", "text"]
    assert asked_tickers


def test_a_cancelled_turn_keeps_what_was_done_and_later_turns_receive_it(asked_tickers: list[str]) -> None:
    wire = ScriptedWire([call("price", ticker="A"), "Half a rep", "Then 10."])
    chat = Chat(wire=wire, tools=[price])
    turn = chat.compose("What does A cost?")
    turn.add_listener(lambda event: turn.cancel() if isinstance(event, TextDelta) else None)
    turn.start().caller_thread.run_until(turn.done)

    chat.send("And now?")

    assert turn.status == "cancelled"
    assert [(record.status, record.decisions) for record in turn.calls] == [("ok", [])]
    assert turn.hint_size == len(turn.system_hint) > 0
    assert turn.started
    assert turn.stats.seconds > 0
    assert (turn.stats.rounds, turn.stats.calls) == (2, 1)
    actual = wire.prompts[-1].messages[1].text
    assert actual == turn.content
    assert "price" in actual
    assert "10" in actual
    assert asked_tickers == ["A"]


def test_a_failed_turn_is_sent_with_the_calls_that_ended(asked_tickers: list[str]) -> None:
    wire = ScriptedWire([call("price", ticker="A"), RuntimeError("the server is gone"), "Then 10."])
    chat = Chat(wire=wire, tools=[price])
    turn = chat.send("What does A cost?")

    chat.send("And now?")

    assert (turn.status, str(turn.error)) == ("error", "the server is gone")
    assert "✓ Success" in wire.prompts[-1].messages[1].text
    assert asked_tickers == ["A"]


def test_an_edited_result_is_kept_out_of_the_variables_of_the_call(asked_tickers: list[str]) -> None:
    chat, _, first = make_chat("Then.")

    again = chat.rerun(results={first.calls[0].call_id: "12"})

    assert first.calls[0].reference
    assert again.calls[0].reference == ""
    assert "10" not in again.content
    assert asked_tickers == ["A", "B"]


def test_what_would_run_calls_first_is_not_rehearsed(asked_tickers: list[str]) -> None:
    chat = Chat("practice:fast", tools=[price])
    first = chat.send("Call price with ticker A.")
    assert first.calls
    asked_tickers.clear()

    with pytest.raises(BadUsage, match="runs calls before its first request"):
        chat.rehearse("", settings=TurnSettings(operation=Reexecute()))
    request = chat.rehearse("", settings=TurnSettings(operation=Rerun(from_round=2)))

    assert asked_tickers == []
    assert "10" in str(request.body["messages"])
