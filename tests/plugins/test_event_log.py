from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chain.hooks import EventContext
from nbtool.errors import BadUsage
from nbtool.events import Notice, TextDelta
from nbtool.messages import Media
from nbtool.plugins.event_log import MAX_OLD_FILES, MAX_TEXT, EventLog
from nbtool.testing import ScriptedWire, call


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_event_is_a_line_and_fragments_are_joined(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with ScriptedWire([call("double", n=21), "It is forty-two."]) as wire:
        turn = Chat(wire=wire, tools=[double], plugins=[EventLog(path)]).send("Twice 21?")

    actual = lines(path)
    assert [line["kind"] for line in actual if line["kind"] not in ("call_progress",)] == [
        "turn_started", "request_started", "call_delta", "reply_end", "reply_finished", "message_appended",
        "call_ready", "call_started", "call_finished", "message_appended",
        "request_started", "text_delta", "reply_end", "reply_finished", "message_appended", "turn_ended",
    ]  # fmt: skip
    assert {line["turn_id"] for line in actual} == {turn.turn_id}
    assert [line["arguments"] for line in actual if line["kind"] == "call_delta"] == ['{"n": 21}']
    assert [line["text"] for line in actual if line["kind"] == "text_delta"] == ["It is forty-two."]
    assert actual[0]["at"] <= actual[-1]["at"]


def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    open_to_all = tmp_path / "old.jsonl"
    open_to_all.touch(mode=0o644)

    for path in (tmp_path / "new.jsonl", open_to_all):
        EventLog(path)

        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_looks_like_a_key_is_hidden_even_where_it_is_cut(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")

    log.on_event(EventContext("t", Notice("x" * (MAX_TEXT - 5) + " sk-abcdefghijklmnopqrstuv")))

    assert "sk-" not in log.path.read_text(encoding="utf-8")


def test_long_texts_are_cut(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")

    log.on_event(EventContext("t", Notice("x" * (MAX_TEXT + 7))))

    assert lines(log.path)[0]["text"].endswith("x… (7 more characters)")


def test_images_are_cut_too(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with ScriptedWire(["Nice."]) as wire:
        Chat(wire=wire, plugins=[EventLog(path)]).send("See.", attach=Media("image/png", b"\x89PNG" + b"0" * 100_000))

    assert path.stat().st_size < 2 * MAX_TEXT + 5_000


def test_old_lines_make_room_for_new_ones(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", max_bytes=200)

    for number in range(20):
        log.on_event(EventContext("t", Notice(f"number {number}")))

    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [
        "events.jsonl",
        *(f"events.jsonl.{n}" for n in range(1, MAX_OLD_FILES + 1)),
    ]
    assert all(file.stat().st_size <= 200 for file in files)
    assert lines(files[0])[-1]["text"] == "number 19"
    assert lines(files[1])[-1]["text"] < lines(files[0])[0]["text"]


def test_fragments_of_turns_that_run_at_once_are_kept_apart(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")

    for turn_id, text in (("a", "Hel"), ("b", "Goo"), ("a", "lo"), ("b", "d")):
        log.on_event(EventContext(turn_id, TextDelta(text)))
    for turn_id in "ab":
        log.on_event(EventContext(turn_id, Notice("end")))

    assert [line["text"] for line in lines(log.path)] == ["Hello", "end", "Good", "end"]


def test_a_file_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="cannot be written"):
        EventLog(tmp_path / "missing" / "events.jsonl")
