"""What later turns of a chat are told of the earlier ones."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from nbtool import Chat, tool
from nbtool.chat.chat import TurnSettings
from nbtool.messages import DateText
from nbtool.testing import ScriptedWire, call
from nbtool.wire.base import Target
from nbtool.wire.prompted.prompted_wire import PromptedWire
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.registry import WIRES, find_wire


@tool(run="auto")
def price(ticker: str) -> int:
    "The price of a ticker."
    return {"A": 10}[ticker]


def test_later_turns_receive_the_compact_form() -> None:
    @tool(run="auto")
    def price(ticker: str) -> str:
        "The price of a ticker."
        return f"{ticker} 10\n" * 300

    with ScriptedWire([call("price", ticker="A"), "It costs 10.", "Again: 10."]) as wire:
        chat = Chat(wire=wire, tools=[price])
        first = chat.send("What does A cost?")
        chat.send("And again?")

    actual = wire.prompts[2].messages
    assert [message.role for message in actual] == ["user", "assistant", "user"]
    assert actual[1].text == first.content == first.system_hint + first.natural_flow
    assert first.content[: first.hint_size] == first.system_hint
    assert "$VAR_REF{{price_1_result}}" in first.system_hint


@pytest.mark.parametrize(
    ("mode", "roles"),
    [
        ("compact", ["user", "assistant", "tool", "assistant", "user"]),  # the result is short
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


DIALECTS = [name for name in WIRES if name not in MEDIA_KINDS]


@pytest.mark.parametrize("prompted", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
def test_the_date_is_in_the_prompt_and_the_system_text_is_equal_every_day(
    name: str, prompted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Target("https://x.example", "m")
    bodies = []
    wire = PromptedWire(find_wire(name)) if prompted else find_wire(name)
    for day in ("2026-11-23 (UTC)", "2026-11-24 (UTC)"):
        monkeypatch.setattr("nbtool.chat.prompt_context._today", lambda day=day: day)
        with ScriptedWire(["Hi."]) as script:
            Chat(wire=script, tools=[price], system="Be brief.").send("Hello")
        bodies.append(json.dumps(wire.encode(script.prompts[0], target).body))
        assert bodies[-1].count(f"Today is {day}") == bodies[-1].count("Today is") == 1

    assert [body.index("Today is") > body.index("Hello") for body in bodies] == [True, True]
    assert bodies[0].replace("2026-11-23", "2026-11-24") == bodies[1]
    for field in ("system", "instructions", "systemInstruction"):
        assert "Today" not in json.dumps(json.loads(bodies[0]).get(field))


def test_a_date_is_stated_once_and_again_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedWire(["one", "two", "three", "four"]) as wire:
        chat = Chat(wire=wire)
        for day in ("2026-11-23 (UTC)", "2026-11-23 (UTC)", "2026-11-24 (UTC)", "2026-11-24 (UTC)"):
            monkeypatch.setattr("nbtool.chat.prompt_context._today", lambda day=day: day)
            chat.send("Hello")

    prompts = [message for message in wire.prompts[-1].messages if message.role == "user"]
    dates = [[part.text.strip() for part in prompt.parts if isinstance(part, DateText)] for prompt in prompts]
    first, second = ("<date>Today is 2026-11-23 (UTC).</date>", "<date>Today is 2026-11-24 (UTC).</date>")
    assert dates == [[first], [], [second], []]
    assert all(prompt.text == "Hello" for prompt in prompts)
    for earlier, later in pairwise(wire.prompts):
        assert later.messages[: len(earlier.messages)] == earlier.messages  # later requests only append


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
