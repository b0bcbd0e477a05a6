from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nbtool.tools import Approved, tool
from nbtool.tools.calls.runtime import RunningCall
from nbtool.tools.script.script_run import MAX_INLINE_CHARS, ScriptRun
from nbtool.tools.script.tool import script_tools
from nbtool.turn_state import Call
from tests.tools.calling import ask_for, make_harness


@tool(run="auto")
def count(items: list[Any]) -> int:
    "Count."
    return len(items)


def test_a_script_may_hand_on_what_json_cannot_say() -> None:
    harness = make_harness(count, script_tools(), approver=lambda _: Approved())
    script = "a = [1]\na.append(a)\ncount(a)"

    assert harness.run(ask_for("RunScript", script=script)).result == 2


def test_a_large_value_of_a_script_is_passed_as_a_reference_and_shown_as_one() -> None:
    harness = make_harness(count, script_tools(), approver=lambda _: Approved())
    largest = MAX_INLINE_CHARS - len('[""]')
    script = f"count(['x' * {largest}]) + count(['x' * {largest + 1}])"
    record = harness.run(ask_for("RunScript", script=script))
    _, inline, referenced = (event.arguments for event in harness.of("call_ready"))

    assert record.result == 2
    assert "x" * largest in inline
    assert "x" * 100 not in referenced


def test_a_script_may_match_keys_that_look_like_references() -> None:
    script = """
match {"a": 1}:
    case {"$VAR_REF{{a}}": 1}:
        print("a reference")
    case {"a": 1}:
        print("a key")
"""

    assert (
        make_harness(script_tools(), approver=lambda _: Approved()).run(ask_for("RunScript", script=script)).shown
        == "a key"
    )


def test_a_call_that_a_script_makes_as_it_is_stopped_is_not_made() -> None:
    made = []
    noted = tool(lambda: made.append(1), name="noted", run="auto")

    async def stopped() -> None:
        runtime = make_harness(noted).runtime
        run = ScriptRun(
            RunningCall(runtime, Call("c1", "RunScript", "{}", 1)),
            asyncio.get_running_loop(),
            excluded="RunScript",
        )
        run.stop()
        with pytest.raises(asyncio.CancelledError):
            await run._run_on_loop(runtime.tools.get("noted"), {})

    asyncio.run(stopped())
    assert made == []
