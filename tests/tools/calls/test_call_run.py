# ruff: noqa: ARG001 - tools under test have parameters that they do not need
from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from nbtool.errors import NbtoolError, ToolFailed
from nbtool.events import CallFinished
from nbtool.messages import ToolCall
from nbtool.tools import Policy, Released, tool
from nbtool.tools.calls.call_run import skip_call
from nbtool.tools.tool import as_tools
from tests.resolved import plain
from tests.tools.calling import ask_for, make_harness


@tool(run="auto")
def double(n: int) -> int:
    """Twice."""
    return 2 * n


@tool
def double_if_allowed(n: int) -> int:
    """Twice, when allowed."""
    return 2 * n


@tool(run="auto")
def failing(text: str) -> None:
    raise ToolFailed(text)


@tool(run="auto", result="always")
def secret_if_released() -> str:
    return "SECRET"


def test_a_call_runs_and_its_result_is_sent_and_remembered() -> None:
    harness = make_harness(double)
    call = ask_for("double", n=4)

    record = harness.run(call)

    assert (record.status, record.result, record.shown, record.reference) == ("ok", 8, "8", "double_1_result")
    assert (record.call_id, record.name, record.arguments, record.round) == (call.call_id, "double", '{"n": 4}', 1)
    assert record.resolved == {"n": plain("4")}
    assert record.started is not None
    assert record.ended is not None
    assert record.seconds >= 0
    assert harness.runtime.variables.value("double_1_result") == 8
    assert harness.kinds() == ["call_ready", "call_started", "call_finished"]
    result = record.to_result()
    assert (result.text, result.id, result.call_id, result.is_error) == ("8", call.id, call.call_id, False)


BROKEN = replace(ask_for("double"), arguments='{"n": ', error="The arguments are not JSON.", runnable=False)
CUT_OFF = replace(ask_for("double", n=1), error="The reply was cut off.", runnable=False)


@pytest.mark.parametrize(
    ("call", "status", "text"),
    [
        (ask_for("doubel", n=1), "not_found", r"no tool 'doubel'\. Did you mean double\?"),
        (BROKEN, "invalid", "not JSON"),
        (replace(BROKEN, error=None), "invalid", "cannot run"),
        (replace(BROKEN, arguments="[" * 100_000), "invalid", "not JSON"),
        (CUT_OFF, "not_run", "cut off"),
        (ask_for("double", n="4"), "invalid", "a valid integer, got"),
        (ask_for("double"), "invalid", "'n' is missing"),
        (ask_for("double", n="$VAR_REF{{x}}"), "invalid", "no variable 'x'"),
        (ask_for("double", n="$VAR_REF{{x!}}"), "invalid", "is not a valid reference"),
        (ask_for("double_if_allowed", n=1), "denied", "No approver is available"),
        (ask_for("failing", text="the market is closed"), "error", "^the market is closed$"),
        (ask_for("failing", text=""), "error", "The tool failed"),
        (ask_for("secret_if_released"), "withheld", "No approver is available"),
    ],
)
def test_every_call_gets_one_outcome_that_the_model_can_read(call: ToolCall, status: str, text: str) -> None:
    harness = make_harness(double, double_if_allowed, failing, secret_if_released)

    record = harness.run(call)

    assert record.status == status
    assert len(harness.of("call_finished")) == 1
    assert "SECRET" not in record.shown
    assert re.search(text, record.shown)
    assert record.reference == ""
    assert record.to_result().is_error == (status != "withheld")


class Custom(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("/home/ada/x.csv is broken"), "ValueError: x.csv is broken"),
        (KeyError("k"), "KeyError: 'k'"),
        (RuntimeError(), "RuntimeError"),
        (SystemExit(1), "SystemExit: 1"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError(), "CancelledError"),
        (TimeoutError(), "TimeoutError"),
        (StopIteration(3), "StopIteration: 3"),
        (StopAsyncIteration(), "StopAsyncIteration"),
        (GeneratorExit(), "GeneratorExit"),
        (MemoryError(), "MemoryError"),
        (RecursionError("deep"), "RecursionError: deep"),
        (ExceptionGroup("g", [ValueError("a")]), "ExceptionGroup: g (1 sub-exception); ValueError: a"),
        (BaseExceptionGroup("g", [SystemExit(2)]), "BaseExceptionGroup: g (1 sub-exception); SystemExit: 2"),
        (Custom("own"), "Custom: own"),
        (NbtoolError("said", fix="Do this."), "said Do this."),
    ],
)
@pytest.mark.parametrize("kind", ["worker", "loop", "steps", "async steps"])
def test_whatever_a_tool_raises_is_one_outcome(error: BaseException, text: str, kind: str) -> None:
    def sync() -> None:
        raise error

    async def coroutine() -> None:
        raise error

    def steps() -> Iterator[str]:
        yield "one"
        raise error

    async def async_steps() -> AsyncIterator[str]:
        yield "one"
        raise error

    function = {"worker": sync, "loop": coroutine, "steps": steps, "async steps": async_steps}[kind]
    record = make_harness(tool(function, run="auto")).run(ask_for(function.__name__))

    assert record.status == "error"
    if not (isinstance(error, StopIteration | StopAsyncIteration) and kind != "worker"):
        assert record.shown == text
    assert record.reason == record.shown


