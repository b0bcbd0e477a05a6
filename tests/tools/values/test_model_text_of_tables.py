"""Tables and arrays as texts: previews that say what they leave out."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

import dask.array
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray

from nbtool.tools.values.model_text import render
from nbtool.tools.values.table_form import table_form
from nbtool.tools.values.table_preview import preview_table
from nbtool.tools.values.type_and_shape import describe


def test_a_large_frame_is_a_preview_that_says_so() -> None:
    frame = pd.DataFrame({"n": range(1_204_332), "s": "x"})

    rendered = render(frame)

    assert "DataFrame, 1,204,332 rows by 2 columns" in rendered.text
    assert "5 of 1,204,332 rows" in rendered.text
    assert not rendered.is_complete
    assert rendered.is_object


def test_a_wide_frame_shows_some_of_its_columns() -> None:
    rendered = render(pd.DataFrame(np.zeros((1, 80))))

    assert "and 30 more" in rendered.text
    assert "[preview" in rendered.text


def test_a_large_series_and_a_large_array_are_previews() -> None:
    assert "[preview: 5 of 100,000 rows" in render(pd.Series(range(100_000))).text
    assert "100,000 values" in render(np.arange(100000)).text
    assert "3,000 values" in render(np.full(3000, 0.123456789)).text


def test_frames_of_polars_are_shown_as_csv_whatever_is_in_their_cells() -> None:
    nested = pl.DataFrame({"a": [[1, 2]], "b": [{"c": None}]})

    assert render(pl.DataFrame({"a": [1, None]})).text == "DataFrame, 2 rows by 1 column: a (Int64)\na\n1\nnull"
    assert render(pl.Series("s", ["x"])).text == "Series 's', String, 1 row\ns\nx"
    assert render(nested).text.endswith('a,b\n"[1, 2]","{""c"": null}"')
    assert "[preview: 5 of 100,000 rows" in render(pl.DataFrame({"a": range(100_000)})).text
    assert "and 30 more" in render(pl.DataFrame({f"c{n}": [n] for n in range(80)})).text


def test_the_values_that_an_enumeration_allows_are_no_part_of_its_description() -> None:
    column = pl.Series("a", ["SENTINEL"]).cast(pl.Enum(["SENTINEL"]))

    assert describe(pl.DataFrame({"a": column})) == "DataFrame, 1 row by 1 column: a (Enum)"
    assert describe(column) == "Series 'a', Enum, 1 row"
    assert describe(pl.DataFrame({"a": [[1]]})) == "DataFrame, 1 row by 1 column: a (List(Int64))"


def test_labelled_arrays_are_named_by_their_dimensions_and_previewed() -> None:
    small = xarray.DataArray(np.arange(6).reshape(2, 3), dims=("x", "y"))
    large = xarray.Dataset({"t": (("x", "y"), np.zeros((300, 400)))})

    assert describe(small) == "DataArray, int64, x 2, y 3"
    assert "[3, 4, 5]" in render(small).text
    assert describe(large) == "Dataset, x 300, y 400: t (float64)"
    assert "120,000 values" in render(large).text
    assert json.loads(render({"it": large}).text) == {"it": describe(large)}


def test_what_an_object_says_of_itself_counts_inside_a_list_too() -> None:
    class Own:
        def _repr_llm_(self) -> str:
            return "in its own words"

    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("SECRET")

    assert "RuntimeError)" in render([Own(), Broken(), 1]).text


def test_objects_in_an_array_are_shown_without_their_addresses() -> None:
    assert render(np.array([object()], dtype=object)).text.endswith(
        '["<object object>"]\n[some of the values are only described]'
    )


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


def test_a_cell_of_a_table_library_is_reported_in_its_own_words() -> None:
    seen = preview_table([pd.Timestamp("2026-01-02"), np.float64(1.5), object()])

    assert seen == {"columns": [""], "rows": [["2026-01-02 00:00:00"], ["1.5"], ["object"]]}


def test_tables_and_arrays_are_objects_beside_their_text() -> None:
    values = [np.arange(3), np.arange(100_000), pd.Series([1]), pl.Series([1]), pd.DataFrame({"a": [1]})]

    assert [describe(value) for value in values if not render(value).is_object] == []


def test_a_series_is_described_by_its_type_and_length() -> None:
    assert describe(pd.Series([1, 2], name="n")) == "Series, int64, 2 rows"
    assert describe(pl.Series("n", [1, 2])) == "Series 'n', Int64, 2 rows"


def test_times_of_polars_that_are_cut_are_marked_and_others_are_not() -> None:
    def of(nanoseconds: int) -> pl.Series:
        return pl.Series([[nanoseconds]], dtype=pl.List(pl.Datetime("ns")))

    structure = pl.Series([{"t": 1}], dtype=pl.Struct({"t": pl.Time}))

    assert render(of(1_000)).is_complete
    assert [render(one).is_complete for one in (of(1), structure)] == [False, False]
    assert "microseconds" in render(of(1)).text.splitlines()[-1]
    assert render(pl.Series([1], dtype=pl.Time)).text.endswith("00:00:00.000000001")


def test_a_representation_with_an_address_is_not_the_value() -> None:
    generator = np.random.default_rng(1)

    assert (render(generator).text, render(generator).is_complete) == ("Generator(PCG64)", False)
    assert not render([generator]).is_complete


def test_rows_of_a_database_have_the_names_of_their_columns() -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row

    assert render(connection.execute("select 1 as a, 'x' as b").fetchone()).text == '{"a": 1, "b": "x"}'
    assert render(connection.execute("select 1 as a, 'x' as a").fetchone()).text == '[1, "x"]'
    connection.close()


def test_a_mapping_of_any_class_is_read_as_one() -> None:
    class Settings(Mapping[str, int]):
        def __getitem__(self, key: str) -> int:
            return {"a": 1}[key]

        def __iter__(self) -> Iterator[str]:
            return iter(["a"])

        def __len__(self) -> int:
            return 1

    assert render({"settings": Settings()}).text == '{"settings": {"a": 1}}'


def test_a_preview_says_of_how_many_columns_it_is() -> None:
    assert "1 of 1 row, 50 of 80 columns" in render(pd.DataFrame(np.zeros((1, 80)))).text


class RemoteTable:
    """A table that is elsewhere, as one of Spark."""

    def toPandas(self) -> Any:  # noqa: N802 - its name there
        raise AssertionError("It was loaded.")

    def __repr__(self) -> str:
        return "DataFrame[id: bigint]"


LAZY = [RemoteTable(), dask.array.ones(3), pl.DataFrame({"a": [1]}).lazy(), xarray.DataArray(dask.array.ones(3))]


@pytest.mark.parametrize("value", LAZY, ids=lambda value: type(value).__name__)
def test_what_is_not_computed_is_neither_computed_nor_taken_for_whole(value: Any) -> None:
    assert not render(value).is_complete
    assert not render({"it": value}).is_complete


@pytest.mark.parametrize(
    ("labels", "header"),
    [
        ([("a", "x"), ("a", "y")], "a / x,a / y"),
        ([("a", 1), ("a", "1")], 'a / 1,"a / ""1"""'),
        ([("a / b", "c")], '"""a / b"" / c"'),
        ([("", "c")], '""""" / c"'),
        ([1, "1", None], '1,"1",None'),
        (["a", "b,c", "None"], 'a,"b,c","None"'),
    ],
)
def test_each_label_differs_from_the_others(labels: list[Any], header: str) -> None:
    columns = pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else pd.Index(labels, dtype=object)
    frame = pd.DataFrame([range(len(labels))], columns=columns)

    assert render(frame).text.splitlines()[1] == header


