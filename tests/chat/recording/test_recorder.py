"""Recorded turns are told again, and no model is asked."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.chat.chat import TurnSettings
from nbtool.chat.export.markdown import as_markdown
from nbtool.chat.export.visibility import shareable_turn
from nbtool.chat.journal import journal
from nbtool.chat.recording.cache_key import history_digest
from nbtool.errors import BadRecording, NotRecorded
from nbtool.events import TextDelta
from nbtool.testing import ScriptedWire
from tests.chat.recording.making import ONLY, PROMPT, REPLIES, Shop, chat
from tests.chat.recording.replaying import OFF, notices


@pytest.mark.promise("free-replay")
def test_a_recorded_turn_is_replayed_and_no_model_is_called(recorded_path: Path) -> None:
    first = chat(recorded_path, REPLIES).send(PROMPT, settings=OFF)

    turn = chat(recorded_path).send(PROMPT)

    assert (turn.status, turn.text, turn.error) == ("completed", "It costs 10.", None)
    assert turn.replayed == dt.datetime.now().astimezone().date()
    assert [(c.name, c.status, c.shown, c.resolved) for c in turn.calls] == [
        (c.name, c.status, c.shown, c.resolved) for c in first.calls
    ]
    assert turn.content == first.content
    assert first.replayed is None
    assert turn.usage.total_tokens == 0
    (notice,) = notices(turn)
    assert str(turn.replayed) in notice


def test_only_a_call_that_brought_an_object_runs_again(recorded_path: Path) -> None:
    shop = Shop()
    fresh = chat(recorded_path, shop=shop)

    turn = fresh.send(PROMPT)

    assert shop.ran == ["head"]
    assert [call.result if call.name == "price" else len(call.result) for call in turn.calls] == [10, 1]
    assert fresh.variables.value("price_1_result") == 10
    assert fresh.variables.value("head_1_result") is turn.calls[1].result


def test_later_turns_are_replayed_too_with_the_same_history(path: Path) -> None:
    first = chat(path, [*REPLIES, "B: 2."])
    first.send(PROMPT)
    actual = first.send("And B?")

    second = chat(path)
    second.send(PROMPT)
    again = second.send("And B?")

    assert again.text == "B: 2."
    assert history_digest(again.messages.context) == history_digest(actual.messages.context)  # each call has a new id


def test_the_same_turn_can_be_replayed_in_the_same_kernel(recorded_path: Path) -> None:
    fresh = chat(recorded_path)

    turns = [fresh.send(PROMPT, settings=TurnSettings(cell_id="a")) for _ in range(2)]

    assert [turn.text for turn in turns] == ["It costs 10."] * 2
    assert not {c.call_id for c in turns[0].calls} & {c.call_id for c in turns[1].calls}


def test_a_replayed_turn_streams_and_is_journalled_as_any_other(recorded_path: Path) -> None:
    async def kinds() -> tuple[Any, list[Any]]:
        turn = chat(recorded_path).start(PROMPT)
        return turn, [event async for event in turn]

    turn, events = asyncio.run(kinds())

    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "It costs 10."
    assert [event.kind for event in events][:4] == ["turn_started", "notice", "request_started", "call_delta"]
    assert events[-1].kind == "turn_ended"
    journalled = journal().events(turn.turn_id)
    assert str(turn.replayed) in str(journalled[0])
    assert "Replayed from" in str(turn._repr_mimebundle_()["text/html"])


def test_a_call_whose_result_holds_no_picture_says_nothing_of_pictures_in_the_file(recorded_path: Path) -> None:
    text = recorded_path.read_text(encoding="utf-8")

    assert '"call_finished"' in text
    assert "media" not in text


@dataclass
class Fruit:
    name: str
    price: int


def test_an_answer_of_a_type_is_read_again(path: Path) -> None:
    chat(path, ['{"name": "apple", "price": 3}'], tools=[]).send("Which fruit?", as_=Fruit)

    again = chat(path, tools=[]).send("Which fruit?", as_=Fruit)
    other = chat(path, tools=[]).send("Which fruit?", as_=list[Fruit], settings=ONLY)

    assert again.value == Fruit("apple", 3)
    assert isinstance(other.error, NotRecorded)
    assert "the type" in str(other.error)


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


@pytest.mark.sampled(0)
def test_a_turn_of_another_kernel_is_replayed(path: Path, tmp_path: Path) -> None:
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

    actual = [fresh.send("How many?", settings=replace(cell, replay="only")).text, fresh.rerun(settings=ONLY).text]

    assert actual == ["One.", "Two."]


def test_every_form_of_a_replayed_turn_says_that_it_is_one(recorded_path: Path) -> None:
    turn = chat(recorded_path).send(PROMPT)
    saved, again = turn._repr_mimebundle_(), pickle.loads(pickle.dumps(turn))
    line = f"replayed from {turn.replayed}"

    assert line in saved["text/html"]
    assert line in saved["text/plain"]
    assert saved[TURN_MIME]["head"]["replayed"] == str(turn.replayed)
    assert line in as_markdown([shareable_turn(turn)])
    assert again.replayed == turn.replayed
    assert again._repr_mimebundle_() == saved
