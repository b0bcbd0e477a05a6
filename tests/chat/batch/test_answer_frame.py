"""The answers of a map as a frame: the fields of records are columns, and failures say why."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel

from nbtool import Chat
from nbtool.errors import NbtoolError
from nbtool.testing import ScriptedWire
from nbtool.wire.base import Prompt


class Review(BaseModel):
    kind: bool
    stars: int


@dataclass
class Plain:
    kind: bool
    error: str


def replies(prompt: Prompt) -> Any:
    text = prompt.messages[0].text
    if "bad" in text:
        return "no JSON at all"
    return '{"kind": true, "stars": 4, "error": "none"}'


def run(rows: Any, **options: Any) -> Any:
    chat = Chat(wire=ScriptedWire([replies] * 20))
    return chat.map("Is it kind? {text}", rows, progress=False, resume=False, **options)


def test_the_fields_of_a_model_are_columns_beside_the_index_of_a_frame() -> None:
    rows = pd.DataFrame({"text": ["good", "bad", "good"]}, index=["x", "y", "z"])

    frame = run(rows, as_=Review).to_frame()

    assert list(frame.columns) == ["kind", "stars", "error"]
    assert list(frame.index) == ["x", "y", "z"]
    assert frame.loc["x", "stars"] == 4
    assert pd.isna(frame.loc["y", "stars"])
    assert pd.isna(frame.loc["x", "error"])
    assert isinstance(frame.loc["y", "error"], str)
    assert rows.join(frame).shape == (3, 4)


def test_a_column_of_bool_or_int_is_one_also_where_rows_are_missing() -> None:
    whole = run(pd.DataFrame({"text": ["good", "good"]}), as_=Review).to_frame()
    some = run(pd.DataFrame({"text": ["good", "bad"]}), as_=Review).to_frame()

    assert [str(whole[name].dtype) for name in ("kind", "stars")] == ["bool", "int64"]
    assert [str(some[name].dtype) for name in ("kind", "stars")] == ["boolean", "Int64"]
    assert list(some[some["kind"].fillna(False)].index) == [0]
    assert (~some["kind"]).isna().tolist() == [False, True]


def test_long_numbers_do_not_change_where_rows_are_missing() -> None:
    def number(prompt: Prompt) -> str:
        return str(2**62 + 1) if "good" in prompt.messages[0].text else "none"

    chat = Chat(wire=ScriptedWire([number] * 20))
    rows = pd.DataFrame({"text": ["good", "bad"]})
    batch = chat.map("Which? {text}", rows, as_=int, progress=False, resume=False)

    assert batch.to_frame().loc[0, "answer"] == 2**62 + 1


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["x", "y"], name="customer"),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2)], names=["customer", "number"]),
        pd.DatetimeIndex(["2026-01-01", "2026-01-02"], tz="UTC", name="day"),
    ],
)
def test_the_index_keeps_its_names_and_its_type(index: pd.Index) -> None:
    rows = pd.DataFrame({"text": ["good", "bad"]}, index=index)

    frame = run(rows, as_=Review).to_frame()

    pd.testing.assert_index_equal(frame.index, index, exact=True)
    assert rows.join(frame).shape == (2, 4)


class Invoice(BaseModel):
    issued: dt.date
    due: dt.datetime
    total: Decimal


DUE = ["2026-01-02T10:00:00Z", "2026-01-02T10:00:00+02:00", "2026-01-02T10:00:00"]


def invoice(prompt: Prompt) -> str:
    number = int(prompt.messages[0].text.split()[-1])
    return json.dumps({"issued": "2026-01-01", "due": DUE[number], "total": f"{10**number}.1"})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dates_and_decimals_are_columns_also_where_only_some_times_have_a_zone(library: Any) -> None:
    chat = Chat(wire=ScriptedWire([invoice] * 3))
    batch = chat.map([f"Read invoice {number}" for number in range(3)], as_=Invoice, progress=False)
    frame = batch.to_frame(library)

    assert list(frame["issued"]) == [dt.date(2026, 1, 1)] * 3
    assert list(frame["due"]) == [value.due for value in batch.values]
    assert list(frame["total"]) == [Decimal("1.1"), Decimal("10.1"), Decimal("100.1")]


def test_the_rows_that_failed_are_grouped_by_why() -> None:
    class Refused(NbtoolError):
        pass

    def refuse(prompt: Prompt) -> str:
        number = int(prompt.messages[0].text.split()[-1])
        if number % 2:
            raise Refused(f"Request {number} was refused.")
        if number == 4:
            raise Refused("The text is too long.")
        return "fine"

    rows = pd.DataFrame({"text": range(6)}, index=[f"r{n}" for n in range(6)])
    batch = Chat(wire=ScriptedWire([refuse] * 6)).map("Sum up {text}", rows, progress=False, retries=0)

    assert sorted(batch.failures.values()) == [["r1", "r3", "r5"], ["r4"]]
    assert batch.errors == [batch[index] for index in (1, 3, 4, 5)]


def test_rows_of_polars_give_a_frame_of_polars() -> None:
    frame = run(pl.DataFrame({"text": ["good", "good"]}), as_=Review).to_frame()

    assert isinstance(frame, pl.DataFrame)
    assert frame.to_dict(as_series=False) == {"kind": [True, True], "stars": [4, 4]}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_other_answers_are_one_column(library: Any) -> None:
    frame = run([{"text": "good"}]).to_frame(library)

    assert list(frame.columns) == ["answer"]
    assert len(frame) == 1


def test_a_field_of_the_name_of_the_errors_stays() -> None:
    frame = run([{"text": "good"}, {"text": "bad"}], as_=Plain).to_frame("polars")

    assert frame.columns == ["kind", "error", "error_"]


def test_all_that_failed_have_an_error_only() -> None:
    assert run([{"text": "bad"}], as_=Review).to_frame("polars").columns == ["error"]
