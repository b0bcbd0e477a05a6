"""A reply that the person edits: a new version of its turn, of which later requests have the edited text."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal
from nbtool.errors import BadUsage
from nbtool.event_json import load_events
from nbtool.messages import Thinking, Usage
from nbtool.plugins import Privacy
from nbtool.testing import ScriptedWire, call, cut

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    ran.append(ticker)
    return 10


def chat_with(*replies: Any, **how: Any) -> tuple[Chat, ScriptedWire]:
    wire = ScriptedWire(replies)
    return Chat(wire=wire, tools=[price], **how), wire


@pytest.mark.parametrize("mode", ["compact", "native", "results", "text"])
def test_later_requests_have_the_edited_text_and_both_versions_stay(mode: Any) -> None:
    chat, wire = chat_with([call("price", ticker="A")], "Eleven.", "Next.", history=mode)
    first = chat.send("What does A cost?")

    edited = chat.edit_reply(first, "Ten.")
    chat.send("And now?")

    assert (edited.text, edited.status, edited.prompt.text) == ("Ten.", "completed", "What does A cost?")
    assert (ran, len(wire.prompts)) == (["A"], 3)
    sent = str(wire.prompts[-1].messages)
    assert "Ten." in sent
    assert "Eleven." not in sent
    versions = chat.tree.find(edited.turn_id).all_versions
    assert [turn.text for turn in versions] == ["Eleven.", "Ten."]


def test_it_is_marked_and_costs_nothing() -> None:
    chat, _ = chat_with("One.")
    first = chat.send("Hello")

    edited = chat.edit_reply(first, "Two.")

    assert edited.usage == Usage()
    assert edited.difference is not None
    assert edited.difference.label == "Edited"
    assert str(edited.difference) in [notice.text for notice in edited.notices]
    assert str(edited.difference) in edited._repr_mimebundle_()["text/plain"]


def test_calls_keep_their_outcomes_and_results_stay_what_they_are() -> None:
    chat, _ = chat_with([call("price", ticker="A")], "One.")
    first = chat.send("Hello")

    edited = chat.edit_reply(first, "Two.")

    assert [(record.status, record.result) for record in edited.calls] == [("ok", 10)]
    assert edited.calls[0].reference == first.calls[0].reference


def test_what_only_its_provider_can_read_of_the_reply_is_left_out() -> None:
    chat, wire = chat_with([Thinking("Eleven, surely."), "One."], "Next.", history="native")
    first = chat.send("Hello")

    edited = chat.edit_reply(first, "Two.")
    chat.send("And now?")

    assert edited.messages.chain[-1].native is None
    assert "Eleven, surely." not in str(wire.prompts[-1].messages)


def test_the_journal_restores_both_versions(own_journal: None) -> None:  # noqa: ARG001 - for what it does
    chat, _ = chat_with("One.")
    edited = chat.edit_reply(chat.send("Hello"), "Two.")

    restored = restore.restore_turn(load_events(journal().events(edited.turn_id)))

    assert (restored.text, [notice.text for notice in restored.notices]) == ("Two.", [str(edited.difference)])


def test_an_edited_reply_can_be_edited_and_run_again() -> None:
    chat, _ = chat_with("One.", "Four.")
    edited = chat.edit_reply(chat.send("Hello"), "Two.")

    assert chat.edit_reply(edited, "Three.").text == "Three."
    assert chat.rerun().text == "Four."


def test_no_model_and_no_key_are_needed() -> None:
    chat, _ = chat_with("One.")
    first = chat.send("Hello")
    chat.model = Chat("openai:gpt-5-mini").model

    assert chat.edit_reply(first, "Two.").text == "Two."


def test_a_typed_answer_stays_of_its_type() -> None:
    chat, _ = chat_with("3")
    first = chat.send("How many?", as_=int)

    assert chat.edit_reply(first, "4").value == 4
    with pytest.raises(BadUsage):
        chat.edit_reply(first, "many")


def test_a_mask_of_the_chat_holds_for_the_edited_text() -> None:
    chat, wire = chat_with("One.", "Next.", plugins=[Privacy()])
    chat.edit_reply(chat.send("Hello"), "Mail ada@example.com.")

    chat.send("And now?")

    assert "ada@example.com" not in str(wire.prompts[-1].messages)


def test_a_plugin_that_wants_a_request_gets_none() -> None:
    class Again:
        async def on_after_request(self, reply: Any) -> None:
            if reply.turn.meter.rounds == 1 and reply.reply.text == "Two.":
                reply.request_again()

    chat, wire = chat_with("One.", plugins=[Again()])
    first = chat.send("Hello")

    edited = chat.edit_reply(first, "Two.")

    assert (edited.status, len(wire.prompts)) == ("error", 1)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_reply_is_refused(text: str) -> None:
    chat, _ = chat_with("One.")
    first = chat.send("Hello")

    with pytest.raises(BadUsage):
        chat.edit_reply(first, text)
    assert [turn.text for turn in chat.tree.all_versions()] == ["One."]


@pytest.mark.parametrize("reply", [["Half", cut()], ["", cut()]])
def test_a_turn_without_a_last_reply_is_refused(reply: Any) -> None:
    chat, _ = chat_with(reply)
    first = chat.send("Hello")

    with pytest.raises(BadUsage):
        chat.edit_reply(first, "Two.")
