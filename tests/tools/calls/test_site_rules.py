"""What an administrator's policy changes about the calls of tools."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from nbtool.magics.cell.approver import input_prompt
from nbtool.tools import tool
from nbtool.tools.approval import Approved, Decision, Question
from nbtool.tools.tool import as_tools
from tests.policy.in_force import policy_in_force
from tests.tools.calling import ask_for, make_harness

NO_VALUES = "[values]\nmay_leave = false"


@pytest.mark.promise("policy-asks")
def test_a_tool_that_a_policy_names_is_not_approved_by_python(tmp_path: Path) -> None:
    runs: list[str] = []
    asked: list[Question] = []

    def approve(question: Question) -> Approved:
        asked.append(question)
        return Approved()

    drop = tool(lambda: runs.append("drop"), name="drop", run="auto")
    keep = tool(lambda: runs.append("keep"), name="keep", run="auto")
    with policy_in_force(tmp_path, "[approval]\nalways_ask = ['dr*']") as path:
        harness = make_harness(drop, keep, approver=approve)
        record = harness.run(ask_for("drop"))
        harness.run(ask_for("keep"))

    assert record.status == "denied"
    assert str(path) in record.shown
    assert ([question.tool for question in asked], runs) == (["drop"], ["keep"])


@pytest.mark.promise("policy-asks")
def test_a_function_that_a_policy_names_asks_under_another_name_too(tmp_path: Path) -> None:
    ran: list[str] = []

    def delete_rows() -> None:
        ran.append("deleted")

    renamed = tool(delete_rows, name="tidy", run="auto")
    with policy_in_force(tmp_path, "[approval]\nalways_ask = ['delete_*']"):
        record = make_harness(renamed, approver=lambda _: Approved()).run(ask_for("tidy"))

    assert (record.status, ran) == ("denied", [])


@pytest.mark.promise("policy-forbids")
@pytest.mark.feature("forbid a tool")
def test_a_forbidden_tool_runs_for_nobody_and_nothing_of_it_is_called(tmp_path: Path) -> None:
    called: list[str] = []
    asked: list[Question] = []

    def delete_rows() -> None:
        called.append("tool")

    def preview() -> str:
        called.append("preview")
        return "3 rows"

    def approve(question: Question) -> Approved:
        asked.append(question)
        return Approved()

    renamed = replace(as_tools(tool(delete_rows, name="tidy", run="auto"))[0], preview_effect=preview)
    keep = tool(lambda: called.append("keep"), name="keep", run="auto")
    with policy_in_force(tmp_path, "[approval]\nnever = ['delete_*']") as path:
        harness = make_harness(renamed, keep, approver=approve)
        record = harness.run(ask_for("tidy"))
        harness.run(ask_for("keep"))

    assert (record.status, called, asked) == ("denied", ["keep"], [])
    assert str(path) in record.shown
    assert str(path) in record.reason


@pytest.mark.promise("policy-forbids")
def test_a_tool_that_is_forbidden_while_its_question_is_open_does_not_run(tmp_path: Path) -> None:
    ran: list[str] = []
    drop = tool(lambda: ran.append("drop"), name="drop")
    with ExitStack() as stack:

        def approve(_: Question) -> Approved:
            stack.enter_context(policy_in_force(tmp_path, "[approval]\nnever = ['drop']"))
            return Approved()

        record = make_harness(drop, approver=approve).run(ask_for("drop"))

    assert (record.status, ran) == ("denied", [])


@pytest.mark.promise("policy-values")
def test_where_no_values_may_leave_a_result_is_described_and_an_error_named(tmp_path: Path) -> None:
    def fail() -> None:
        raise LookupError("SECRET of the error")

    harness = make_harness(tool(lambda: "SECRET result", name="get", run="auto"), tool(fail, name="fail", run="auto"))
    with policy_in_force(tmp_path, NO_VALUES):
        result, error = harness.run(ask_for("get")), harness.run(ask_for("fail"))

    assert (result.status, error.status) == ("ok", "error")
    assert "SECRET" not in result.shown + error.shown
    assert "str" in result.shown
    assert error.shown.startswith("LookupError ")


@pytest.mark.promise("policy-values")
def test_where_no_values_may_leave_an_error_of_resolving_a_reference_is_named(tmp_path: Path) -> None:
    class Leaving:
        def __repr__(self) -> str:
            raise SystemExit("SECRET of the object")

    harness = make_harness(tool(str.title, run="auto"), notebook={"x": Leaving()}, expose=["x"])
    with policy_in_force(tmp_path, NO_VALUES):
        record = harness.run(ask_for("title", text="$VAR_REF{{x:0}}"))

    assert record.status == "error"
    assert record.shown.startswith("SystemExit ")


@pytest.mark.promise("policy-values")
def test_the_result_of_a_tool_that_returns_no_values_is_sent(tmp_path: Path) -> None:
    names = replace(as_tools(tool(lambda: "df, ax", name="names", run="auto"))[0], is_value_free=True)
    with policy_in_force(tmp_path, NO_VALUES):
        record = make_harness(names).run(ask_for("names"))

    assert record.shown == "df, ax"


@pytest.mark.promise("policy-values")
def test_where_no_values_may_leave_none_is_sent_by_reference_to_a_server(tmp_path: Path) -> None:
    received: list[str] = []

    def send(text: str) -> None:
        """Send a text."""
        received.append(text)

    to_server = replace(as_tools(tool(send, run="auto"))[0], sends_to="server")
    harness = make_harness(to_server, notebook={"note": "SECRET"}, expose=["note"])
    with policy_in_force(tmp_path, NO_VALUES) as path:
        record = harness.run(ask_for("send", text="$VAR_REF{{note}}"))

    assert received == []
    assert str(path) in record.shown


@pytest.mark.promise("policy-values")
def test_without_a_policy_the_same_call_is_sent() -> None:
    received: list[str] = []
    to_server = replace(
        as_tools(tool(lambda text: received.append(text), name="send", run="auto"))[0], sends_to="server"
    )
    record = make_harness(to_server, notebook={"note": "public"}, expose=["note"], approver=lambda _: Approved()).run(
        ask_for("send", text="$VAR_REF{{note}}")
    )

    assert (record.status, received) == ("ok", ["public"])


def test_a_question_names_the_rule_that_asks_and_no_other_question_does(tmp_path: Path) -> None:
    asked: list[Question] = []

    def deny(question: Question) -> Decision:
        asked.append(question)
        return question.denial("no")

    tools = [tool(lambda: 1, name=name, run="ask_always") for name in ("drop", "keep")]
    with policy_in_force(tmp_path, "[approval]\nalways_ask = ['dr*']") as path:
        make_harness(*tools, approver=deny).run(ask_for("drop"), ask_for("keep"))

    dropped, other = asked
    assert [str(path) in note and "'dr*'" in note for note in dropped.notes] == [True]
    assert f"{dropped.notes[0]}\n" in input_prompt(dropped)
    assert other.notes == ()
