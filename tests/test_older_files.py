"""What people saved with an older nbtool is still read; see `fixtures/README.md`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types

from nbtool.blocks.protocol_schema import SCHEMA
from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.chat.conversation import restore
from nbtool.chat.export import document
from nbtool.chat.export.visibility import is_imported, shareable_events
from nbtool.chat.turn import Turn
from nbtool.event_json import load_events
from nbtool.events import Notice, ResolvedArgument

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


def test_an_exported_conversation_is_read() -> None:
    tree = document.load_conversation((OLDER / "conversation.json").read_bytes())

    assert [node.turn.text for node in tree.active_path if node.turn] == ["It costs 10.", "Sent."]
    assert [[call.status for call in node.turn.calls] for node in tree.active_path if node.turn] == [
        ["ok", "ok"], ["ok", "denied"],
    ]  # fmt: skip


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
