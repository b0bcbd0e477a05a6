"""A model reads every digit of a value, a container as JSON and a table as CSV; a part is said to be one."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbtool import tool
from tests.contract.simulator import Provider, call


class Color(enum.Enum):
    RED = "red"


class Described:
    def _repr_llm_(self) -> str:
        return "as its class says"


def read(model: Provider, value: Any) -> str:
    """Let a tool return a value, and give what the model was sent of it."""

    @tool(run="auto")
    def give() -> Any:
        "Give a value."
        return value

    model.say(call("give"), "Thanks.")
    assert model.chat(tools=[give]).send("Give it to me.").calls[0].status == "ok"
    (message,) = [one for one in model.requests[-1].json["messages"] if one["role"] == "tool"]
    return str(message["content"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (0.1 + 0.2, "0.30000000000000004"),
        (10**20, "100000000000000000000"),
        (None, "None"),
        (True, "True"),
        ("a text", "a text"),
        (datetime.date(2024, 2, 29), "2024-02-29"),
        (decimal.Decimal("1.10"), "1.10"),
        (Path("a/b"), "a/b"),
        (Color.RED, "red"),
        (np.float64(0.1), "0.1"),
        (Described(), "as its class says"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,  # one repr has an address
)
def test_a_value_is_read_with_every_digit(model: Provider, value: Any, text: str) -> None:
    assert text in read(model, value)


def test_a_container_is_read_as_json(model: Provider) -> None:
    value = {"a": [1, "x", None], "b": {"c": True}}

    shown = read(model, value)

    assert json.loads(shown[shown.index("{") : shown.rindex("}") + 1]) == value


def test_a_table_is_read_as_csv_with_its_shape(model: Provider) -> None:
    shown = read(model, pd.DataFrame({"city": ["Oslo", "Rome"], "people": [717710, 2748109]}))

    assert "2 rows" in shown
    assert "city,people" in shown
    assert "Oslo,717710" in shown


def test_the_display_options_of_a_library_do_not_count(model: Provider) -> None:
    with pd.option_context("display.precision", 1, "display.max_rows", 2):
        shown = read(model, pd.DataFrame({"x": [1.23456789, 2.0, 3.0, 4.0]}))

    assert "1.23456789" in shown
    assert "4.0" in shown


def test_an_array_is_read_as_numbers(model: Provider) -> None:
    shown = read(model, np.arange(6).reshape(2, 3))

    assert "shape (2, 3)" in shown
    assert "[[0,1,2],[3,4,5]]" in "".join(shown.split())


def test_an_iterator_is_read_once_as_a_list(model: Provider) -> None:
    def numbers() -> Iterator[int]:
        yield from (1, 2, 3)

    assert "[1, 2, 3]" in read(model, numbers())


def test_a_value_that_is_too_large_is_read_in_part_and_is_not_described_as_whole(model: Provider) -> None:
    shown = read(model, list(range(100_000)))

    assert len(shown) < 20_000
    assert "Whole result" not in shown
