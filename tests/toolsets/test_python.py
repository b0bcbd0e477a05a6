from __future__ import annotations

import threading
from typing import Any

import pytest

from nbtool import tool
from nbtool.errors import BadUsage
from nbtool.messages import Media
from nbtool.tools import Approved
from nbtool.toolsets import notebook_python
from nbtool.toolsets.python import MAX_CODE_CHARS
from nbtool.toolsets.runner_registry import CodeResult, set_code_runner
from tests.samples import PNG
from tests.tools.calling import ToolHarness, ask_for, make_harness


def notebook(*, approver: Any = lambda _: Approved(), **parts: Any) -> ToolHarness:
    return make_harness(notebook_python(lambda _: CodeResult(**parts)), approver=approver)


def test_output_and_value_come_back_and_the_value_is_the_object_itself() -> None:
    value = object()
    harness = notebook(output="hello\n", has_value=True, value=value)

    record = harness.run(ask_for("run_python", code="..."))
    assert record.shown.startswith("hello\nValue:\n<object object>\n")
    assert "$VAR_REF{{run_python_1_result}}" in record.shown
    assert harness.runtime.variables.value(record.reference)["value"] is value


def test_its_parts_are_targets_of_references() -> None:
    received: list[Any] = []
    value = [1, 2]
    harness = notebook(output="hello", has_value=True, value=value, figures=(Media("image/png", data=PNG),))

    @tool(run="auto")
    def take(one: object, two: object, three: object) -> str:
        "Take three things."
        received.extend([one, two, three])
        return "taken"

    harness.runtime.tools.add(take)
    ref = "$VAR_REF{{{{run_python_1_result{}}}}}"
    harness.run(
        ask_for("run_python", code="x"),
        ask_for("take", one=ref.format("['value']"), two=ref.format("['output']"), three=ref.format("['figures'][0]")),
    )

    assert received[0] is value
    assert received[1] == "hello"
    assert received[2].data == PNG


def test_figures_are_reported_in_a_line_each_and_shown_to_a_model_that_sees() -> None:
    record = notebook(figures=(Media("image/png", data=PNG),) * 12).run(ask_for("run_python", code="plot()"))

    assert record.shown.startswith("Figure 0: image/png")
    assert "[8 of 12 figures]" in record.shown
    assert [image.data for image in record.to_result().media] == [PNG] * 8


def test_it_always_asks_and_shows_the_code_and_is_never_remembered() -> None:
    asked: list[Any] = []
    harness = notebook(approver=lambda question: asked.append(question) or Approved())
    for _ in range(2):
        harness.run(ask_for("run_python", code="import os"))

    assert [question.shown for question in asked] == ['{\n  "code": "import os"\n}'] * 2
    assert all(question.sensitive and not question.can_remember for question in asked)


def test_nothing_runs_when_nobody_approves() -> None:
    ran: list[str] = []
    harness = make_harness(notebook_python(lambda code: ran.append(code) or CodeResult()))

    assert harness.run(ask_for("run_python", code="x")).status == "denied"
    assert ran == []


def test_long_output_is_cut_for_the_model_and_kept_whole() -> None:
    harness = notebook(output="x" * 50_000, omitted=1_234_567)

    record = harness.run(ask_for("run_python", code="x"))
    assert len(record.shown) < 5_000
    assert "[1,234,567 " in record.shown
    assert harness.runtime.variables.value(record.reference)["output"] == "x" * 50_000


def test_an_error_is_an_answer_with_what_was_printed_before() -> None:
    record = notebook(output="so far\n", error="ValueError: no (line 2)").run(ask_for("run_python", code="x"))

    assert record.status == "error"
    assert record.shown.startswith("ValueError: no (line 2)\n")
    assert record.shown.endswith("\nso far")


def test_code_that_gives_nothing_says_so() -> None:
    assert "Nothing" in notebook().run(ask_for("run_python", code="x = 1")).shown


@pytest.mark.parametrize(
    ("code", "said"), [(" \n", "no code"), ("x" * (MAX_CODE_CHARS + 1), "up to 100,000 can be run")]
)
def test_what_is_no_code_or_too_much_of_it_does_not_run(code: str, said: str) -> None:
    record = notebook(output="RAN").run(ask_for("run_python", code=code))

    assert record.status == "error"
    assert said in record.shown


def test_it_runs_on_the_thread_that_waits() -> None:
    threads: list[threading.Thread] = []
    runner = lambda _: threads.append(threading.current_thread()) or CodeResult()  # noqa: E731 - as short as it is
    make_harness(notebook_python(runner), approver=lambda _: Approved()).run_lent(ask_for("run_python", code="x"))

    assert threads == [threading.main_thread()]


def test_without_a_notebook_there_is_nothing_to_offer() -> None:
    set_code_runner(None)

    with pytest.raises(BadUsage, match="load_ext nbtool"):
        notebook_python()
