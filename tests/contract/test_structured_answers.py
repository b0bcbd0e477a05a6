"""An answer is a value of the type that was asked for; one that never fits is an error and no value."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import pytest
from pydantic import BaseModel

from nbtool.errors import InvalidAnswer
from tests.contract.dialects import DIALECTS
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider

pytestmark = pytest.mark.feature("get the answer as a value")


class Invoice(BaseModel):
    customer: str
    total: float


@dataclass
class Point:
    x: int
    y: int


class Book(TypedDict):
    title: str


@pytest.mark.parametrize(
    ("type_", "written", "value"),
    [
        (Invoice, {"customer": "Ada", "total": 7.5}, Invoice(customer="Ada", total=7.5)),
        (Point, {"x": 1, "y": 2}, Point(1, 2)),
        (Book, {"title": "T"}, {"title": "T"}),
        (bool, {"value": True}, True),
        (list[int], {"value": [1, 2]}, [1, 2]),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Literal["yes", "no"], {"value": "yes"}, "yes"),
        (int | None, {"value": None}, None),
        (list[Point], {"value": [{"x": 1, "y": 2}]}, [Point(1, 2)]),
    ],
    ids=str,
)
def test_an_answer_is_a_value_of_the_type(model: Provider, type_: Any, written: Any, value: Any) -> None:
    model.always(json.dumps(written))

    turn = model.chat().send("Give it to me.", as_=type_)

    assert turn.error is None
    assert turn.value == value


@pytest.mark.parametrize("wire", DIALECTS)
def test_the_type_is_sent_as_a_schema_in_every_dialect(model: Provider, wire: str) -> None:
    model.say('{"customer": "Ada", "total": 7.5}')

    turn = model.chat(wire=wire).send("Give it to me.", as_=Invoice)

    assert turn.value == Invoice(customer="Ada", total=7.5)
    assert "customer" in model.requests[0].content.decode()
    assert "total" in model.requests[0].content.decode()


def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reason(model: Provider) -> None:
    model.say('{"customer": "Ada"}', '{"customer": "Ada", "total": 7.5}')

    turn = model.chat().send("Give it to me.", as_=Invoice)

    assert turn.value == Invoice(customer="Ada", total=7.5)
    assert "total" in model.requests[1].json["messages"][-1]["content"]


def test_an_answer_that_never_fits_is_an_error_and_no_value(model: Provider) -> None:
    model.always("I do not know.")

    turn = model.chat().send("Give it to me.", as_=Invoice)

    assert turn.status == "error"
    assert isinstance(turn.error, InvalidAnswer)
    assert len(model.requests) < 10


def test_a_cell_binds_the_value_to_a_name(notebook: Notebook, model: Provider) -> None:
    model.say('{"customer": "Ada", "total": 7.5}')
    notebook.names["Invoice"] = Invoice

    notebook.run("%%chat --as Invoice -o invoice\nGive it to me.")

    assert notebook.names["invoice"] == Invoice(customer="Ada", total=7.5)


def test_a_cell_takes_a_type_as_it_is_written(notebook: Notebook, model: Provider) -> None:
    model.say('{"value": [1, 2]}')

    notebook.run("%%chat --as list[int] -o numbers\nGive me numbers.")

    assert notebook.names["numbers"] == [1, 2]
