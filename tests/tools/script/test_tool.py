from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied, Released, Withheld, tool
from nbtool.chain.limits import Limits
from nbtool.chat.chat import TurnSettings
from nbtool.errors import ToolFailed
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.threads.loop import background_loop
from nbtool.tools.calls.call_run import run_call
from nbtool.tools.script.script_compiler import validate
from nbtool.tools.script.tool import ScriptTool, script_tools
from nbtool.turn_state import Call
from tests.tools.calling import ToolHarness, ask_for, make_harness


class Table:
    """Stands for a big object of the notebook."""

    rows = (1, 2, 3)


@tool(run="auto")
def prices(tickers: list[str]) -> dict[str, int]:
    "Prices of tickers."
    return {ticker: len(ticker) for ticker in tickers}


@tool(run="auto")
def load() -> Table:
    "Load a table."
    return Table()


@tool(run="auto")
def count(table: Table) -> int:
    "Count rows."
    return len(table.rows)


@tool(run="auto")
def echo(text: str) -> str:
    "Say it again."
    return text


@tool
def sell(ticker: str) -> str:
    "Sell."
    return f"sold {ticker}"


def yes(_: object) -> Approved:
    return Approved()


def run(script: str, *tools: Any, scripts: ScriptTool | None = None, **settings: Any) -> tuple[Call, ToolHarness]:
    harness = make_harness(*tools, scripts.toolset() if scripts else script_tools(), **{"approver": yes, **settings})
    return harness.run(ask_for("RunScript", script=script)), harness


