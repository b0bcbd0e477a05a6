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
import threading
import time
import types
import uuid
from typing import Any, NamedTuple

import matplotlib
import matplotlib.figure
import numpy as np
import pandas as pd
import plotly.graph_objects as plotly
import polars as pl
import pytest
import xarray
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pydantic import BaseModel, SecretStr

from nbtool.tools.describe import describe, fingerprint, grouped, identity
from nbtool.tools.plain import plain_text, visible, without_addresses, without_paths
from nbtool.tools.quiet import quiet
from nbtool.tools.render import BUDGET, PREVIEW, cut, error_text, is_quick, preview, render


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
    drawn = matplotlib.figure.Figure(figsize=(4, 3), dpi=100)
    drawn.subplots(2)
    return drawn


ZOO: list[tuple[Any, str]] = [
    (None, "None"),
    (True, "True"),
    (3, "3"),
    (-0.5, "-0.5"),
    (float("nan"), "nan"),
    (float("inf"), "inf"),
    (1 + 2j, "(1+2j)"),
    (1 << 20_000, "int of 20 001 bits"),
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
    ({"a": float("nan"), "b": [float("inf")]}, '{"a": null, "b": [null]}'),
    ({1: "x", (1, 2): "y"}, '{"1": "x", "[1, 2]": "y"}'),
    ({"k\ud800": "v\ud800"}, '{"k\ufffd": "v\ufffd"}'),
    (Sized(a=1), '{"a": 1}'),
    (collections.Counter("aab"), '{"a": 2, "b": 1}'),
    (Color.RED, '"red"'),
    (Level.HIGH, "3"),
    (Point(1.5), '{"x": 1.5}'),
    (Pair(1, "b"), '{"a": 1, "b": "b"}'),
    (Order(item="tea"), '{"item": "tea", "key": "SecretStr(\'**********\')"}'),
    (datetime.date(2024, 2, 29), '"2024-02-29"'),
    (datetime.timedelta(hours=1), '"1:00:00"'),
    (decimal.Decimal("1.10"), '"1.10"'),
    (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
    (pathlib.PurePosixPath("a/b"), '"a/b"'),
    ({"when": datetime.datetime(2024, 1, 2, 3), "n": np.int64(4), "x": np.float32(0.5)},
     '{"when": "2024-01-02T03:00:00", "n": 4, "x": 0.5}'),
    ({"t": np.datetime64("2024-01-01")}, '{"t": "2024-01-01"}'),
    ({"df": pd.DataFrame({"a": ["SECRET"]}), "raw": b"SECRET"},
     '{"df": "DataFrame, 1 rows by 1 columns: a (str)", "raw": "bytes, 6 bytes"}'),
    ({"huge": 1 << 20_000, "of": Named()}, '{"huge": "int of 20001 bits", "of": "Named(red)"}'),
    (endless(), '[1, "… (the same again)"]'),
    (pd.DataFrame({"a": [1, 2]}), "DataFrame, 2 rows by 1 columns: a (int64)\n   a\n0  1\n1  2"),
    (pd.Series([1], name="s"), "Series 's', int64, 1 rows\n0    1"),
    (np.array([[1, 2]]), "ndarray, int64, shape (1, 2)\n[[1 2]]"),
    (np.float64(0.5), "0.5"),
    (np.int64(7), "7"),
    (figure(), "matplotlib Figure, 400 by 300 pixels, 2 axes"),
    (plotly.Figure([plotly.Scatter(), plotly.Scatter()]), "plotly Figure, 2 traces"),
    (Image.new("RGB", (4, 2)), "image (Image), 4 by 2 pixels, RGB"),
    (ValueError("bad value"), "ValueError: bad value"),
    (ForModels(), "as the model likes it"),
    (NotForModels(), "fallback"),
    (Named(), "Named(red)"),
    (Plain(), "<tests.tools.test_render.Plain object>"),
    (Raising(), "Raising (it cannot be shown: RuntimeError)"),
    (NoText(), "NoText (it cannot be shown: TypeError)"),
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


@pytest.mark.parametrize("value", [value for value, _ in ZOO], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("budget", [200, 1000])
def test_no_value_outgrows_its_budget(value: Any, budget: int) -> None:
    assert len(render(value, budget).text) <= budget
    assert len(render([value] * 100, budget).text) <= budget


def test_a_long_text_keeps_head_and_tail_and_says_how_much() -> None:
    text = "H" * 10_000 + "T" * 10_000

    drawn = render(text)

    assert len(drawn.text) <= BUDGET
    assert drawn.text.startswith("HHH")
    assert drawn.text.endswith("TTT")
    assert "[… 7 920 of 20 000 characters: first 5 940, last 1 980 …]" in drawn.text
    assert not drawn.is_whole
    assert render("x" * BUDGET).is_whole


@pytest.mark.parametrize("value", ["x" * (BUDGET + 1), list(range(10_000)), {str(n): n for n in range(5_000)}])
def test_what_does_not_fit_is_told_in_a_preview_that_is_smaller_than_what_would_fit(value: object) -> None:
    drawn = preview(value)

    assert not drawn.is_whole
    assert len(drawn.text) <= PREVIEW


@pytest.mark.parametrize("value", ["x" * BUDGET, list(range(1_000)), 1, None])
def test_what_fits_is_told_whole(value: object) -> None:
    assert preview(value) == render(value)
    assert preview(value).is_whole


def test_only_plain_values_that_are_not_long_are_written_out_at_once() -> None:
    class Text(str):
        pass

    values = ("x", "x" * 10_001, Text("x"), 1, 1.5, True, None, [1], b"x", object())
    quick = [value for value in values if is_quick(value)]

    assert quick == ["x", 1, 1.5, True, None]


@given(st.text(max_size=400), st.integers(100, 300))
def test_cutting_keeps_to_the_budget_and_leaves_short_texts_alone(text: str, budget: int) -> None:
    assert len(cut(text, budget)) <= budget
    assert (cut(text, budget) == text) == (len(text) <= budget)


def test_a_long_structure_is_cut_while_it_is_made() -> None:
    drawn = render(list(range(10_000_000)))

    assert not drawn.is_whole
    assert len(drawn.text) <= BUDGET
    assert "more items" in render({str(n): n for n in range(5000)}, 600).text
    assert "more items" in render(list(range(5000)), 600).text


def test_nesting_is_bounded() -> None:
    drawn = render(deep(5000))

    assert "…" in drawn.text
    assert not drawn.is_whole


def test_a_large_frame_is_a_preview_that_says_so() -> None:
    frame = pd.DataFrame({"n": range(1_204_332), "s": "x"})

    drawn = render(frame)

    assert "DataFrame, 1 204 332 rows by 2 columns" in drawn.text
    assert "[preview: 5 of 1 204 332 rows; this is not the full data]" in drawn.text
    assert not drawn.is_whole
    assert drawn.is_object


def test_a_wide_frame_shows_some_of_its_columns() -> None:
    drawn = render(pd.DataFrame(np.zeros((1, 80))))

    assert "and 30 more" in drawn.text
    assert "[preview" in drawn.text


def test_a_large_series_and_a_large_array_are_previews() -> None:
    assert "[preview: 5 of 100 000 rows" in render(pd.Series(range(100_000))).text
    assert render(np.arange(100_000)).text.endswith("[preview of 100 000 values; this is not the full data]")
    assert render(np.full(3000, 0.123456789)).text.endswith("[preview of 3 000 values; this is not the full data]")


def test_frames_of_polars_are_shown_as_csv_whatever_is_in_their_cells() -> None:
    nested = pl.DataFrame({"a": [[1, 2]], "b": [{"c": None}]})

    assert render(pl.DataFrame({"a": [1, None]})).text == 'DataFrame, 2 rows by 1 columns: a (Int64)\na\n1\n""'
    assert render(pl.Series("s", ["x"])).text == "Series 's', String, 1 rows\ns\nx"
    assert render(nested).text.endswith("a,b\n\"[1, 2]\",{'c': None}")
    assert "[preview: 5 of 100 000 rows" in render(pl.DataFrame({"a": range(100_000)})).text
    assert "and 30 more" in render(pl.DataFrame({f"c{n}": [n] for n in range(80)})).text


def test_the_values_that_an_enumeration_allows_are_no_part_of_its_description() -> None:
    column = pl.Series("a", ["SENTINEL"]).cast(pl.Enum(["SENTINEL"]))

    assert describe(pl.DataFrame({"a": column})) == "DataFrame, 1 rows by 1 columns: a (Enum)"
    assert describe(column) == "Series 'a', Enum, 1 rows"
    assert describe(pl.DataFrame({"a": [[1]]})) == "DataFrame, 1 rows by 1 columns: a (List(Int64))"


def test_labelled_arrays_are_named_by_their_dimensions_and_previewed() -> None:
    small = xarray.DataArray(np.arange(6).reshape(2, 3), dims=("x", "y"))
    large = xarray.Dataset({"t": (("x", "y"), np.zeros((300, 400)))})

    assert describe(small) == "DataArray, int64, x 2, y 3"
    assert "[3, 4, 5]" in render(small).text
    assert describe(large) == "Dataset, x 300, y 400: t (float64)"
    assert render(large).text.endswith("[preview of 120 000 values; this is not the full data]")
    assert json.loads(render({"it": large}).text) == {"it": describe(large)}


def test_what_an_object_says_of_itself_counts_inside_a_list_too() -> None:
    class Own:
        def _repr_llm_(self) -> str:
            return "in its own words"

    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("SECRET")

    assert render([Own(), Broken(), 1]).text == '["in its own words", "Broken (it cannot be shown: RuntimeError)", 1]'


def test_objects_in_an_array_are_shown_without_their_addresses() -> None:
    assert render(np.array([object()], dtype=object)).text.endswith("[<object object>]")


def test_an_object_that_lies_about_its_shape_is_described_by_its_type() -> None:
    class DataFrame:
        __module__ = "pandas.core"

        @property
        def shape(self) -> Any:
            raise RuntimeError("SECRET")

    assert describe(DataFrame()) == "DataFrame"


def test_column_names_are_bounded_and_plain() -> None:
    frame = pd.DataFrame({"x" * 500: [1], "a\x1b[31m\nb": [2]})

    assert "x" * 65 not in describe(frame)
    assert "a b (int64)" in describe(frame)


@pytest.mark.parametrize(
    "value",
    [pd.DataFrame({"a": ["SENTINEL"]}), pd.Series(["SENTINEL"]), ["SENTINEL"], {"SENTINEL": 1}, "SENTINEL", b"SENTINEL",
     {"SENTINEL"}, ("SENTINEL",), np.array(["SENTINEL"]), Order(item="SENTINEL")],
)  # fmt: skip
def test_a_description_never_tells_a_value(value: Any) -> None:
    assert "SENTINEL" not in describe(value)
    assert "SENTINEL" not in fingerprint(value)


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (lambda: [1, [2]], lambda value: value[1].append(3)),
        (lambda: {"a": {"b": 1}}, lambda value: value["a"].update(b=2)),
        (lambda: np.zeros(3), lambda value: value.__setitem__(0, 1.0)),
        (lambda: pd.DataFrame({"a": [1]}), lambda value: value.__setitem__("a", [2])),
        (lambda: pd.Series([1]), lambda value: value.__setitem__(0, 2)),
    ],
)
def test_a_fingerprint_changes_when_the_object_does(make: Any, change: Any) -> None:
    value = make()
    before = fingerprint(value)

    assert fingerprint(value) == before
    change(value)
    assert fingerprint(value) != before


def test_a_fingerprint_tells_equal_objects_apart() -> None:
    assert fingerprint(pd.DataFrame()) != fingerprint(pd.DataFrame())
    assert fingerprint("text") == fingerprint("text")
    assert fingerprint(3) != fingerprint(4)


def test_what_is_too_large_to_read_is_known_by_identity_and_shape() -> None:
    large = [list(range(1000)) for _ in range(200)]
    before = fingerprint(large)
    large[0][0] = 99
    wide = ["x" * 20_000_000]

    assert fingerprint(large) == before
    assert fingerprint(wide).endswith(":list, 1 items:")
    assert fingerprint(pd.DataFrame({"a": [[1]]}))  # what cannot be hashed has a fingerprint still


def test_an_identity_is_never_given_twice() -> None:
    first = identity(Plain())
    kept = Plain()

    assert identity(kept) == identity(kept)
    assert first != identity(kept)
    assert identity(5).isdigit()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (ValueError(), "ValueError"),
        (FileNotFoundError(2, "No such file", "/home/ada/x.csv"), "FileNotFoundError: [Errno 2] No such file: 'x.csv'"),
        (RuntimeError("in C:\\Users\\ada\\x.csv"), "RuntimeError: in x.csv"),
        (RuntimeError("see https://example.org/a/b"), "RuntimeError: see https://example.org/a/b"),
        (RuntimeError("<A object at 0x7f00aa11>\x1b[2J"), "RuntimeError: <A object>"),
        (ExceptionGroup("g", [ValueError("a")]), "ExceptionGroup: g (1 sub-exception); ValueError: a"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)  # fmt: skip
def test_an_error_is_a_line_without_paths(error: BaseException, expected: str) -> None:
    assert error_text(error) == expected


def test_an_error_whose_text_raises_is_known_by_its_type() -> None:
    class Bad(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert error_text(Bad()) == "Bad"


@given(st.text())
def test_plain_text_has_no_control_characters(text: str) -> None:
    plain = plain_text(text)

    assert not any((ord(char) < 32 and char not in "\n\t") or 127 <= ord(char) < 160 for char in plain)
    assert plain_text(plain) == plain
    plain.encode()


def test_names_become_one_line() -> None:
    assert visible(" a\n\tb\x1b[1m ") == "a b"
    assert without_addresses("<A at 0x7fff1234>") == "<A>"
    assert without_paths("open /etc/secret/key.pem failed") == "open key.pem failed"


def test_silence_is_for_one_thread_only(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with quiet(), quiet():
        print("not this")
        other = threading.Thread(target=print, args=("but this",))
        other.start()
        other.join()
        assert sys.stdout.encoding
    print("and this")

    assert sys.stdout is before
    assert capsys.readouterr().out == "but this\nand this\n"


def test_silence_bears_a_missing_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with quiet():
        print("nothing")

    assert sys.stderr is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
        max_leaves=20,
    ),
    st.integers(100, 1000),
)
def test_any_json_like_value_is_text_within_the_budget(value: Any, budget: int) -> None:
    drawn = render(value, budget)

    assert len(drawn.text) <= budget
    if isinstance(value, list | dict) and drawn.is_whole:
        json.loads(drawn.text)


def test_numbers_are_grouped() -> None:
    assert grouped(1204332) == "1 204 332"


def test_a_text_of_a_hundred_megabytes_is_cut_before_it_is_looked_at() -> None:
    began = time.process_time()

    drawn = render("\x1b[31mx" * 20_000_000, 1_000)

    assert time.process_time() - began < 1
    assert len(drawn.text) <= 1_000
    assert "of 120 000 000 characters" in drawn.text
    assert not drawn.is_whole
    assert "\x1b" not in drawn.text
