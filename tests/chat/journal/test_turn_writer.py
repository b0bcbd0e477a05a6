"""What never reaches the disk: every byte of the journal's files is looked through for it."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, Released, Withheld, tool
from nbtool.chat.journal import Journal, TurnWriter, journal, search
from nbtool.event_json import load_events
from nbtool.events import (
    CallAsked,
    CallFinished,
    CallProgress,
    CallReady,
    CallStarted,
    Difference,
    Notice,
    RepeatedQuestion,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
)
from nbtool.messages import Media, Usage
from nbtool.plugins.event_log import EventLog
from nbtool.plugins.privacy import Privacy
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools.tool import Progress
from tests.resolved import plain

SECRET = "SENTINEL-4711"
PICTURE = Media("image/png", b"\x89PNG\r\n\x1a\n" + SECRET.encode() * 3, name="drawn")
PICTURE_FORMS = (SECRET.encode(), base64.b64encode(PICTURE.data or b""), base64.urlsafe_b64encode(PICTURE.data or b""))


def bytes_of(book: Journal) -> bytes:
    """Give all that the journal has on disk, its log and its index included."""
    assert book.path is not None
    book.execute(search.update_index)
    return b"".join(file.read_bytes() for file in sorted(book.path.parent.iterdir()))


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "home"))
    journal.cache_clear()
    yield journal()
    journal.cache_clear()


@tool(run="auto", result="always")
def look_up(name: str) -> Any:
    "Look something up, and print on the way."
    yield Progress(f"reading {SECRET}")
    yield f"{name} is {SECRET}"


@tool(run="auto", result="always")
def draw() -> Media:
    "Draw something."
    return PICTURE


def test_deltas_are_joined_and_written_with_the_next_event(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    writer = TurnWriter(book, "c", "t")
    for delta in (ThinkingDelta("H"), ThinkingDelta("m"), TextDelta("H"), TextDelta("i")):
        writer.buffer(delta)

    asyncio.run(writer.write(Notice("end")))

    assert [(event["kind"], event["text"]) for event in book.events("t")] == [
        ("thinking_delta", "Hm"), ("text_delta", "Hi"), ("notice", "end"),
    ]  # fmt: skip


def test_prose_goes_on_after_a_call_that_prints(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    writer = TurnWriter(book, "c", "t")
    writer.buffer(TextDelta("Be"))
    asyncio.run(writer.write(CallProgress("c1", "printed")))
    writer.buffer(TextDelta("fore"))

    asyncio.run(writer.write(Notice("end")))

    assert [event["text"] for event in book.events("t")] == ["Be", "printed", "fore", "end"]


@pytest.mark.parametrize(
    ("decision", "is_kept"), [(Withheld("private"), False), (Released("it is ***"), False), (Released(), True)]
)
def test_a_result_is_kept_only_as_it_was_released(book: Journal, decision: Any, is_kept: bool) -> None:
    wire = ScriptedWire([call("look_up", name="it"), "Done."])
    turn = Chat(wire=wire, tools=[look_up], approver=ScriptedApprover([decision])).send("Look it up")

    assert turn.status == "completed"
    assert (SECRET.encode() in bytes_of(book)) is is_kept
    assert b"look_up" in bytes_of(book)


def test_what_a_person_is_asked_about_a_result_is_not_kept_when_the_kernel_ends_before_the_answer(
    book: Journal,
) -> None:
    seen: list[bytes] = []

    def ask(question: Any) -> Any:
        seen.append(bytes_of(book))
        return Withheld("no") if question.gate == "result" else Approved()

    wire = ScriptedWire([call("look_up", name="it"), "Done."])
    Chat(wire=wire, tools=[look_up], approver=ask).send("Look it up")

    assert len(seen) == 1
    assert SECRET.encode() not in seen[0]


@pytest.mark.parametrize(
    ("decision", "is_kept"), [(Withheld("private"), False), (Released("cut"), False), (Released(), True)]
)
def test_an_image_is_kept_only_where_its_result_was_released_as_it_is(
    book: Journal, tmp_path: Path, decision: Any, is_kept: bool
) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    wire = ScriptedWire([call("draw"), "Done."])
    approver = ScriptedApprover([decision])
    turn = Chat(wire=wire, tools=[draw], approver=approver, plugins=[log]).send("Draw it")

    assert [question.media for question in approver.questions] == [(PICTURE,)]
    assert turn.status == "completed"
    assert any(form in bytes_of(book) for form in PICTURE_FORMS) is is_kept
    assert any(form in log.path.read_bytes() for form in PICTURE_FORMS) is is_kept


@pytest.mark.parametrize("status", ["withheld", "cancelled", "timed_out", "unknown"])
def test_what_a_guarded_call_printed_goes_with_its_result(tmp_path: Path, status: Any) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    writer = TurnWriter(book, "c", "t")
    for event in (
        CallStarted("c1", 1.0, guarded=True), CallProgress("c1", SECRET), CallFinished("c1", "f", 1, status, "no"),
    ):  # fmt: skip
        asyncio.run(writer.write(event))

    assert [event["kind"] for event in book.events("t")] == ["call_started", "call_finished"]
    assert SECRET.encode() not in bytes_of(book)


def test_what_other_calls_print_is_kept(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    writer = TurnWriter(book, "c", "t")
    for event in (CallStarted("c1", 1.0), CallProgress("c1", "half"), CallFinished("c1", "f", 1, "ok", "whole")):
        asyncio.run(writer.write(event))

    assert [event["kind"] for event in book.events("t")] == ["call_started", "call_progress", "call_finished"]


def test_private_values_stay_out_of_every_event(book: Journal) -> None:
    address = "ada.lovelace@example.org"

    @tool(run="auto")
    def write(to: str) -> Any:
        "Write to somebody."
        yield Progress(f"to {to[:8]}")
        yield Progress(f"{to[8:]}, sent")
        yield {"sent to": to}

    wire = ScriptedWire([
        call("write", to="__MASK_EMAIL_1__"), "I wrote to __MASK_EMAIL_1__.",
    ])  # fmt: skip
    turn = Chat(wire=wire, tools=[write], plugins=[Privacy(["email"])]).send(f"Write to {address} ({SECRET})")
    stored = bytes_of(book)

    assert turn.text.endswith(f" {address}.")
    assert address.encode() not in stored
    assert SECRET.encode() in stored
    assert [event["kind"] for event in book.events(turn.turn_id)][-1] == "turn_ended"
    assert b"I wrote to [email]." in stored


def test_private_values_are_kept_where_the_person_says_so(book: Journal) -> None:
    plugin = Privacy(["email"], journal=True)
    Chat(wire=ScriptedWire(["Good."]), plugins=[plugin]).send("I am ada@example.org")

    assert b"ada@example.org" in bytes_of(book)


def test_a_plugin_that_fails_to_look_keeps_the_text_out(book: Journal) -> None:
    class Failing:
        def on_journal(self, _: Any) -> None:
            raise ValueError("broken")

    turn = Chat(wire=ScriptedWire(["Good."]), plugins=[Failing()]).send(SECRET)

    assert turn.status == "completed"
    assert SECRET.encode() not in bytes_of(book)


def test_events_can_be_read_back_although_a_plugin_fails_to_look_at_their_texts(tmp_path: Path) -> None:
    def failing(text: str) -> str:
        return f"[not kept: {len(text)}]"

    book = Journal(tmp_path / "journal.sqlite")
    notice = Notice(SECRET, topic="refused")
    ended = TurnEnded("completed", SECRET, Usage(), 1, 0, 1.0, end_reason="refused")
    writer = TurnWriter(book, "c", "t", hide=failing)
    for event in (notice, ended):
        asyncio.run(writer.write(event))

    stored = load_events(book.events("t"))
    assert [event.topic for event in stored if isinstance(event, Notice)] == ["refused"]
    assert [event.end_reason for event in stored if isinstance(event, TurnEnded)] == ["refused"]


def test_what_changed_in_the_data_is_shown_to_the_person_and_not_kept(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    shape = Difference("the argument 'df'", "list, 1 item", "list, 2 items")
    again = RepeatedQuestion("changed", (shape, Difference("what is in df", "", SECRET, is_content=True)))
    event = CallAsked("c1", "run", "d", "f", "{}", again=again)
    asyncio.run(TurnWriter(book, "c", "t").write(event))

    assert event.again == again
    [stored] = load_events(book.events("t"))
    assert isinstance(stored, CallAsked)
    assert stored.again == RepeatedQuestion("changed", (shape, Difference("what is in df", is_content=True)))
    assert SECRET.encode() not in bytes_of(book)


def test_what_only_the_person_sees_of_the_data_is_not_kept(tmp_path: Path) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    glances = {"df": {"columns": ["name"], "rows": [[SECRET]]}}
    event = CallReady("c1", "f", 1, "{}", {"df": plain("a frame")}, glances=glances)
    finished = CallFinished("c1", "f", 1, "ok", "a frame", table=glances["df"])
    asked = CallAsked("c1", "result", "d" * 32, "f", SECRET, media=(PICTURE,))
    asyncio.run(TurnWriter(book, "c", "t").write(event, asked, finished))
    ready, question, outcome = book.events("t")

    assert (event.glances, finished.table, asked.shown) == (glances, glances["df"], SECRET)
    assert ready["described"]["df"]["text"] == "a frame"
    assert (question["shown"], question["media"]) == ("", [])
    assert (outcome["shown"], outcome["table"]) == ("a frame", {})
    assert SECRET.encode() not in bytes_of(book)