@pytest.mark.parametrize("options", [{}, {"precision": 2, "suppress": True, "threshold": 5}])
def test_an_array_in_a_representation_has_all_its_digits_and_is_marked_where_it_is_cut(options: dict[str, Any]) -> None:
    with np.printoptions(**options):
        short, long = render(np.poly1d([0.123456789012345, 1e-12])), render([np.poly1d(np.arange(1, 3_000))])

    assert "1.23456789012345e-01" in short.text
    assert "1.00000000000000e-12" in short.text
    assert short.is_complete
    assert ", ...," in long.text
    assert not long.is_complete


def test_floats_of_four_bytes_in_arrow_columns_of_pandas_have_no_digits_that_they_have_not() -> None:
    assert render(pd.Series([0.1, None], dtype="float[pyarrow]")).text.splitlines()[1:] == ["0.1", "<NA>"]


def test_the_types_of_the_columns_of_a_frame_are_names() -> None:
    types = render(pd.DataFrame({"a": [1], "b": pd.array(["x"], dtype="string")}).dtypes)

    assert types.text.splitlines()[1:] == ["a,dtype('int64')", "b,string"]
    assert types.is_complete


def test_a_view_of_numbers_is_cut_as_a_list_and_one_that_cannot_be_read_is_described() -> None:
    numbers = render([memoryview(np.arange(100_000))], 200)

    assert "more items" in numbers.text
    assert not numbers.is_complete
    assert render([memoryview(np.array(1)), 2]).text == '["memoryview (rendering it failed: TypeError)", 2]'
    assert render(memoryview(np.arange(4).reshape(2, 2))).text == "[[0, 1], [2, 3]]"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("rows", "kind", "text"),
    [
        ([[1, 2], [3, 4]], "int64", "matrix, int64, shape (2, 2)\n[[1, 2],\n [3, 4]]"),
        ([[0.1, 2.5]], "float32", "matrix, float32, shape (1, 2)\n[[0.1, 2.5]]"),
    ],
)
def test_the_rows_of_a_matrix_are_lists_of_its_numbers(rows: Any, kind: str, text: str) -> None:
    matrix = np.array(rows, kind).view(np.matrix)

    assert render(matrix).text == text
    assert json.loads(render([matrix]).text) == [rows]


