from __future__ import annotations

import asyncio
from typing import Any

import pandas as pd
import plotly.express as px
import plotly.graph_objects as go
import pytest
import xarray
from IPython.display import HTML, Markdown

from nbtool.errors import ToolFailed
from nbtool.tools import tool
from nbtool.tools.calls.bound_call import bind
from nbtool.tools.calls.disclosure import UnreadableValues, may_leak
from nbtool.tools.tool import as_tools
from nbtool.tools.variables.store import Variables
from tests.tools.calling import ask_for, make_harness


def test_an_error_after_its_object_is_gone_counts_as_one_that_may_quote_it() -> None:
    variables = Variables({"secret": "hunter2"})
    variables.expose("secret", readable=True)
    actual = tool(lambda text: text, name="told", run="auto")
    bound = bind(as_tools(actual)[0], {"text": "$VAR_REF{{secret}}"}, variables)
    error = ValueError("hunter2 is no number")

    assert not may_leak(error, bound, variables)
    variables.unexpose("secret")
    assert may_leak(error, bound, variables)
    assert not may_leak(ToolFailed("hunter2 is no number"), bound, variables)
    assert not may_leak(None, bound, variables)


def test_that_a_value_is_none_is_no_secret_because_its_type_says_so() -> None:
    variables = Variables({"nothing": None, "word": "hunter2"})
    for name in ("nothing", "word"):
        variables.expose(name)
    actual = as_tools(tool(lambda text: text, name="told", run="auto"))[0]
    nothing, word = (
        UnreadableValues(bind(actual, {"text": f"$VAR_REF{{{{{name}}}}}"}, variables), variables)
        for name in ("nothing", "word")
    )

    assert not nothing.is_in_text("None is no number")
    assert word.is_in_text("hunter2 is no number")


GRAMMAR = [
    "takes no keyword arguments", "takes an argument and got positional arguments",
    "got an unexpected keyword argument", "missing a required positional argument", "the object is not subscriptable",
    "it has no attribute", "index is out of range", "the column does not exist", "columns were not found on this axis",
    "unknown key or keys", "an item must be named", "items with that type are invalid",
    "any index at the axis for columns was found", "keys have to be in the object", "it was found by type of item",
]  # fmt: skip
"""Errors in the words of Python and its libraries."""


def test_an_error_in_words_of_grammar_alone_may_be_sent_and_one_with_another_word_not() -> None:
    variables = Variables({"secret": "hunter2"})
    variables.expose("secret")
    actual = as_tools(tool(lambda text="": text, name="told", run="auto"))[0]
    bound = bind(actual, {"text": "$VAR_REF{{secret}}"}, variables)

    assert [text for text in GRAMMAR if may_leak(ValueError(text), bound, variables)] == []
    assert [text for text in GRAMMAR if not may_leak(ValueError(f"{text} hunter"), bound, variables)] == []


def unreadable(value: object) -> UnreadableValues:
    variables = Variables({"secret": value})
    variables.expose("secret")
    actual = as_tools(tool(lambda it: it, name="told", run="auto"))[0]
    return UnreadableValues(bind(actual, {"it": "$VAR_REF{{secret}}"}, variables), variables)


def test_a_result_that_equals_a_small_container_is_recognized() -> None:
    values = unreadable([1, None])

    assert values.is_in_result([1, None])
    assert values.is_in_result({"of": [[1, None]]})
    assert not values.is_in_result([1, 2])


def test_only_progress_with_a_value_in_it_is_withheld() -> None:
    values = unreadable("hunter2")

    assert asyncio.run(values.may_be_in_text("read hunter2"))
    assert not asyncio.run(values.may_be_in_text("read a line"))


SALES = pd.DataFrame({"who": ["Ada Lovelace", "Grace Hopper", "Alan Turing"], "much": [1234567, 2345678, 3456789]})


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize(
    "show",
    [
        lambda frame: px.bar(frame, x="who", y="much"),
        lambda frame: {"chart": go.Figure([go.Bar(y=frame["much"], x=frame["who"])])},
        lambda frame: frame.style,
        lambda frame: HTML(frame.to_html()),
        lambda frame: Markdown(frame.to_csv()),
        lambda frame: {"n": 1, "all": frame},
        lambda frame: [frame.to_numpy()],
        lambda frame: map(list, frame.to_numpy()),
    ],
    ids=["chart", "in a dict", "style", "html", "markdown", "frame", "array", "iterator"],
)
def test_a_closed_table_does_not_leave_by_what_displays_it(show: Any) -> None:
    draw = tool(lambda frame: show(frame), name="show", run="auto")
    harness = make_harness(draw, notebook={"sales": SALES}, expose=["sales"])

    record = harness.run(ask_for("show", frame="$VAR_REF{{sales}}"))

    assert record.status == "ok", record.shown
    assert "by reference" in record.shown
    assert "Grace" not in record.shown


def test_a_closed_array_does_not_leave_in_a_labelled_one() -> None:
    notebook = {"much": SALES["much"].to_numpy()}
    wrap = tool(lambda values: xarray.DataArray(values), name="wrap", run="auto")
    harness = make_harness(wrap, notebook=notebook, expose=notebook)

    assert "2345678" not in harness.run(ask_for("wrap", values="$VAR_REF{{much}}")).shown
