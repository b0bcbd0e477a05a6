"""Each decision about a call is a line of the audit file: who decided, about what, when; never what was in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, tool
from nbtool.errors import BadUsage
from tests.contract.notebook import Kernel, Notebook
from tests.contract.simulator import Provider, call

FEATURE = "keep an audit file of all decisions"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.promise("audited")
@pytest.mark.feature(FEATURE)
def test_decisions_of_an_approver_of_a_policy_and_of_nobody_are_lines(
    model: Provider, pay: Any, paid: list[Any], tmp_path: Path
) -> None:
    @tool(run="auto")
    def look(name: str) -> str:
        "Look."
        return name

    path = tmp_path / "audit.jsonl"
    model.say([call("pay", amount=123456), call("look", name="a")], "Done.", call("pay", amount=1), "No.")
    chat = model.chat(tools=[pay, look], audit=path)
    chat.send("Pay.", approver=lambda _: Approved())
    chat.send("Pay again.")

    lines = lines_of(path)
    assert sorted((line["tool"], line["who"], line["decision"]) for line in lines) == [
        ("look", "policy", "approved"), ("pay", "approver", "approved"), ("pay", "nobody", "denied"),
    ]  # fmt: skip
    assert all(line["arguments"].startswith("sha256:") and line["time"] and line["call"] for line in lines)
    assert "123456" not in path.read_text(encoding="utf-8")


@pytest.mark.promise("audited")
@pytest.mark.feature(FEATURE)
def test_a_call_whose_line_cannot_be_written_does_not_run(
    model: Provider, pay: Any, paid: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "audit.jsonl"
    model.say(call("pay", amount=1), "Not paid.")
    chat = model.chat(tools=[pay], approver=lambda _: Approved(), audit=path)
    path.unlink()
    path.mkdir()

    turn = chat.send("Pay.")

    assert (paid, turn.calls[0].status) == ([], "not_run")
    with pytest.raises(BadUsage, match="cannot be written"):
        model.chat(audit=tmp_path / "missing" / "audit.jsonl")


@pytest.mark.feature(FEATURE)
def test_a_setting_names_the_file_for_all_cells(notebook: Notebook, model: Provider, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    model.say(call("look", name="a"), "Done.", call("look", name="b"), "Done.")
    notebook.run(
        "from nbtool import tool\n@tool(run='auto')\ndef look(name: str) -> str:\n    'Look.'\n    return name"
    )
    notebook.run(f"%config NbTool.audit = '{path}'")

    notebook.ask("Look.", "-t look")
    notebook.run("%config NbTool.audit = ''")
    notebook.ask("Look again.")

    assert [line["tool"] for line in lines_of(path)] == ["look"]


@pytest.mark.feature(FEATURE)
def test_a_person_is_named_as_one(kernel: Kernel, kernel_model: Provider, tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    kernel_model.say(call("pay", amount=1), "Paid.")
    kernel.run("from nbtool import tool\n@tool\ndef pay(amount: int) -> int:\n    'Pay.'\n    return amount")

    kernel.run(f"%%chat --new -t pay --approve input --set audit={path}\nPay 1.", ["y"])

    assert [(line["who"], line["decision"]) for line in lines_of(path)] == [("person", "approved")]
