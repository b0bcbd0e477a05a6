"""A recording that the environment names: for every chat of the process without one of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtool import Chat
from nbtool.chat.recording.environment import FILE, MODE, watch_unrecorded
from nbtool.errors import NotRecorded
from nbtool.testing import ScriptedWire
from tests.chat.recording.making import PROMPT, REPLIES, chat


@pytest.fixture
def named(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FILE, str(path))
    return path


@pytest.mark.usefixtures("named")
def test_every_chat_records_there_and_replays_from_there() -> None:
    first = Chat(wire=ScriptedWire(["Hi."])).send("Hello")
    again = Chat(wire=ScriptedWire([])).send("Hello")

    assert (first.text, again.text) == ("Hi.", "Hi.")
    assert (first.replayed, again.replayed is not None) == (None, True)


def test_with_replay_only_nothing_is_sent_and_nothing_written(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Chat(wire=ScriptedWire(["Hi."])).send("Hello")
    before = named.read_bytes()
    monkeypatch.setenv(MODE, "only")

    with watch_unrecorded() as unrecorded:
        known = Chat(wire=ScriptedWire([])).send("Hello")
        other = Chat(wire=ScriptedWire([])).send("Good day")
    Chat(wire=ScriptedWire([])).send("Nobody watches this")

    assert known.text == "Hi."
    assert isinstance(other.error, NotRecorded)
    assert all(part in other.error.fix for part in ("`pytest --nbtool-record`", "NBTOOL_REPLAY=auto"))
    assert [(turn.prompt, turn.reason) for turn in unrecorded] == [("Good day", other.error.message)]
    assert "notebook.nbtool.json" in other.error.message
    assert named.read_bytes() == before


def test_a_recording_that_a_chat_opens_itself_takes_its_place(named: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.nbtool.json"

    opened = chat(own, REPLIES)
    opened.send(PROMPT)
    is_named_used = named.exists()
    opened.record(None)

    assert own.exists()
    assert not is_named_used
    assert opened.recorder.is_from_environment


def test_a_relative_name_is_one_in_the_current_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FILE, "here.nbtool.json")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Chat(wire=ScriptedWire(["Hi."])).send("Hello")

    assert [(tmp_path / folder / "here.nbtool.json").exists() for folder in ("one", "two")] == [True, True]


def test_what_a_recording_cannot_hold_is_reported(named: Path) -> None:
    named.write_text("{}")

    with watch_unrecorded() as unrecorded, pytest.warns(UserWarning, match="Not recorded: "):
        turn = Chat(wire=ScriptedWire(["Hi."])).send("Hello")

    (found,) = unrecorded
    assert (turn.text, found.prompt) == ("Hi.", "Hello")
    assert named.name in found.reason
