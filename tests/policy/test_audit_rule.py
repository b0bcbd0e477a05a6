"""`[audit] file` of a policy: the decisions of every chat are lines of it, and no chat can leave them out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.errors import BadUsage
from nbtool.policy.rules import parse_rules
from nbtool.testing import ScriptedWire, call
from tests.policy.in_force import policy_in_force

ran: list[int] = []


@tool
def pay(amount: int) -> int:
    """Pay an amount."""
    ran.append(amount)
    return amount


def pay_three(**own: Any) -> Any:
    """Return the call of a turn that an approver approved."""
    ran.clear()
    wire = ScriptedWire([[call("pay", amount=3)], "Done."])
    return Chat(wire=wire, tools=[pay], approver=lambda _: Approved(), **own).send("Pay.").calls[0]


def tools_of(path: Path) -> list[str]:
    return [json.loads(line)["tool"] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.promise("audited")
def test_decisions_of_every_chat_are_lines_of_the_file_of_the_policy_and_of_its_own(tmp_path: Path) -> None:
    required, own = tmp_path / "required.jsonl", tmp_path / "own.jsonl"
    with policy_in_force(tmp_path, f"[audit]\nfile = {json.dumps(str(required))}\n"):
        pay_three()
        pay_three(audit=own)
        pay_three(audit=required)

    assert (tools_of(required), tools_of(own)) == (["pay"] * 3, ["pay"])


@pytest.mark.promise("audited")
def test_a_call_whose_line_the_policy_requires_does_not_run_where_it_cannot_be_written(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "required.jsonl"
    with policy_in_force(tmp_path, f"[audit]\nfile = {json.dumps(str(missing))}\n"):
        refused = pay_three(audit=tmp_path / "own.jsonl")

    assert (refused.status, ran) == ("not_run", [])
    assert str(missing) in refused.to_result().text or str(missing) in refused.reason


@pytest.mark.parametrize("file", ["audit.jsonl", "", "./audit.jsonl"])
def test_a_file_without_a_whole_path_is_refused(file: str) -> None:
    with pytest.raises(BadUsage, match=r"audit\.file"):
        parse_rules({"audit": {"file": file}})
