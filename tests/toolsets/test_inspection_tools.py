from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nbtool import Chat
from nbtool.testing import ScriptedWire, call
from nbtool.tools import Released
from nbtool.toolsets import inspection
from tests.tools.calling import ToolHarness, ask_for, make_harness

ROWS = 12_043
COLUMNS = {
    "n": [number % 3 for number in range(ROWS)],
    "name": ["x" * 500 if number == 0 else f"row {number}" for number in range(ROWS)],
    "gap": [None if number % 2 else 1.5 for number in range(ROWS)],
}
TABLES = [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)]


def inspection_harness(read: bool = True, **notebook: Any) -> ToolHarness:
    harness = make_harness(inspection, notebook=notebook)
    for name in notebook:
        harness.runtime.variables.expose(name, readable=read)
    return harness


def run_tool(harness: ToolHarness, tool: str, **arguments: Any) -> str:
    record = harness.run(ask_for(tool, **arguments))
    assert record.status == "ok", record.shown
    return record.shown


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_described_with_its_types_and_missing_values(table: Any) -> None:
    lines = run_tool(inspection_harness(t=table), "describe", name="t").splitlines()

    assert lines[0] == "DataFrame, 12,043 rows by 3 columns"
    assert [line.partition(":")[0] for line in lines[1:]] == ["n", "name", "gap"]
    assert [line.rpartition(", ")[2] for line in lines[1:]] == ["0 missing", "0 missing", "6,021 missing"]


@pytest.mark.parametrize("table", TABLES)
def test_rows_come_with_a_mark_of_how_many_they_are_and_long_cells_are_cut(table: Any) -> None:
    text = run_tool(inspection_harness(t=table), "head", name="t", rows=2)

    assert text.endswith("[2 of 12,043 rows]")
    assert "row 1" in text
    assert "row 2" not in text
    assert "x" * 70 in text
    assert "x" * 81 not in text


@pytest.mark.parametrize("table", [*TABLES, np.arange(ROWS), list(range(ROWS)), {n: n for n in range(ROWS)}])
def test_no_more_than_fifty_rows_are_given_and_a_sample_keeps_their_order(table: Any) -> None:
    harness = inspection_harness(t=table)

    assert "[50 of 12,043 " in run_tool(harness, "head", name="t", rows=10_000)
    assert "[1 of 12,043 " in run_tool(harness, "head", name="t", rows=-5)
    assert "[4 of 12,043 " in run_tool(harness, "sample", name="t", rows=4)


def test_a_sample_is_spread_over_the_whole() -> None:
    numbers = [
        int(line)
        for line in run_tool(inspection_harness(t=list(range(ROWS))), "sample", name="t", rows=50).splitlines()[:-1]
    ]

    assert numbers == sorted(set(numbers))
    assert numbers[-1] > 1_000


@pytest.mark.parametrize("table", TABLES)
def test_values_are_counted_and_the_mark_states_how_many(table: Any) -> None:
    harness = inspection_harness(t=table)

    assert "[3 of 3 " in run_tool(harness, "value_counts", name="t", column="n")
    assert "[5 of 12,043 " in run_tool(harness, "value_counts", name="t", column="name", most=5)
    assert ": 6,021" in run_tool(harness, "value_counts", name="t", column="gap")
    wrong = harness.run(ask_for("value_counts", name="t", column="nmae"))
    assert (wrong.status, "n, name, gap" in wrong.shown) == ("error", True)


def test_two_columns_of_one_name_are_no_accident() -> None:
    table = pd.DataFrame([[1, 2], [1, 3]], columns=["a", "a"])

    harness = inspection_harness(t=table)
    assert run_tool(harness, "value_counts", name="t", column="a").startswith("1: 2\n")
    assert run_tool(harness, "describe", name="t").count("a: int64, 0 missing") == 2


def test_series_arrays_and_containers_are_counted_too() -> None:
    harness = inspection_harness(
        s=pd.Series(["a", "a", "b"], name="s"), a=np.array([[1, 1], [2, 1]]), o=[{"k": 1}, {"k": 1}, {}]
    )

    assert run_tool(harness, "value_counts", name="s").startswith("a: 2\nb: 1\n")
    assert run_tool(harness, "value_counts", name="a").startswith("1: 3\n2: 1\n[2 of 2 ")
    assert run_tool(harness, "value_counts", name="o", column="k").startswith("1: 2\nNone: 1\n")
    unhashable = harness.run(ask_for("value_counts", name="o"))
    assert unhashable.status == "error"


def test_wide_tables_say_how_many_columns_are_shown() -> None:
    for make in (pd.DataFrame, pl.DataFrame):
        harness = inspection_harness(t=make({f"c{number}": [number] for number in range(120)}))

        for tool in ("describe", "columns", "head"):
            assert "[50 of 120 columns]" in run_tool(harness, tool, name="t")


