"""A line or a subtree of a conversation as a chat of its own."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal, queries
from nbtool.errors import BadUsage
from nbtool.events import TreeChanged
from nbtool.testing import ScriptedWire, call


@tool(run="auto")
def table(name: str) -> Any:
    "A table."
    return {"rows": [name] * 400}


def chat_with(*replies: Any) -> tuple[Chat, ScriptedWire]:
    wire = ScriptedWire(replies)
    return Chat(wire=wire, tools=[table], system="Be brief."), wire


def branched() -> tuple[Chat, ScriptedWire, dict[str, Any]]:
    """Give a chat with one, two (in two versions) and three, and beside two another line with four."""
    chat, wire = chat_with("1", "2a", "2b", "3", "4", "next")
    turns = {"one": chat.send("One?"), "two": chat.send("Two?")}
    turns["two again"] = chat.rerun()
    turns["three"] = chat.send("Three?")
    chat.branch(turns["one"])
    turns["four"] = chat.send("Four?")
    chat.switch(turns["three"])
    return chat, wire, turns


def texts(chat: Chat) -> list[str]:
    return [node.turn.text for node in chat.tree.active_path if node.turn]


def test_a_line_is_a_chat_of_its_own_that_goes_on_by_itself() -> None:
    chat, wire, turns = branched()

    made = chat.extract(turns["two again"])
    made.send("And now?")

    assert (texts(made), texts(chat)) == (["1", "2b", "next"], ["1", "2b", "3"])
    assert made.chat_id != chat.chat_id
    assert made.system == "Be brief."
    assert [message.text for message in wire.prompts[-1].messages if message.role == "assistant"] == ["1", "2b"]
    ids = {turn.turn_id for turn in chat.tree.all_versions()}
    assert not ids & {turn.turn_id for turn in made.tree.all_versions()}


def test_a_subtree_has_all_versions_and_branches_and_begins_with_its_turn() -> None:
    chat, _, turns = branched()
    chat.branch(turns["two again"])
    chat.model = Chat(wire=ScriptedWire(["5"])).model
    chat.send("Five?")

    made = chat.extract(turns["two again"], subtree=True)

    assert sorted(turn.text for turn in made.tree.all_versions()) == ["2a", "2b", "3", "5"]
    assert texts(made) == ["2b", "5"]
    assert [len(node.versions) for node in made.tree.roots] == [2]
    assert len(made.tree.branches()) == 2


def test_what_would_be_taken_is_listed_and_nothing_changes() -> None:
    chat, _, turns = branched()
    before = [turn.turn_id for turn in chat.tree.all_versions()]

    assert chat.turns_to_extract(turns["two again"]) == (turns["one"], turns["two again"])
    assert set(chat.turns_to_extract(turns["two again"], subtree=True)) == {
        turns["two"], turns["two again"], turns["three"],
    }  # fmt: skip
    assert [turn.turn_id for turn in chat.tree.all_versions()] == before


def test_a_cut_deletes_the_subtree_until_it_is_undone() -> None:
    chat, _, turns = branched()

    made = chat.extract(turns["two again"], subtree=True, cut=True)

    assert texts(made) == ["2b", "3"]
    assert sorted(node.turn.text for node in chat.tree.nodes() if node.turn) == ["1", "4"]
    chat.undo()
    assert sorted(node.turn.text for node in chat.tree.nodes() if node.turn) == ["1", "2b", "3", "4"]


def test_a_line_is_not_cut_and_nothing_is_made() -> None:
    chat, _, turns = branched()

    with pytest.raises(BadUsage):
        chat.extract(turns["three"], cut=True)

    assert texts(chat) == ["1", "2b", "3"]


def test_results_stay_in_the_former_chat_and_references_say_so() -> None:
    chat, _ = chat_with([call("table", name="a")], "1")
    first = chat.send("One?")
    name = first.calls[0].reference

    made = chat.extract()

    (copy,) = made.tree.all_versions()
    assert (copy.calls[0].reference, copy.calls[0].dead_reference) == ("", name)
    assert first.calls[0].reference == name
    assert chat.variables.value(name) == {"rows": ["a"] * 400}


def test_what_is_hidden_and_pinned_is_so_in_the_copy() -> None:
    chat, _, turns = branched()
    chat.hide(turns["one"])
    chat.pin(turns["three"])

    made = chat.extract(turns["three"])

    assert [(node.hidden, node.pinned) for node in made.tree.active_path] == [
        (True, False), (False, False), (False, True),
    ]  # fmt: skip


def test_the_journal_has_the_new_chat(own_journal: None) -> None:  # noqa: ARG001 - for what it does
    chat, _, turns = branched()
    made = chat.extract(turns["two again"], subtree=True)

    rows = journal().read(lambda connection: list(queries.chat_events(connection, made.chat_id)))
    events = [(turn_id, event) for turn_id, event in rows]
    restored = restore.restore_tree(events)

    assert sorted(turn.text for turn in restored.all_versions()) == ["2a", "2b", "3"]
    assert any(isinstance(event, TreeChanged) for _, event in events)


def test_a_turn_that_runs_is_not_taken() -> None:
    chat, _ = chat_with("1")
    chat.send("One?")
    running = chat.compose("Two?")
    chat.tree.add_version(chat.tree.node_for_cell(), running)

    with pytest.raises(BadUsage):
        chat.turns_to_extract(subtree=True)


def test_an_empty_chat_has_nothing_to_take() -> None:
    chat, _ = chat_with()

    with pytest.raises(BadUsage):
        chat.extract()