def test_on_the_caller_thread_too_what_a_tool_raises_stays_inside() -> None:
    def leave() -> None:
        raise SystemExit(3)

    (record,) = make_harness(tool(leave, run="auto")).run_lent(ask_for("leave"))

    assert (record.status, record.shown) == ("error", "SystemExit: 3")


@pytest.mark.promise("bounded")
def test_a_call_over_the_limit_is_answered_without_running() -> None:
    harness = make_harness(double)

    record = asyncio.run(skip_call(ask_for("double", n=1), harness.runtime, round=3, reason="The limit was reached."))

    assert (record.status, record.shown, record.round) == ("not_run", "The limit was reached.", 3)
    assert harness.kinds() == ["call_finished"]


def test_a_call_over_the_limit_has_the_name_of_the_tool_that_a_person_knows() -> None:
    (found,) = as_tools(double)
    harness = make_harness(replace(found, name="files-double", qualified_name="files.double"))

    record = asyncio.run(
        skip_call(ask_for("files-double", n=1), harness.runtime, round=1, reason="The limit was reached.")
    )

    assert record.display_name == "files.double"
    assert [event.qualified_name for event in harness.events if isinstance(event, CallFinished)] == ["files.double"]


def test_a_call_is_in_the_state_of_its_turn_from_its_start() -> None:
    seen: list[str] = []

    @tool(run=lambda _: seen.append(harness.runtime.state.calls[0].status) or "auto")
    def double(n: int) -> int:
        "Double a number."
        return n * 2

    harness = make_harness(double)
    record = harness.run(ask_for("double", n=1))

    assert seen[0] == "waiting"
    assert harness.runtime.state.calls == [record]


def test_a_disabled_tool_cannot_be_called() -> None:
    harness = make_harness(double)
    harness.runtime.tools.disable("double")

    assert harness.run(ask_for("double", n=1)).status == "not_found"


def test_a_defect_of_ours_still_gives_the_call_an_answer() -> None:
    harness = make_harness(double)
    harness.runtime.tools = None  # type: ignore[assignment]

    assert harness.run(ask_for("double", n=1)).status == "error"


def test_a_large_result_is_a_preview_with_a_reference_to_the_whole() -> None:
    frame = pd.DataFrame({"n": range(50_000)})
    harness = make_harness(tool(lambda: frame, run="auto", name="load"))
    record = harness.run(ask_for("load"))

    assert "5 of 50,000 rows" in record.shown
    assert "(DataFrame, 50,000 rows" in record.shown
    assert record.shown.endswith(": $VAR_REF{{load_1_result}}]")
    assert harness.runtime.variables.value("load_1_result") is frame


def test_a_long_text_is_offered_whole_as_a_reference() -> None:
    harness = make_harness(
        tool(lambda: "x" * 500, run="auto", name="f"), tool(lambda: "y" * 50_000, run="auto", name="g")
    )

    assert harness.run(ask_for("f")).shown.endswith("[Whole result: $VAR_REF{{f_1_result}}]")
    cut = harness.run(ask_for("g"))
    assert "of 50,000 characters" in cut.shown
    assert len(harness.runtime.variables.text("g_1_result")) == 50_000


def test_an_author_may_name_the_variable_and_the_latest_result_is_in_it() -> None:
    count = iter(range(10))
    harness = make_harness(
        tool(lambda: next(count), run="auto", name="f", store_as="latest"), notebook={"taken": 1}, expose=["taken"]
    )
    harness.run(ask_for("f"), ask_for("f"))
    assert harness.runtime.variables.value("latest") == 1
    harness.runtime.tools.add(tool(lambda: 5, run="auto", name="g", store_as="taken"))
    record = harness.run(ask_for("g"))

    assert record.reference == "g_1_result"
    assert harness.runtime.variables.value("taken") == 1


def test_a_result_goes_on_to_the_next_tool_as_the_very_object() -> None:
    seen: list[Any] = []

    @tool(run="auto")
    def load() -> pd.DataFrame:
        return pd.DataFrame({"a": [1]})

    @tool(run="auto")
    def look(frame: pd.DataFrame) -> int:
        seen.append(frame)
        return len(frame)

    harness = make_harness(load, look)
    made = harness.run(ask_for("load"))
    harness.run(ask_for("look", frame="$VAR_REF{{load_1_result}}"))

    assert seen[0] is made.result


def test_a_result_that_hangs_while_it_is_rendered_does_not_hang_the_turn() -> None:
    release, drawn_by = threading.Event(), []

    class Slow:
        def __repr__(self) -> str:
            drawn_by.append(threading.current_thread().name)
            release.wait(240)
            return "at last"

    harness = make_harness(tool(lambda: Slow(), run="auto", name="make"), render_seconds=0.05)
    record = harness.run(ask_for("make"))
    release.set()

    assert record.status == "ok"
    assert record.shown.startswith("Slow (")
    assert repr(record)
    assert drawn_by == ["nbtool-tool"]


