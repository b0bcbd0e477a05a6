"""Values as texts: each kind has its form, and none outgrows its budget."""

# ruff: noqa: T201 - what is printed is the subject

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import sys
import time
import types
import uuid
from typing import Any, NamedTuple

import matplotlib
import matplotlib.figure
import numpy as np
import pandas as pd
import plotly.graph_objects as plotly
import polars
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pydantic import BaseModel, SecretStr

from nbtool.tools.values.model_text import (
    MAX_CHEAP_CHARS,
    PREVIEW_CHARS,
    RESULT_CHARS,
    format_error,
    is_cheap,
    render,
    render_or_preview,
    truncate,
)
from nbtool.tools.values.object_form import MAX_BINARY_BYTES
from nbtool.tools.values.result_media import extract_media
from nbtool.tools.values.type_and_shape import LIBRARIES, describe
from tests.cpu_time import run_within


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: float
    hidden: str = dataclasses.field(default="SECRET", repr=False)


class Pair(NamedTuple):
    a: int
    b: str


class Order(BaseModel):
    item: str
    key: SecretStr = SecretStr("SECRET")


class Plain:
    pass


class Named:
    def __repr__(self) -> str:
        return "Named(\x1b[31mred\x1b[0m)"


class ForModels:
    def _repr_llm_(self) -> str:
        return "as the model likes it"


class NotForModels:
    def _repr_llm_(self) -> None:
        return None

    def __repr__(self) -> str:
        return "fallback"


class Raising:
    def __repr__(self) -> str:
        raise RuntimeError("SECRET")


class Printing:
    def __repr__(self) -> str:
        print("SECRET")
        print("SECRET", file=sys.stderr)
        return "quiet"


class NoText:
    def __repr__(self) -> str:
        return 3  # type: ignore[return-value]


class Sized(dict[str, int]):
    pass


def endless() -> Any:
    ring: list[Any] = [1]
    ring.append(ring)
    return ring


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def figure() -> Any:
    rendered = matplotlib.figure.Figure(figsize=(4, 3), dpi=100)
    rendered.subplots(2)
    return rendered