def test_a_class_that_inherits_from_a_table_is_one() -> None:
    class Own(pd.DataFrame):
        """Stands for the frames of other libraries."""

    assert "[2 of 3 rows]" in run_tool(inspection_harness(t=Own({"a": [1, 2, 3]})), "head", name="t", rows=2)


def test_columns_of_structures_are_their_keys() -> None:
    record = np.array([(1, 2.0)], dtype=[("when", "i4"), ("much", "f8")])
    harness = inspection_harness(d={"a": 1, "b": "x"}, l=[{"k": 1}], r=record, n=np.zeros(3))

    assert run_tool(harness, "columns", name="d") == "a: int\nb: str\n[2 of 2 keys]"
    assert run_tool(harness, "columns", name="l") == "k: int\n[1 of 1 keys]"
    assert run_tool(harness, "columns", name="r") == "when: int32\nmuch: float64"
    assert "shape (3,)" in harness.run(ask_for("columns", name="n")).shown


@pytest.mark.parametrize("tool", ["head", "sample", "value_counts"])
def test_values_of_what_was_exposed_by_reference_alone_wait_for_a_person(tool: str) -> None:
    harness = inspection_harness(read=False, t=["SENTINEL"])

    assert harness.run(ask_for(tool, name="t")).status == "withheld"
    assert harness.run(ask_for(tool, name="$VAR_REF{{t}}")).status == "withheld"
    harness.runtime.approver = lambda _: Released()
    assert "SENTINEL" in run_tool(harness, tool, name="t")


@pytest.mark.parametrize("value", [pd.DataFrame({"a": ["SENTINEL"]}), {"SENTINEL": 1}, [{"SENTINEL": 1}], "SENTINEL"])
def test_what_never_waits_shows_no_value_of_it(value: Any) -> None:
    harness = inspection_harness(read=False, t=value)

    records = [harness.run(ask_for(tool, name="t")) for tool in ("describe", "columns", "signature")]
    assert not any("SENTINEL" in record.shown for record in records)
    assert {record.status for record in records} <= {"ok", "error"}
    assert not any(record.decisions for record in records)


def test_a_function_is_known_by_its_signature_and_its_source_waits() -> None:
    def price(ticker: str, key: str = "SENTINEL") -> float:
        """The price. SENTINEL"""
        return float(len(ticker + key))

    assert (
        run_tool(inspection_harness(read=False, f=price), "signature", name="f")
        == "f(ticker: 'str', key: 'str' = …) -> 'float'"
    )
    assert inspection_harness(read=False, f=price).run(ask_for("source", name="f")).status == "withheld"
    assert "SENTINEL" in run_tool(inspection_harness(f=price), "signature", name="f")
    assert "return float(len(ticker + key))" in run_tool(inspection_harness(f=price), "source", name="f")


@pytest.mark.parametrize(("value", "tool"), [(len, "source"), (3, "source"), (3, "head"), (object(), "sample")])
def test_what_cannot_be_looked_at_is_an_answer(value: Any, tool: str) -> None:
    record = inspection_harness(t=value).run(ask_for(tool, name="t"))

    assert record.status == "error"
    assert len(record.shown) < 200


def test_a_name_that_is_not_exposed_is_not_there() -> None:
    harness = inspection_harness(t=1)
    harness.notebook["secret"] = ["SENTINEL"]

    record = harness.run(ask_for("head", name="secret"))
    assert record.status == "error"
    assert "SENTINEL" not in record.shown
    assert "'secret'" in record.shown


def test_the_tools_look_at_the_variables_of_the_chat_that_calls_them() -> None:
    shared = inspection()
    for value in ("first", "second"):
        with ScriptedWire([call("head", name="t"), "Seen."]) as wire:
            chat = Chat(wire=wire, tools=[shared])
            chat.expose(t=[value], read=True)
            turn = chat.send("Look.")

        assert turn.calls[0].shown == f"{value}\n[1 of 1 items]"


def test_nothing_of_a_look_becomes_a_variable_and_nothing_is_changed() -> None:
    table = pd.DataFrame(COLUMNS)
    before = table.copy(deep=True)
    harness = inspection_harness(t=table)
    for tool in ("describe", "columns", "head", "sample"):
        run_tool(harness, tool, name="t")

    pd.testing.assert_frame_equal(table, before)
    assert [entry.name for entry in harness.runtime.variables.list_entries()] == ["t"]


def test_what_is_shown_is_plain_text() -> None:
    harness = inspection_harness(t=["a\x1b[2Jb"], d={"a\x1b[2Jb": 1})

    assert run_tool(harness, "head", name="t").startswith("ab\n")
    assert run_tool(harness, "columns", name="d").startswith("ab: int\n")


def test_looking_loads_no_library_of_tables() -> None:
    code = "import sys; from nbtool.toolsets import tables; tables.inspector_for([1, 2]).head(1); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert "nbtool.toolsets.tables" in loaded
    assert not {"pandas", "polars", "numpy"} & set(loaded)