def test_a_script_makes_many_calls_in_one_round_and_gives_raw_values() -> None:
    script = "table = load()\nrows = count(table)\nfor t in ['A', 'BB']:\n    print(t, prices([t])[t])\nrows"
    with ScriptedWire([call("RunScript", script=script), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[prices, load, count, script_tools()], approver=yes).send("Go.")

    assert (turn.status, turn.stats.rounds, turn.stats.calls) == ("completed", 2, 5)
    assert [record.name for record in turn.calls] == ["RunScript", "load", "count", "prices", "prices"]
    assert all(record.status == "ok" for record in turn.calls)
    assert wire.prompts[1].messages[-1].results[0].text == "A 1\nBB 2\n3"
    assert len(wire.prompts[1].messages[-1].results) == 1


def test_the_script_is_asked_about_with_its_code_and_so_is_every_call_in_it_that_asks() -> None:
    approver = ScriptedApprover([("RunScript", Approved()), ("sell", Approved()), ("sell", Denied("too soon"))])
    record, harness = run("print(sell('A'))\nsell('B')", sell, approver=approver)

    assert "sell('B')" in approver.questions[0].shown
    assert not approver.questions[0].can_remember
    assert record.status == "error"
    assert record.shown.startswith("sold A\nLine 2: sell: ")
    assert record.shown.endswith(" too soon")
    assert [event.status for event in harness.of("call_finished")] == ["ok", "denied", "error"]
    approver.assert_done()


def test_a_denied_call_can_be_caught_by_the_script() -> None:
    script = "try:\n    sell('A')\nexcept ToolFailed as problem:\n    print('no:', problem)"
    approver = ScriptedApprover([Approved(), Denied()])
    record, _ = run(script, sell, approver=approver)

    assert (record.status, record.result.startswith("no: sell: ")) == ("ok", True)


def test_a_withheld_result_reaches_no_script_and_an_edited_one_as_it_was_edited() -> None:
    secret = tool(lambda: {"pin": "SECRET"}, name="secret", run="auto", result="always")
    stored = tool(lambda: "SECRET", name="kept", run="auto", result="always", store_as="latest")
    withheld, _ = run("secret()", secret, approver=ScriptedApprover([Approved(), Withheld()]))
    edited, harness = run(
        "[secret(), kept()]",
        secret,
        stored,
        approver=ScriptedApprover([Approved(), Released("x"), Released("y" * 300)]),
    )

    assert withheld.status == "error"
    assert "SECRET" not in withheld.shown
    assert edited.result == ["x", "y" * 300]
    assert harness.runtime.variables.value("latest") == "y" * 300


def test_calls_in_a_script_count_against_the_limit_of_the_turn() -> None:
    script = "for n in range(5):\n    print(n, echo(str(n)))"
    with ScriptedWire([call("RunScript", script=script), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[echo, script_tools()], approver=yes)
        turn = chat.send("Go.", settings=TurnSettings(limits=Limits(max_calls=3)))

    assert [record.status for record in turn.calls] == ["error", "ok", "ok", "not_run"]
    assert "1 1\nLine 2: echo: " in turn.calls[0].shown
    assert " 3 " in turn.calls[0].shown


def test_synchronous_tools_of_a_script_run_on_the_caller_thread() -> None:
    where = tool(lambda: threading.current_thread() is threading.main_thread(), name="where", run="auto")
    harness = make_harness(where, script_tools(), approver=yes)
    (record,) = harness.run_lent(ask_for("RunScript", script="where()"))

    assert record.result is True


def test_only_what_the_model_wrote_is_resolved_and_never_what_a_tool_gave() -> None:
    trap = tool(lambda: "see $VAR_REF{{table}} and \\$VAR_REF{{x", name="trap", run="auto")
    script = "text = trap()\nprint(echo(text) == text, echo('$VAR_REF{{' + 'table}}'), count('$VAR_REF{{table}}'))"
    record, _ = run(script, trap, echo, count, notebook={"table": Table()}, expose=["table"])

    assert record.result == "True $VAR_REF{{table}} 3"


def test_objects_and_large_values_go_from_tool_to_tool_as_themselves_and_leave_no_variables() -> None:
    seen: list[Any] = []
    keep = tool(lambda one, rest: seen.append((one, rest)), name="keep", run="auto")
    big = tool(lambda: ["x" * 2000], name="big", run="auto")
    script = "table, large = load(), big()\nkeep(large, rest={'t': [table]})\nprint('done')"
    record, harness = run(script, load, keep, big)

    assert record.result == "done"
    assert seen[0][0] == ["x" * 2000]
    assert isinstance(seen[0][1]["t"][0], Table)
    assert [entry.name for entry in harness.runtime.variables.list_entries()] == ["RunScript_1_result"]


@pytest.mark.parametrize(
    ("script", "result"),
    [
        ("1 + 1", 2),
        ("if True:\n    return [1]\nreturn 2", [1]),
        ("def double(n):\n    return 2 * n\n[double(n) for n in range(3)]", [0, 2, 4]),
        ("print('a', 1, sep='-', end='!')", "a-1!"),
        ("x = 3", None),
        ("", None),
        (
            "match 'a':\n    case '$VAR_REF{{':\n        1\n    case _:\n        return f'$VAR_REF{{{2}}}'",
            "$VAR_REF{2}",
        ),
        ("sorted(a_b() for n in range(1))", [7]),
    ],
)
def test_the_result_is_what_is_printed_and_the_last_value(script: str, result: Any) -> None:
    record, _ = run(script, tool(lambda: 7, name="a-b", run="auto"))

    assert (record.status, record.result) == ("ok", result)


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("print('so far')\n1 / 0", "so far\nLine 2: ZeroDivisionError: division by zero"),
        ("open('x')", "Line 1: NameError: name 'open' is not defined"),
        ("echo('a', 'b')", "Line 1: TypeError: echo(text) was called with other arguments"),
        ("echo('a', text='b')", "Line 1: TypeError: echo(text) was called with other arguments"),
        ("echo(1)", "Line 1: echo: 'text': expected a valid string, got 1. Parameters: text."),
        ("RunScript('1')", "Line 1: NameError: name 'RunScript' is not defined"),
        ("def f():\n    return f()\nf()", "Line 1: RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_an_error_in_a_script_is_reported_with_its_line(script: str, problem: str) -> None:
    record, _ = run(script, echo)

    assert record.status == "error"
    assert record.shown.startswith(problem)


@pytest.mark.parametrize(
    "script",
    [
        "import os",
        "from os import path",
        "x.__class__",
        "__import__('os')",
        "def _f(): pass",
        "f(_x=1)",
        "lambda _x: 1",
        "class A: pass",
        "await x",
        "yield 1",
        "async def f(): pass",
        "try:\n    pass\nexcept:\n    pass",
        "try:\n    pass\nexcept ValueError as _e:\n    pass",
        "match 1:\n    case _x: pass",
        "global _x",
        "1 +",
        "x = '\0'",
        "x" * 20_001,
        "(" * 5000,
    ],
)
def test_a_script_that_may_not_run_is_refused_before_anybody_is_asked(script: str) -> None:
    with pytest.raises(ValueError, match=r"script|Python"):
        validate(script)
    record, harness = run(script)

    assert record.status == "invalid"
    assert harness.of("call_asked") == []


def test_an_endless_script_is_stopped_and_the_time_of_its_calls_does_not_count() -> None:
    short = ScriptTool(seconds=0.3)
    patient = tool(lambda: time.sleep(0.5), name="wait", run="auto")
    waited, _ = run("wait()\nprint('still here')", patient, scripts=short)
    endless, _ = run(
        "print('so far')\nwhile True:\n    try:\n        1 / 0\n    except Exception:\n        pass", scripts=short
    )
    left = [thread for thread in threading.enumerate() if thread.name == "nbtool-tool"]
    for thread in left:
        thread.join(240)  # it has said what came of it, and may still be on its way out

    assert (waited.status, waited.result) == ("ok", "still here")
    assert endless.shown.startswith("so far\n")
    assert "0.3 s" in endless.shown
    assert not [thread for thread in left if thread.is_alive()]


def test_a_script_that_hangs_where_no_line_ends_is_reported_to_be_still_running() -> None:
    release = threading.Event()
    stuck = tool(lambda: release, name="stuck", run="auto")
    record, _ = run("stuck().wait(240)", stuck, scripts=ScriptTool(seconds=0.1, stop_seconds=0.1))
    release.set()

    assert "running" in record.shown


def test_a_cancelled_script_ends_with_the_call_that_it_waits_for() -> None:
    started, ran = threading.Event(), []

    @tool(run="auto")
    async def slow() -> None:
        started.set()
        await asyncio.sleep(30)

    harness = make_harness(slow, tool(lambda: ran.append(1), name="after", run="auto"), script_tools(), approver=yes)

    async def work() -> None:
        called = ask_for("RunScript", script="try:\n    slow()\nexcept Exception:\n    pass\nafter()")
        task = asyncio.create_task(run_call(called, harness.runtime, round=1))
        await asyncio.to_thread(started.wait, 240)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    background_loop().submit(work()).result(240)

    assert [event.status for event in harness.of("call_finished")] == ["cancelled", "cancelled"]
    assert harness.runtime.state.calls[0].status == "cancelled"
    assert ran == []


def test_a_script_that_prints_without_end_is_cut() -> None:
    record, _ = run("for n in range(10_000):\n    print('x' * 100)\nToolFailed")

    assert len(record.result) < 51_000
    assert "50000" in record.result


def test_a_script_runs_only_as_a_tool_of_a_chat() -> None:
    (runs,) = script_tools()

    with pytest.raises(ToolFailed, match="only as a tool of a chat"):
        asyncio.run(runs.function("1"))
