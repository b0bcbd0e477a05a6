"""The column that comes of a map over a frame: its dtype, and what is refused before anything is sent."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from nbtool import Chat
from nbtool.errors import BadUsage, RateLimited
from nbtool.testing import ScriptedWire

FRAME = pd.DataFrame({"text": ["a", "b"]}, index=[7, 9])


def column(kind: type, *replies: Any) -> Any:
    with ScriptedWire(list(replies)) as wire:
        batch = Chat(wire=wire).map("Say {text}", FRAME, as_=kind, concurrency=1, retries=0, progress=False)
    return batch, batch.values


@pytest.mark.parametrize(
    ("kind", "replies", "dtype"),
    [
        (bool, ["true", "false"], "bool"),
        (int, ["1", "2"], "int64"),
        (float, ["1.5", "2.5"], "float64"),
        (int, ["1", str(2**70)], "object"),
    ],
)
def test_answers_of_one_plain_type_make_a_column_of_its_dtype(kind: type, replies: list[str], dtype: str) -> None:
    _, values = column(kind, *replies)

    assert str(values.dtype) == dtype
    assert list(values.index) == [7, 9]


def test_a_column_of_bool_can_be_inverted() -> None:
    _, values = column(bool, "true", "false")

    assert list(~values) == [False, True]


@pytest.mark.parametrize(
    ("kind", "reply", "dtype"), [(bool, "true", "boolean"), (int, "1", "Int64"), (float, "1.5", "Float64")]
)
def test_where_a_row_failed_the_dtype_is_nullable_and_the_error_is_kept(kind: type, reply: str, dtype: str) -> None:
    batch, values = column(kind, reply, RateLimited("slow down", status=429))

    assert str(values.dtype) == dtype
    assert list(values.isna()) == [False, True]
    assert [type(one.error) for one in batch.errors] == [RateLimited]


def test_a_series_in_place_of_rows_is_refused_with_the_fix_before_anything_is_sent() -> None:
    with ScriptedWire([]) as wire, pytest.raises(BadUsage, match=r"not a Series.*rows\.to_frame\('text'\)"):
        Chat(wire=wire).map("Say {text}", FRAME["text"], as_=bool)
