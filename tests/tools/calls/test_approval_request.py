# ruff: noqa: ARG001, ARG005 - approvers are given a question, whether they read it or not
from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbtool.events import Event
from nbtool.messages import ToolCall
from nbtool.threads.caller_thread import CallerThread
from nbtool.tools import Approved, Denied, Released, Withheld, tool
from nbtool.tools.approval import BY_NOBODY, ApprovalQueue, Question, Resolution, Undecided
from nbtool.tools.approval.context import PolicyContext
from nbtool.tools.calls import approval_request
from nbtool.tools.calls.bound_call import bind
from nbtool.tools.calls.call_ended import CallEnded
from nbtool.tools.calls.call_run import run_call
from nbtool.tools.calls.ordering import make_slots
from nbtool.tools.calls.result import EDITED_NOTICE
from nbtool.tools.calls.run_gate import INVALID_EDITS, MAX_CHANGES, MAX_EDITS
from nbtool.tools.tool import as_tools
from nbtool.tools.variables.store import Variables
from nbtool.turn_state import Call
from tests.policy.in_force import policy_in_force
from tests.resolved import plain
from tests.tools.calling import ToolHarness, ask_for, make_harness


@tool
def double_if_allowed(n: int) -> int:
    """Twice, when allowed."""
    return 2 * n


@tool(run="auto", result="always")
def secret_if_released() -> str:
    return "SECRET"


def yes(question: Question) -> Approved | Released:
    return Approved() if question.gate == "run" else Released()


class Custom(BaseException):
    pass


async def ignore(event: Event) -> None:
    assert event


def test_an_approved_call_runs_once_and_the_decision_is_reported() -> None:
    harness = make_harness(double_if_allowed, approver=yes)
    record = harness.run(ask_for("double_if_allowed", n=2))

    assert (record.status, record.result) == ("ok", 4)
    assert harness.kinds() == ["call_ready", "call_asked", "call_decided", "call_started", "call_finished"]
    (question,) = harness.of("call_asked")
    (decided,) = record.decisions
    assert json.loads(question.shown) == {"n": 2}
    assert (question.tool, question.description.split()[0], question.schema["required"]) == (
        "double_if_allowed",
        "Twice,",
        ["n"],
    )
    assert (decided.verdict, decided.by, decided.digest) == ("approved", "approver", question.digest)


def test_a_denied_call_gives_the_model_the_reason() -> None:
    harness = make_harness(double_if_allowed, approver=lambda _: Denied("use the cached one"))
    record = harness.run(ask_for("double_if_allowed", n=2))

    assert (record.status, record.reason.split()[-1]) == ("denied", "one")
    assert record.shown.endswith(f" {record.reason}")
    assert "call_started" not in harness.kinds()
    assert harness.runtime.variables.list_entries() == ()


def test_without_an_approver_the_person_reads_the_fix_and_the_model_the_reason() -> None:
    record = make_harness(double_if_allowed).run(ask_for("double_if_allowed", n=2))

    assert "approver=" not in record.shown
    assert record.decisions[0].by == BY_NOBODY
    for reason in (record.reason, record.decisions[0].reason):
        assert 'run="auto"' in reason
        assert "approver=" in reason


def test_only_the_approver_is_the_fix_where_the_policy_cannot_let_a_call_pass() -> None:
    @tool(sensitive=True)
    def publish() -> None: ...

    for function, name in [(publish, "publish"), (secret_if_released, "secret_if_released")]:
        record = make_harness(function).run(ask_for(name))

        assert "`approver=`" in record.reason
        assert 'run="auto"' not in record.reason
        assert record.decisions[0].by == BY_NOBODY
        assert "approver=" not in record.shown


class Person:
    """An approver as an object; asynchronous, and with a name."""

    name = "Ada"

    async def ask(self, _: Question) -> Approved:
        return Approved()


async def in_a_coroutine(question: Question) -> Approved:
    return Approved()


@pytest.mark.parametrize(
    ("approver", "by"),
    [(Person(), "Ada"), (in_a_coroutine, "approver"), (lambda question: in_a_coroutine(question), "approver")],
)
def test_approvers_may_be_objects_functions_and_coroutines(approver: Any, by: str) -> None:
    record = make_harness(double_if_allowed, approver=approver).run(ask_for("double_if_allowed", n=1))

    assert record.status == "ok"
    assert record.decisions[0].by == by


