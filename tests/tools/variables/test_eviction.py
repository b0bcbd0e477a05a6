"""What is kept of results: within one bound for the store and the records, never less than the running turn needs."""

from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from PIL import Image

from nbtool import Chat, tool
from nbtool.chat.turn import Turn
from nbtool.errors import BadUsage, UnknownReference
from nbtool.events import Notice
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools import Approved
from nbtool.tools.script.tool import script_tools
from nbtool.tools.values.memory_size import size_of
from nbtool.tools.variables.eviction import BoundedEntries, EvictedResult
from nbtool.tools.variables.store import Variables

BOUND = 4_000_000
SIZE = 1_000_000


class Frame(np.ndarray[Any, Any]):
    """An array that can be watched going away."""


born: list[weakref.ref[Any]] = []


@tool(run="auto")
def make(bytes: int = SIZE) -> Any:
    """Make a large object."""
    made = np.zeros(bytes // 8).view(Frame)
    born.append(weakref.ref(made))
    return made


@tool(run="auto")
def small() -> str:
    """Say a word."""
    return "word"


@tool(run="auto")
def same(it: Any) -> Any:
    """Hand it back."""
    return it


def make_calls(count: int) -> list[ToolCall]:
    """Ask for objects, each of another size: the same call again and again would end the turn."""
    return [call("make", bytes=SIZE + 8 * number) for number in range(count)]


def alive() -> int:
    gc.collect()
    return sum(one() is not None for one in born)


@pytest.fixture(autouse=True)
def _forget() -> None:
    born.clear()


def test_nothing_of_the_running_turn_is_dropped_and_afterwards_the_bound_holds_for_store_and_records_alike() -> None:
    during: list[int] = []

    @tool(run="auto")
    def count() -> int:
        """Count what is there."""
        during.append(alive())
        return 0

    steps = [
        *(call("make", bytes=SIZE + 8 * number) for number in range(10)),
        call("small"),
        call("same", it="$VAR_REF{{make_1_result}}"),
    ]
    with ScriptedWire([*steps, call("count"), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[make, small, same, count], max_rounds=30, result_bytes=BOUND)
        turn = chat.send("Go.")

    assert [record.status for record in turn.calls] == ["ok"] * 13
    assert during == [10]
    assert alive() <= BOUND // SIZE
    assert sum(isinstance(record.result, EvictedResult) for record in turn.calls) >= 6
    assert chat.variables.stored_bytes <= BOUND
    assert "Frame, float64, shape (125" in repr(turn.calls[1].result)
    with pytest.raises(UnknownReference, match=r"evicted to free memory \(raise `%config NbTool\.result_bytes`"):
        chat.variables.value("make_2_result")


def notices(turn: Turn) -> list[str]:
    return [event.text for event in turn.log if isinstance(event, Notice)]


def test_a_result_larger_than_the_bound_stays_until_the_next_turn_begins_and_drops_no_other() -> None:
    steps = [call("make"), "One.", call("make", bytes=3 * BOUND), call("small"), "Two.", call("small"), "Three."]
    with ScriptedWire(steps) as wire:
        chat = Chat(wire=wire, tools=[make, small], result_bytes=BOUND)
        first, second = chat.send("Go."), chat.send("Again.")
        after_its_turn = alive()
        third = chat.send("Once more.")

    assert after_its_turn == 2
    assert alive() == 1
    assert chat.variables.value("make_1_result") is first.calls[0].result
    assert isinstance(second.calls[0].result, EvictedResult)
    assert chat.variables.stored_bytes <= BOUND
    assert notices(first) == []
    assert ["`make_2_result` (12 MB)" in notice and "(4 MB)" in notice for notice in notices(second)] == [True]
    assert ["`make_2_result` (12 MB, " in notice for notice in notices(third)] == [True]


def test_a_result_larger_than_the_bound_stays_if_the_bound_is_raised_before_the_next_turn() -> None:
    with ScriptedWire([call("make", bytes=3 * BOUND), "One.", call("small"), "Two."]) as wire:
        chat = Chat(wire=wire, tools=[make, small], result_bytes=BOUND)
        first = chat.send("Go.")
        chat.variables.max_bytes = 4 * BOUND
        second = chat.send("Again.")

    assert chat.variables.value("make_1_result") is first.calls[0].result
    assert notices(second) == []


def test_a_version_of_a_turn_keeps_the_large_result_that_it_takes_from_the_former_one() -> None:
    with ScriptedWire([call("make", bytes=3 * BOUND), call("small"), "One.", "Two."]) as wire:
        chat = Chat(wire=wire, tools=[make, small], result_bytes=BOUND)
        first = chat.send("Go.")
        second = chat.rerun(first, from_round=2)

    assert isinstance(second.calls[0].result, Frame)
    assert chat.variables.value("make_1_result") is second.calls[0].result


def test_results_that_were_evicted_are_named_in_one_line_before_the_turn_ends() -> None:
    with ScriptedWire([*make_calls(9), "Done."]) as wire:  # one after another: calls of a round end in any order
        turn = Chat(wire=wire, tools=[make], result_bytes=BOUND, max_rounds=20).send("Go.")

    assert [re.findall("`(make_._result)`", notice) for notice in notices(turn)] == [
        [f"make_{number}_result" for number in range(1, 6)]
    ]
    assert "1 more" in notices(turn)[0]
    assert turn.log[-1].kind == "turn_ended"


def test_a_notice_of_evicted_results_is_not_recorded(tmp_path: Path) -> None:
    said = []
    for steps, bound in (([[*make_calls(9)], "Done."], BOUND), ([], 100 * BOUND)):
        with ScriptedWire(steps) as wire:
            chat = Chat(wire=wire, tools=[make], result_bytes=bound)
            chat.record(tmp_path / "a.jsonl")
            said.append(" ".join(notices(chat.send("Go."))))

    assert "Evicted" in said[0]
    assert "Evicted" not in said[1]


def test_of_results_larger_than_the_bound_the_newest_is_kept() -> None:
    with ScriptedWire([call("make", bytes=3 * BOUND), "One.", call("make", bytes=3 * BOUND), "Two."]) as wire:
        chat = Chat(wire=wire, tools=[make], result_bytes=BOUND)
        turns = [chat.send("Go."), chat.send("Again.")]

    assert [isinstance(turn.calls[0].result, EvictedResult) for turn in turns] == [True, False]
    assert alive() == 1


def test_what_only_the_records_of_a_script_hold_counts_and_is_dropped_too() -> None:
    script = "for _ in range(9):\n    make()\n'done'"
    steps = [call("make", bytes=SIZE), "One.", call("RunScript", script=script), "Done."]
    with ScriptedWire(steps) as wire, ScriptedApprover([Approved()]) as approver:
        chat = Chat(wire=wire, tools=[make, script_tools()], result_bytes=BOUND, approver=approver)
        chat.send("Go.")
        turn = chat.send("Go on.")

    assert len(turn.calls) == 10
    assert alive() <= BOUND // SIZE


def test_what_the_model_removes_is_still_the_persons_until_there_is_no_room() -> None:
    removing = call("RemoveVars", names=["make_1_result"])
    with ScriptedWire([call("make"), removing, "One.", *make_calls(5), "Two."]) as wire:
        chat = Chat(wire=wire, tools=[make], result_bytes=BOUND)
        chat.keeps_notes = True
        first = chat.send("Go.")
        stored = not isinstance(first.calls[0].result, EvictedResult)
        chat.send("More.")

    assert stored
    assert isinstance(first.calls[0].result, EvictedResult)


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(SIZE // 8).view(Frame), [np.zeros(SIZE // 8)], {"a": (np.zeros(SIZE // 8),)},
        SimpleNamespace(inside=np.zeros(SIZE // 8)), pd.DataFrame({"a": np.zeros(SIZE // 8)}),
        xr.DataArray(np.zeros(SIZE // 8)), Image.new("L", (1000, 1000)),
    ],
)  # fmt: skip
def test_what_lies_inside_of_an_object_counts(value: object) -> None:
    assert SIZE <= size_of(value) <= SIZE + 20_000


def test_listing_and_describing_do_not_count_as_use() -> None:
    variables = Variables(max_entries=3)
    for name in "abc":
        variables.store_result(name, name)

    for name in "ab":
        variables.describe(name)
    variables.store_result("d", "d")

    assert [entry.name for entry in variables.list_entries()] == ["d", "c", "b"]


def test_of_many_evicted_results_the_latest_are_reported() -> None:
    variables = Variables(max_entries=1, max_invalid=2)
    for name in "abcd":
        variables.store_result(name, name)

    assert [one.name for one in variables.end_turn()] == ["b", "c"]


def test_a_bound_of_nothing_is_refused() -> None:
    with pytest.raises(BadUsage, match="result_bytes cannot be 0"):
        Chat(wire=ScriptedWire([]), result_bytes=0)


@pytest.mark.parametrize("attempt", range(20))
def test_variable_tools_of_one_round_work_in_the_order_in_which_the_model_asked(attempt: int) -> None:
    calls = [ToolCall("WriteVar", f'{{"name": "n", "value": "{number}"}}', f"w{number}") for number in range(6)]
    calls += [ToolCall("ReadVar", '{"name": "n"}', "r"), ToolCall("RemoveVars", '{"names": ["n"]}', "x")]
    with ScriptedWire([[*calls, ToolCall("WriteVar", '{"name": "n", "value": "last"}', "l")], "Done."]) as wire:
        chat = Chat(wire=wire)
        chat.keeps_notes = True
        turn = chat.send(f"Go {attempt}.")

    assert [record.shown for record in turn.calls][6:8] == ["5", "Removed 1 of 1 variable."]
    assert chat.variables.text("n") == "last"


def test_a_result_whose_record_is_gone_is_evicted_all_the_same() -> None:
    class Record:
        result: Any = "word"

    entries: BoundedEntries[Any] = BoundedEntries(max_entries=1, max_bytes=BOUND)
    current, collected = Record(), Record()
    for name in ("first", "second"):
        entries.put(SimpleNamespace(name=name, value="word", size=4, is_pinned=False, is_held=False, holders=[]))
        if name == "first":
            entries.count(collected, name)
            entries.count(current, name)
            del collected
            gc.collect()

    assert [entry.name for entry in entries] == ["second"]
    assert isinstance(current.result, EvictedResult)


def test_a_result_that_fits_is_stored_without_a_look_at_those_that_are_stored() -> None:
    looks: list[str] = []

    class Watched:
        value, is_pinned, is_held, holders = "word", False, False, ()

        def __init__(self, name: str) -> None:
            self.name = name

        @property
        def size(self) -> int:
            looks.append(self.name)
            return SIZE

    entries: BoundedEntries[Any] = BoundedEntries(max_entries=10, max_bytes=BOUND)
    for number in range(4):
        entries.put(Watched(f"r{number}"))
    looks.clear()

    entries.pop("r3")
    entries.put(Watched("r3"))
    assert set(looks) == {"r3"}

    assert [one.name for one in entries.put(Watched("r4"))] == ["r0"]


@pytest.mark.parametrize("held", [False, True])
def test_storing_one_more_than_fits_looks_at_no_others_but_the_oldest(*, held: bool) -> None:
    looks: list[str] = []

    class Watched:
        value, size, is_pinned, holders = "word", 1, False, ()

        def __init__(self, name: str) -> None:
            self.name, self._is_held = name, False

        @property
        def is_held(self) -> bool:
            looks.append(self.name)
            return self._is_held

        @is_held.setter
        def is_held(self, is_held: bool) -> None:
            self._is_held = is_held

    entries: BoundedEntries[Any] = BoundedEntries(max_entries=100, max_bytes=BOUND)
    if held:
        entries.begin_turn()
    for number in range(200):
        entries.put(Watched(f"r{number}"))
    looks.clear()
    evicted = [one.name for one in entries.put(Watched("r200"))]

    assert (set(looks), evicted) == (({"r0"}, []) if held else ({"r100"}, ["r100"]))
