"""What people saved with an older nbtool is still read; see `fixtures/README.md`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, get_args

import jsonschema  # type: ignore[import-untyped]  # it ships no types

from nbtool.blocks.protocol_schema import SCHEMA
from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.chat.conversation import restore
from nbtool.chat.export import document
from nbtool.chat.export.visibility import is_imported, shareable_events
from nbtool.chat.journal import Journal, queries
from nbtool.chat.recording.file import Recording
from nbtool.chat.recording.key_part import NamedKind, Part, SingleKind
from nbtool.chat.recording.serialize import deserialize_events
from nbtool.chat.turn import Turn
from nbtool.event_json import load_events
from nbtool.events import Notice, ResolvedArgument, TurnEnded

OLDER = Path(__file__).parent / "fixtures" / "before_typed_fields"


def test_a_turn_that_was_imported_counts_as_imported_by_whatever_words_it_says_so() -> None:
    turn = recalled("imported_turn.json")

    assert is_imported(turn)
    assert [event.topic for event in turn.log if isinstance(event, Notice)] == ["imported"]
    assert not any(isinstance(event, Notice) for event in shareable_events(turn))


def test_a_turn_whose_kernel_ended_is_known_as_interrupted() -> None:
    turn = recalled("interrupted_turn.json")

    assert (turn.status, turn.end_reason) == ("error", "interrupted")
    assert isinstance(turn.error, restore.Interrupted)
    assert [call.status for call in turn.calls] == ["unknown", "denied"]


def test_a_notice_or_an_end_with_such_words_of_its_own_is_taken_by_its_field() -> None:
    said = {"kind": "notice", "text": "This turn was imported from a file: nobody here saw it happen."}
    (notice,) = load_events([{**said, "topic": "length"}])

    assert isinstance(notice, Notice)
    assert notice.topic == "length"


def test_a_journal_is_read_with_its_whole_and_its_broken_turns(tmp_path: Path) -> None:
    shutil.copy(OLDER / "journal.sqlite", tmp_path / "journal.sqlite")
    journal = Journal(tmp_path / "journal.sqlite")
    lines = journal.read(queries.list_turns)
    turns = [restore.restore_turn(load_events(journal.events(line.turn_id))) for line in lines]

    assert sorted((turn.status, turn.end_reason) for turn in turns) == [
        ("completed", ""), ("completed", ""), ("error", "interrupted"),
    ]  # fmt: skip


def test_an_exported_conversation_is_read() -> None:
    tree = document.load_conversation((OLDER / "conversation.json").read_bytes())

    assert [node.turn.text for node in tree.active_path if node.turn] == ["It costs 10.", "Sent."]
    assert [[call.status for call in node.turn.calls] for node in tree.active_path if node.turn] == [
        ["ok", "ok"], ["ok", "denied"],
    ]  # fmt: skip


def test_a_recording_is_read_by_the_parts_of_its_keys_and_written_in_the_form_of_today(tmp_path: Path) -> None:
    shutil.copy(OLDER / "recording.json", tmp_path / "recording.json")
    recording = Recording(tmp_path / "recording.json", writes=True)
    first, second = recording.turns()
    recording.add(first)
    written = json.loads((tmp_path / "recording.json").read_text())

    assert {part.kind for part in second.key} == {*get_args(SingleKind), *get_args(NamedKind)} - {"version"}
    assert first.key[Part("reads", "price", "LIMIT")] == "0c97b8287cf94563eddb"
    assert second.key[Part("result", "head_1_result")] == "9b5f9627edadd3a19127"
    assert written["nbtool_recording"] == 2
    assert written["turns"][0]["key"]["tool"]["price"] == first.key[Part("tool", "price")]
    assert Recording(tmp_path / "recording.json").turns() == (first, second)


def test_the_turns_of_a_recording_can_be_replayed() -> None:
    actual = [deserialize_events(turn) for turn in Recording(OLDER / "recording.json").turns()]

    assert [events[-1].text for events, _ in actual if isinstance(events[-1], TurnEnded)] == ["It costs 10.", "Sent."]
    assert [sum(call.has_value or call.again for call in calls.values()) for _, calls in actual] == [2, 1]


def recalled(name: str) -> Turn:
    """Rebuild the turn whose events a file holds."""
    events: list[dict[str, Any]] = json.loads((OLDER / name).read_text())
    return restore.restore_turn(load_events(events))


def test_the_object_of_an_argument_comes_back_as_a_reference_with_its_name() -> None:
    tree = document.load_conversation((OLDER / "conversation.json").read_bytes())
    first, second = (node.turn.calls for node in tree.active_path if node.turn)

    assert first[0].resolved == {"ticker": ResolvedArgument('"A"')}
    (frame,) = first[1].resolved["df"].references
    assert (frame.name, frame.summary) == ("df", "DataFrame, 2 rows by 2 columns")
    assert frame.text.startswith("DataFrame, 2 rows by 2 columns: ticker")
    assert second[0].resolved["table"].is_reference
    assert "$VAR_REF{{df:0:20}}" in str(second[0].resolved["text"])


def test_the_data_of_a_saved_turn_are_still_of_the_schema() -> None:
    saved = json.loads((OLDER / "saved_turn.json").read_text())

    jsonschema.Draft202012Validator(SCHEMA).validate(saved[TURN_MIME])
