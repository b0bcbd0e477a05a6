"""The audit file: one line for each decision about a call."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied, Released, Reviewer, Withheld, tool
from nbtool.chat.subchat import subchat
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire, call
from nbtool.tools.calls.audit_file import AuditFile, Decided, arguments_digest
from nbtool.wire.framing.known_secrets import remember_secrets
from tests.policy.in_force import policy_in_force

ran: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool
def pay(amount: int) -> int:
    "Pay an amount."
    ran.append(amount)
    return amount


@tool(run="auto")
def read(name: str) -> str:
    "Read."
    ran.append(name)
    return name


@tool(run="ask_once")
def buy(name: str) -> str:
    "Buy."
    return name


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def send(path: Path, *calls: Any, **how: Any) -> Any:
    chat = Chat(wire=ScriptedWire([[one] for one in calls] + ["Done."]), tools=[pay, read, buy], audit=path)
    return chat.send("Go", approver=how.pop("approver", None), **how)


@pytest.mark.promise("audited")
def test_a_call_that_the_policy_forbids_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with policy_in_force(tmp_path, "[approval]\nnever = ['pay']"):
        send(path, call("pay", amount=1), approver=lambda _: Approved())

    (line,) = lines_of(path)
    assert (line["tool"], line["decision"], line["who"], ran) == ("pay", "denied", "policy", [])


def test_each_decision_is_a_line_that_says_who_and_about_what(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"

    turn = send(path, call("pay", amount=3), approver=lambda _: Approved())

    (line,) = lines_of(path)
    assert line["turn"] == turn.turn_id
    assert line["call"] == turn.calls[0].call_id
    assert {name: line[name] for name in ("tool", "gate", "decision", "who", "by", "edited")} == {
        "tool": "pay", "gate": "run", "decision": "approved", "who": "approver", "by": "approver", "edited": False,
    }  # fmt: skip
    assert line["arguments"] == arguments_digest({"amount": 3})
    assert line["time"].endswith("Z")


@pytest.mark.parametrize(
    ("call_", "approver", "who", "decision"),
    [
        (call("read", name="a"), None, "policy", "approved"),
        (call("pay", amount=1), None, "nobody", "denied"),
        (call("pay", amount=1), lambda _: Denied("No."), "approver", "denied"),
        (call("pay", amount=1), lambda _: 1 / 0, "error", "denied"),
        (call("pay", amount=1), lambda _: None, "error", "denied"),
    ],
)
def test_who_decided_is_in_the_line(tmp_path: Path, call_: Any, approver: Any, who: str, decision: str) -> None:
    send(tmp_path / "a", call_, approver=approver)

    assert [(line["who"], line["decision"]) for line in lines_of(tmp_path / "a")] == [(who, decision)]


def test_a_reviewer_and_a_remembered_approval_are_named_as_such(tmp_path: Path) -> None:
    reviewing = Chat(wire=ScriptedWire(['{"decision": "approve", "reason": "Small."}']))
    send(tmp_path / "a", call("pay", amount=1), approver=Reviewer(reviewing, rules="Small ones."))
    send(tmp_path / "b", call("buy", name="x"), call("buy", name="x"), approver=lambda _: Approved())

    assert [line["who"] for line in lines_of(tmp_path / "a")] == ["reviewer"]
    assert [line["who"] for line in lines_of(tmp_path / "b")] == ["approver", "remembered"]


def test_results_have_lines_of_their_own(tmp_path: Path) -> None:
    answers = {"run": Approved(), "result": Withheld("No.")}
    chat = Chat(wire=ScriptedWire([[call("pay", amount=1)], "Done."]), tools=[pay], audit=tmp_path / "a")
    chat.check_results = True

    chat.send("Go", approver=lambda question: answers[question.gate])

    assert [(line["gate"], line["decision"]) for line in lines_of(tmp_path / "a")] == [
        ("run", "approved"), ("result", "withheld"),
    ]  # fmt: skip


def test_of_edited_arguments_the_digest_is_that_of_what_ran(tmp_path: Path) -> None:
    send(tmp_path / "a", call("pay", amount=1), approver=lambda _: Approved({"amount": 2}))

    (line,) = lines_of(tmp_path / "a")
    assert (ran, line["edited"], line["arguments"]) == ([2], True, arguments_digest({"amount": 2}))


def test_no_content_and_no_secret_is_in_a_line(tmp_path: Path) -> None:
    remember_secrets(Chat("openai:gpt-5-mini", api_key="sk-very-secret-12345").model.endpoint())

    class Named:
        name = "asked with sk-very-secret-12345"

        def ask(self, _: Any) -> Any:
            return Denied("because of sk-very-secret-12345 and the plan")

    send(tmp_path / "a", call("pay", amount=987654), approver=Named())

    text = (tmp_path / "a").read_text()
    assert not any(word in text for word in ("sk-very-secret", "the plan", "987654"))


@pytest.mark.parametrize("name", ["button", "input", "%chat approve", "remembered", "reviewer", "nobody", "expired"])
def test_an_approver_cannot_take_the_name_of_a_person(tmp_path: Path, name: str) -> None:
    class Pretender:
        def __init__(self) -> None:
            self.name = name

        def ask(self, _: Any) -> Any:
            return Approved()

    turn = send(tmp_path / "a", call("pay", amount=1), approver=Pretender())

    assert turn.calls[0].decisions[0].by == "approver"
    assert [line["who"] for line in lines_of(tmp_path / "a")] == ["approver"]


def test_a_call_whose_line_cannot_be_written_does_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    chat = Chat(
        wire=ScriptedWire([[call("pay", amount=1), call("read", name="a")], "Done."]), tools=[pay, read],
        audit=folder / "audit.jsonl",
    )  # fmt: skip
    (folder / "audit.jsonl").unlink()
    folder.rmdir()

    turn = chat.send("Go", approver=lambda _: Approved())

    assert (ran, [record.status for record in turn.calls]) == ([], ["not_run", "not_run"])
    assert str(folder) in turn.calls[0].reason
    assert str(folder) not in turn.calls[0].shown


def test_a_result_whose_line_cannot_be_written_is_withheld(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    chat = Chat(wire=ScriptedWire([[call("pay", amount=7)], "Done."]), tools=[pay], audit=path, check_results=True)

    def decide(question: Any) -> Any:
        if question.gate == "run":
            return Approved()
        path.unlink()
        path.mkdir()
        return Released()

    turn = chat.send("Go", approver=decide)

    assert (ran, turn.calls[0].status) == ([7], "withheld")
    assert "7" not in turn.calls[0].shown


def test_lines_are_appended_to_what_is_there_and_threads_write_whole_ones(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text('{"earlier": true}\n')
    decided = Decided("call_1", "pay", "run", "approved", "button", {"amount": 1})
    file = AuditFile(path, "chat_1", "turn_1")
    threads = [threading.Thread(target=lambda: [file.write(decided) for _ in range(20)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    lines = lines_of(path)
    assert lines[0] == {"earlier": True}
    assert [line["who"] for line in lines[1:]] == ["person"] * 160


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    Chat(wire=ScriptedWire([]), audit=tmp_path / "a")

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["missing/a", "."])
def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadUsage):
        Chat(wire=ScriptedWire([]), audit=tmp_path / name)


def test_the_file_stays_the_same_when_the_folder_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chat = Chat(wire=ScriptedWire([[call("read", name="a")], "Done."]), tools=[read], audit="audit.jsonl")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")

    chat.send("Go")

    assert len(lines_of(tmp_path / "audit.jsonl")) == 1


def test_the_calls_of_a_chat_that_is_a_tool_are_there_too(tmp_path: Path) -> None:
    inner = Chat(wire=ScriptedWire([[call("pay", amount=1)], "Paid."]))
    chat = Chat(
        wire=ScriptedWire([[call("ask", question="Pay?")], "Done."]), tools=[subchat(inner, tools=[pay])],
        audit=tmp_path / "a",
    )  # fmt: skip

    chat.send("Go", approver=lambda _: Approved())

    assert [(line["tool"], line["who"]) for line in lines_of(tmp_path / "a")] == [
        ("ask", "policy"),
        ("pay", "approver"),
    ]
