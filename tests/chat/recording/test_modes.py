"""When the model is asked: auto, only, off."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtool import Chat
from nbtool.chat.conversation import restore
from nbtool.chat.journal import journal, queries
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, MissingKey, NotRecorded
from nbtool.events import Notice
from nbtool.testing import ScriptedWire, cut
from tests.chat.recording.making import ONLY, PROMPT, chat, frame
from tests.chat.recording.replaying import OFF
from tests.hosts import netloc, two_hosts


def test_only_needs_neither_a_key_nor_a_model(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_REPLAY", "only")
    there = Chat("openai:gpt-5-mini")
    there.replay(path)

    turn = there.send("Hello")

    assert isinstance(turn.error, NotRecorded)
    assert path.name in str(turn.error)
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

    assert isinstance(turn.error, NotRecorded)
    ways = ("`NBTOOL_RECORDING=FILE`", "`chat.record(FILE)`", "`%chat record FILE --only`", "`--set replay=off`")
    assert all(way in turn.error.fix for way in ways)


def test_a_word_that_is_no_mode_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOL_REPLAY", "perhaps")

    with pytest.raises(BadUsage, match="Unknown replay mode 'perhaps' \\(NBTOOL_REPLAY\\): expected auto, only or off"):
        Chat(wire=ScriptedWire([])).send("Hello")


def test_off_asks_the_model_and_records_its_answer_in_place_of_the_former(recorded_path: Path) -> None:
    chat(recorded_path, ["It costs 9."]).send(PROMPT, settings=OFF)

    assert chat(recorded_path).send(PROMPT).text == "It costs 9."
    assert recorded_path.read_text().count('"recorded"') == 1


def test_a_recording_that_is_only_read_is_not_written(recorded_path: Path) -> None:
    before = recorded_path.read_bytes()

    chat(recorded_path, ["New."], writes=False).send("Something new")

    assert recorded_path.read_bytes() == before


def test_a_rerun_asks_again_and_is_recorded_beside_the_first(path: Path) -> None:
    first = chat(path, ["One.", "Two."], tools=[])
    first.send("Hello")
    first.rerun()

    second = chat(path, ["Three."], tools=[])
    actual = second.send("Hello", settings=ONLY)
    again = second.rerun(settings=ONLY)
    fresh = second.rerun()

    assert [actual.text, again.text, fresh.text] == ["One.", "Two.", "Three."]
    assert (again.replayed is not None, fresh.replayed) == (True, None)


def test_a_rerun_after_a_restart_is_recorded_beside_the_earlier_versions(path: Path) -> None:
    first = chat(path, ["One.", "Two."], tools=[])
    first.send("Hello")
    first.rerun()
    events = journal().read(lambda connection: queries.chat_events(connection, first.chat_id))

    restarted = chat(path, ["Three."], tools=[])
    restore.restore_into(restarted, restarted.variables, first.chat_id, events)
    restarted.rerun()

    fresh = chat(path, tools=[])
    replayed = [fresh.send("Hello", settings=ONLY), *(fresh.rerun(settings=ONLY) for _ in range(2))]
    assert [turn.text for turn in replayed] == ["One.", "Two.", "Three."]


def test_a_turn_that_broke_off_is_not_recorded(path: Path) -> None:
    turn = chat(path, [["One", cut()]]).send("Hello")

    assert turn.status == "error"
    assert not path.exists()


@pytest.mark.promise("free-replay")
def test_a_replayed_turn_does_not_say_to_which_host_the_messages_go(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def talk() -> Turn:
        chat = Chat("alpha:m")
        chat.send("Hello")
        chat.model = chat.model.with_changes("beta:m")
        return chat.send("And now?")

    monkeypatch.setenv("NBTOOL_RECORDING", str(path))
    with two_hosts(monkeypatch) as hosts:
        recorded, replayed = talk(), talk()
        beta = netloc(hosts.beta)

    assert hosts.asked == (1, 1)
    assert replayed.replayed
    assert [beta in text for text in notices(recorded)] == [True]
    assert [beta in text for text in notices(replayed)] == [False]


def notices(turn: Turn) -> list[str]:
    return [event.text for event in turn.log if isinstance(event, Notice)]
