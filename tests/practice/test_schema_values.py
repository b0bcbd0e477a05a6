"""Every type that an answer can have gets an answer of the practice model, whatever the prompt says."""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from nbtool import Chat
from nbtool.plugins.structured import Structured
from nbtool.practice.plan import make_plan
from nbtool.practice.request import parse_request
from nbtool.tools.schema.json_schema import ANSWER_SCHEMA_PROMPT


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Line(BaseModel):
    name: str
    quantity: int = Field(ge=1, le=5)
    price: float = Field(gt=0, lt=1)


class Invoice(BaseModel):
    lines: list[Line]
    when: datetime.date
    total: decimal.Decimal
    note: str | None = None
    tags: set[str]
    colour: Colour


class Tree(BaseModel):
    value: int
    child: Tree | None


@dataclass
class Point:
    x: int
    y: tuple[int, str]


class Typed(TypedDict):
    a: int
    b: NotRequired[str]


class Named(NamedTuple):
    a: int
    b: str


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    legs: int


TYPES: list[Any] = [
    bool, int, float, str, list[str], list[int], list[bool], dict[str, int], tuple[int, str], tuple[bool, ...],
    set[int], Literal["a", "b"], Literal[3], Colour, datetime.date, datetime.datetime, datetime.time,
    datetime.timedelta, uuid.UUID, decimal.Decimal, int | None, int | str, bool | None, Invoice, list[Invoice], Tree,
    Point, list[Point], Typed, Named, Cat | Dog, Annotated[Cat | Dog, Field(discriminator="kind")],
    Annotated[int, Field(ge=10, multiple_of=7)], Annotated[int, Field(lt=-3)], Annotated[float, Field(gt=0, lt=0.5)],
    Annotated[str, Field(min_length=12)], Annotated[str, Field(max_length=3)],
    Annotated[list[int], Field(min_length=3)],
    Annotated[set[int], Field(min_length=3)], Path, bytes, Any, None, ipaddress.IPv4Address,
]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize(
    "prompt", ["Is this review kind? It was lovely.", "Pick 3 of 'A' and \"B\" on 2024-02-30 for 9.5 USD."]
)
def test_every_type_gets_an_answer(prompt: str, type_: Any) -> None:
    answer = Structured(type_)
    messages = [{"role": "system", "content": ANSWER_SCHEMA_PROMPT + json.dumps(answer.schema)}]
    body = {"model": "fast", "messages": [*messages, {"role": "user", "content": prompt}]}

    answer.parse(make_plan(parse_request(body)).text)  # raises where it does not fit


@settings(max_examples=40)
@given(
    type_=st.sampled_from(TYPES),
    prompt=st.text(max_size=40)
    | st.lists(st.sampled_from(["3", "'A'", "2024-02-30", "9.5", "-1", "true", "{"])).map(" ".join),
)
def test_every_type_gets_an_answer_to_any_prompt(type_: Any, prompt: str) -> None:
    answer = Structured(type_)
    messages = [{"role": "system", "content": ANSWER_SCHEMA_PROMPT + json.dumps(answer.schema)}]
    body = {"model": "fast", "messages": [*messages, {"role": "user", "content": prompt}]}

    answer.parse(make_plan(parse_request(body)).text)  # raises where it does not fit


def test_a_map_of_a_column_gives_a_column_of_answers() -> None:
    reviews = [{"text": "Lovely, yes."}, {"text": "no"}, {"text": "Awful."}]

    assert Chat("practice:fast").map("Is this review kind? {text}", reviews, as_=bool).values == [True, False, False]


def test_what_the_prompt_says_comes_before_the_plainest_value() -> None:
    class Order(BaseModel):
        name: str
        quantity: int = Field(le=5)
        is_paid: bool
        count: int

    turn = Chat("practice:fast").send('An order of "tea", quantity: 4, is paid, count: 7.', as_=Order)
    beyond = Chat("practice:fast").send('An order of "tea", quantity: 9, count=2.', as_=Order)

    assert turn.value == Order(name="tea", quantity=4, is_paid=True, count=7)
    assert beyond.value == Order(name="tea", quantity=0, is_paid=False, count=2)
