"""Calls that a server answers later: the result arrives, and a task that nobody awaits is cancelled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied, Policy
from nbtool.testing import ScriptedWire, call
from nbtool.tools.mcp import McpServers, mcp_servers

HERE = Path(__file__).parent


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Give the file in which the server notes what it is asked."""
    return tmp_path / "requests.txt"


@pytest.fixture
def later(log: Path) -> Iterator[McpServers]:
    """Give a server of the newest protocol alone, whose calls become tasks."""
    args = [str(HERE / "newest_only.py"), str(HERE / "task_server.py"), str(log)]
    with mcp_servers({"mcpServers": {"it": {"command": sys.executable, "args": args}}}) as servers:
        yield servers


def run(servers: McpServers, what: str, approver: Any = lambda _: Approved()) -> Any:
    with ScriptedWire([call("it_work", what=what), "Done."]) as wire:
        return Chat(wire=wire, tools=[servers], approver=approver).send("Work.").calls[0]


def test_a_result_that_comes_later_is_the_result_of_the_call(later: McpServers, log: Path) -> None:
    done = run(later, "later")

    assert (done.status, done.result) == ("ok", "#42")
    assert log.read_text().split("\n")[:4] == ["call later", "get t1", "get t1", "get t1"]


@pytest.mark.parametrize(("more", "is_task"), [({}, False), ({"protocol": "2026-07-28"}, True)])
def test_calls_of_a_server_with_both_protocols_become_tasks_where_its_entry_asks_for_the_newer_one(
    log: Path, more: dict[str, str], *, is_task: bool
) -> None:
    entry = {"command": sys.executable, "args": [str(HERE / "task_server.py"), str(log)], **more}
    with mcp_servers({"mcpServers": {"it": entry}}) as servers:
        assert run(servers, "later").result == ("#42" if is_task else "did later")

    assert ("get t1" in log.read_text()) is is_task


@pytest.mark.sampled(0)
def test_a_call_that_becomes_no_task_is_answered_at_once(later: McpServers, log: Path) -> None:
    assert run(later, "at-once").result == "did at-once"
    assert log.read_text() == "call at-once\n"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("what", "reason"),
    [("failing", "the disk is full"), ("own error", "not today"), ("cancelled", "the night is over")],
)
def test_a_task_that_fails_is_a_failed_call_with_the_servers_reason(later: McpServers, what: str, reason: str) -> None:
    failed = run(later, what)

    assert failed.status == "error"
    assert reason in failed.to_result().text


