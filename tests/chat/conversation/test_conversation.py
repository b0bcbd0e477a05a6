from __future__ import annotations

import asyncio

import pytest

from nbtool import Chat
from nbtool.chat.chat import TurnSettings
from nbtool.chat.conversation.restore import restore_tree as recalled
from nbtool.chat.conversation.tree import Node
from nbtool.chat.journal import journal
from nbtool.chat.journal.queries import chat_events
from nbtool.chat.rerun.operations import Rerun
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage
from nbtool.events import Event, TreeChanged
from nbtool.testing import ScriptedWire
from nbtool.threads.loop import background_loop
from nbtool.wire.base import Prompt


def make_chat(*said: str, extra: int = 10) -> tuple[Chat, ScriptedWire]:
    """Give a chat in which this was said; each reply is the prompt in capitals."""
    wire = ScriptedWire([lambda prompt: prompt.messages[-1].text.upper()] * (len(said) + extra))
    chat = Chat(wire=wire)
    for prompt in said:
        chat.send(prompt)
    return chat, wire


def user_texts(prompt: Prompt) -> list[str]:
    """Give what a request tells, without the replies."""
    return [message.text for message in prompt.messages if message.role == "user"]


def line(chat: Chat) -> list[str]:
    return [node.turn.prompt.text for node in chat.tree.active_path if node.turn]


def journal_events(chat: Chat) -> list[tuple[str, Event]]:
    return journal().read(lambda connection: chat_events(connection, chat.chat_id))


def turns(chat: Chat) -> list[Turn]:
    return [node.turn for node in chat.tree.active_path if node.turn]


def test_a_rerun_says_the_same_again_as_a_new_version_and_what_follows_stays() -> None:
    chat, wire = make_chat("a", "b", "c")

    again = chat.rerun(turns(chat)[1])

    assert user_texts(wire.prompts[-1]) == ["a", "b"]
    assert line(chat) == ["a", "b", "c"]
    assert [len(node.versions) for node in chat.tree.active_path] == [1, 2, 1]
    assert turns(chat)[1] is again


def test_a_rerun_of_the_last_turn_needs_no_name_and_restores_its_attachments() -> None:
    chat, wire = make_chat()
    chat.send("Look.", attach=[b"\x89PNG\r\n\x1a\n" + bytes(20)])

    chat.rerun()

    first, second = (prompt.messages[-1] for prompt in wire.prompts)
    assert [part.kind for part in second.parts] == ["text", "media", "text"]  # the last is the date
    assert first.parts == second.parts


def test_a_rerun_answers_as_the_type_that_was_asked_for() -> None:
    wire = ScriptedWire(["[1]", "[2, 3]"])
    chat = Chat(wire=wire)
    first = chat.send("Numbers?", as_=list[int])

    second = chat.rerun()

    assert (first.value, second.value) == ([1], [2, 3])


def test_a_rerun_that_says_something_else_is_refused_and_names_the_edit() -> None:
    chat, wire = make_chat("a")

    with pytest.raises(BadUsage, match="--edit TURN"):
        chat.compose("b", settings=TurnSettings(operation=Rerun()))
    assert chat.compose("a", settings=TurnSettings(operation=Rerun())).prompt.text == "a"
    assert len(wire.prompts) == 1


def test_an_edit_is_a_branch_and_what_followed_stays_with_the_old_turn() -> None:
    chat, wire = make_chat("a", "b", "c")

    chat.edit(turns(chat)[1], "B!")
    chat.send("d")

    assert user_texts(wire.prompts[-1]) == ["a", "B!", "d"]
    assert line(chat) == ["a", "B!", "d"]
    assert [node.turn.prompt.text for node in chat.tree.branches() if node.turn] == ["c", "d"]


def test_an_edit_of_the_first_turn_begins_a_conversation_beside_it() -> None:
    chat, wire = make_chat("a", "b")

    chat.edit(turns(chat)[0], "A!")

    assert user_texts(wire.prompts[-1]) == ["A!"]
    assert len(chat.tree.roots) == 2


