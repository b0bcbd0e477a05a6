"""What a library keeps of what it has computed is no content: looking at an object does not change it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

from nbtool.tools.content_hash.change_token import change_token


class Account:
    to = "alice"


def with_added_columns() -> pd.DataFrame:
    """Give a frame whose columns pandas has not put together yet."""
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    for name in "cdef":
        frame[name] = 1.0
    return frame


LOOKS: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "groups of a frame": (
        lambda: pd.DataFrame({"a": [1, 1], "b": [1, 2]}).groupby("a"), lambda it: (len(it), it.groups, it.sum())
    ),
    "masked array": (lambda: np.ma.array([1, 2], mask=[0, 1]), lambda it: (repr(it), it.tolist(), it.fill_value)),
    "masked array of records": (
        lambda: np.ma.array([(1, 2.0)], dtype=[("a", int), ("b", float)]), lambda it: (repr(it), it.fill_value)
    ),
    "frame whose columns are put together": (with_added_columns, lambda it: it._consolidate_inplace()),
    "frame": (with_added_columns, lambda it: (it.values, str(it), it.describe())),
    "index": (lambda: pd.DataFrame({"a": range(3)}, index=list("abc")), lambda it: (it.loc["b"], it.index.is_unique)),
    "dates": (lambda: pd.Series(pd.date_range("2024", periods=3)), lambda it: (it.dt.year, str(it))),
    "polars": (lambda: pl.DataFrame({"a": [2, 1]}), lambda it: (str(it), it.sort("a"), it["a"].max())),
    "dataset": (lambda: xr.Dataset({"a": ("x", np.zeros(3))}), lambda it: (str(it), it.mean(), it["a"].values)),
    "object that was copied": (Account, lambda it: (copy.deepcopy(it), pickle.dumps(it))),
    "equal text in another place": (lambda: ["ab" * 2] * 2, lambda it: it.__setitem__(1, "".join(["ab", "ab"]))),
}  # fmt: skip


@pytest.mark.parametrize("kind", LOOKS)
def test_an_object_that_was_only_looked_at_is_as_it_was(kind: str) -> None:
    make, look = LOOKS[kind]
    it = make()
    before = change_token(it)
    look(it)

    assert change_token(it) == before


def test_a_fill_value_of_a_masked_array_that_was_set_is_content() -> None:
    it = np.ma.array([1, 2], mask=[0, 1])
    before = change_token(it)
    it.fill_value = 7

    assert change_token(it) != before
