"""What a question about a call costs when its tool uses data of its notebook, which is compared while it waits."""

from __future__ import annotations

import time
from typing import Any

from nbtool import Approved, Chat, tool
from nbtool.testing import ScriptedWire, call
from tests.cpu_time import without_collector


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


def test_a_question_about_a_tool_with_a_long_text_costs_as_much_as_one_without() -> None:
    assert seconds_of("x" * 116_000) < 4 * seconds_of("") + 0.02


def test_the_cost_of_a_question_grows_no_faster_than_the_data_of_its_tool() -> None:
    nothing, small, large = seconds_of({}), seconds_of(rows_of(1_000)), seconds_of(rows_of(8_000))

    assert small < 8 * nothing + 0.02
    assert large < 16 * small