def test_an_edit_by_the_same_cell_run_again_is_a_version_of_that_edit() -> None:
    chat, _ = make_chat("a", "b")
    settings = TurnSettings(cell_id="cell")
    old = turns(chat)[1]

    first = chat.edit(old, "b1", settings=settings)
    chat.edit(old, "b2", settings=settings)

    node = chat.tree.find(first.turn_id)
    assert [version.prompt.text for version in node.versions] == ["b1", "b2"]
    assert [len(place.versions) for place in chat.tree.active_path] == [1, 2]


def test_an_insert_is_in_the_middle_and_later_turns_receive_it() -> None:
    chat, wire = make_chat("a", "b", "c")

    chat.insert(turns(chat)[0], "a+")
    chat.send("d")

    assert user_texts(wire.prompts[-2]) == ["a", "a+"]
    assert user_texts(wire.prompts[-1]) == ["a", "a+", "b", "c", "d"]


def test_an_insert_leaves_other_branches_where_they_were() -> None:
    chat, _ = make_chat("a", "b")
    chat.edit(turns(chat)[1], "B")
    off_the_line = chat.tree.branches()[0].turn

    chat.insert(turns(chat)[0], "a+")

    assert line(chat) == ["a", "a+", "B"]
    assert off_the_line
    assert [node.turn.prompt.text for node in chat.tree.path(chat.tree.find(off_the_line.turn_id)) if node.turn] == [
        "a",
        "b",
    ]
    with pytest.raises(BadUsage, match="only be inserted on the active branch"):
        chat.insert(off_the_line, "x")


def test_hidden_turns_are_not_sent_until_they_are_shown_again() -> None:
    chat, wire = make_chat("a", "b")

    chat.hide(turns(chat)[0])
    chat.send("c")
    chat.show(turns(chat)[0])
    chat.send("d")

    assert user_texts(wire.prompts[-2]) == ["b", "c"]
    assert user_texts(wire.prompts[-1]) == ["a", "b", "c", "d"]


def test_pinned_turns_are_sent_whatever_the_window() -> None:
    chat, wire = make_chat("a", "b", "c")
    chat.window = 1

    chat.pin(turns(chat)[0])
    chat.send("d")
    chat.unpin(turns(chat)[0])
    chat.send("e")

    assert user_texts(wire.prompts[-2]) == ["a", "c", "d"]
    assert user_texts(wire.prompts[-1]) == ["d", "e"]


def test_a_switch_to_another_version_is_sent_from_then_on() -> None:
    wire = ScriptedWire(["one", "two", lambda prompt: prompt.messages[1].text])
    chat = Chat(wire=wire)
    first = chat.send("a")
    chat.rerun()

    chat.switch(first)

    assert chat.send("b").text == "one"


def test_a_switch_goes_back_to_the_end_of_a_branch() -> None:
    chat, wire = make_chat("a", "b", "c")
    b = turns(chat)[1]
    chat.edit(b, "B")

    chat.switch(b.turn_id)
    chat.send("d")
    chat.switch("2")

    assert user_texts(wire.prompts[-1]) == ["a", "b", "c", "d"]
    assert line(chat) == ["a", "B"]
    with pytest.raises(BadUsage, match="This chat has no branch 3: it has the branches 1 to 2"):
        chat.switch("3")


def test_a_branch_puts_the_next_turn_beside_what_followed() -> None:
    chat, wire = make_chat("a", "b", "c")

    chat.branch(turns(chat)[0])
    chat.send("B")
    chat.branch()
    chat.send("BB")

    assert user_texts(wire.prompts[-2]) == ["a", "B"]
    assert user_texts(wire.prompts[-1]) == ["a", "BB"]
    assert [len(node.children) for node in chat.tree.nodes()] == [3, 1, 0, 0, 0]


def test_a_new_conversation_receives_nothing_of_the_old_one() -> None:
    chat, wire = make_chat("a", "b")

    chat.new()
    chat.send("c")

    assert user_texts(wire.prompts[-1]) == ["c"]
    assert [node.turn.prompt.text for node in chat.tree.nodes() if node.turn] == ["a", "b", "c"]


