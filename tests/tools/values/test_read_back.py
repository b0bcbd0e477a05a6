"""What a model reads of a value, read back, is the value: random ones of Python, numpy, pandas, polars and xarray.

The comparison is written here, by the types of the libraries; it shares nothing with the code under test.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.tools.values.model_text import render

PARSERS: dict[type, Any] = {
    dt.datetime: dt.datetime.fromisoformat,
    dt.date: dt.date.fromisoformat,
    dt.time: dt.time.fromisoformat,
    Decimal: Decimal,
    Fraction: Fraction,
    UUID: UUID,
    complex: complex,
    pd.Timestamp: pd.Timestamp,
    pd.Timedelta: pd.Timedelta,
    np.datetime64: np.datetime64,
}

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(
    ["", "None", "NaN", "<NA>", "null", "1", "1.0", "True", " a", 'a"b', "a,b", "[1]"]
)
naive = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))
float32s = st.floats(width=32).map(np.float32)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), texts,
    naive, st.dates(), st.times(), st.decimals(allow_nan=False), st.fractions(), st.uuids(),
    st.complex_numbers(allow_nan=False),
    st.booleans().map(np.bool_), st.integers(-(2**63), 2**63 - 1).map(np.int64), st.integers(0, 255).map(np.uint8),
    st.floats().map(np.float64), float32s, st.floats(width=16).map(np.float16),
    naive.map(lambda moment: np.datetime64(moment, "ns")),
    naive.map(pd.Timestamp), st.integers(-(2**50), 2**50).map(pd.Timedelta),
    st.integers(0, 4_000).map(lambda month: pd.Period(ordinal=month, freq="M")), st.just(pd.NaT), st.just(pd.NA),
)  # fmt: skip
shapes = st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple)


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    shape = draw(shapes)
    kind = draw(st.sampled_from(["i8", "f8", "f4", "?", "U"]))
    items = {"i8": st.integers(-(2**63), 2**63 - 1), "f8": st.floats(), "f4": st.floats(width=32),
             "?": st.booleans(), "U": texts}[kind]  # fmt: skip
    values = draw(st.lists(items, min_size=math.prod(shape), max_size=math.prod(shape)))
    return np.array(values, dtype=None if kind == "U" else kind).reshape(shape)


COLUMNS = {
    "i8": st.integers(-(2**63), 2**63 - 1), "f8": st.floats(), "f4": st.floats(width=32), "?": st.booleans(),
    "O": texts | st.none(), "datetime64[ns]": naive, "Int64": st.integers(-(2**63), 2**63 - 1) | st.just(pd.NA),
    "category": st.sampled_from(["a", "b"]),
}  # fmt: skip


@st.composite
def frames(draw: st.DrawFn, *, has_index: bool = True) -> pd.DataFrame:
    rows = draw(st.integers(0, 4))
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4))
    columns = [pd.Series(draw(st.lists(COLUMNS[kind], min_size=rows, max_size=rows)), dtype=kind) for kind in kinds]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    names = draw(st.lists(texts, min_size=len(kinds), max_size=len(kinds)))
    levels = pd.MultiIndex.from_tuples([(name, name) for name in names])
    frame.columns = draw(st.sampled_from([pd.Index(names), levels]))
    if has_index and draw(st.booleans()):
        frame.index = pd.Index(draw(st.lists(texts, min_size=rows, max_size=rows)), dtype=object)
    return frame


polars_frames = st.builds(
    lambda numbers, words: pl.DataFrame({
        "n": pl.Series(numbers, dtype=pl.Float64), "w": pl.Series(words[: len(numbers)], dtype=pl.String),
        "l": pl.Series([[one] for one in numbers], dtype=pl.List(pl.Float64)),
    }),
    st.lists(st.floats() | st.none(), max_size=3), st.lists(texts | st.none(), min_size=3, max_size=3),
)  # fmt: skip
series = frames().filter(lambda frame: len(frame.columns) > 0).map(lambda frame: frame.iloc[:, 0])
labelled = st.lists(st.floats(), min_size=1, max_size=4).map(
    lambda values: xr.DataArray(values, dims="x", coords={"x": range(len(values))})
)
leaves = st.one_of(scalars, arrays(), frames(), series, polars_frames, labelled)
keys = texts | st.integers() | st.none() | st.booleans() | st.dates() | st.tuples(st.integers(), texts)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple), st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=5,
)


def is_same(read: Any, value: Any) -> bool:
    """Whether what was read is this value; of dicts the values, and the keys that are texts."""
    match value:
        case None:
            return read is None
        case bool() | np.bool_():
            return read is bool(value)
        case float() | int() | np.number():
            return is_same_number(read, value)
        case str():
            return bool(read == value)
        case dict():
            exact = {key: item for key, item in value.items() if isinstance(key, str)}
            is_each = all(map(is_same, read.values(), value.values()))
            return len(read) == len(value) and is_each and all(is_same(read.get(key), exact[key]) for key in exact)
        case list() | tuple() | np.ndarray():
            return len(read) == len(value) and all(map(is_same, read, value))
        case _:
            return is_same_of_library(read, value)


def is_same_number(read: Any, value: Any) -> bool:
    if isinstance(value, int | np.integer):
        return type(read) is int and read == int(value)
    return isinstance(read, float) and bool(type(value)(read) == value or (read != read and value != value))


def is_same_of_library(read: Any, value: Any) -> bool:
    match value:
        case pd.DataFrame():
            columns = [list(label) if isinstance(label, tuple) else label for label in value.columns]
            cells = [list(map(list, zip(*(column.array for _, column in value.items()), strict=True)))]
            index = isinstance(value.index, pd.RangeIndex) or is_same(read["index"], list(value.index))
            return read["columns"] == columns and is_same([read["rows"]], cells) and index
        case pd.Series():
            items = read if isinstance(read, list) else read["values"]
            return is_same(items, list(value.array))
        case pl.DataFrame():
            return read["columns"] == value.columns and is_same(read["rows"], [list(row) for row in value.rows()])
        case xr.DataArray():
            return is_same(read["values"], value.values) and is_same(read["coords"]["x"], value["x"].values)
        case pd.Period():
            return bool(pd.Period(read, freq=value.freq) == value)
        case _ if value is pd.NaT or value is pd.NA:
            return bool(read == str(value))
        case np.datetime64() | dt.date() | dt.time() | dt.timedelta():
            return bool(PARSERS[type(value)](read) == value)
        case _:
            return bool(PARSERS[type(value)](read) == value)


@given(st.lists(values, max_size=3) | st.dictionaries(keys, values, max_size=3))
@settings(max_examples=150, deadline=None)
def test_what_a_model_reads_of_a_nested_value_read_back_is_the_value(value: Any) -> None:
    rendered = render(value, 100_000)

    assert rendered.is_complete
    assert is_same(json.loads(rendered.text), value), rendered.text


@given(st.lists(values, max_size=3), st.integers(100, 400))
@settings(max_examples=50, deadline=None)
def test_what_is_not_all_of_a_value_is_marked(value: Any, budget: int) -> None:
    rendered = render(value, budget)

    assert len(rendered.text) <= budget
    assert not rendered.is_complete or is_same(json.loads(rendered.text), value)


def fields_of(text: str) -> list[list[tuple[str, bool]]]:
    """Return the fields of CSV, and of each whether it is in quotes."""
    lines: list[list[tuple[str, bool]]] = [[]]
    place = 0
    while place <= len(text):
        if text[place : place + 1] == '"':
            end = place + 1
            while text[end] != '"' or text[end + 1 : end + 2] == '"':
                end += 2 if text[end] == '"' else 1
            field, after = (text[place + 1 : end].replace('""', '"'), True), end + 1
        else:
            after = min(index for end in (",", "\n", "") if (index := text.find(end, place) if end else len(text)) >= 0)
            field = (text[place:after], False)
        lines[-1].append(field)
        if text[after : after + 1] == "\n":
            lines.append([])
        place = after + 1
        if after >= len(text):
            break
    return lines


def is_field(field: tuple[str, bool], cell: Any) -> bool:
    """Whether a field is this cell: a text that could be anything else is in quotes."""
    text, is_quoted = field
    if isinstance(cell, str):
        return text == cell and (is_quoted or text not in ("", "None", "NaN", "NaT", "<NA>", "null"))
    if is_quoted and not isinstance(cell, list):
        return False
    if cell is None:
        return text in ("None", "null")
    if cell is pd.NA or cell is pd.NaT or isinstance(cell, bool | np.bool_):
        return text == str(cell)
    if isinstance(cell, pd.Timestamp):
        return bool(pd.Timestamp(text) == cell)
    return is_same(json.loads(text.replace("inf", "Infinity")), cell)


@given(frames(has_index=False))
@settings(max_examples=80, deadline=None)
def test_what_a_model_reads_of_a_frame_read_back_is_the_frame(frame: pd.DataFrame) -> None:
    rendered = render(frame, 100_000)
    header, *lines = fields_of(rendered.text.partition("\n")[2])

    assert rendered.is_complete
    assert len(header) == frame.shape[1]
    if not isinstance(frame.columns, pd.MultiIndex):
        assert all(map(is_field, header, frame.columns))
    columns = [list(column.array) for _, column in frame.items()]
    assert len(lines) == len(frame)
    for number, line in enumerate(lines):
        assert all(is_field(field, column[number]) for field, column in zip(line, columns, strict=True)), line


@given(polars_frames)
@settings(max_examples=50, deadline=None)
def test_what_a_model_reads_of_a_frame_of_polars_read_back_is_the_frame(frame: pl.DataFrame) -> None:
    header, *lines = fields_of(render(frame, 100_000).text.partition("\n")[2])

    assert [name for name, _ in header] == frame.columns
    for line, row in zip(lines, frame.rows(), strict=True):
        assert all(map(is_field, line, row)), (line, row)


@given(frames())
@settings(max_examples=15, deadline=None)
def test_display_options_change_nothing(frame: pd.DataFrame) -> None:
    array = np.array([0.123456789123, 1e-20])
    before = render(frame).text, render(array).text, render([frame, array]).text
    with (
        pd.option_context("display.precision", 1, "display.max_rows", 1, "display.float_format", "{:.0f}".format),
        np.printoptions(precision=1, threshold=1, suppress=True),
        pl.Config(float_precision=1, tbl_rows=1),
    ):
        assert (render(frame).text, render(array).text, render([frame, array]).text) == before
