"""The answers of a map as a frame: the fields of records are columns, and failures say why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel

from nbtool import Chat
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