ZOO: list[tuple[Any, str]] = [
    (None, "None"),
    (True, "True"),
    (3, "3"),
    (-0.5, "-0.5"),
    (float("nan"), "nan"),
    (float("inf"), "inf"),
    (1 + 2j, "(1+2j)"),
    (1 << 20_000, "int of 20,001 bits"),
    ("text", "text"),
    ("", ""),
    ("a\x1b[31mb\x1b]0;title\x07c\x9b1md\r\ne\rf\x00g", "abcd\ne\nfg"),
    ("lone \ud800", "lone \ufffd"),
    (b"raw", "bytes, 3 bytes, as text:\nraw"),
    (bytearray(b"\xff\x00"), "bytes, 2 bytes, not text"),
    (memoryview(b"raw"), "bytes, 3 bytes, as text:\nraw"),
    ([1, "a", None], '[1, "a", null]'),
    ((1, 2), "[1, 2]"),
    ({3}, "[3]"),
    (collections.deque([1]), "[1]"),
    ({"a": float("nan"), "b": [float("inf")]}, '{"a": NaN, "b": [Infinity]}'),
    ({1: "x", (1, 2): "y"}, '{"1": "x", "(1, 2)": "y"}'),
    ({"k\ud800": "v\ud800"}, '{"k\ufffd": "v\ufffd"}'),
    (Sized(a=1), '{"a": 1}'),
    (collections.Counter("aab"), '{"a": 2, "b": 1}'),
    (Color.RED, '"red"'),
    (Level.HIGH, "3"),
    (Point(1.5), '{"x": 1.5}'),
    (Pair(1, "b"), '{"a": 1, "b": "b"}'),
    (Order(item="tea"), '{"item": "tea", "key": "**********"}'),
    (datetime.date(2024, 2, 29), '"2024-02-29"'),
    (datetime.timedelta(hours=1), '"1:00:00"'),
    (decimal.Decimal("1.10"), '"1.10"'),
    (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
    (pathlib.PurePosixPath("a/b"), '"a/b"'),
    ({"when": datetime.datetime(2024, 1, 2, 3), "n": np.int64(4), "x": np.float32(0.5)},
     '{"when": "2024-01-02T03:00:00", "n": 4, "x": 0.5}'),
    ({"t": np.datetime64("2024-01-01")}, '{"t": "2024-01-01"}'),
    ({"df": pd.DataFrame({"a": ["x"]}), "raw": b"ab"},
     """{"df": {"columns": ["a"], "rows": [["x"]]}, "raw": "b'ab'"}"""),
    ({"huge": 1 << 20_000, "of": Named()}, '{"huge": "int of 20,001 bits", "of": "Named(red)"}'),
    (endless(), '[1, "… (the same again)"]'),
    (pd.DataFrame({"a": [1, 2]}), "DataFrame, 2 rows by 1 column: a (int64)\na\n1\n2"),
    (pd.Series([1], name="s"), "Series, int64, 1 row\ns\n1"),
    (np.array([[1, 2]]), "ndarray, int64, shape (1, 2)\n[[1, 2]]"),
    (np.float64(0.5), "0.5"),
    (np.int64(7), "7"),
    (figure(), "matplotlib Figure, 400 by 300 pixels, 2 axes"),
    (plotly.Figure([plotly.Scatter(), plotly.Scatter()]), "plotly Figure, 2 traces"),
    (Image.new("RGB", (4, 2)), "image (Image), 4 by 2 pixels, RGB"),
    (ValueError("bad value"), "ValueError: bad value"),
    (ForModels(), "as the model likes it"),
    (NotForModels(), "fallback"),
    (Named(), "Named(red)"),
    (Plain(), "<tests.tools.values.test_model_text.Plain object>"),
    (Raising(), "Raising (rendering it failed: RuntimeError)"),
    (NoText(), "NoText (rendering it failed: TypeError)"),
    (Printing(), "quiet"),
    (len, "function len"),
    (Plain, "class Plain"),
    (Order, "class Order"),
    (ForModels, "class ForModels"),
    (types, "module types"),
    ((n for n in "a"), "generator"),
    (range(3), "range(0, 3)"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), ZOO, ids=lambda value: type(value).__name__)
def test_each_kind_of_value_has_a_text(value: Any, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = render(value).text.rstrip()

    assert text.startswith(expected)
    assert "SECRET" not in text
    assert capsys.readouterr() == ("", "")


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("value", [value for value, _ in ZOO], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("budget", [200, 1000])
def test_no_value_outgrows_its_budget(value: Any, budget: int) -> None:
    assert len(render(value, budget).text) <= budget
    assert len(render([value] * 100, budget).text) <= budget


@settings(max_examples=80)
@given(
    values=st.lists(st.sampled_from([value for value, _ in ZOO]) | st.text(max_size=300), min_size=1, max_size=5),
    budget=st.integers(100, 2_000),
    times=st.sampled_from([1, 3, 100]),
)
def test_no_values_together_outgrow_any_budget(values: list[Any], budget: int, times: int) -> None:
    for whole in (values[0], values * times, {str(at): value for at, value in enumerate(values * times)}):
        rendered = render(whole, budget)

        assert len(rendered.text) <= budget
        assert "SECRET" not in rendered.text


def test_a_long_text_keeps_head_and_tail_and_says_how_much() -> None:
    text = "H" * 10_000 + "T" * 10_000

    rendered = render(text)

    assert len(rendered.text) <= RESULT_CHARS
    assert rendered.text.startswith("HHH")
    assert rendered.text.endswith("TTT")
    assert "[… 7,920 of 20,000 characters: first 5,940, last 1,980 …]" in rendered.text
    assert not rendered.is_complete
    assert render("x" * RESULT_CHARS).is_complete


@pytest.mark.parametrize("value", ["x" * (RESULT_CHARS + 1), list(range(10_000)), {str(n): n for n in range(5_000)}])
def test_what_does_not_fit_is_sent_as_a_preview_that_is_smaller_than_what_would_fit(value: object) -> None:
    rendered = render_or_preview(value)

    assert not rendered.is_complete
    assert len(rendered.text) <= PREVIEW_CHARS


@pytest.mark.parametrize("value", ["x" * RESULT_CHARS, list(range(1_000)), 1, None])
def test_what_fits_is_sent_whole(value: object) -> None:
    assert render_or_preview(value) == render(value)
    assert render_or_preview(value).is_complete


def test_only_plain_values_that_are_not_long_are_written_out_at_once() -> None:
    class Text(str):
        pass

    values = ("x", "x" * 10_001, Text("x"), 1, 1.5, True, None, [1], b"x", object())
    quick = [value for value in values if is_cheap(value)]

    assert quick == ["x", 1, 1.5, True, None]


@given(st.text(max_size=400), st.integers(100, 300))
def test_cutting_keeps_to_the_budget_and_leaves_short_texts_alone(text: str, budget: int) -> None:
    assert len(truncate(text, budget)) <= budget
    assert (truncate(text, budget) == text) == (len(text) <= budget)


def test_a_long_structure_is_cut_while_it_is_made() -> None:
    rendered = render(list(range(10_000_000)))

    assert not rendered.is_complete
    assert len(rendered.text) <= RESULT_CHARS
    assert "more items" in render({str(n): n for n in range(5000)}, 600).text
    assert "more items" in render(list(range(5000)), 600).text


def test_nesting_is_bounded() -> None:
    rendered = render(deep(5000))

    assert "…" in rendered.text
    assert not rendered.is_complete


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
        max_leaves=20,
    ),
    st.integers(100, 1000),
)
def test_any_json_like_value_is_text_within_the_budget(value: Any, budget: int) -> None:
    rendered = render(value, budget)

    assert len(rendered.text) <= budget
    if isinstance(value, list | dict) and rendered.is_complete:
        json.loads(rendered.text)


def test_a_text_of_a_hundred_megabytes_is_cut_before_it_is_looked_at() -> None:
    text = "\x1b[31mx" * 20_000_000

    rendered = run_within(1, lambda: render(text, 1_000))

    assert len(rendered.text) <= 1_000
    assert "of 120,000,000 characters" in rendered.text
    assert not rendered.is_complete
    assert "\x1b" not in rendered.text


def test_one_long_cell_does_not_fill_up_every_row_of_a_frame_to_its_length() -> None:
    frame = pd.DataFrame({"a": ["x" * 100_000, *["y"] * 5_000]})

    rendered = run_within(1, lambda: render(frame))

    assert not rendered.is_complete
    assert "of 5,001 rows" in rendered.text or "characters" in rendered.text


def test_a_tensor_and_what_cannot_be_rendered_are_objects_beside_their_text() -> None:
    class Odd:
        def _repr_llm_(self) -> str:
            raise ValueError("no")

        def __repr__(self) -> str:
            raise ValueError("no")

    small = xarray.DataArray(np.arange(3.0), dims="x")
    assert (render(small).is_complete, render(small).is_object) == (True, True)
    assert (render(Odd()).is_complete, render(Odd()).is_object) == (False, True)


def test_a_list_that_is_cut_says_once_how_much_is_missing() -> None:
    rendered = render(list(range(10_000)), 200)

    assert not rendered.is_complete
    assert rendered.text.count("more items") == 1


class Declared:
    """A class with the default repr."""


@pytest.mark.promise("by-reference")
def test_a_class_created_at_run_time_is_not_named_in_a_result() -> None:
    named_by_value = type("alice_at_example", (Declared,), {})
    values = [named_by_value(), [named_by_value()], {"k": named_by_value()}, named_by_value, type("alice_2", (), {})()]

    texts = [render(value).text for value in values]

    assert not any("alice" in text for text in texts)
    assert texts[0] == "<tests.tools.values.test_model_text.Declared object>"
    assert texts[3:] == ["class Declared", "<builtins.object object>"]
    assert render(Declared()).text == texts[0]


def test_what_is_no_data_and_what_is_too_large_is_described_inside_a_dict_and_the_rest_is_written_out() -> None:
    objects: dict[str, Any] = {
        "pandas": pd.Series(range(5_000)),
        "numpy": np.zeros((100, 100)),
        "polars": polars.Series(range(5_000)),
        "xarray": xarray.DataArray(np.zeros(5_000)),
        "matplotlib": figure(),
        "PIL": Image.new("RGB", (4, 2)),
    }
    rendered = render({**objects, "small": np.arange(3), "n": 1})

    assert objects.keys() < set(LIBRARIES)
    described = {name: describe(value) for name, value in objects.items()}
    assert json.loads(rendered.text) == {**described, "small": [0, 1, 2], "n": 1}
    assert (rendered.is_complete, rendered.is_object) == (False, True)


def test_what_an_object_says_to_a_model_inside_a_list_is_an_object_beside_its_text() -> None:
    assert render([ForModels()]).is_object
    assert not render(["as the model likes it"]).is_object


def test_a_text_is_rendered_on_the_loop_up_to_the_limit() -> None:
    assert is_cheap("x" * MAX_CHEAP_CHARS)
    assert not is_cheap("x" * (MAX_CHEAP_CHARS + 1))


def test_an_error_whose_text_raises_is_its_type_alone() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise OSError

    assert format_error(Silent()) == "Silent"


def test_a_generator_is_not_complete_and_any_other_object_is_an_object() -> None:
    numbers = (number for number in range(3))

    assert render(numbers).is_complete is False
    assert render(numbers).is_object
    assert render(print).is_object
    assert render(Image).is_object
    assert render(decimal.Decimal).is_object


class Remote:
    def __getattr__(self, name: str) -> Any:
        raise ConnectionError(name)


def test_an_object_that_raises_at_each_attribute_is_described() -> None:
    assert render(Remote()).text == f"<{__name__}.Remote object>"
    assert render([Remote(), 2]).text == f'["<{__name__}.Remote object>", 2]'
    assert extract_media(Remote()) == extract_media(object())


class Letter:
    def __str__(self) -> str:
        return "Dear Ada, …"


def test_an_object_with_a_text_of_its_own_beside_the_default_representation_is_that_text_in_part() -> None:
    assert render(Letter()).text == "Dear Ada, …"
    assert not render(Letter()).is_complete


def test_a_tuple_of_the_system_with_named_fields_has_their_names() -> None:
    assert json.loads(render(time.gmtime(0)).text)["tm_year"] == 1970
    assert json.loads(render([pathlib.Path().stat()]).text)[0].keys() >= {"st_mode", "st_size"}


def test_the_notes_of_an_error_follow_its_message() -> None:
    error = ValueError("bad")
    error.add_note("in row 5")
    bare = ValueError()
    bare.add_note("in row 6")

    assert format_error(error) == "ValueError: bad; in row 5"
    assert format_error(bare) == "ValueError: in row 6"


def test_the_errors_of_a_group_follow_its_own_and_nothing_else_does() -> None:
    group = ExceptionGroup("several", [ValueError("a"), OSError("b")])

    assert format_error(group) == "ExceptionGroup: several (2 sub-exceptions); ValueError: a; OSError: b"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"\xff" * MAX_BINARY_BYTES, repr(b"\xff" * MAX_BINARY_BYTES)),
        (b"\xff" * (MAX_BINARY_BYTES + 1), f"bytes, {MAX_BINARY_BYTES + 1} bytes"),
        ("é".encode() * 50, repr("é".encode() * 50)),
        (bytearray(b"a" * 100), repr(b"a" * 100)),
    ],
    ids=["few", "binary", "text", "bytearray"],
)
def test_bytes_in_a_list_are_written_out_if_they_are_a_text_or_few(value: Any, text: str) -> None:
    rendered = render([value])

    assert json.loads(rendered.text) == [text]
    assert rendered.is_complete is text.startswith("b'")
    assert rendered.is_object


def test_an_object_is_its_own_representation_where_there_is_no_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)

    rendered = render([Named()])

    assert json.loads(rendered.text) == ["Named(red)"]
    assert rendered.is_complete
