"""Scripts and files at the edges: what they may not hold, and what is private wherever it lies."""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath
from typing import Any

import pytest

from nbtool.tools import Approved, tool
from nbtool.tools.calls.record import CallRecord
from nbtool.tools.calls.runtime import RunningCall
from nbtool.tools.script.compile import validate
from nbtool.tools.script.run import ScriptRun
from nbtool.tools.script.tool import script_tools
from nbtool.toolsets.protected_paths import protected_reason
from tests.tools.calling import ask_for, make_harness


def test_a_path_without_any_part_is_private_to_nobody() -> None:
    assert protected_reason(PurePosixPath()) == ""
    assert protected_reason(PurePosixPath("/proc")) == "it belongs to the system"
    assert protected_reason(PurePosixPath("/home/ada/.jupyter/notebook_cookie_secret"))


@pytest.mark.parametrize("name", ["notebook_cookie_secret", "jupyter_cookie_secret"])
def test_the_secrets_of_the_notebook_server_are_private_wherever_they_lie(name: str) -> None:
    assert protected_reason(PurePosixPath("/data") / name) != ""


@pytest.mark.parametrize("script", ["a = '\0'", "(" * 300 + ")" * 300, "-" * 9_000 + "1"])
def test_a_script_that_python_cannot_even_parse_is_refused_in_its_words(script: str) -> None:
    with pytest.raises(ValueError, match="Python: "):
        validate(script)


def test_a_reference_in_a_pattern_is_left_as_it_is() -> None:
    assert validate(
        "match {'$VAR_REF{{a}}': 1}:\n    case {'$VAR_REF{{a}}': 1}:\n        1\n    case '$VAR_REF{{a}}':\n        2"
    )


def test_what_a_script_may_not_hold_is_named() -> None:
    refused = {
        "import os": "imports",
        "from os import path": "imports",
        "class A: pass": "classes",
        "async def f(): pass": "async",
        "def f():\n    yield 1": "yield",
        "def f():\n    yield from a": "yield",
        "try:\n    1\nexcept:\n    2": "a bare except",
        "a.__class__": "names that begin with _",
        "global _a": "names that begin with _",
    }

    for script, what in refused.items():
        with pytest.raises(ValueError, match=rf"^a script without {what}\b"):
            validate(script)


@tool(run="auto")
def count(items: list[Any]) -> int:
    "Count."
    return len(items)


def test_a_script_may_hand_on_what_json_cannot_say() -> None:
    desk = make_harness(count, script_tools(), approver=lambda _: Approved())
    script = "a = [1]\na.append(a)\ncount(a)"

    assert desk.run(ask_for("RunScript", script=script)).result == 2


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
        bench = make_harness(noted).bench
        run = ScriptRun(
            RunningCall(bench, "c1", 1, CallRecord("c1", "RunScript", "{}", 1)),
            asyncio.get_running_loop(),
            excluded="RunScript",
        )
        run.stop()
        with pytest.raises(asyncio.CancelledError):
            await run._run_on_loop(bench.tools.get("noted"), {})

    asyncio.run(stopped())
    assert made == []