def test_references_that_take_too_long_to_read_do_not_hang_the_turn() -> None:
    release = threading.Event()

    class Slow:
        def __repr__(self) -> str:
            release.wait(240)
            return "at last"

    harness = make_harness(double, notebook={"x": Slow()}, expose=["x"], bind_seconds=0.05)
    record = harness.run(ask_for("double", n="$VAR_REF{{x:0}}"))
    release.set()

    assert (record.status, "0.05 s" in record.shown) == ("invalid", True)


def test_a_validator_that_leaves_the_program_does_not() -> None:
    class Trap:
        def __getitem__(self, key: str) -> Any:
            raise SystemExit(1)

    def look(name: str) -> Any:
        if calls.pop():
            raise SystemExit(1)
        return 1

    calls = [True, False]
    from nbtool.tools.variables.store import Variables

    harness = make_harness(double)
    harness.runtime.variables = Variables(look)
    harness.runtime.variables.expose("x")

    assert harness.run(ask_for("double", n="$VAR_REF{{x}}")).status == "error"


@pytest.mark.promise("by-reference")
def test_a_cell_of_an_exposed_frame_appears_in_nothing_that_a_model_reads_unless_it_is_opened() -> None:
    from nbtool.tools.variable_tools import variable_tools

    frame = pd.DataFrame({"name": ["SENTINEL"], "n": [1]})
    notebook = {"df": frame, "values": ["SENTINEL"], "text": "SENTINEL"}

    @tool(run="auto")
    def count(frame: pd.DataFrame, n: int = 1, word: str = "") -> int:
        return len(frame)

    harness = make_harness(count, notebook=notebook, expose=list(notebook))
    harness.runtime.tools.add(variable_tools(harness.runtime.variables))
    calls = [
        ask_for("count", frame="$VAR_REF{{df}}"),
        ask_for("count", frame="$VAR_REF{{df:0}}"),
        ask_for("count", frame="$VAR_REF{{values}}"),
        ask_for("count", frame="$VAR_REF{{df['name']}}"),
        ask_for("count", frame="$VAR_REF{{df['name'][0]}}"),
        ask_for("count", frame="$VAR_REF{{df['SENTINE']}}"),
        ask_for("count", frame="$VAR_REF{{df}}", n="$VAR_REF{{text}}"),
        ask_for("count", frame="$VAR_REF{{df}}", n="a $VAR_REF{{text}}"),
        ask_for("count", frame="$VAR_REF{{df}}", word="a $VAR_REF{{text}}"),
        ask_for("count", frame=["$VAR_REF{{df}}", "$VAR_REF{{text}}"]),
        ask_for("$VAR_REF{{text}}"),
        ask_for("ListVars"),
        ask_for("ListVars", filter="$VAR_REF{{text}}"),
        ask_for("ReadVar", name="df"),
        ask_for("ReadVar", name="text", start=0, length=3),
        ask_for("ReadVar", name="$VAR_REF{{text}}"),
        ask_for("WriteVar", name="note", value="$VAR_REF{{text}}"),
        ask_for("ReadVar", name="note"),
        ask_for("RemoveVars", names=["$VAR_REF{{text}}"]),
    ]
    records = [harness.run(call) for call in calls]
    actual = json.dumps([[record.shown, record.reason, str(record.resolved)] for record in records])
    actual += json.dumps([one.spec for one in harness.runtime.tools], default=dict) + harness.runtime.tools.rules()

    assert "SENTINEL" not in actual.replace("SENTINE'", "")
    harness.runtime.variables.expose("text", readable=True)
    assert harness.run(ask_for("ReadVar", name="text")).shown == "SENTINEL"


def test_policies_of_a_toolset_hold_for_its_calls() -> None:
    harness = make_harness()
    harness.runtime.tools.add(make_harness(double).runtime.tools.approved(Policy("ask_always")))

    assert harness.run(ask_for("double", n=1)).status == "denied"


@pytest.mark.parametrize(("tool_", "checks", "guarded"), [(double, False, False), (double, True, True)])
def test_a_call_whose_result_may_be_withheld_starts_as_a_guarded_one(tool_: Any, checks: bool, guarded: bool) -> None:
    harness = make_harness(tool_, check_results=checks, approver=lambda _: Released())

    harness.run(ask_for("double", n=1))

    assert [event.guarded for event in harness.of("call_started")] == [guarded]


def test_a_plugin_that_fails_lets_no_call_start_and_the_model_reads_the_type_of_its_error() -> None:
    class Guard:
        def may_start(self, _: str) -> bool:
            raise ValueError("no limit for DE89")

    record = make_harness(tool(lambda: "done", name="called", run="auto"), plugins=(Guard(),)).run(ask_for("called"))

    assert (record.status, record.started) == ("not_run", None)
    assert "(ValueError)" in record.shown
    assert "DE89" not in record.shown
    assert "DE89" in record.reason