def test_a_variable_of_xarray_has_its_dimensions_and_attributes() -> None:
    rendered = render(xarray.Variable("x", [1, 2], {"unit": "m"}))

    head, form = rendered.text.split("\n")
    assert head == "Variable"
    assert json.loads(form) == {"dims": ["x"], "values": [1, 2], "attrs": {"unit": "m"}}
    assert rendered.is_complete


def test_a_frame_with_few_rows_and_long_cells_is_a_preview_of_the_first_rows() -> None:
    rendered = render(pd.DataFrame({"a": [f"{number}:{'x' * 998}" for number in range(20)]}))

    head, label, *cells, marker = rendered.text.splitlines()
    assert "20 rows" in head
    assert label == "a"
    assert [cell[:3] for cell in cells] == ["0:x", "1:x", "2:x", "3:x", "4:x"]
    assert "5 of 20 rows" in marker
    assert not rendered.is_complete


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("fields", "row", "cell"),
    [
        ({"n": pl.Int64, "t": pl.Time}, {"n": 5, "t": 1_001}, {"n": 5, "t": "00:00:00.000001"}),
        ({"t": pl.List(pl.Datetime("ns"))}, {"t": [2_001]}, {"t": ["1970-01-01T00:00:00.000002"]}),
        ({"t": pl.Struct({"d": pl.Duration("ns")})}, {"t": {"d": 3_001}}, {"t": {"d": "0:00:00.000003"}}),
    ],
)
def test_nanoseconds_that_are_cut_are_found_at_any_depth_beside_other_fields(fields: Any, row: Any, cell: Any) -> None:
    rendered = render(pl.Series("s", [row], dtype=pl.Struct(fields)))

    (parsed,) = csv.reader([rendered.text.splitlines()[2]])
    assert json.loads(parsed[0]) == cell
    assert "microseconds" in rendered.text.splitlines()[-1]
    assert not rendered.is_complete


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("fields", "row"),
    [
        ({"n": pl.Int64, "t": pl.Time}, {"n": 5, "t": 1_000}),
        ({"t": pl.List(pl.Datetime("ns"))}, {"t": [2_000]}),
        ({"t": pl.Struct({"d": pl.Duration("ns")})}, {"t": {"d": 3_000}}),
    ],
)
def test_a_structure_whose_times_are_whole_microseconds_is_complete(fields: Any, row: Any) -> None:
    assert render(pl.Series("s", [row], dtype=pl.Struct(fields))).is_complete


@pytest.mark.parametrize("value", [[{"a": 1}], {"a": [1]}, np.eye(2)], ids=lambda value: type(value).__name__)
def test_what_is_no_table_has_no_cells_and_is_named_by_its_type(value: Any) -> None:
    with pytest.raises(LookupError, match=f"^{type(value).__name__}$"):
        table_form(value, 5, 5)
