from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nbtool.chat.batch.prompts import parse_prompts
from nbtool.errors import BadUsage
from nbtool.messages import user


def prompts(given: Any, rows: Any = None) -> list[Any]:
    return [str(one.problem) if one.problem else one.prompt for one in parse_prompts(given, rows).items]


def test_prompts_are_taken_in_order() -> None:
    message = user("b")

    assert prompts(["a", message]) == ["a", message]
    assert prompts(word for word in ("a", "b")) == ["a", "b"]
    assert prompts(pl.Series(["a", "b"])) == ["a", "b"]
    assert prompts([]) == []


def test_a_column_gives_a_column_back_with_its_index() -> None:
    column = pd.Series(["a", "b"], index=[7, 3])
    asking = parse_prompts(column)

    assert [one.label for one in asking.items] == [7, 3]
    pd.testing.assert_series_equal(asking.shape([1, None]), pd.Series([1, None], [7, 3], dtype=object, name="answer"))


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame({"text": ["a", "b"], "my col": [1, 2]}, index=list("xy")),
        pl.DataFrame({"text": ["a", "b"], "my col": [1, 2]}),
        [{"text": "a", "my col": 1}, {"text": "b", "my col": 2}],
    ],
)
def test_a_template_is_filled_from_rows(rows: Any) -> None:
    assert prompts('{text}: {{"n": {my col}}}', rows) == ['a: {"n": 1}', 'b: {"n": 2}']


def test_what_is_in_a_row_is_never_read_as_a_template() -> None:
    assert prompts("{text}", [{"text": "{secret} {0.__class__}"}]) == ["{secret} {0.__class__}"]


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{text.__class__}", "no column 'text.__class__'"),
        ("{text[0]}", "no column"),
        ("{0}", "no column '0'"),
        ("{}", "only the name of a column"),
        ("{text!r}", "only the name of a column"),
        ("{text:>{width}}", "only the name of a column"),
        ("{text", "cannot be read"),
        ("text}", "cannot be read"),
        ("no column at all", "every row would send the same prompt"),
    ],
)
def test_a_template_reaches_into_nothing(template: str, said: str) -> None:
    with pytest.raises(BadUsage, match=said):
        parse_prompts(template, pd.DataFrame({"text": ["a"]}))


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT])
def test_a_row_without_a_value_is_not_asked(missing: Any) -> None:
    rows = pd.DataFrame({"text": pd.Series(["a", missing], dtype=object)})

    prompt, problem = prompts("Say {text}", rows)
    assert prompt == "Say a"
    assert all(part in problem for part in ("This row", "'text'"))


def test_a_row_that_does_not_fit_is_a_problem_of_its_own() -> None:
    fits, other, number = prompts("{a}", [{"a": 1}, {"b": 1}, 3])
    assert fits == "1"
    assert all(part in other for part in ("'a'", "Columns: b."))
    assert all(part in number for part in ("This row", "an int", "[{'a': value} for value in rows]"))
    text, pair, nothing = prompts(["a", (3,), None])
    assert text == "a"
    assert all(part in pair for part in ("Prompt 1", "a tuple"))
    assert "Prompt 2" in nothing
    assert "Prompt 1" in prompts(pd.Series(["a", None], dtype="str"))[1]


def test_a_format_in_braces_is_refused_as_such_and_a_text_is_advised_to_be_doubled() -> None:
    with pytest.raises(BadUsage, match=r"without a format: \{my col:\.1f\}\. Format the values in a column"):
        parse_prompts("{my col:.1f}", pd.DataFrame({"my col": [1.5]}))
    with pytest.raises(BadUsage, match=r"name of a column\. Double literal braces: \{\{ \}\}$"):
        parse_prompts('{"a": 1} {text}', pd.DataFrame({"text": ["a"]}))


NEITHER = [("one", None), (3, None), ({"a": 1}, None), (["a"], []), ("{a}", 3), ("{a}", "b")]


@pytest.mark.parametrize(("given", "rows"), NEITHER)
def test_what_is_neither_prompts_nor_rows_is_refused(given: Any, rows: Any) -> None:
    with pytest.raises(BadUsage):
        parse_prompts(given, rows)


@pytest.mark.nightly
def test_more_prompts_than_a_million_are_refused() -> None:
    with pytest.raises(BadUsage, match="More than 1,000,000 prompts"):
        parse_prompts(repeat("a"))