def test_what_the_server_says_of_a_task_is_shown_while_it_runs(later: McpServers) -> None:
    with ScriptedWire([call("it_work", what="later"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[later], approver=lambda _: Approved()).send("Work.")

    shown = "".join(event.text for event in turn.log if event.kind == "call_progress")
    assert shown.split("\n") == ["queued", "step 1", "step 2", ""]


@pytest.mark.promise("forms")
def test_a_task_that_needs_input_asks_the_person_once(later: McpServers, log: Path) -> None:
    forms: list[Any] = []

    def answer(question: Any) -> Approved:
        if not question.is_form:
            return Approved()
        forms.append(question)
        return Approved({"name": "Ada"})

    assert run(later, "asking", answer).result == '{"name": "Ada"}'
    assert len(forms) == 1
    assert log.read_text().count("update") == 1


@pytest.mark.sampled(0)
@pytest.mark.promise("forms")
def test_a_form_of_a_task_that_the_person_declines_is_declined(later: McpServers) -> None:
    def decline(question: Any) -> Approved | Denied:
        return Denied("no") if question.is_form else Approved()

    assert run(later, "asking", decline).result == "null"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("what", ["asking without end", "asking for a model"])
def test_a_task_that_asks_for_too_much_fails_and_is_cancelled(later: McpServers, log: Path, what: str) -> None:
    def answer(question: Any) -> Approved:
        return Approved({"name": "Ada"}) if question.is_form else Approved()

    assert run(later, what, answer).status == "error"
    assert log.read_text().splitlines()[-1] == "cancel t1"


def test_a_task_whose_turn_is_stopped_is_cancelled_at_the_server(later: McpServers, log: Path) -> None:
    with ScriptedWire([call("it_work", what="endless")]) as wire:
        chat = Chat(wire=wire, tools=[later.approved(Policy("auto"))])
        turn = chat.compose("Work.")
        turn.add_listener(lambda event: turn.cancel() if "step 2" in getattr(event, "text", "") else None)
        turn.start().done.result()

    assert turn.status == "cancelled"
    assert log.read_text().splitlines()[-1] == "cancel t1"


def test_a_task_that_takes_longer_than_the_call_may_is_cancelled(log: Path) -> None:
    args = [str(HERE / "newest_only.py"), str(HERE / "task_server.py"), str(log)]
    config = {"mcpServers": {"it": {"command": sys.executable, "args": args}}}
    with mcp_servers(config, call_seconds=1) as servers:
        assert run(servers, "endless").status == "timed_out"

    assert log.read_text().splitlines()[-1] == "cancel t1"


@pytest.fixture
def earlier(log: Path) -> Iterator[McpServers]:
    """Give a server of 2025-11-25 whose tool has to be called as a task."""
    with earlier_server(log) as servers:
        yield servers


def earlier_server(log: Path, *more: str) -> McpServers:
    args = [str(HERE / "earlier_task_server.py"), str(log), *more]
    return mcp_servers({"mcpServers": {"it": {"command": sys.executable, "args": args}}})


def test_a_tool_of_2025_that_requires_it_is_called_as_a_task_and_its_result_comes_later(
    earlier: McpServers, log: Path
) -> None:
    with ScriptedWire([call("it_work", what="later"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[earlier], approver=lambda _: Approved()).send("Work.")

    shown = "".join(event.text for event in turn.log if event.kind == "call_progress")
    assert (turn.calls[0].status, turn.calls[0].result) == ("ok", "did later")
    assert shown.split("\n") == ["step 0", "step 1", "step 2", "ready", ""]
    assert log.read_text().splitlines() == ["get t1"] * 3 + ["result t1"]


@pytest.mark.sampled(0)
def test_a_tool_of_2025_whose_server_answers_at_once_is_done(earlier: McpServers) -> None:
    assert run(earlier, "at-once").result == "did it"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("what", "reason"), [("failing", "the disk is full"), ("cancelled", "the night is over")])
def test_a_task_of_2025_that_fails_is_a_failed_call_with_the_servers_reason(
    earlier: McpServers, what: str, reason: str
) -> None:
    failed = run(earlier, what)

    assert failed.status == "error"
    assert reason in failed.to_result().text


@pytest.mark.promise("forms")
def test_a_task_of_2025_that_needs_input_asks_the_person(earlier: McpServers) -> None:
    def answer(question: Any) -> Approved:
        return Approved({"name": "Ada"}) if question.is_form else Approved()

    assert run(earlier, "asking", answer).result == '{"name": "Ada"}'


def test_a_task_of_2025_whose_turn_is_stopped_is_cancelled_at_the_server(earlier: McpServers, log: Path) -> None:
    with ScriptedWire([call("it_work", what="endless")]) as wire:
        chat = Chat(wire=wire, tools=[earlier.approved(Policy("auto"))])
        turn = chat.compose("Work.")
        turn.add_listener(lambda event: turn.cancel() if "step 2" in getattr(event, "text", "") else None)
        turn.start().done.result()

    assert turn.status == "cancelled"
    assert log.read_text().splitlines()[-1] == "cancel t1"


def test_a_tool_that_requires_a_task_of_a_server_that_offers_none_fails_with_the_servers_error(log: Path) -> None:
    with earlier_server(log, "without") as servers:
        failed = run(servers, "later")

    assert failed.status == "error"
    assert not log.exists()
