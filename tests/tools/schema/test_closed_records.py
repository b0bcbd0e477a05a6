"""A record takes no keys but those that it declares; a class that says more decides itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel, ConfigDict, model_validator

from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call
from tests.tools.signatures import schema_of


class Request(TypedDict, total=False):
    body: str


@dataclass
class Point:
    x: int = 1


class Order(BaseModel):
    body: str = ""


class OpenOrder(BaseModel):
    model_config = ConfigDict(extra="allow")
    body: str = ""


class CarelessOrder(BaseModel):
    model_config = ConfigDict(extra="ignore")
    body: str = ""


class RenamedOrder(BaseModel):
    body: str = ""

    @model_validator(mode="before")
    @classmethod
    def read_other_name(cls, data: dict[str, Any]) -> dict[str, Any]:
        return {"body": data.get("text", ""), **data}


def made_call(annotation: Any, value: object) -> tuple[Any, list[object]]:
    received: list[object] = []

    def post(data: Any) -> str:
        received.append(data)
        return "Posted."

    post.__annotations__["data"] = annotation
    chat = Chat(wire=ScriptedWire([call("post", data=value), "Done."]), tools=[tool(post, run="auto")])
    return chat.send("Post it.").calls[0], received


@pytest.mark.parametrize(
    ("annotation", "value", "place"),
    [
        (Request, {"body": "a", "name": "b"}, "'data'['name']"),
        (list[Request], [{"name": "b"}], "'data'[0]['name']"),
        (Point, {"x": 2, "name": "b"}, "'data'['name']"),
        (dict[str, Point], {"p": {"name": 3}}, "'data'['p']['name']"),
        (Order, {"body": "a", "name": "b"}, "'data'['name']"),
        (Order | None, {"name": "b"}, "'data'['name']"),
    ],
)
def test_a_key_that_a_record_does_not_declare_is_refused(annotation: Any, value: object, place: str) -> None:
    refused, received = made_call(annotation, value)

    assert (refused.status, received) == ("invalid", [])
    assert place in refused.shown


@pytest.mark.parametrize(
    ("annotation", "value", "received"),
    [
        (Request, {"body": "a"}, {"body": "a"}),
        (OpenOrder, {"body": "a", "name": "b"}, OpenOrder(body="a", name="b")),  # type: ignore[call-arg]
        (CarelessOrder, {"body": "a", "name": "b"}, CarelessOrder(body="a")),
        (RenamedOrder, {"text": "a"}, RenamedOrder(body="a")),
        (dict[str, Any], {"name": "b"}, {"name": "b"}),
    ],
)
def test_a_class_that_states_what_becomes_of_other_keys_decides(
    annotation: Any, value: object, received: object
) -> None:
    assert made_call(annotation, value)[1] == [received]


def test_the_schema_says_so() -> None:
    def post(data: Request) -> None: ...
    def move(data: Point) -> None: ...
    def order(data: Order) -> None: ...
    def order_more(data: OpenOrder) -> None: ...

    schemas = [schema_of(function)["properties"]["data"] for function in (post, move, order, order_more)]

    assert [schema.get("additionalProperties") for schema in schemas] == [False, False, False, True]