def test_a_deleted_turn_is_not_sent_until_the_deletion_is_undone() -> None:
    chat, wire = make_chat("a", "b", "c")

    chat.delete(turns(chat)[1])
    chat.send("d")
    chat.undo()
    chat.send("e")

    assert user_texts(wire.prompts[-2]) == ["a", "c", "d"]
    assert user_texts(wire.prompts[-1]) == ["a", "b", "c", "d", "e"]


def test_deleting_one_version_leaves_the_others() -> None:
    chat, _ = make_chat("a")
    first = turns(chat)[0]
    second = chat.rerun()

    chat.delete(second)

    assert turns(chat) == [first]
    chat.undo()
    assert turns(chat) == [second]


def test_deleting_the_line_below_takes_everything_from_there_on() -> None:
    chat, _ = make_chat("a", "b", "c")
    b = turns(chat)[1]
    chat.edit(turns(chat)[2], "C")

    chat.delete(b, below=True)

    assert line(chat) == ["a"]
    with pytest.raises(BadUsage, match="no turn begins"):
        chat.show(b)
    chat.undo()
    assert line(chat) == ["a", "b", "C"]
    assert len(chat.tree.branches()) == 2
    with pytest.raises(BadUsage, match="nothing to undo"):
        chat.undo()


def test_a_turn_on_its_way_is_not_deleted() -> None:
    gate = asyncio.Event()

    class Slow(ScriptedWire):
        async def stream(self, prompt: Prompt):  # type: ignore[no-untyped-def]  # as it is called
            await gate.wait()
            async for delta in super().stream(prompt):
                yield delta

    async def ask() -> None:
        chat = Chat(wire=Slow(["late"]))
        turn = chat.start("a")
        async for event in turn:
            if event.kind == "request_started":
                with pytest.raises(BadUsage, match="still running"):
                    chat.delete(turn)
                background_loop().call_soon(gate.set)
        assert turn.text == "late"

    asyncio.run(ask())


@pytest.mark.parametrize("verb", ["hide", "show", "pin", "unpin", "rerun", "resume", "reexecute"])
def test_nothing_is_done_with_an_empty_turn(verb: str) -> None:
    chat, _ = make_chat()

    with pytest.raises(BadUsage, match="The chat has no turns yet"):
        getattr(chat, verb)()


def test_every_change_is_in_the_journal_and_gives_the_same_tree_again() -> None:
    chat, _ = make_chat("a", "b", "c")
    chat.insert(turns(chat)[0], "a+")
    chat.edit(turns(chat)[2], "B")
    chat.rerun()
    chat.delete(turns(chat)[-1])
    chat.hide(turns(chat)[0])
    chat.pin(turns(chat)[1])
    chat.switch("1")
    chat.delete(turns(chat)[-1], below=True)
    chat.undo()
    chat.branch(turns(chat)[1])
    chat.send("e")

    rebuilt = recalled(journal_events(chat))

    assert [_shape(node) for node in rebuilt.nodes()] == [_shape(node) for node in chat.tree.nodes()]
    assert [node.node_id for node in rebuilt.active_path] == [node.node_id for node in chat.tree.active_path]


@pytest.mark.promise("written-first")
def test_a_change_is_written_before_it_is_made() -> None:
    chat, _ = make_chat("a")
    seen: list[tuple[str, int]] = []
    apply = chat.tree.apply

    def applying(change: TreeChanged) -> None:
        seen.append((change.op, sum(isinstance(event, TreeChanged) for _, event in journal_events(chat))))
        apply(change)

    chat.tree.apply = applying  # type: ignore[method-assign]  # to look in between

    chat.hide()

    assert seen == [("hide", 1)]


def test_two_turns_that_are_started_at_once_follow_each_other() -> None:
    chat, _ = make_chat()

    async def both() -> None:
        await asyncio.gather(_wait_end(chat.start("a")), _wait_end(chat.start("b")))

    asyncio.run(both())

    assert line(chat) == ["a", "b"]


async def _wait_end(turn: Turn) -> Turn:
    return await turn


def _shape(node: Node[Turn]) -> tuple[object, ...]:
    parent = node.parent.node_id if node.parent else ""
    versions = [turn.turn_id for turn in node.versions]
    return node.node_id, parent, versions, node.current, node.hidden, node.pinned
