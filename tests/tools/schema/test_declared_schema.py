"""Tools whose parameters are a JSON schema: what they take, and what is refused before anything runs."""

from __future__ import annotations

import pickle
from typing import Any

import pandas as pd
import pytest

from nbtool import Approved, Chat, tool
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire, call

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "minimum": 1, "default": 1},
        "kind": {"enum": ["rain", "sun"]},
        "place": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
        "frame": {"description": "A frame."},
    },
    "required": ["city"],
    "additionalProperties": False,
}


def run(function: Any, **arguments: Any) -> Any:
    with ScriptedWire([call("forecast", **arguments), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[function]).send("Go.")
    return turn.calls[0], wire.prompts[0].tools


@pytest.fixture
def calls() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def forecast(calls: list[dict[str, Any]]) -> Any:
    @tool(run="auto", schema=SCHEMA, description="Forecast.")
    def forecast(**arguments: Any) -> str:
        "Not this."
        calls.append(arguments)
        return "sunny"

    return forecast


def test_the_model_gets_the_schema_and_the_function_the_arguments_by_keyword(forecast: Any, calls: list[Any]) -> None:
    done, tools = run(forecast, city="Oslo", days=2)

    (offered,) = [spec for spec in tools if spec.name == "forecast"]
    assert offered.description == "Forecast."
    assert offered.parameters["properties"]["city"] == SCHEMA["properties"]["city"]  # type: ignore[index]
    assert (done.status, calls) == ("ok", [{"city": "Oslo", "days": 2}])


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "city"),
        ({"city": "O"}, "city"),
        ({"city": 1}, "city"),
        ({"city": "Oslo", "days": 0}, "days"),
        ({"city": "Oslo", "days": "2"}, "days"),
        ({"city": "Oslo", "kind": "snow"}, "kind"),
        ({"city": "Oslo", "place": {}}, "place"),
        ({"city": "Oslo", "place": {"lat": "north"}}, "place.lat"),
        ({"city": "Oslo", "other": 1}, "other"),
    ],
)
def test_arguments_that_do_not_fit_run_nothing_and_are_named(
    forecast: Any, calls: list[Any], arguments: dict[str, Any], name: str
) -> None:
    refused, _ = run(forecast, **arguments)

    assert (refused.status, calls) == ("invalid", [])
    assert name in refused.shown


def test_an_object_comes_by_reference_where_the_schema_has_no_type(calls: list[Any], forecast: Any) -> None:
    frame = pd.DataFrame({"a": [1]})
    chat = Chat(wire=ScriptedWire([call("forecast", city="Oslo", frame="$VAR_REF{{data}}"), "Done."]), tools=[forecast])
    chat.expose(data=frame)

    assert chat.send("Go.").calls[0].status == "ok"
    assert calls[0]["frame"] is frame


@pytest.mark.parametrize("data", [pd.DataFrame({"a": [1]}), {"lat": 1.0, "frame": pd.DataFrame()}])
def test_an_object_does_not_come_where_the_schema_asks_for_json(calls: list[Any], forecast: Any, data: Any) -> None:
    chat = Chat(wire=ScriptedWire([call("forecast", city="Oslo", place="$VAR_REF{{data}}"), "Done."]), tools=[forecast])
    chat.expose(data=data)

    assert chat.send("Go.").calls[0].status == "invalid"
    assert calls == []


@pytest.mark.every_case
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": {"type": "text"}}},
        {"type": "object", "properties": {"a": {"minimum": "one"}}},
        {"type": "object", "properties": {"a": object()}},
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
        [],
    ],
)
def test_what_is_no_schema_of_an_object_is_refused_in_one_line(schema: Any) -> None:
    with pytest.raises(BadUsage) as refused:
        Chat("practice:fast", tools=[tool(schema=schema)(lambda **_: None)])
    assert "\n" not in str(refused.value)


def test_a_schema_survives_a_pickle(forecast: Any) -> None:
    options = forecast.__nbtool_tool__

    assert pickle.loads(pickle.dumps(options)).schema == SCHEMA


def test_a_card_has_the_fields_of_the_schema() -> None:
    asked: list[Any] = []

    @tool(schema=SCHEMA)
    def forecast(**arguments: Any) -> str:
        "The forecast."
        return str(arguments)

    def decide(question: Any) -> Approved:
        asked.append(question)
        return Approved()

    with ScriptedWire([call("forecast", city="Oslo"), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[forecast], approver=decide).send("Go.")

    assert turn.calls[0].status == "ok"
    assert asked[0].arguments == {"city": "Oslo"}
