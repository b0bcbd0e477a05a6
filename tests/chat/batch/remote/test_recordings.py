"""A recording records and replays the turns of workers as it does those of this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.turn_settings import TurnSettings
from nbtool.errors import NotRecorded
from nbtool.testing import call
from tests.chaos import Received, Step, serve_by
from tests.chat.batch.remote.far_tools import ask_for, numbers, prompt_of, result_in, same, say

PROMPTS = ["same 1", "numbers 2", "hi", "same 3"]
VALUES = ["same 1: 1", "numbers 2: list", "hi: None", "same 3: 3"]
PLACES = ["here", "pool", pytest.param("client", marks=pytest.mark.nightly)]


def reply(request: Received) -> list[Step]:
    """Call the tool that a prompt names, and say what it gave."""
    prompt, result = prompt_of(request), result_in(request)
    name, _, number = prompt.partition(" ")
    if result is None and number:
        return list(ask_for(call(name, n=int(number))))
    return list(say(f"{prompt}: {result if result is None or len(result) < 9 else 'list'}"))


def options_of(place: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    return {} if place == "here" else {"on": request.getfixturevalue(place)}


@pytest.mark.parametrize("replayed", PLACES)
@pytest.mark.parametrize("recorded", PLACES)
def test_what_one_place_recorded_another_one_replays(
    recorded: str, replayed: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = tmp_path / "turns.nbtool.json"
    with serve_by(reply) as server:
        first = Chat("tiny", base_url=server.url, tools=[same, numbers])
        first.record(path)
        values = first.map(PROMPTS, **options_of(recorded, request)).values
        sent = len(server.requests)
        again = Chat("tiny", base_url=server.url, tools=[same, numbers])
        again.record(path)
        later = again.map([*PROMPTS, "same 9"], **options_of(replayed, request))

    assert values == VALUES
    assert later.values == [*VALUES, "same 9: 9"]
    assert len(server.requests) == sent + 2
    assert len(json.loads(path.read_text(encoding="utf-8"))["turns"]) == len(PROMPTS) + 1
    assert [turn.calls[0].result for turn in (later.answers[1].turn,) if turn] == [list(range(2_000))]


def test_with_recorded_turns_only_nothing_is_sent_to_a_worker(pool: Any, tmp_path: Path) -> None:
    with serve_by(reply) as server:
        chat = Chat("tiny", base_url=server.url, tools=[same, numbers])
        chat.record(tmp_path / "turns.nbtool.json")
        chat.map(PROMPTS[:1], on=pool)
        sent = len(server.requests)
        batch = chat.map(PROMPTS[:2], on=pool, settings=TurnSettings(replay="only"))

    assert batch.answers[0].value == VALUES[0]
    assert [type(one.error) for one in batch.errors] == [NotRecorded]
    assert len(server.requests) == sent
