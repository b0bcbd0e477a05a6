"""What a description of each kind of object tells, and what it keeps: every place where a value can hide in a shape."""

from __future__ import annotations

import collections
import datetime as dt
import enum
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import polars as pl
import pytest
import xarray as xr
from matplotlib.figure import Figure
from PIL import Image
from pydantic import BaseModel, create_model

from nbtool import tool
from nbtool.tools.values import type_and_shape as describing
from nbtool.tools.values.lazy_iterators import take_iterators
from nbtool.tools.values.type_and_shape import describe
from nbtool.tools.values.type_names import dtype_name
from nbtool.tools.variable_tools import variable_tools
from nbtool.tools.variables.store import Variables
from nbtool.toolsets import inspection
from tests.tools.calling import ask_for, make_harness

WORD = "SENTINEL"
NUMBER = 90210
LONG = pd.DataFrame({"who": [WORD, "Bob"], "day": ["a", "b"], "n": [NUMBER, 2]})
STRUCT = {WORD: NUMBER}


class Color(enum.Enum):
    SECRET = WORD


def named_by_value(base: type = object) -> Any:
    """Make an object of a class whose name is a value."""
    return type(WORD, (base,), {})()


class Base:
    """Has a name of its own."""


HIDING: dict[str, dict[str, Any]] = {
    "pandas.DataFrame": {
        "cells": LONG,
        "pivoted": LONG.pivot(index="day", columns="who", values="n"),
        "columns that are numbers": pd.DataFrame([[1]], columns=[NUMBER]),
        "columns that are dates": pd.DataFrame([[1]], columns=[dt.date(1987, 1, 1)]),
        "columns of two levels": LONG.pivot_table(index="day", columns=["who", "n"], aggfunc="size"),
        "index": LONG.set_index("who"),
        "name of the index": pd.DataFrame({"a": [1]}, index=pd.Index([1], name=WORD)),
        "categories": LONG.astype({"who": "category"}),
        "what fills the gaps": pd.DataFrame({"a": pd.arrays.SparseArray([1, NUMBER], fill_value=NUMBER)}),
        "attributes": LONG.assign(who=1).pipe(lambda frame: frame.attrs.update({WORD: 1}) or frame),
    },
    "pandas.Series": {
        "label of a row": LONG.set_index("who").loc[WORD],
        "name": LONG.set_index("who").T[WORD],
        "cells": LONG["who"],
        "categories": LONG["who"].astype("category"),
        "what fills the gaps": pd.Series(pd.arrays.SparseArray([NUMBER, 1], fill_value=NUMBER)),
    },
    "polars.DataFrame": {
        "cells": pl.DataFrame({"who": [WORD]}),
        "categories": pl.DataFrame({"who": pl.Series([WORD], dtype=pl.Enum([WORD]))}),
        "fields": pl.DataFrame({"a": [STRUCT]}),
        "fields of items": pl.DataFrame({"a": [[STRUCT]]}),
    },
    "polars.Series": {"cells": pl.Series([WORD]), "fields": pl.Series([[STRUCT]]), "categories": pl.Series(
        [[WORD]], dtype=pl.List(pl.Enum([WORD])))},
    "numpy.ndarray": {
        "items": np.array([WORD]),
        "metadata": np.array([1], dtype=np.dtype(int, metadata={WORD: 1})),
    },
    "xarray.Dataset": {"coordinates": xr.Dataset({"a": ("x", [NUMBER])}, {"x": [WORD]}, {WORD: 1})},
    "xarray.DataArray": {"coordinates": xr.DataArray([NUMBER], {"x": [WORD]}, name=WORD, attrs={WORD: 1})},
    "torch.Tensor": {},  # torch is not installed where this runs; its shape and type are told like an array's
    "matplotlib.Figure": {"title": Figure().suptitle(WORD).figure},
    "plotly.Figure": {"title": go.Figure(go.Scatter(y=[NUMBER], name=WORD), {"title": {"text": WORD}})},
    "nbtool.PartlyTaken": {"items": take_iterators(iter([WORD, WORD]), max_items=1)},
    "builtins": {
        "items": [WORD], "keys": {WORD: 1}, "set": {WORD}, "text": WORD, "bytes": WORD.encode(), "number": NUMBER,
        "member": Color.SECRET, "date": dt.date(1987, 1, 1), "slice": slice(NUMBER), "range": range(NUMBER),
    },
    "classes": {
        "name": named_by_value(),
        "name of a subclass": named_by_value(Base),
        "name of a list": named_by_value(list),
        "name of a text": named_by_value(str),
        "named tuple": collections.namedtuple(WORD, ["a"])(1),  # type: ignore[misc]  # its name is a value
        "model": create_model(WORD, a=(int, 1))(),
        "class": type(WORD, (), {}),
    },
    "images": {"metadata": Image.new("RGB", (2, 2))},
}  # fmt: skip
HIDING["images"]["metadata"].info[WORD] = WORD


