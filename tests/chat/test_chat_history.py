"""What later turns of a chat are told of the earlier ones."""

from __future__ import annotations

import pytest

from nbtool import Chat, tool
from nbtool.chat.chat import TurnSettings
from nbtool.testing import ScriptedWire, call


@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    return {"A": 10}[ticker]


def test_later_turns_receive_the_compact_form() -> None:
    with ScriptedWire([call("price", ticker="A"), "It costs 10.", "Again: 10."]) as wire:
        chat = Chat(wire=wire, tools=[price])
        first = chat.send("What does A cost?")
        chat.send("And again?")

    told = wire.prompts[2].messages
    assert [message.role for message in told] == ["user", "assistant", "user"]
    assert told[1].text == first.content == first.system_hint + first.natural_flow
    assert first.content[: first.hint_size] == first.system_hint
    assert "$VAR_REF{{price_1_result}}" in first.system_hint


@pytest.mark.parametrize(
    ("mode", "roles"),
    [
        ("native", ["user", "assistant", "tool", "assistant", "user"]),
        ("results", ["user", "assistant", "user"]),
        ("none", ["user"]),
    ],
)
def test_history_is_sent_as_the_switch_says(mode: str, roles: list[str]) -> None:
    with ScriptedWire([call("price", ticker="A"), "It costs 10.", "Again: 10."]) as wire:
        chat = Chat(wire=wire, tools=[price], history=mode)
        chat.send("What does A cost?")
        chat.send("And again?")

    assert [message.role for message in wire.prompts[2].messages] == roles


def test_a_window_contains_the_latest_turns_and_those_that_are_pinned() -> None:
    with ScriptedWire(["one", "two", "three", "four"]) as wire:
        chat = Chat(wire=wire)
        chat.window = 1
        for number in range(3):
            chat.send(f"Question {number}")
        chat.tree.active_path[0].pinned = True
        chat.send("And?")

    assert [message.text for message in wire.prompts[2].messages] == ["Question 1", "two", "Question 2"]
    assert [message.text for message in wire.prompts[3].messages] == [
        "Question 0", "one", "Question 2", "three", "And?",
    ]  # fmt: skip


def test_a_cell_that_is_run_again_makes_a_new_version_and_is_not_sent_itself() -> None:
    wire = ScriptedWire(["one", "two", "three"])
    chat = Chat(wire=wire)
    for _ in range(2):
        chat.send("Hello", settings=TurnSettings(cell_id="c1"))
    chat.send("And?", settings=TurnSettings(cell_id="c2"))

    (first, second) = chat.tree.active_path
    assert [turn.text for turn in first.versions] == ["one", "two"]
    assert second.turn is not None
    assert [message.text for message in wire.prompts[2].messages[:2]] == ["Hello", "two"]
    assert len(wire.prompts[1].messages) == 1


def test_append_adds_another_turn_instead() -> None:
    chat = Chat(wire=ScriptedWire(["one", "two"]))
    for _ in range(2):
        chat.send("Hello", settings=TurnSettings(cell_id="c1", append=True))

    assert [len(node.versions) for node in chat.tree.active_path] == [1, 1]


def test_the_systems_text_has_a_date_and_no_time() -> None:
    with ScriptedWire(["Hi."]) as wire:
        Chat(wire=wire, system="Be brief.").send("Hello")

    system = wire.prompts[0].system
    assert system.startswith("Today is ")
    assert "Be brief." in system
    assert ":" not in system.splitlines()[0]


def test_earlier_turns_can_be_sent_as_prompt_and_final_reply_alone() -> None:
    @tool(run="auto")
    def price() -> str:
        "The price."
        return "12.5"

    with ScriptedWire([["Let me see.", call("price")], "It is 12.5.", "Yes."]) as wire:
        chat = Chat(wire=wire, tools=[price], history="text")
        chat.send("What is the price?")
        chat.send("Sure?")

    earlier = [(message.role, message.text) for message in wire.prompts[-1].messages[:-1]]
    assert earlier == [("user", "What is the price?"), ("assistant", "It is 12.5.")]
