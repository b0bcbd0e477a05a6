"""Answers that are kept on Run All: the first execution of a cell in a kernel replays, another one asks."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.chat.chat import TurnSettings
from nbtool.chat.erasure import erase
from nbtool.chat.journal import journal, retention
from nbtool.chat.recording.kept_answers import KeptAnswers
from nbtool.errors import NotRecorded
from nbtool.events import CallFinished
from nbtool.plugins import Privacy
from nbtool.testing import ScriptedWire, call
from tests.chat.recording.making import PROMPT, REPLIES, Shop, frame
from tests.chat.recording.replaying import notices

KEEP = TurnSettings(keep_answers=True)


@pytest.fixture(autouse=True)
def _own_place(own_journal: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # noqa: ARG001 - for what it does
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "home"))
    folder = tmp_path / "notebooks"
    folder.mkdir()
    monkeypatch.chdir(folder)


@tool(run="auto", name="price")
def changed_price(ticker: str) -> int:
    "The price of a ticker."
    return len(ticker)


def kernel(replies: Sequence[Any] = (), *, shop: Shop | None = None, **how: Any) -> Chat:
    """Give a chat as a fresh kernel would make it."""
    made = Chat(wire=ScriptedWire(replies), **{"tools": (shop or Shop()).tools(), **how})
    made.expose(df=frame())
    return made


def cell(name: str) -> TurnSettings:
    return replace(KEEP, cell_id=name)


def test_the_first_execution_of_a_cell_in_a_kernel_gets_the_kept_answer() -> None:
    shop = Shop()
    first = kernel(REPLIES).send(PROMPT, settings=cell("a"))

    second = kernel(shop=shop).send(PROMPT, settings=cell("a"))

    assert (second.text, second.status) == (first.text, "completed")
    assert second.replayed
    assert not first.replayed
    assert shop.ran == ["head"]  # its result is an object
    assert notices(second)


def test_a_second_execution_asks_the_model_and_that_answer_is_kept() -> None:
    kernel(["One."], tools=[]).send("Hello", settings=cell("a"))
    again = kernel(["Two."], tools=[])
    assert again.send("Hello", settings=cell("a")).text == "One."

    assert again.send("Hello", settings=cell("a")).text == "Two."

    assert kernel(tools=[]).send("Hello", settings=cell("a")).text == "Two."


def test_a_cell_that_ran_before_the_setting_was_made_asks_the_model() -> None:
    kernel(["One."], tools=[]).send("Hello", settings=cell("a"))
    chat = kernel(["Two.", "Three."], tools=[])
    chat.send("Hello", settings=TurnSettings(cell_id="a"))

    assert chat.send("Hello", settings=cell("a")).text == "Three."


def test_a_front_end_without_cell_ids_replays_each_answer_once() -> None:
    first = kernel(["One.", "Two."], tools=[])
    first.send("Hello", settings=KEEP)
    first.send("Hello", settings=KEEP)

    second = kernel(["Three."], tools=[])

    assert [second.send("Hello", settings=KEEP).text for _ in range(3)] == ["One.", "Two.", "Three."]


def test_without_cell_ids_a_prompt_that_this_kernel_has_met_is_sent() -> None:
    kernel(["One."], tools=[]).send("Hello", settings=KEEP)

    second = kernel(["Two."], tools=[], history="none")

    assert [second.send("Hello", settings=KEEP).text for _ in range(2)] == ["One.", "Two."]


@pytest.mark.parametrize("change", ["prompt", "system", "object", "tool", "folder", "history"])
def test_a_changed_input_asks_the_model(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel(["One."]).send(PROMPT, settings=cell("a"))
    fresh = kernel(["Two."], system="Be brief." if change == "system" else "")
    if change == "object":
        fresh.expose(df=frame(last=3))
    if change == "tool":
        fresh.tools = kernel(tools=[changed_price, *Shop().tools()[1:]]).tools
    if change == "folder":
        monkeypatch.chdir(tmp_path)
    if change == "history":
        other_chat = kernel(["Hi.", "Two."])
        other_chat.send("Hi", settings=TurnSettings(cell_id="b"))
        fresh = other_chat

    turn = fresh.send(PROMPT + "?" if change == "prompt" else PROMPT, settings=cell("a"))

    assert (turn.text, turn.replayed) == ("Two.", None)
    assert bool(notices(turn)) is (change not in ("prompt", "folder"))


def test_the_same_prompt_at_another_place_of_one_kernel_is_no_change() -> None:
    chat = kernel(["One.", "Two."], tools=[])

    turns = [chat.send("Go on.", settings=cell(name)) for name in "ab"]

    assert [notices(turn) for turn in turns] == [[], []]


@pytest.mark.parametrize("way", ["environment", "setting"])
def test_off_wins_and_its_answer_is_kept(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel(["One."], tools=[]).send("Hello", settings=cell("a"))
    if way == "environment":
        monkeypatch.setenv("NBTOOL_REPLAY", "off")
    settings = cell("a") if way == "environment" else replace(cell("a"), replay="off")

    assert kernel(["Two."], tools=[]).send("Hello", settings=settings).text == "Two."

    monkeypatch.delenv("NBTOOL_REPLAY", raising=False)
    assert kernel(tools=[]).send("Hello", settings=cell("a")).text == "Two."


def test_only_never_asks_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel(["One."], tools=[]).send("Hello", settings=cell("a"))
    monkeypatch.setenv("NBTOOL_REPLAY", "only")
    chat = kernel(tools=[])

    assert chat.send("Hello", settings=cell("a")).text == "One."
    other = chat.send("Goodbye", settings=cell("b"))

    assert isinstance(other.error, NotRecorded)


def test_a_recording_comes_before_kept_answers(tmp_path: Path) -> None:
    kernel(["Kept."], tools=[]).send("Hello", settings=cell("a"))
    chat = kernel(["Recorded."], tools=[])
    chat.record(tmp_path / "r.json")

    assert chat.send("Hello", settings=cell("a")).text == "Recorded."

    assert kernel(tools=[]).send("Hello", settings=cell("a")).text == "Kept."


def test_a_turn_that_failed_is_not_kept() -> None:
    kernel([RuntimeError("busy")], tools=[]).send("Hello", settings=cell("a"))

    assert kernel(["One."], tools=[]).send("Hello", settings=cell("a")).text == "One."


@pytest.mark.parametrize("how", ["turn", "chat", "all", "days"])
def test_an_answer_goes_with_its_turn(how: str) -> None:
    chat = kernel(["Secret plan."], tools=[])
    turn = chat.send("Hello", settings=cell("a"))
    other = kernel(["Other."], tools=[])
    other.send("Goodbye", settings=cell("b"))

    match how:
        case "days":
            journal().execute(lambda connection: retention.drop_older(connection, -1))
        case _:
            erase({"turn": turn.turn_id, "chat": chat.chat_id, "all": ""}[how])

    bodies = journal().read(lambda connection: connection.execute("SELECT body FROM kept_answers").fetchall())
    assert not any("Secret plan." in body for (body,) in bodies)
    assert len(bodies) == (1 if how in ("turn", "chat") else 0)
    assert kernel(["Asked."], tools=[]).send("Hello", settings=cell("a")).text == "Asked."


def test_masked_values_are_masked_in_the_journal_and_back_in_the_replay() -> None:
    prompt = "Write to ada@example.com."
    first = kernel(["Done: ada@example.com."], tools=[], plugins=[Privacy()]).send(prompt, settings=cell("a"))

    second = kernel(tools=[], plugins=[Privacy()]).send(prompt, settings=cell("a"))

    assert second.text == first.text
    bodies = journal().read(lambda connection: connection.execute("SELECT body FROM kept_answers").fetchall())
    assert "ada@example.com" not in str(bodies)


def test_an_answer_that_a_plugin_keeps_out_of_the_journal_is_not_kept() -> None:
    class Quiet:
        def on_journal(self, journal: Any) -> None:
            journal.text = journal.text.replace("plan", "…")

    with pytest.warns(UserWarning, match="Not kept: A plugin"):
        kernel(["The plan."], tools=[], plugins=[Quiet()]).send("Hello", settings=cell("a"))

    assert kernel(["Asked."], tools=[], plugins=[Quiet()]).send("Hello", settings=cell("a")).text == "Asked."


def test_more_than_the_maximum_forgets_the_oldest_and_says_so() -> None:
    chat = kernel(["1", "2", "3"], tools=[], history="none")
    chat.recorder._answers = KeptAnswers(os.path.realpath(os.curdir), max_answers=2)
    chat.send("One", settings=cell("a"))
    chat.send("Two", settings=cell("b"))

    with pytest.warns(UserWarning, match="the oldest are no longer replayed"):
        chat.send("Three", settings=cell("c"))

    fresh = kernel(["asked"], tools=[], history="none")
    assert [fresh.send(prompt, settings=cell(prompt)).text for prompt in ("Two", "Three", "One")] == ["2", "3", "asked"]


def test_an_answer_that_is_too_large_is_not_kept() -> None:
    chat = kernel(["One."], tools=[])
    chat.recorder._answers = KeptAnswers(os.path.realpath(os.curdir), max_bytes=100)

    with pytest.warns(UserWarning, match="Not kept: It is larger than 100 bytes"):
        turn = chat.send("Hello", settings=cell("a"))

    assert turn.status == "completed"


def test_an_answer_that_somebody_changed_in_the_journal_is_not_replayed() -> None:
    kernel(["One."], tools=[]).send("Hello", settings=cell("a"))
    with sqlite3.connect(journal().path or "") as connection:
        connection.execute('UPDATE kept_answers SET body = \'{"nbtool_recording": 3, "turns": []}\'')
    connection.close()

    turn = kernel(["Asked."], tools=[]).send("Hello", settings=cell("a"))

    assert turn.text == "Asked."
    assert notices(turn)


def test_history_in_memory_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_JOURNAL", "off")

    with pytest.warns(UserWarning, match="for this kernel only"):
        kernel(["One."], tools=[]).send("Hello", settings=cell("a"))


def test_a_call_that_makes_an_object_again_asks_as_before() -> None:
    """An approval is never kept: a tool that asks is asked about again where its object is made again."""
    ran = []

    @tool
    def load(name: str) -> Any:
        "Load a frame."
        ran.append(name)
        return frame()

    how: dict[str, Any] = {"tools": [load]}
    kernel([[call("load", name="x")], "Loaded."], **how, approver=lambda _: Approved()).send(
        "Load x", settings=cell("a")
    )

    turn = kernel(**how).send("Load x", settings=cell("a"))

    assert (turn.text, ran) == ("Loaded.", ["x"])
    outcomes = [event for event in turn.log if isinstance(event, CallFinished)]
    assert outcomes[0].shown
    assert len(notices(turn)) == 2  # that it is kept, and that the frame is not made again