@pytest.mark.promise("fails-closed")
@pytest.mark.parametrize(
    "error",
    [RuntimeError("/a/b/c"), KeyboardInterrupt(), SystemExit(), asyncio.CancelledError(), StopIteration(), Custom()],
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_approver_that_fails_approves_nothing(error: BaseException, kind: str) -> None:
    def sync(question: Question) -> Approved:
        raise error

    async def coroutine(question: Question) -> Approved:
        raise error

    record = make_harness(double_if_allowed, approver=sync if kind == "sync" else coroutine).run(
        ask_for("double_if_allowed", n=1)
    )

    assert record.status == "denied"
    assert "approver" in record.reason
    assert "/a/b" not in record.reason


@pytest.mark.promise("fails-closed")
@pytest.mark.parametrize("answer", [True, "yes", Released(), 1])
def test_an_answer_that_does_not_fit_approves_nothing(answer: Any) -> None:
    record = make_harness(double_if_allowed, approver=lambda _: answer).run(ask_for("double_if_allowed", n=1))

    assert record.status == "denied"
    assert "fit" in record.reason


def raise_value(_: object) -> Any:
    raise ValueError("no limit for DE89")


asked = tool(lambda: "done", name="called")
FAILURES: dict[str, tuple[Any, Any, str, str]] = {
    "approver": (asked, raise_value, "This call did not run.", "The approver failed (ValueError)."),
    "answer": (asked, lambda _: Approved(remember="DE89"), "This call did not run.",
               "The approver failed (BadUsage)."),  # type: ignore[arg-type]  # what an approver may return
    "approver of a result": (tool(lambda: "done", name="called", run="auto", result="always"), raise_value,
                             "Its result was withheld.", "The approver failed (ValueError)."),
    "approver of an error": (tool(lambda: 1 / 0, name="called", run="auto", result="on_error"), raise_value,
                             "The text of its error (ZeroDivisionError) was withheld.",
                             "The approver failed (ValueError)."),
    "policy": (tool(lambda: "done", name="called", run=raise_value), None, "This call did not run.",
               "The policy of the tool failed (ValueError)."),
    "policy of a result": (tool(lambda: "done", name="called", run="auto", result=raise_value), None,
                           "Its result was withheld.", "The policy of the tool failed (ValueError)."),
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
def test_what_an_approver_or_a_policy_fails_with_is_read_by_the_person_and_not_by_the_model(failure: str) -> None:
    called, approver, message, reason = FAILURES[failure]
    record = make_harness(called, approver=approver).run(ask_for("called"))
    texts = {record.status: "No: {reason}"}
    replaced = make_harness(called, approver=approver, outcome_texts=texts).run(ask_for("called"))

    assert record.shown == f"{message} Reason: {reason}"
    assert replaced.shown == f"No: {reason}"
    assert "DE89" in record.reason
    assert [one.reason for one in record.decisions] == [record.reason] * len(record.decisions)


def test_the_reason_for_the_person_says_where_an_approver_failed() -> None:
    record = make_harness(asked, approver=raise_value).run(ask_for("called"))
    line = raise_value.__code__.co_firstlineno + 1

    assert "ValueError" in record.reason
    assert "DE89" in record.reason
    assert f"(test_approval_request.py, line {line})" in record.reason


@pytest.mark.parametrize("base", [Approved, Denied])
def test_a_decision_of_a_class_of_its_own_counts_as_its_base(base: type) -> None:
    record = make_harness(double_if_allowed, approver=lambda _: type("Mine", (base,), {})()).run(
        ask_for("double_if_allowed", n=1)
    )

    assert record.status == ("ok" if base is Approved else "denied")


class Careless:
    def ask(self, _: Question) -> Any:
        return {"secret": "canary"}


def too_expensive(question: Question) -> Any:
    return "too expensive " * 100


@pytest.mark.parametrize(
    ("approver", "name", "shown"),
    [
        (too_expensive, "too_expensive", "'too expensive "),
        (lambda _: True, "<lambda>", "True (bool)"),
        (lambda _: Released(), "<lambda>", "Released"),
        (Careless(), "Careless", "dict"),
    ],
)
def test_a_notice_names_the_approver_its_wrong_return_and_what_it_may_return(
    approver: Any, name: str, shown: str
) -> None:
    harness = make_harness(double_if_allowed, approver=approver)
    harness.run(ask_for("double_if_allowed", n=1))
    (notice,) = harness.of("notice")

    assert notice.level == "warning"
    assert f"The approver {name} returned {shown}" in notice.text.replace("test_gates.", "")
    assert 'Approved() or Denied("why")' in notice.text
    assert 'Released() or Withheld("why")' in notice.text
    assert "canary" not in notice.text
    assert len(notice.text) < 500


def test_an_approver_that_decides_gets_no_notice() -> None:
    harness = make_harness(double_if_allowed, approver=yes)
    harness.run(ask_for("double_if_allowed", n=1))

    assert harness.of("notice") == []


def test_a_decision_may_come_in_another_way_and_the_first_one_wins() -> None:
    def click(question: Question) -> None:
        harness.runtime.approvals.decide(question.digest, Denied("by button"), by="button")

    def slow_yes(question: Question) -> Approved:
        click(question)
        return Approved()

    harness = make_harness(double_if_allowed, approver=click)
    by_button = harness.run(ask_for("double_if_allowed", n=1))
    harness.runtime.approver = slow_yes
    late = harness.run(ask_for("double_if_allowed", n=1))

    assert (by_button.status, by_button.decisions[0].by) == ("denied", "button")
    assert (late.status, late.decisions[0].by) == ("denied", "button")


def test_edited_arguments_are_what_runs_and_the_model_is_informed() -> None:
    harness = make_harness(double_if_allowed, approver=lambda _: Approved(arguments={"n": 50}))
    record = harness.run(ask_for("double_if_allowed", n=2))

    assert (record.result, record.resolved, record.arguments) == (100, {"n": plain("50")}, '{"n": 2}')
    assert record.decisions[0].edited
    assert record.shown == f"{EDITED_NOTICE}\n100"


@pytest.mark.parametrize("arguments", [{"n": "x"}, {}, {"n": "$VAR_REF{{z}}"}])
def test_edited_arguments_that_do_not_fit_go_back_to_the_person_with_the_problem(arguments: dict[str, Any]) -> None:
    decisions = iter([Approved(arguments=arguments), Approved(arguments={"n": 7})])
    questions: list[Question] = []
    harness = make_harness(double_if_allowed, approver=lambda question: questions.append(question) or next(decisions))  # type: ignore[func-returns-value]
    record = harness.run(ask_for("double_if_allowed", n=2))

    again = questions[1].again
    assert again is not None
    assert (again.reason, json.loads(again.edited)) == ("invalid", arguments)
    assert again.problem
    assert questions[0].again is None
    assert questions[1].shown == questions[0].shown
    assert (record.status, record.result, json.loads(record.edited)) == ("ok", 14, {"n": 7})
    assert again.problem not in record.shown


def test_an_edit_that_never_fits_ends_the_call_and_hides_the_problem_from_the_model() -> None:
    count: list[int] = []
    harness = make_harness(double_if_allowed, approver=lambda _: count.append(1) or Approved(arguments={"n": "x"}))  # type: ignore[func-returns-value]
    record = harness.run(ask_for("double_if_allowed", n=2))

    assert (record.status, record.shown, record.started) == ("denied", INVALID_EDITS, None)
    assert len(count) == MAX_EDITS


def test_after_an_edit_that_did_not_fit_the_model_s_own_arguments_may_still_be_approved() -> None:
    decisions = iter([Approved(arguments={"n": "x"}), Approved()])
    record = make_harness(double_if_allowed, approver=lambda _: next(decisions)).run(ask_for("double_if_allowed", n=2))

    assert (record.result, record.edited) == (4, "")


def test_no_remembered_approval_answers_in_place_of_a_person_whose_edit_did_not_fit() -> None:
    questions: list[Question] = []

    def approve(question: Question) -> Approved | Denied:
        questions.append(question)
        if len(questions) > 1:
            return Denied("not as the model wrote it")
        harness.runtime.approvals.remembered_approvals.add(question, "tool", by="another page")
        return Approved(arguments={"n": "x"})

    harness = make_harness(double_if_allowed, approver=approve)
    record = harness.run(ask_for("double_if_allowed", n=2))

    assert (record.status, record.started, len(questions)) == ("denied", None, 2)


def test_edited_arguments_that_are_no_json_are_refused() -> None:
    record = make_harness(double_if_allowed, approver=lambda _: Approved(arguments={"n": object()})).run(
        ask_for("double_if_allowed", n=2)
    )

    assert (record.status, record.started) == ("denied", None)
    assert "are not JSON" in record.reason


@pytest.mark.promise("shown-is-run")
def test_a_tool_gets_copies_of_what_was_written_and_cannot_change_what_was_approved() -> None:
    @tool
    def greedy(items: list[int], more: Any) -> int:
        items.append(9)
        more["x"] = 1
        return len(items)

    harness = make_harness(greedy, approver=yes)
    call = ask_for("greedy", items=[1], more={})
    harness.run(call)

    assert call.args == {"items": [1], "more": {}}


def test_ask_once_asks_once_for_the_same_arguments_and_objects() -> None:
    questions: list[Question] = []

    @tool(run="ask_once")
    def total(n: int, frame: pd.DataFrame) -> int:
        return n + len(frame)

    def approve(question: Question) -> Approved:
        questions.append(question)
        return Approved()

    notebook = {"df": pd.DataFrame({"a": [1]})}
    harness = make_harness(total, notebook=notebook, expose=["df"], approver=approve)
    call = {"n": 1, "frame": "$VAR_REF{{df}}"}
    harness.run(ask_for("total", **call))
    record = harness.run(ask_for("total", **call))
    assert len(questions) == 1
    assert record.decisions[0].by == "remembered"
    harness.run(ask_for("total", **{**call, "n": 2}))
    assert len(questions) == 2
    notebook["df"] = pd.DataFrame({"a": [2]})
    harness.run(ask_for("total", **call))
    assert len(questions) == 3
    harness.runtime.approvals.revoke(harness.runtime.approvals.remembered()[0].approval_id)
    notebook["df"].loc[0, "a"] = 7
    harness.run(ask_for("total", **call))

    assert len(questions) == 4


def test_a_tool_may_be_approved_for_good_until_it_changes() -> None:
    def make(source: str) -> Any:
        space: dict[str, Any] = {}
        exec(source, space)
        return space["f"]

    count: list[int] = []
    first = make("def f(n: int): return n")
    harness = make_harness(first, approver=lambda _: count.append(1) or Approved(remember="tool"))  # type: ignore[func-returns-value]
    harness.run(ask_for("f", n=1), ask_for("f", n=2))
    assert len(count) == 1
    harness.runtime.tools.add(make("def f(n: int): return n"))
    harness.run(ask_for("f", n=3))
    assert len(count) == 1
    harness.runtime.tools.add(make("def f(n: int): return n + 1"))
    record = harness.run(ask_for("f", n=3))

    assert record.result == 4
    assert len(count) == 2


def run_round(harness: ToolHarness, *calls: ToolCall) -> list[Call]:
    """Run the calls of a round, which are asked about in their order."""

    async def work() -> list[Call]:
        both = zip(calls, make_slots(len(calls)), strict=True)
        return await asyncio.gather(*(run_call(call, harness.runtime, round=1, slot=slot) for call, slot in both))

    return harness.runtime.caller_thread.run_until(harness.submit(work()))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_approval_that_is_remembered_settles_the_questions_that_wait(place: int) -> None:
    asked: list[Question] = []

    @tool
    def price(ticker: str) -> str:
        return ticker

    @tool
    def other(ticker: str) -> str:
        return ticker

    def decide(question: Question) -> Undecided:
        asked.append(question)
        if len(asked) == 4:
            queue.decide(asked[place].digest, Approved(remember="tool"), by="button")
            queue.decide(asked[3].digest, Denied(), by="button")
        return Undecided()

    harness = make_harness(price, other, approver=decide)
    queue = harness.runtime.approvals
    calls = [*(ask_for("price", ticker=name) for name in "ABC"), ask_for("other", ticker="D")]
    records = run_round(harness, *calls)

    assert [record.status for record in records] == ["ok", "ok", "ok", "denied"]
    by = [record.decisions[0].by for record in records]
    assert by == ["button" if at in (place, 3) else "remembered" for at in range(4)]


def test_where_nobody_can_be_asked_a_denial_names_the_policy_that_asks(tmp_path: Path) -> None:
    auto = tool(lambda: 1, run="auto", name="count_rows")
    with policy_in_force(tmp_path, "[approval]\nalways_ask = ['count_*']") as path:
        (record,) = run_round(make_harness(auto), ask_for("count_rows"))

    assert record.status == "denied"
    assert str(path) in record.reason
    assert "approver=" not in record.reason


def test_an_approval_that_is_remembered_for_one_call_settles_no_other_arguments() -> None:
    asked: list[Question] = []

    def decide(question: Question) -> Undecided:
        asked.append(question)
        if len(asked) == 3:
            queue.decide(asked[0].digest, Approved(remember="call"), by="button")
            queue.decide(asked[2].digest, Denied(), by="button")
        return Undecided()

    harness = make_harness(double_if_allowed, approver=decide)
    queue = harness.runtime.approvals
    records = run_round(harness, *(ask_for("double_if_allowed", n=n) for n in (1, 1, 2)))

    assert [(record.status, record.decisions[0].by, record.decisions[0].remember) for record in records] == [
        ("ok", "button", "call"),
        ("ok", "remembered", ""),
        ("denied", "button", ""),
    ]


@pytest.mark.promise("asks-by-default")
def test_a_sensitive_tool_asks_each_time_even_where_it_says_auto() -> None:
    count: list[int] = []
    pay = tool(lambda: "paid", run="auto", sensitive=True, name="pay")
    harness = make_harness(pay, approver=lambda question: count.append(question.can_remember) or Approved())  # type: ignore[func-returns-value]
    harness.run(ask_for("pay"), ask_for("pay"))

    assert count == [False, False]
    harness.runtime.approver = lambda _: Approved(remember="tool")
    assert harness.run(ask_for("pay")).status == "denied"


@pytest.mark.promise("shown-is-run")
def test_a_variable_reassigned_while_it_is_asked_about_asks_again() -> None:
    notebook = {"x": [1]}
    shown: list[str] = []

    @tool
    def first(it: list[int]) -> int:
        return it[0]

    def approve(question: Question) -> Approved:
        shown.append(question.digest)
        if len(shown) == 1:
            notebook["x"] = [2]
        return Approved()

    harness = make_harness(first, notebook=notebook, expose=["x"], approver=approve)
    record = harness.run(ask_for("first", it="$VAR_REF{{x}}"))

    assert (record.result, len(set(shown))) == (2, 2)
    assert len(record.decisions) == 2


@pytest.mark.promise("shown-is-run")
def test_a_variable_changed_in_place_while_it_is_asked_about_asks_again() -> None:
    notebook = {"x": np.zeros(3)}
    count: list[int] = []

    @tool
    def total(it: np.ndarray) -> float:
        return float(it.sum())

    def approve(question: Question) -> Approved:
        count.append(1)
        if len(count) == 1:
            notebook["x"][0] = 5
        return Approved()

    record = make_harness(total, notebook=notebook, expose=["x"], approver=approve).run(
        ask_for("total", it="$VAR_REF{{x}}")
    )

    assert (record.result, len(count)) == (5.0, 2)


@pytest.mark.promise("shown-is-run")
def test_a_tool_redefined_while_it_is_asked_about_asks_again() -> None:
    def make(version: int) -> Any:
        def f() -> int:
            return version

        return f

    count: list[int] = []

    def approve(question: Question) -> Approved:
        count.append(1)
        if len(count) == 1:
            harness.runtime.tools.add(make(2))
        return Approved()

    harness = make_harness(make(1), approver=approve)
    record = harness.run(ask_for("f"))

    assert (record.result, len(count)) == (2, 2)


def test_a_tool_taken_away_while_it_is_asked_about_does_not_run() -> None:
    harness = make_harness(
        double_if_allowed, approver=lambda _: harness.runtime.tools.remove("double_if_allowed") or Approved()
    )  # type: ignore[func-returns-value]

    assert harness.run(ask_for("double_if_allowed", n=1)).status == "not_found"


def test_what_changes_each_time_it_is_asked_about_is_denied() -> None:
    notebook = {"x": 0}

    def approve(question: Question) -> Approved:
        notebook["x"] += 1
        return Approved()

    harness = make_harness(double_if_allowed, notebook=notebook, expose=["x"], approver=approve)
    record = harness.run(ask_for("double_if_allowed", n="$VAR_REF{{x}}"))

    assert (record.status, len(record.decisions)) == ("denied", MAX_CHANGES)
    assert record.reason in record.shown


@pytest.mark.promise("fails-closed")
def test_a_policy_of_the_arguments_decides_and_one_that_raises_allows_nothing() -> None:
    careful = tool(lambda n: n, name="careful", run=lambda arguments: "auto" if arguments["n"] < 10 else "ask_always")
    broken = tool(lambda n: n, name="broken", run="auto", result=lambda arguments: 1 / 0)  # type: ignore[arg-type,return-value]
    harness = make_harness(careful, broken)

    assert harness.run(ask_for("careful", n=1)).status == "ok"
    assert harness.run(ask_for("careful", n=11)).status == "denied"
    failed = harness.run(ask_for("careful", n="many"))
    assert failed.status == "denied"
    assert "TypeError" in failed.reason
    assert harness.run(ask_for("broken", n=1)).status == "withheld"


@pytest.mark.promise("withheld")
def test_a_withheld_result_reaches_the_model_in_no_way() -> None:
    harness = make_harness(secret_if_released, approver=lambda _: Withheld("personal data"))
    record = harness.run(ask_for("secret_if_released"))

    assert (record.status, record.reason, record.result) == ("withheld", "personal data", "SECRET")
    assert record.shown.endswith(" personal data")
    assert harness.runtime.variables.list_entries() == ()
    assert not record.to_result().is_error
    assert "SECRET" not in repr([event for event in harness.events if event.kind != "call_asked"])


def test_an_edited_result_is_all_that_is_sent_and_remembered() -> None:
    harness = make_harness(secret_if_released, approver=lambda _: Released("[redacted]"))
    record = harness.run(ask_for("secret_if_released"))

    assert (record.status, record.shown) == ("ok", "[redacted]")
    assert record.decisions[0].edited
    assert harness.runtime.variables.value(record.reference) == "[redacted]"
    assert record.result == "SECRET"


def test_a_released_result_goes_on_as_it_is() -> None:
    record = make_harness(secret_if_released, approver=yes).run(ask_for("secret_if_released"))

    assert (record.shown, record.decisions[0].verdict) == ("SECRET", "released")


@pytest.mark.parametrize(("policy", "gates"), [("never", 0), ("on_error", 1), ("always", 1)])
def test_errors_are_gated_where_the_policy_says_so(policy: Any, gates: int) -> None:
    def bad() -> None:
        raise ValueError("SECRET")

    harness = make_harness(tool(bad, run="auto", result=policy), approver=lambda _: Released("it failed"))
    record = harness.run(ask_for("bad"))

    assert record.status == "error"
    assert len(record.decisions) == gates
    assert record.shown == ("it failed" if gates else "ValueError: SECRET")
    assert record.reason == record.shown


def test_a_good_result_is_not_gated_on_error() -> None:
    record = make_harness(tool(lambda: "fine", run="auto", result="on_error", name="f")).run(ask_for("f"))

    assert (record.status, record.decisions) == ("ok", [])


@tool
def look(n: int) -> int:
    """Look."""
    return n


def test_an_approver_that_answers_after_somebody_else_did_changes_nothing() -> None:
    harness = make_harness(look)

    def late(question: Question) -> Approved:
        harness.runtime.approvals.decide(question.digest, Approved(), by="button")
        return Approved(arguments={"n": 99})

    harness.runtime.approver = late
    record = harness.run(ask_for("look", n=1))

    assert (record.status, record.result) == ("ok", 1)
    assert [decided.by for decided in record.decisions] == ["button"]


def test_an_answer_that_comes_after_the_decision_is_no_error() -> None:
    async def asked() -> tuple[object, object]:
        harness = ApprovalQueue()
        pending = harness.add(Question("c1", "run", "d1", "look", "{}"))

        def late(question: Question) -> Denied:
            harness.decide(question.digest, Approved(), by="button")
            return Denied("too late")

        await approval_request._ask_approver(pending.question, harness, late, CallerThread(), ignore)
        return await pending, harness.pending()

    assert asyncio.run(asked()) == (Resolution(Approved(), "button"), ())


def test_a_policy_that_is_a_word_needs_no_thread_and_no_time() -> None:
    bound = bind(as_tools(double_if_allowed)[0], {"n": 2}, Variables())
    asked = bind(as_tools(tool(lambda n: n, name="asked", run=lambda **_: "auto"))[0], {"n": 2}, Variables())

    assert asyncio.run(approval_request.gate_mode(bound, "run", 0.0, ignore, PolicyContext)) == "ask_always"
    with pytest.raises(CallEnded):
        asyncio.run(approval_request.gate_mode(asked, "run", 0.0, ignore, PolicyContext))