def test_every_kind_with_a_description_of_its_own_is_tried() -> None:
    known = {f"{package}.{name}" for package, kinds in describing._SPECIAL.items() for name in kinds}

    assert known <= HIDING.keys()


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize(("kind", "place"), [(kind, place) for kind, places in HIDING.items() for place in places])
def test_a_shape_reveals_no_value_wherever_it_hides(kind: str, place: str) -> None:
    value = HIDING[kind][place]
    harness = make_harness(inspection, notebook={"it": value}, expose=["it"])
    harness.runtime.tools.add(variable_tools(harness.runtime.variables))
    calls = [ask_for("describe", name="it"), ask_for("columns", name="it"), ask_for("ListVars")]

    harness.run(*calls)

    actual = "\n".join([describe(value), *(event.shown for event in harness.of("call_finished"))])
    assert not [word for word in (WORD, str(NUMBER), "90 210", "1987") if word in actual], actual


def test_names_that_are_in_code_or_are_names_of_columns_are_reported() -> None:
    class Local:
        pass

    assert describe(Local()) == "Local"
    assert describe(Base()) == "Base"
    assert describe(named_by_value(Base)) == "Base"
    assert describe(create_model("Other", __base__=Model)()) == "Model"
    assert describe(None) == "NoneType"
    assert describe(len) == "builtin_function_or_method"
    assert describe(LONG[["n"]]) == "DataFrame, 2 rows by 1 column: n (int64)"
    assert describe(LONG.pivot(index="day", columns="who", values="n")) == (
        "DataFrame, 2 rows by 2 columns, named by values of 'who'"
    )
    assert describe(pd.DataFrame([[1, 2]])) == "DataFrame, 1 row by 2 columns: 0 (int64), 1 (int64)"


@pytest.mark.parametrize(
    ("dtype", "actual"),
    [
        (pd.SparseDtype("float64", 7.0), "Sparse[float64]"),
        (pd.DatetimeTZDtype("ns", "Europe/Berlin"), "datetime64[ns, Europe/Berlin]"),
        (pd.CategoricalDtype([WORD]), "category"),
        (pd.IntervalDtype("int64", "right"), "interval[int64, right]"),
        (pl.Enum([WORD]), "Enum"),
        (pl.List(pl.Struct({WORD: pl.Int64})), "List(Struct)"),
        (pl.Array(pl.Int8, 3), "Array(Int8)"),
        (pl.Datetime("us", "UTC"), "Datetime(time_unit='us', time_zone='UTC')"),
        (pl.Decimal(10, 2), "Decimal(precision=10, scale=2)"),
    ],
)
def test_a_type_of_a_column_contains_types_and_units_only(dtype: Any, actual: str) -> None:
    assert dtype_name(dtype) == actual


class Model(BaseModel):
    a: int = 1


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("path", ["it['bob']", "it['alice']['bob']", "it['rows'][9]"])
def test_an_error_about_a_path_names_neither_keys_nor_values(path: str) -> None:
    variables = Variables({})
    variables.expose("it", {"alice": {"SENTINEL": 1}, "rows": [NUMBER]})
    work = make_harness(tool(lambda it: it, name="same", run="auto"))
    work.runtime.variables = variables

    record = work.run(ask_for("same", it=f"$VAR_REF{{{{{path}}}}}"))

    assert record.status == "invalid"
    actual = record.shown.replace(f"$VAR_REF{{{{{path}}}}}", "")
    assert not any(word in actual for word in ("alice", WORD, str(NUMBER), "rows"))
