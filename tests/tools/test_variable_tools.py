from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from nbtool.tools import Denied, Released
from nbtool.tools.variable_tools import MAX_READ_CHARS, variable_tools
from tests.tools.calling import ToolHarness, ask_for, make_harness


def with_variables(notebook: dict[str, Any] | None = None, **settings: Any) -> ToolHarness:
    notebook = notebook or {}
    harness = make_harness(notebook=notebook, expose=list(notebook), **settings)
    harness.runtime.tools.add(variable_tools(harness.runtime.variables))
    return harness


def test_the_list_contains_names_types_and_shapes() -> None:
    harness = with_variables({"df": pd.DataFrame({"a": ["SENTINEL"]})})
    harness.runtime.variables.store_result("load_1_result", [1, 2], description="Result of load.")
    harness.run(ask_for("WriteVar", name="todo", value="buy tea", desc="what is left", tags=["plan"]))

    lines = harness.run(ask_for("ListVars")).shown.splitlines()

    assert lines == [
        f"- df (exposed, by reference only): DataFrame, 1 row by 1 column: a ({pd.Series(['a']).dtype}).",
        "- todo (note): str, 7 characters. what is left [plan]",
        "- load_1_result (result): list, 2 items. Result of load.",
        "Page 1 of 1, 3 variables.",
    ]


def test_the_list_has_pages_and_a_filter() -> None:
    harness = with_variables({f"v{number}": number for number in range(30)})

    assert "Page 1 of 2, 30 variables. Call ListVars with page 2 for more." in harness.run(ask_for("ListVars")).shown
    assert harness.run(ask_for("ListVars", page=99, page_size=25)).shown.startswith("- v25")
    assert "11 variables" in harness.run(ask_for("ListVars", filter="V2", page_size=0)).shown
    assert harness.run(ask_for("ListVars", filter="nothing")).shown == "Page 1 of 1, 0 variables."


def test_long_texts_are_read_in_pieces() -> None:
    harness = with_variables()
    harness.runtime.variables.store_result("r", "abc" * 5000)

    first = harness.run(ask_for("ReadVar", name="r")).shown
    middle = harness.run(ask_for("ReadVar", name="r", start=3, length=3)).shown
    last = harness.run(ask_for("ReadVar", name="r", start=14_999)).shown

    assert f"start={MAX_READ_CHARS}" in first.splitlines()[-1]
    assert middle.startswith("abc\n")
    assert "start=6" in middle
    assert last == "c\n[characters 14,999 to 15,000 of 15,000.]"
    assert harness.run(ask_for("ReadVar", name="r", length=0)).shown.startswith("\n[characters 0 to 0")


def test_reading_what_was_exposed_by_reference_alone_asks_a_person() -> None:
    harness = with_variables({"key": "SENTINEL"}, approver=lambda _: Released())

    read = harness.run(ask_for("ReadVar", name="key"))
    assert (read.shown, read.decisions[0].verdict) == ("SENTINEL", "released")
    harness.runtime.approver = None
    withheld = harness.run(ask_for("ReadVar", name="key"))
    assert withheld.status == "withheld"
    assert read.reference == withheld.reference == ""


def test_reading_what_is_not_there_is_an_error_without_a_question() -> None:
    record = with_variables({"a": 1}, approver=lambda _: Denied()).run(ask_for("ReadVar", name="b"))

    assert (record.status, record.decisions) == ("error", [])
    assert "'b'" in record.shown


def test_notes_are_written_changed_and_removed_and_nothing_else_is() -> None:
    harness = with_variables({"df": 1})
    write = [
        {"name": "n", "value": "one"},
        {"name": "n", "value": "three"},
        {"name": "df", "value": "x"},
        {"name": "empty"},
        {"name": "bad name", "value": ""},
    ]

    records = [harness.run(ask_for("WriteVar", **arguments)) for arguments in write]
    removed = harness.run(ask_for("RemoveVars", names=["n", "df", "none\x1b[1m"]))

    assert [record.status for record in records] == ["ok", "ok", "error", "error", "error"]
    assert records[1].shown == "n holds 5 characters."
    assert "1 of 3" in removed.shown
    assert "df, none" in removed.shown
    assert harness.run(ask_for("RemoveVars", names=[])).shown == "Removed 0 of 0 variables."
    assert harness.notebook == {"df": 1}


def test_reading_alone_can_be_offered() -> None:
    tools = variable_tools(with_variables().runtime.variables, writable=False)

    assert list(tools.tools()) == ["ListVars", "ReadVar"]
    assert "$VAR_REF{{name}}" in tools.rules()


@pytest.mark.parametrize("name", ["ListVars", "ReadVar", "WriteVar", "RemoveVars"])
def test_their_schemas_are_the_documented_ones(name: str) -> None:
    expected = {
        "ListVars": ["filter", "page", "page_size"],
        "ReadVar": ["name", "start", "length"],
        "WriteVar": ["name", "value", "desc", "tags"],
        "RemoveVars": ["names"],
    }
    schema = variable_tools(with_variables().runtime.variables).get(name).parameters.schema

    assert list(schema["properties"]) == expected[name]


def test_only_the_texts_of_variables_that_are_read_or_listed_come_from_outside() -> None:
    harness = with_variables({"mail": "Forward this."})
    calls = [
        ask_for("ListVars"),
        ask_for("WriteVar", name="todo", value="buy tea"),
        ask_for("ReadVar", name="todo"),
        ask_for("RemoveVars", names=["todo"]),
    ]

    records = [harness.run(one) for one in calls]

    assert [one.status for one in records] == ["ok"] * 4
    assert [one.is_from_outside for one in records] == [True, False, True, False]
