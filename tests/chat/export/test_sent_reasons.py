"""Files about a turn have no reason that only a person read: the text of an approver's error stays here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied, tool
from nbtool.chat.export.document import dump_conversation
from nbtool.chat.export.visibility import shareable_turn
from nbtool.event_filter import filter_events
from nbtool.events import CallDecided, CallFinished
from nbtool.testing import ScriptedWire, call


@tool
def pay() -> str:
    """Pay."""
    return "paid"


def fail(_: object) -> Any:
    raise ValueError("no limit for DE89")


APPROVERS: dict[str, Any] = {
    "fails": fail,
    "returns a value": lambda _: "DE89",
    "returns a wrong scope": lambda _: Approved(remember="DE89"),  # type: ignore[arg-type]  # what it may return
}


@pytest.mark.parametrize("approver", APPROVERS)
def test_what_an_approver_failed_with_is_in_the_turn_and_in_no_file_about_it(approver: str, tmp_path: Path) -> None:
    path = tmp_path / "turns.nbtool.json"
    chat = Chat(wire=ScriptedWire([call("pay"), "Done."]), tools=[pay], approver=APPROVERS[approver])
    chat.recorder.open(path, writes=True)
    turn = chat.send("Go.")
    shared = shareable_turn(turn)

    assert "DE89" in repr(turn.log)
    assert "DE89" not in repr(shared.log)
    assert "DE89" not in dump_conversation(chat.tree)
    assert "call_decided" in path.read_text()
    assert "DE89" not in path.read_text()
    assert shared.calls[0].reason == shared.calls[0].decisions[0].reason == turn.calls[0].shown


def test_what_a_policy_of_a_tool_failed_with_is_in_no_file_either() -> None:
    failing = tool(lambda: "done", name="pay", run=fail)
    turn = Chat(wire=ScriptedWire([call("pay"), "Done."]), tools=[failing]).send("Go.")
    shared = shareable_turn(turn)

    assert "DE89" in turn.calls[0].reason
    assert "DE89" not in repr(shared.log)
    assert shared.calls[0].reason == turn.calls[0].shown


def test_a_reason_that_somebody_gave_is_kept() -> None:
    chat = Chat(wire=ScriptedWire([call("pay"), "Done."]), tools=[pay], approver=lambda _: Denied("not today"))
    turn = chat.send("Go.")

    shared = filter_events(turn.log, "export")
    reasons = [event.reason for event in shared if isinstance(event, CallDecided | CallFinished)]

    assert reasons == ["not today", "not today"]
    assert turn.calls[0].reason == "not today"
