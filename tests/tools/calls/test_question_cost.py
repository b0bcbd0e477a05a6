"""What a question about a call costs when its tool uses data of its notebook, which is compared while it waits."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, tool
from nbtool.testing import ScriptedWire, call
from tests.cpu_time import without_collector

ROOT = Path(__file__).parents[3]


def rows_of(count: int) -> dict[str, Any]:
    return {f"k{number}": {"a": number, "b": f"text {number}"} for number in range(count)}


def seconds_of(data: Any, runs: int = 4) -> float:
    """Return the processor time of a turn with one question about a tool that uses the data."""

    @tool
    def look(n: int) -> int:
        "Look at the data."
        return len(data) + n

    best = float("inf")
    for _ in range(runs):
        with ScriptedWire([[call("look", n=1)], "Done."]) as wire:
            chat = Chat(wire=wire, tools=[look], approver=lambda _: Approved())
            with without_collector():  # a collection takes as long as the tests before have left objects
                began = time.process_time()
                turn = chat.send("Go")
                best = min(best, time.process_time() - began)
        assert turn.calls[0].status == "ok"
    return best


def measure(*data: str) -> list[float]:
    """Return these seconds in a process of their own: what other tests left in this one takes part in each turn."""
    code = "from tests.tools.calls.test_question_cost import rows_of, seconds_of\n"
    code += "\n".join(f"print(seconds_of({one}))" for one in data)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return [float(line) for line in ended.stdout.split()]


@pytest.mark.sampled(0)
def test_a_question_about_a_tool_with_a_long_text_costs_as_much_as_one_without() -> None:
    nothing, long = measure("''", "'x' * 116_000")

    assert long < 4 * nothing + 0.02


@pytest.mark.sampled(0)
def test_the_cost_of_a_question_grows_no_faster_than_the_data_of_its_tool() -> None:
    nothing, small, large = measure("{}", "rows_of(1_000)", "rows_of(8_000)")

    assert small < 8 * nothing + 0.02
    assert large < 16 * small
