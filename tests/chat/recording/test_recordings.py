from __future__ import annotations

import asyncio
import datetime as dt
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool import Approved, Chat, Denied, Released, Withheld, tool
from nbtool.chat.chat import TurnSettings
from nbtool.chat.journal import journal
from nbtool.errors import BadRecording, BadUsage, MissingKey, NotRecorded
from nbtool.events import Notice, TextDelta
from nbtool.messages import Media
from nbtool.plugins.privacy import Privacy
from nbtool.testing import ScriptedApprover, ScriptedWire, call, cut
from tests.chat.recording.making import ONLY, PROMPT, REPLIES, Shop, chat, frame

OFF = TurnSettings(replay="off")


def notices(turn: Any) -> list[str]:
    return [event.text for event in turn.log if isinstance(event, Notice)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notebook.nbtool.json"


@pytest.fixture
def recorded(path: Path) -> Path:
    chat(path, REPLIES).send(PROMPT)
    return path


@pytest.mark.promise("free-replay")
def test_a_recorded_turn_is_told_again_and_no_model_is_asked(recorded: Path) -> None:
    first = chat(recorded, REPLIES).send(PROMPT, settings=OFF)

    turn = chat(recorded).send(PROMPT)

    assert (turn.status, turn.text, turn.error) == ("completed", "It costs 10.", None)
    assert turn.replayed == dt.datetime.now().astimezone().date()
    assert [(c.name, c.status, c.shown, c.resolved) for c in turn.calls] == [
        (c.name, c.status, c.shown, c.resolved) for c in first.calls
    ]
    assert turn.content == first.content
    assert first.replayed is None
    assert turn.usage.total_tokens == 0
    assert notices(turn) == [f"Replayed from {turn.replayed}: no model was asked."]


def test_only_a_call_that_brought_an_object_runs_again(recorded: Path) -> None:
    shop = Shop()
    fresh = chat(recorded, shop=shop)

    turn = fresh.send(PROMPT)

    assert shop.ran == ["head"]
    assert [call.result if call.name == "price" else len(call.result) for call in turn.calls] == [10, 1]
    assert fresh.variables.value("price_1_result") == 10
    assert fresh.variables.value("head_1_result") is turn.calls[1].result


def test_later_turns_are_told_again_too_and_are_told_the_same_history(path: Path) -> None:
    first = chat(path, [*REPLIES, "And B costs 2."])
    first.send(PROMPT)
    told = first.send("And B?")

    second = chat(path)
    second.send(PROMPT)
    again = second.send("And B?")

    assert again.text == "And B costs 2."
    assert again.messages.context == told.messages.context


def test_the_same_turn_can_be_told_again_in_the_same_kernel(recorded: Path) -> None:
    fresh = chat(recorded)

    turns = [fresh.send(PROMPT, settings=TurnSettings(cell_id="a")) for _ in range(2)]

    assert [turn.text for turn in turns] == ["It costs 10."] * 2
    assert not {c.call_id for c in turns[0].calls} & {c.call_id for c in turns[1].calls}


def test_a_replayed_turn_streams_and_is_journalled_as_any_other(recorded: Path) -> None:
    async def kinds() -> tuple[Any, list[Any]]:
        turn = chat(recorded).start(PROMPT)
        return turn, [event async for event in turn]

    turn, events = asyncio.run(kinds())

    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "It costs 10."
    assert [event.kind for event in events][:4] == ["turn_started", "notice", "request_started", "call_delta"]
    assert events[-1].kind == "turn_ended"
    journalled = journal().events(turn.turn_id)
    assert str(turn.replayed) in str(journalled[0])
    assert "Replayed from" in str(turn._repr_mimebundle_()["text/html"])


# --- what changed ----------------------------------------------------------------------------------------------------


def changed(path: Path, change: Any = id, prompt: str = PROMPT, **how: Any) -> str:
    """Say why a turn is not told again after a change."""
    fresh = chat(path, **how)
    change(fresh)
    turn = fresh.send(prompt, settings=ONLY)
    assert turn.status == "error"
    assert isinstance(turn.error, NotRecorded)
    assert turn.calls == []
    return str(turn.error)


def other_price() -> list[Any]:
    @tool(run="auto")
    def price(ticker: str) -> int:
        "The price of a ticker."
        return len(ticker)

    return [price, Shop().tools()[1]]


def test_what_changed_is_said(recorded: Path) -> None:
    exposed = changed(recorded, lambda chat: chat.expose(df=frame(3)))
    tools = changed(recorded, tools=other_price())
    gone = changed(recorded, tools=[Shop().tools()[0]])
    system = changed(recorded, system="Be brief.")
    options = changed(recorded, options={"temperature": 0})
    model = changed(recorded, lambda chat: setattr(chat, "model", Chat("openai:gpt-5-mini").model))
    more = changed(recorded, lambda chat: chat.expose(other=1))
    prompt = changed(recorded, prompt="Something else.")

    assert "`df` has other values" in exposed
    assert "the tool `price` changed" in tools
    assert "the tool `head` is gone" in gone
    assert "the system text changed" in system
    assert "the options changed" in options
    assert "the model is openai:gpt-5-mini, not scripted" in model
    assert "`other` is exposed now" in more
    assert "This prompt is not in notebook.nbtool.json." in prompt


def test_in_auto_what_changed_is_said_and_the_model_is_asked(recorded: Path) -> None:
    fresh = chat(recorded, ["Another answer."])
    fresh.expose(df=frame(3))

    turn = fresh.send(PROMPT)

    assert turn.text == "Another answer."
    assert turn.replayed is None
    assert notices(turn) == [f"Not the turn of {dt.date.today()}: `df` has other values."]


def test_an_attachment_that_changed_is_another_prompt(path: Path) -> None:
    chat(path, ["A dot."]).send("Look", attach=Media("image/png", b"\x89PNG one"))

    again = chat(path).send("Look", attach=Media("image/png", b"\x89PNG one"), settings=ONLY)
    other = chat(path).send("Look", attach=Media("image/png", b"\x89PNG two"), settings=ONLY)

    assert again.text == "A dot."
    assert other.status == "error"


def test_the_date_in_the_system_text_does_not_matter(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbtool.chat.prompt._today", lambda: "1999-12-31 (CET)")

    assert chat(recorded).send(PROMPT).replayed is not None


def test_a_table_that_a_tool_reads_by_name_matters(path: Path) -> None:
    def kernel(rows: int) -> Any:
        around: dict[str, Any] = {"__name__": "__main__", "table": pd.DataFrame({"a": range(rows)}), "seen": []}
        exec("def size() -> int:\n    'How many.'\n    seen.append(1)\n    return len(table)", around)
        return tool(run="auto")(around["size"])

    Chat_ = lambda rows, replies=(): chat(path, replies, tools=[kernel(rows)])  # noqa: E731, N806 - a kernel a call
    Chat_(3, [call("size"), "Three."]).send("How many?")

    same = Chat_(3).send("How many?")
    other = Chat_(4).send("How many?", settings=ONLY)

    assert same.text == "Three."
    assert "`table`, which the tool `size` reads, has other values" in str(other.error)


def test_options_that_cannot_be_compared_keep_a_turn_from_being_recorded(path: Path) -> None:
    turn = chat(path, ["Hi."], options={"stop": object()}).send("Hello")

    assert "`options` cannot be known again" in notices(turn)[0]
    assert not path.exists()


def test_a_turn_with_text_that_no_file_can_hold_is_kept_without_it(path: Path) -> None:
    chat(path, ["Hi \ud800."], tools=[]).send("Hello \ud800")

    assert chat(path, tools=[]).send("Hello \ud800").text == "Hi \ufffd."


def test_what_a_tool_itself_changes_does_not_matter(path: Path) -> None:
    def kernel(replies: Any = ()) -> Chat:
        letters: list[str] = []

        @tool(run="auto")
        def write(to: str) -> str:
            "Write a letter."
            letters.append(to)
            return f"To {to}."

        return chat(path, replies, tools=[write])

    first = kernel([call("write", to="ada"), "Written.", "You are welcome."])
    first.send("Write")
    first.send("Thanks")
    second = kernel()

    assert [second.send(prompt).text for prompt in ("Write", "Thanks")] == ["Written.", "You are welcome."]


def test_an_object_that_cannot_be_compared_keeps_a_turn_from_being_recorded(path: Path) -> None:
    first = chat(path, ["Hm."])
    first.expose(model=object())
    turn = first.send("Score $VAR_REF{{model}}")

    assert notices(turn) == [
        "This turn is not replayed and not recorded: `model` cannot be known again (object cannot be compared)."
    ]
    assert not path.exists()


def test_an_object_that_cannot_be_compared_and_is_not_pointed_to_does_no_harm(path: Path) -> None:
    first, second = chat(path, ["Hi."]), chat(path)
    for one in (first, second):
        one.expose(model=object())
    first.send("Hello")

    assert second.send("Hello").text == "Hi."


# --- modes -----------------------------------------------------------------------------------------------------------


def test_only_needs_neither_a_key_nor_a_model(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_REPLAY", "only")
    there = Chat("openai:gpt-5-mini")
    there.replay(path)

    turn = there.send("Hello")

    assert "There is no file" in str(turn.error)
    monkeypatch.setenv("NBTOOL_REPLAY", "auto")
    with pytest.raises(MissingKey):
        there.send("Hello")


def test_a_model_that_nobody_named_is_the_recorded_one(path: Path) -> None:
    chat(path, ["Hi."], tools=[]).send("Hello")
    text = path.read_text().replace('"wire": "scripted"', '"wire": ""')
    path.write_text(text)
    unnamed = Chat()
    unnamed.expose(df=frame())
    unnamed.replay(path)

    turn = unnamed.send("Hello", settings=ONLY)

    assert (turn.text, turn.model) == ("Hi.", "scripted")


@pytest.mark.promise("free-replay")
def test_only_without_a_recording_fails_and_asks_nobody() -> None:
    turn = Chat(wire=ScriptedWire([])).send("Hello", settings=ONLY)

    assert str(turn.error) == (
        "There is no recording to replay from. Name one with `%chat replay FILE`, or ask the model with `--replay off`."
    )


def test_a_word_that_is_no_mode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_REPLAY", "perhaps")

    with pytest.raises(BadUsage, match="auto, only or off, not 'perhaps' \\(NBTOOL_REPLAY\\)"):
        Chat(wire=ScriptedWire([])).send("Hello")


def test_off_asks_the_model_and_records_its_answer_in_place_of_the_former(recorded: Path) -> None:
    chat(recorded, ["It costs 9."]).send(PROMPT, settings=OFF)

    assert chat(recorded).send(PROMPT).text == "It costs 9."
    assert recorded.read_text().count('"recorded"') == 1


def test_a_recording_that_is_only_read_is_not_written(recorded: Path) -> None:
    before = recorded.read_bytes()

    chat(recorded, ["New."], writes=False).send("Something new")

    assert recorded.read_bytes() == before


def test_a_rerun_asks_anew_and_is_recorded_beside_the_first(path: Path) -> None:
    first = chat(path, ["One.", "Two."], tools=[])
    first.send("Hello")
    first.rerun()

    second = chat(path, ["Three."], tools=[])
    told = second.send("Hello", settings=ONLY)
    again = second.rerun(settings=ONLY)
    anew = second.rerun()

    assert [told.text, again.text, anew.text] == ["One.", "Two.", "Three."]
    assert (again.replayed is not None, anew.replayed) == (True, None)


def test_a_turn_that_broke_off_is_not_recorded(path: Path) -> None:
    turn = chat(path, [["One", cut()]]).send("Hello")

    assert turn.status == "error"
    assert not path.exists()


# --- gates -----------------------------------------------------------------------------------------------------------


def asking(**how: Any) -> Any:
    @tool(**how)
    def load(n: int) -> pd.DataFrame:
        "Load rows."
        return pd.DataFrame({"secret": ["SENTINEL"] * n})

    return load


LOADING = (call("load", n=2), "Done.")


def turn_with(path: Path, load: Any, decisions: list[Any], replies: Any = LOADING) -> Any:
    with ScriptedApprover(decisions) as approver:
        one = chat(path, list(replies), tools=[load], approver=approver)
        return one.send("Load", settings=ONLY if not replies else None), one


def test_a_call_that_asks_is_asked_about_again_before_it_runs_again(path: Path) -> None:
    turn_with(path, asking(), [Approved()])

    turn, fresh = turn_with(path, asking(), [Approved()], ())

    assert turn.calls[0].status == "ok"
    assert len(fresh.variables.value("load_1_result")) == 2
    assert [event.kind for event in turn.log].count("call_asked") == 1


def test_where_it_is_denied_the_turn_is_told_and_the_object_is_missing(path: Path) -> None:
    turn_with(path, asking(), [Approved()])

    turn, fresh = turn_with(path, asking(), [Denied("not now")], ())

    assert (turn.status, turn.text, turn.calls[0].status, turn.calls[0].result) == ("completed", "Done.", "ok", None)
    assert "`load` did not run again (not now)" in notices(turn)[-1]
    assert not any(entry.name == "load_1_result" for entry in fresh.variables.entries())


def test_a_replay_that_waits_for_a_person_can_be_stopped(path: Path) -> None:
    turn_with(path, asking(), [Approved()])

    async def stopped() -> Any:
        asked = asyncio.Event()
        loop = asyncio.get_running_loop()

        async def never(_: Any) -> None:
            loop.call_soon_threadsafe(asked.set)

        turn = chat(path, tools=[asking()], approver=never).start("Load")
        await asked.wait()
        turn.cancel()
        return await turn

    turn = asyncio.run(stopped())

    assert turn.status == "cancelled"
    assert turn.log[-1].kind == "turn_ended"


def test_a_released_result_of_a_tool_that_runs_unasked_is_released_as_recorded(path: Path) -> None:
    turn_with(path, asking(run="auto", result="always"), [Released()])

    turn, _ = turn_with(path, asking(run="auto", result="always"), [], ())

    assert turn.calls[0].decisions[0].by == "recording"
    assert len(turn.calls[0].result) == 2


def test_a_result_that_became_another_is_asked_about(path: Path) -> None:
    rows = [2]

    def growing() -> Any:
        @tool(run="auto", result="always")
        def load() -> pd.DataFrame:
            "Load rows."
            return pd.DataFrame({"a": range(len(rows))})

        return load

    turn_with(path, growing(), [Released()], [call("load"), "Done."])
    turn, _ = turn_with(path, growing(), [], ())
    assert notices(turn)[1:] == []

    text = path.read_text().replace("1 rows by", "7 rows by")
    path.write_text(text)
    turn, _ = turn_with(path, growing(), [Released()], ())

    assert "ran again and gave something else" in notices(turn)[-1]


@pytest.mark.parametrize("decision", [Withheld("private"), Released("Two rows.")])
def test_what_was_withheld_or_edited_is_not_in_the_file_and_does_not_come_back(path: Path, decision: Any) -> None:
    turn_with(path, asking(result="always"), [Approved(), decision])

    turn, fresh = turn_with(path, asking(result="always"), [], ())

    assert "SENTINEL" not in path.read_text()
    assert turn.status == "completed"
    assert all("SENTINEL" not in fresh.variables.text(entry.name) for entry in fresh.variables.entries())
    assert turn.calls[0].shown != ""


def test_store_as_holds_what_it_held(path: Path) -> None:
    def tools() -> list[Any]:
        @tool(run="auto", store_as="total")
        def total() -> int:
            "A number."
            return 3

        @tool(run="auto", store_as="rows")
        def rows() -> pd.DataFrame:
            "A frame."
            return frame()

        return [total, rows]

    chat(path, [[call("total"), call("rows")], "Done."], tools=tools()).send("Go")
    fresh = chat(path, tools=tools())
    fresh.send("Go")

    assert fresh.variables.value("total") == 3
    assert len(fresh.variables.value("rows")) == 2


def test_a_name_that_holds_another_result_here_is_not_overwritten(recorded: Path) -> None:
    fresh = chat(recorded, [call("price", ticker="A"), "Ten.", "Asked."])
    fresh.send("Something else first")
    fresh.branch()

    turn = fresh.send(PROMPT)

    assert turn.text == "Asked."
    assert "kept a result as `price_1_result`, which is another one here" in notices(turn)[0]


def test_a_result_of_an_earlier_turn_matters_where_it_is_used(path: Path) -> None:
    replies = [*REPLIES, call("head", df="$VAR_REF{{head_1_result}}"), "Same."]
    first = chat(path, replies)
    first.send(PROMPT)
    first.send("Again?")

    second = chat(path)
    second.send(PROMPT)
    assert second.send("Again?", settings=ONLY).text == "Same."

    third = chat(path)
    third.send(PROMPT)
    third.variables.remember("head_1_result", frame(9))
    assert "`head_1_result` has other values" in str(third.send("Again?", settings=ONLY).error)


# --- secrets ---------------------------------------------------------------------------------------------------------


@pytest.mark.promise("no-secret-told")
def test_no_key_is_in_the_file(path: Path) -> None:
    key = "sk-" + "a1B2" * 8
    chat(path, [call("price", ticker="A"), f"Your key is {key}."]).send(f"Is {key} a key?")

    assert key not in path.read_text()
    assert path.stat().st_size > 100


def test_private_values_are_masked_in_the_file_and_restored_where_they_stand_in_the_prompt(path: Path) -> None:
    def private(replies: Any = ()) -> Chat:
        @tool(run="auto")
        def write(to: str) -> str:
            "Write a letter."
            return f"To {to}, copy to bob@example.org."

        return chat(path, replies, tools=[write], plugins=[Privacy(["email"])])

    replies = [call("write", to="__MASK_EMAIL_1__"), "Written to __MASK_EMAIL_1__.", "Yes."]
    first = private(replies)
    live = first.send("Write to ada@example.org")
    first.send("Sure?")
    second = private()
    told = second.send("Write to ada@example.org")
    other = private().send("Write to eve@example.org", settings=ONLY)

    assert "@example.org" not in path.read_text()
    assert told.text == live.text == "Written to ada@example.org."
    assert told.calls[0].arguments == '{"to": "ada@example.org"}'
    assert second.send("Sure?").text == "Yes."
    assert other.status == "error"


# --- answers of a type, media ----------------------------------------------------------------------------------------


@dataclass
class Fruit:
    name: str
    price: int


def test_an_answer_of_a_type_is_read_again(path: Path) -> None:
    chat(path, ['{"name": "apple", "price": 3}'], tools=[]).send("Which fruit?", as_=Fruit)

    again = chat(path, tools=[]).send("Which fruit?", as_=Fruit)
    other = chat(path, tools=[]).send("Which fruit?", as_=list[Fruit], settings=ONLY)

    assert again.value == Fruit("apple", 3)
    assert "the type of the answer changed" in str(other.error)


# --- other kernels ---------------------------------------------------------------------------------------------------

KERNEL = """
import sys
from pathlib import Path
import pandas as pd
from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call

table = pd.DataFrame({"a": [1, 2]})
LIMITS = {"low", "high", "middle"}

@tool(run="auto")
def rows(df: pd.DataFrame) -> int:
    "How many rows."
    return len(df) + len(LIMITS)

replies = [call("rows", df="$VAR_REF{{table}}"), "Five."] if sys.argv[2] == "record" else []
chat = Chat(wire=ScriptedWire(replies), tools=[rows])
chat.expose(table=table, limits=LIMITS)
chat.record(sys.argv[1])
turn = chat.send("How many in $VAR_REF{{table}}?")
print(turn.text, turn.replayed is not None, turn.error)
"""


def test_a_turn_of_another_kernel_is_told_again(path: Path, tmp_path: Path) -> None:
    script = tmp_path / "cells.py"
    script.write_text(KERNEL)

    def run(verb: str, seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])}
        made = subprocess.run([sys.executable, script, path, verb], env=environment, capture_output=True, text=True)
        return made.stdout + made.stderr

    assert run("record", "1") == "Five. False None\n"
    assert run("replay", "2") == "Five. True None\n"


def test_a_file_that_is_no_recording_is_refused_at_once(path: Path) -> None:
    path.write_text("hello")

    with pytest.raises(BadRecording, match="cannot be read as a recording"):
        Chat(wire=ScriptedWire([])).record(path)
    assert path.read_text() == "hello"


def test_a_rerun_has_the_same_number_when_all_cells_run_again_in_one_kernel(path: Path) -> None:
    cell = TurnSettings(cell_id="one")
    first = chat(path, ["One.", "Two."], tools=[])
    for settings in (cell, cell):  # the second time it is told again
        first.send("How many?", settings=settings)
    first.rerun()
    fresh = chat(path, tools=[])

    told = [fresh.send("How many?", settings=replace(cell, replay="only")).text, fresh.rerun(settings=ONLY).text]

    assert told == ["One.", "Two."]
