"""The rows of containers, of tables of libraries that are not installed here, and of texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel, ConfigDict

from nbtool.tools.calls.normalized_contents import (
    MAX_LITERAL,
    MAX_PARSED,
    children,
    is_any_in,
    normalized_words,
    result_rows,
    value_key,
)
from nbtool.tools.calls.normalized_tables import MAX_INSPECTED, table_forms


def of_library(module: str, **members: Any) -> Any:
    """Make a double of a library's table: its class is of the library's module."""
    return type("Table", (), {"__module__": module, **members})()


class Dense:
    """A double of an array of the shape 2 x 2."""

    flat = (1, 0, 0, 4)

    def reshape(self, _: int) -> list[int]:
        return Cells(self.flat)

    def toarray(self) -> Dense:
        return self


class Cells(list[int]):
    def __getitem__(self, part: Any) -> Any:
        return Cells(super().__getitem__(part))

    def tolist(self) -> list[int]:
        return list(self)


ROWS = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
TABLES: dict[str, tuple[Any, list[list[Any]]]] = {
    "an arrow table": (
        of_library(
            "pyarrow.lib", shape=(2, 2), slice=lambda self, *_: self, to_pylist=lambda _: ROWS,
            to_pydict=lambda _: {"a": [1, 2], "b": ["x", "y"]},
        ),
        [[1, "x", 2, "y"], [1, 2, "x", "y"]],
    ),
    "an arrow column": (
        of_library("pyarrow.lib", __len__=lambda _: 2, slice=lambda self, *_: self, to_pylist=lambda _: [1, 2]),
        [[1, 2]],
    ),
    "a tensor": (of_library("torch", shape=(2, 2), reshape=Dense().reshape), [[1, 0, 0, 4]]),
    "a sparse array": (
        of_library("scipy.sparse", shape=(2, 2), data=np.array([1, 4]), toarray=Dense().toarray),
        [[1, 4], [1, 0, 0, 4]],
    ),
    "a large sparse array": (
        of_library("scipy.sparse", shape=(1_000, MAX_INSPECTED), data=np.array([1, 4]), toarray=Dense().toarray),
        [[1, 4]],
    ),
    "a schema of an arrow table": (of_library("pyarrow.lib", __len__=lambda _: 2), []),
    "a scalar type": (np.dtype("int64"), []),
    "groups of a frame": (pd.DataFrame({"a": [1]}).groupby("a"), []),
    "a schema of a polars frame": (pl.Schema({"a": pl.Int64}), []),
    "a pivoted frame": (
        pd.DataFrame([[1, 2]], columns=[10, 20]), [[1, 2], [1, 2], [0, 1, 2], [10, 20, 0, 1, 2]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_its_values_in_each_order_in_which_they_may_be_repeated(table: str) -> None:
    value, forms = TABLES[table]

    assert [list(form) for form in table_forms(value)] == forms


@pytest.mark.parametrize(("text", "words"), [("1.50 abc.5 0.001234", "1.5 abc.5 0.001234"), ("1.500", "1.5")])
def test_equal_numbers_are_equal_words_and_words_stay(text: str, words: str) -> None:
    assert normalized_words(text) == normalized_words(words)
    assert normalized_words("abc.5") == "abc.5"


@pytest.mark.parametrize("size", [MAX_LITERAL, MAX_PARSED])
def test_a_text_that_may_be_a_container_and_is_too_long_is_not_compared(size: int) -> None:
    def compare() -> Iterator[str]:
        yield from result_rows("['" + "x" * size)

    with pytest.raises(ValueError, match="is not compared"):
        list(compare())


def test_a_text_that_is_no_container_is_compared_by_its_words() -> None:
    assert value_key("(see below") == "see\0below"


def test_a_row_counts_if_it_is_in_the_words_of_a_text() -> None:
    row = "\0alpha\0beta\0gamma\0delta\0"

    assert is_any_in([row], "They are alpha, beta, gamma and then delta.") is False
    assert is_any_in([row], "They are alpha beta gamma delta.") is True
    assert is_any_in(["\0a\0"], "a") is False


def test_names_in_a_result_are_not_its_values() -> None:
    assert not any("alpha" in row for row in result_rows({'["alpha", "beta"]': 1}))
    assert any("alpha" in row for row in result_rows({"names": ["alpha", "beta"]}))


def test_the_fields_of_a_record_are_the_values_of_its_row() -> None:
    @dataclass
    class Account:
        owner: str
        number: int

    @attrs.define
    class Holder:
        owner: str
        number: int

    class Client(BaseModel):
        model_config = ConfigDict(extra="allow")

        owner: str

    records = (Account("ada", 4711), Holder("ada", 4711), Client(owner="ada", number=4711))  # type: ignore[call-arg]

    assert [list(children(record) or ()) for record in records] == [["ada", 4711]] * 3
    assert {"\0".join(result_rows(record)) for record in records} == {"\0ada\0" + "4711\0"}
