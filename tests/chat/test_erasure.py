"""What an open chat sends after it, or a turn of it, was erased."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.erasure import erase
from nbtool.chat.journal import journal, queries
from nbtool.errors import BadUsage, UnknownReference
from nbtool.ids import new_id
from nbtool.testing import ScriptedWire, call
from tests.magics.parking import ParkingChat, wait_end


@pytest.fixture(autouse=True)
def own_home() -> Iterator[None]:
    journal.cache_clear()
    yield
    journal.cache_clear()


@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    return {"A": 1_000, "B": 2_000}[ticker]


def journalled(id_: str) -> list[Any]:
    return journal().read(lambda connection: queries.chat_events(connection, id_))


def test_an_open_chat_that_is_erased_begins_again_with_a_new_id_and_keeps_its_tools() -> None:
    with ScriptedWire([call("price", ticker="A"), "It costs 1000.", "Hello."]) as wire:
        chat = Chat(wire=wire, tools=[price])
        chat.send("The secret prompt")
        erased_id = chat.chat_id

        erased = erase(erased_id)
        chat.send("Another prompt")

    assert (erased.turns, erased.was_open) == (1, True)
    assert [message.role for message in wire.prompts[2].messages] == ["user"]
    assert "price" in {one.name for one in wire.prompts[2].tools}
    assert chat.chat_id != erased_id
    assert journalled(erased_id) == []
    assert len(chat.tree.roots) == 1
    with pytest.raises(UnknownReference, match="its turn was erased"):
        chat.variables.get("price_1_result")


def test_a_turn_that_is_erased_is_not_sent_and_the_turns_beside_it_are() -> None:
    with ScriptedWire([call("price", ticker="A"), "1000.", call("price", ticker="B"), "2000.", "Bye."]) as wire:
        chat = Chat(wire=wire, tools=[price])
        first = chat.send("The first prompt")
        chat.send("The second prompt")
        chat_id = chat.chat_id

        erased = erase(first.turn_id)
        chat.send("The third prompt")

    sent = [message.text for message in wire.prompts[4].messages if message.role == "user"]
    assert (erased.turns, erased.was_open) == (1, True)
    assert len(sent) == 2
    assert sent[0].startswith("The second prompt")
    assert chat.chat_id == chat_id
    assert chat.variables.value("price_2_result") == 2_000
    with pytest.raises(UnknownReference, match="its turn was erased"):
        chat.variables.get("price_1_result")


def test_undo_does_not_restore_a_turn_that_was_deleted_and_then_erased() -> None:
    chat = Chat(wire=ScriptedWire(["One."]))
    turn = chat.send("Prompt")
    chat.delete(turn)

    assert erase(turn.turn_id).was_open
    with pytest.raises(BadUsage, match="nothing to undo"):
        chat.undo()


def test_erasing_everything_ends_each_open_chat() -> None:
    chats = [Chat(wire=ScriptedWire(["One."])) for _ in range(2)]
    ids = [(chat.send("Prompt"), chat.chat_id)[1] for chat in chats]

    assert erase().was_open
    assert not any(chat.tree.roots for chat in chats)
    assert not {chat.chat_id for chat in chats} & set(ids)


def test_a_chat_that_is_not_open_changes_no_other() -> None:
    chat = Chat(wire=ScriptedWire(["One."]))
    chat.send("Prompt")

    assert not erase(new_id("chat")).was_open
    assert len(chat.tree.roots) == 1


def test_nothing_is_erased_while_a_turn_of_the_chat_runs_or_waits() -> None:
    parking = ParkingChat()
    turn = parking.park()
    chat_id = parking.chat.chat_id

    for id_ in (chat_id, turn.turn_id, ""):
        with pytest.raises(BadUsage, match="still running, so nothing was erased"):
            erase(id_)
    assert journalled(chat_id)

    turn.abort()
    wait_end(turn)
    assert erase(chat_id).turns == 1
