"""What a person adds to a turn while it runs."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chain.additions import MAX_CHARS, MAX_WAITING, Additions, additions_of
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal
from nbtool.errors import BadUsage
from nbtool.event_json import load_events
from nbtool.events import CallStarted, RequestStarted, TextDelta
from nbtool.messages import Message
from nbtool.testing import ScriptedWire, call, cut

WAIT = 30
TEXT = "Only the first three."


@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    return len(ticker)


def chat_with(*replies: Any, **how: Any) -> Chat:
    return Chat(wire=ScriptedWire(replies), tools=[price], **how)


def send_steered(chat: Chat, kind: type, *texts: str, times: int = 1) -> Any:
    """Send a prompt, and add texts at the first events of a kind."""
    turn, left = chat.compose("Go"), [texts] * times
    turn.add_listener(lambda event: list(map(turn.steer, left.pop())) if isinstance(event, kind) and left else None)
    return turn.start().done.result(WAIT)


def test_texts_that_are_added_join_before_the_next_request_in_their_order() -> None:
    chat = chat_with([call("price", ticker="A")], "Done.")

    turn = send_steered(chat, CallStarted, "One.", "Two.")

    assert turn.text == "Done."
    assert [message.text for message in turn.messages.chain if message.role == "user"] == ["One.", "Two."]
    assert additions_of(turn.log) == {1: ["One.", "Two."]}
    assert turn.unsent == ()


def test_any_thread_may_add_a_text() -> None:
    chat = chat_with([call("price", ticker="A")], "Done.")
    turn = chat.compose("Go")

    thread = threading.Thread(target=turn.steer, args=(TEXT,))
    thread.start()
    thread.join()
    turn.start().done.result(WAIT)

    assert [message.added for message in turn.messages.chain if message.added] == [(TEXT,)]


@pytest.mark.parametrize("mode", ["compact", "native", "results", "text"])
def test_later_turns_are_sent_what_was_added(mode: Any) -> None:
    chat = chat_with([call("price", ticker="A")], "Done.", "Next.", history=mode)
    send_steered(chat, CallStarted, TEXT)

    chat.send("And then?")

    assert isinstance(chat.model.wire, ScriptedWire)
    assert TEXT in str(chat.model.wire.prompts[-1].messages)


def test_a_limit_on_rounds_leaves_what_comes_too_late_unsent() -> None:
    turn = send_steered(chat_with("Done.", max_rounds=1), TextDelta, TEXT)

    assert (turn.status, turn.unsent) == ("completed", (TEXT,))


@pytest.mark.parametrize("how", ["cancel", "error"])
def test_a_turn_that_breaks_off_gives_back_what_was_added(how: str) -> None:
    chat = chat_with(["Half", cut()])
    turn = chat.compose("Go")
    turn.steer("First.")

    def add(event: Any) -> None:
        if isinstance(event, TextDelta) and not turn.unsent:
            turn.steer(TEXT)
            turn.cancel() if how == "cancel" else None

    turn.add_listener(add)
    turn.start().done.result(WAIT)

    assert turn.status == ("cancelled" if how == "cancel" else "error")
    assert turn.unsent == (TEXT,)
    assert [notice.text for notice in turn.notices if notice.topic == "unsent" and TEXT in notice.text]


def test_a_turn_that_is_resumed_has_what_was_added_before() -> None:
    chat = chat_with([call("price", ticker="A")], ["Half", cut()], "Done.")
    send_steered(chat, CallStarted, TEXT)

    resumed = chat.resume()

    assert resumed.text == "Done."
    assert additions_of(resumed.log) == {1: [TEXT]}


def test_a_turn_that_is_run_again_as_a_whole_has_not() -> None:
    chat = chat_with([call("price", ticker="A")], "Done.", "Done.")
    send_steered(chat, CallStarted, TEXT)

    assert additions_of(chat.rerun().log) == {}


def test_the_journal_has_what_was_added(own_journal: None) -> None:  # noqa: ARG001 - for what it does
    chat = chat_with([call("price", ticker="A")], "Done.")
    turn = send_steered(chat, CallStarted, TEXT)

    restored = restore.restore_turn(load_events(journal().events(turn.turn_id)))

    assert additions_of(restored.log) == {1: [TEXT]}
    assert restored.natural_flow == turn.natural_flow


def test_a_plugin_sees_what_is_added_before_it_joins() -> None:
    class Upper:
        def on_message_append(self, context: Any) -> None:
            if context.message.added:
                context.message = Message("user", (type(context.message.parts[0])("CHANGED", phase="addition"),))

    chat = chat_with([call("price", ticker="A")], "Done.", plugins=[Upper()])

    turn = send_steered(chat, CallStarted, TEXT)

    assert [message.added for message in turn.messages.chain if message.added] == [("CHANGED",)]


@pytest.mark.parametrize(
    ("text", "waiting"), [("", 0), (" \n", 0), ("x" * (MAX_CHARS + 1), 0), ("One more.", MAX_WAITING)]
)
def test_what_cannot_be_added_is_refused(text: str, waiting: int) -> None:
    additions = Additions()
    for number in range(waiting):
        additions.add(str(number))

    with pytest.raises(BadUsage):
        additions.add(text)

    assert len(additions.take(0)) == waiting


@pytest.mark.parametrize("refusal", ["", "It takes none."])
def test_a_turn_that_has_ended_or_takes_none_refuses(refusal: str) -> None:
    additions = Additions(refusal)
    assert additions.close_if_empty()

    with pytest.raises(BadUsage):
        additions.add(TEXT)


def test_nothing_is_closed_while_something_waits() -> None:
    additions = Additions()
    additions.add(TEXT)

    assert not additions.close_if_empty()
    additions.add("Another one.")
    assert additions.close() == (TEXT, "Another one.")
    assert additions.unsent == (TEXT, "Another one.")


def test_the_turn_of_a_model_that_draws_takes_nothing() -> None:
    turn = Chat("openai:gpt-image-1", api_key="sk-test").compose("Go")

    with pytest.raises(BadUsage):
        turn.steer(TEXT)


def test_a_prompt_that_follows_is_sent_when_the_turn_has_ended() -> None:
    chat = chat_with([call("price", ticker="A")], "One.", "Two.", "Three.")
    first = chat.compose("First?")
    second = chat.start_after(first, "Second?")
    third = chat.start_after(second, "Third?")
    sent: list[str] = []
    for turn in (first, second, third):
        turn.add_listener(
            lambda event, turn=turn: sent.append(turn.prompt.text) if isinstance(event, RequestStarted) else None
        )

    first.start()

    assert [turn.done.result(WAIT).text for turn in (first, second, third)] == ["One.", "Two.", "Three."]
    assert sent == ["First?", "First?", "Second?", "Third?"]


def test_a_prompt_that_follows_can_be_taken_back() -> None:
    chat = chat_with("One.")
    first = chat.compose("First?")
    second = chat.start_after(first, "Second?")

    second.cancel()
    first.start()

    assert (first.done.result(WAIT).status, second.done.result(WAIT).status) == ("completed", "cancelled")
