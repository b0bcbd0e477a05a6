from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from nbtool import Chat
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.render.mimebundle import TURN_MIME, turn_mimebundle
from nbtool.blocks.render.static_html import to_html, to_text
from nbtool.blocks.render.terminal import Terminal
from nbtool.chat.turn import Turn
from nbtool.events import CallFinished
from nbtool.testing import ScriptedWire, call
from nbtool.tools import tool
from nbtool.tools.approval import Approved, Decision, Question, Released, Withheld
from nbtool.tools.calls.traceback import MAX_FRAMES, last_own_line, name_files_by, own_traceback

ROWS = {"a": 1}


def look_up(name: str) -> int:
    return ROWS[name]


@tool(run="auto")
def price(name: str) -> int:
    """Give a price."""
    return look_up(name)


@tool(run="auto", result="always")
def guarded(name: str) -> int:
    """Give a price that a person looks at first."""
    return look_up(name)


class Person:
    name = "person"

    def __init__(self, decision: Decision) -> None:
        self.decision = decision

    def ask(self, question: Question) -> Decision:
        return self.decision if question.gate == "result" else Approved()


def run_failing(tool_name: str, person: Person | None = None) -> tuple[Turn, str, list[CallFinished]]:
    """Let the tool fail; gives the turn, what left for the model, and the outcomes."""
    with ScriptedWire([call(tool_name, name="zebra"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[price, guarded], approver=person).send("Go")
        sent = repr([prompt.messages for prompt in wire.prompts])
    return turn, sent, [event for event in turn.log if isinstance(event, CallFinished)]


def test_where_a_tool_of_ones_own_failed_is_shown_to_the_person_and_to_no_model() -> None:
    turn, sent, (outcome,) = run_failing("price")

    lines = outcome.traceback.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].endswith("in price")
    assert lines[-1] == "KeyError: 'zebra'"
    assert "    return ROWS[name]" in lines
    assert any(line.startswith(f"  {Path(__file__).name}, line ") and line.endswith("in look_up") for line in lines)
    assert turn.calls[0].traceback == outcome.traceback
    assert "ROWS[name]" not in sent


@pytest.mark.parametrize("way", ["html", "text", "terminal", "saved"])
def test_every_way_of_showing_a_turn_has_the_traceback_and_no_folder_of_this_machine(way: str) -> None:
    turn, _, _ = run_failing("price")
    transcript, output = Transcript(), io.StringIO()
    terminal = Terminal(output)
    for event in turn.log:
        transcript.feed(event)
        terminal.feed(event)
    shown = {
        "html": to_html(transcript.document()),
        "text": to_text(transcript.document()),
        "terminal": output.getvalue(),
        "saved": json.dumps(turn_mimebundle(transcript.document())[TURN_MIME]),
    }[way]

    assert "return ROWS[name]" in shown
    assert str(Path(__file__).parent) not in shown
    assert str(Path.home()) + "/" not in shown


@pytest.mark.parametrize(
    ("decision", "is_kept"),
    [(Withheld("no"), False), (Released(text="Nothing was found."), False), (Released(), True)],
)
def test_a_traceback_follows_what_the_person_decided_of_the_result(decision: Decision, is_kept: bool) -> None:
    _, sent, (outcome,) = run_failing("guarded", Person(decision))

    assert bool(outcome.traceback) is is_kept
    assert "ROWS[name]" not in sent


def deep(depth: int) -> None:
    if depth:
        deep(depth - 1)
    else:
        raise ValueError("the bottom")


def test_a_deep_traceback_says_how_many_frames_it_leaves_out() -> None:
    with pytest.raises(ValueError, match="the bottom") as caught:
        deep(100)

    lines = own_traceback(caught.value, "ValueError: the bottom").splitlines()
    assert [line for line in lines if line.endswith("more frames")] == [f"  … {102 - MAX_FRAMES} more frames"]
    assert sum(line.startswith("  test_traceback.py") for line in lines) == MAX_FRAMES
    assert lines[-1] == "ValueError: the bottom"


def test_what_led_to_an_error_is_reported_before_it() -> None:
    def fail() -> None:
        try:
            look_up("none")
        except KeyError as error:
            raise RuntimeError("no price") from error

    with pytest.raises(RuntimeError) as caught:
        fail()
    text = own_traceback(caught.value, "RuntimeError: no price")

    assert text.index("KeyError") < text.index("which led to") < text.index("RuntimeError: no price")
    assert "'none'" not in text  # the message of a cause, which nobody has approved


def test_a_function_that_fails_to_name_a_file_leaves_its_own_name() -> None:
    def fail(path: str) -> str:
        raise ValueError(path)

    name_files_by(fail)
    with pytest.raises(KeyError) as caught:
        look_up("none")
    try:
        text = own_traceback(caught.value, "KeyError")
    finally:
        name_files_by(lambda _: "")

    assert "  test_traceback.py, line 25, in look" in text


def test_cells_are_named_as_the_notebook_names_them() -> None:
    name_files_by(lambda path: "Cell In[3]" if path.endswith("test_traceback.py") else "")
    with pytest.raises(KeyError) as caught:
        look_up("none")
    try:
        text = own_traceback(caught.value, "KeyError")
    finally:
        name_files_by(lambda _: "")

    assert "  Cell In[3], line 25, in look" in text


def test_the_last_line_of_ones_own_code_is_named_and_none_if_only_a_library_ran() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("{")
    own = caught.value.with_traceback(caught.tb)
    assert last_own_line(own).startswith("test_traceback.py, line ")
    assert last_own_line(KeyError("never raised")) == ""
