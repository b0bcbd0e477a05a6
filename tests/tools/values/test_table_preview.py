from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nbtool.tools.calls.bound_call import bind
from nbtool.tools.tool import as_tools, tool
from nbtool.tools.values.table_preview import MAX_CELL_CHARS, MAX_COLUMNS, MAX_ROWS, preview_table
from nbtool.tools.variables.store import Variables

FRAME = pd.DataFrame({"ticker": ["ACME", "GLOB"], "close": [7, 9]})
SEEN = {"columns": ["ticker", "close"], "rows": [["ACME", "7"], ["GLOB", "9"]]}


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (FRAME, SEEN),
        (pl.DataFrame(FRAME.to_dict("list")), SEEN),
        ([{"ticker": "ACME", "close": 7}, {"ticker": "GLOB", "close": 9}], SEEN),
        (pd.Series([1.5, 2.0], name="x"), {"columns": ["", "x"], "rows": [["0", "1.5"], ["1", "2.0"]]}),
        (FRAME.set_index("ticker"), SEEN),
        (FRAME[FRAME["close"] > 8], {"columns": ["", "ticker", "close"], "rows": [["1", "GLOB", "9"]]}),
        (
            pd.DataFrame({"a": [1], "b": ["x"], "c": [3]}).groupby(["a", "b"]).sum(),
            {"columns": ["a", "b", "c"], "rows": [["1", "x", "3"]]},
        ),
        (
            pd.Series([5], index=pd.MultiIndex.from_tuples([("a", 1)])),
            {"columns": ["", "", ""], "rows": [["a", "1", "5"]]},
        ),
        (pl.Series("x", [1, 2]), {"columns": ["x"], "rows": [["1"], ["2"]]}),
        (np.eye(2), {"columns": ["0", "1"], "rows": [["1.0", "0.0"], ["0.0", "1.0"]]}),
        ({"a": [1, 2]}, {"columns": ["key", "value"], "rows": [["a", "list of 2"]]}),
        ((1, None), {"columns": [""], "rows": [["1"], ["None"]]}),
        (7, None),
        ("text", None),
        ([], None),
    ],
)
def test_the_first_rows_of_what_is_a_table_or_nearly_one(value: Any, seen: Any) -> None:
    assert preview_table(value) == seen


def test_a_large_table_is_glanced_at_within_its_bounds() -> None:
    seen = preview_table(pd.DataFrame([["x" * 1000] * 50] * 1000))

    assert seen is not None
    assert (len(seen["columns"]), len(seen["rows"]), len(seen["rows"][0])) == (MAX_COLUMNS, MAX_ROWS, MAX_COLUMNS)
    assert {len(cell) for row in seen["rows"] for cell in row} == {MAX_CELL_CHARS + len("[… 960 characters more]")}
    assert (seen["more_rows"], seen["more_columns"]) == (1000 - MAX_ROWS, 50 - MAX_COLUMNS)


WIDE = {f"c{n}": list(range(9)) for n in range(11)}


@pytest.mark.parametrize(
    ("value", "rows", "columns"),
    [
        (pd.DataFrame(WIDE), 9 - MAX_ROWS, 11 - MAX_COLUMNS),
        (pl.DataFrame(WIDE), 9 - MAX_ROWS, 11 - MAX_COLUMNS),
        (np.zeros((9, 11)), 9 - MAX_ROWS, 11 - MAX_COLUMNS),
        (pd.DataFrame(WIDE, index=list("abcdefghi")), 9 - MAX_ROWS, 12 - MAX_COLUMNS),
        (pd.Series(range(9)), 9 - MAX_ROWS, 0),
        (pl.Series("x", range(9)), 9 - MAX_ROWS, 0),
        ([dict.fromkeys(WIDE, 1)] * 9, 9 - MAX_ROWS, 11 - MAX_COLUMNS),
        (list(range(9)), 9 - MAX_ROWS, 0),
        (tuple(range(9)), 9 - MAX_ROWS, 0),
        ({str(n): n for n in range(9)}, 9 - MAX_ROWS, 0),
        (pd.DataFrame(WIDE).head(MAX_ROWS), 0, 11 - MAX_COLUMNS),
        (list(range(MAX_ROWS)), 0, 0),
    ],
)
def test_what_is_not_shown_of_a_table_is_counted(value: Any, rows: int, columns: int) -> None:
    seen = preview_table(value)

    assert seen is not None
    assert (seen.get("more_rows", 0), seen.get("more_columns", 0)) == (rows, columns)


def test_no_code_of_a_cell_is_run() -> None:
    class Loud:
        def __str__(self) -> str:
            raise AssertionError

    assert preview_table([Loud()]) == {"columns": [""], "rows": [["Loud"]]}


def test_only_what_was_opened_for_reading_is_glanced_at() -> None:
    @tool(run="auto")
    def same(table: object, other: object) -> bool:
        """Say whether two are one."""
        return table is other

    variables = Variables()
    variables.expose("df", FRAME, readable=True)
    variables.expose("closed", FRAME)

    bound = bind(as_tools(same)[0], {"table": "$VAR_REF{{df}}", "other": "$VAR_REF{{closed}}"}, variables)

    assert bound.previews == {"table": SEEN}
    assert bound.question("call_1", "run", "{}").glances == {"table": SEEN}
    assert bound.question("call_1", "result", "True").glances == {}


def test_a_table_that_cannot_be_read_is_not_glanced_at() -> None:
    assert preview_table(pd.DataFrame.__new__(pd.DataFrame)) is None
