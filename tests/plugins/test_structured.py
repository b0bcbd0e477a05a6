from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, Literal, NamedTuple, TypedDict

import pytest
from pydantic import BaseModel

from nbtool import Chat, tool
from nbtool.errors import BadUsage, InvalidAnswer
from nbtool.events import ReplyEnd
from nbtool.json_schema.dialects import is_strict
from nbtool.messages import Refusal
from nbtool.plugins.continuation import Continuation
from nbtool.plugins.structured import Structured, schema_for
from nbtool.testing import ScriptedWire, call
from nbtool.tools.schema.json_schema import ANSWER_SCHEMA_PROMPT


class Fruit(BaseModel):
    name: str
    grams: int


@dataclass
class Point:
    x: float
    y: float = 0.0


class City(TypedDict):
    name: str
    people: int


class Corner(NamedTuple):
    x: int
    y: int


def call_by_answer(path: str) -> str:
    pytest.fail(f"A model's answer calls a function, with {path!r}.")


@dataclass
class Called:
    path: call_by_answer  # type: ignore[valid-type]  # the mistake that is refused


class Tree(BaseModel):
    children: list[Tree]


@tool(run="auto")
def weigh(name: str) -> int:
    "Weigh a fruit."
    return 150 + len(name)


class WithSchemas(ScriptedWire):
    """A scripted model whose provider takes schemas."""

    abilities = frozenset({"json_schema"})

    def __init__(self, replies: list[Any], dialect: str) -> None:
        super().__init__(replies)
        self.dialect = dialect


APPLE = '{"name": "apple", "grams": 150}'


@pytest.mark.parametrize(
    ("type_", "said", "value"),
    [
        (Fruit, APPLE, Fruit(name="apple", grams=150)),
        (Point, '{"x": 1}', Point(1.0)),
        (City, '{"name": "Ulm", "people": 1}', {"name": "Ulm", "people": 1}),
        (list[Fruit], f'{{"value": [{APPLE}]}}', [Fruit(name="apple", grams=150)]),
        (list[int], "[1, 2]", [1, 2]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (int | None, '{"value": null}', None),
        (Fruit, f"Here it is:\n```json\n{APPLE}\n```\nEnjoy!", Fruit(name="apple", grams=150)),
        (Fruit, f"It is {APPLE}, I think.", Fruit(name="apple", grams=150)),
    ],
)
def test_an_answer_becomes_a_value_of_the_type(type_: Any, said: str, value: Any) -> None:
    with ScriptedWire([said]) as wire:
        turn = Chat(wire=wire).send("Which?", as_=type_)

    assert turn.status == "completed"
    assert turn.value == value
    assert turn.text == said


def test_as_text_an_answer_is_taken_as_it_is_and_no_schema_is_sent() -> None:
    with WithSchemas(['It is "ripe".'], "chat") as wire:
        turn = Chat(wire=wire, system="Be brief.").send("Which?", as_=str)

    assert (turn.status, turn.value) == ("completed", 'It is "ripe".')
    assert "{" not in wire.prompts[0].system
    assert "response_format" not in wire.prompts[0].options


def test_the_schema_is_in_the_system_text() -> None:
    with ScriptedWire([APPLE]) as wire:
        Chat(wire=wire, system="Be brief.").send("Which?", as_=Fruit)

    _, schema, _ = schema_for(Fruit)
    assert wire.prompts[0].system.endswith(ANSWER_SCHEMA_PROMPT + json.dumps(schema))
    assert schema == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "grams": {"type": "integer"}},
        "required": ["name", "grams"],
        "additionalProperties": False,
    }


def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_problem() -> None:
    with ScriptedWire(['{"name": "apple", "grams": "150"}', APPLE]) as wire:
        turn = Chat(wire=wire).send("Which?", as_=Fruit)

    assert turn.value == Fruit(name="apple", grams=150)
    assert 'grams: Input should be a valid integer, not "150"' in wire.prompts[1].messages[-1].text


def test_after_so_many_times_the_turn_fails_and_has_no_value() -> None:
    with ScriptedWire(["Apple.", "An apple.", "The apple!"]) as wire:
        turn = Chat(wire=wire).send("Which?", as_=Fruit)

    assert turn.status == "error"
    assert isinstance(turn.error, InvalidAnswer)
    assert "The answer is not a valid Fruit: it contains no JSON" in str(turn.error)
    assert turn.value is None


def test_tools_run_first_and_an_answer_that_is_asked_for_again_gets_none() -> None:
    with ScriptedWire([call("weigh", name="apple"), "It weighs 155 g.", '{"name": "apple", "grams": 155}']) as wire:
        turn = Chat(wire=wire, tools=[weigh]).send("Weigh an apple.", as_=Fruit)

    assert turn.value == Fruit(name="apple", grams=155)
    assert [bool(prompt.tools) for prompt in wire.prompts] == [True, True, False]


@pytest.mark.parametrize(
    ("dialect", "place"), [("chat", ("response_format", "json_schema")), ("responses", ("text", "format"))]
)
def test_a_provider_that_takes_schemas_is_given_it_in_rounds_without_tools(
    dialect: str, place: tuple[str, str]
) -> None:
    wire = WithSchemas([call("weigh", name="fig"), "153 g", '{"name": "fig", "grams": 153}'], dialect)
    with wire:
        Chat(wire=wire, tools=[weigh]).send("Weigh a fig.", as_=Fruit)

    assert wire.prompts[0].options == {}
    named = wire.prompts[2].options[place[0]][place[1]]
    assert (named["name"], named["strict"]) == ("answer", True)
    assert named["schema"]["required"] == ["name", "grams"]


def test_a_final_reply_has_no_tools_where_the_provider_enforces_the_schema() -> None:
    with WithSchemas([call("weigh", name="fig"), '{"name": "fig", "grams": 153}'], "chat") as wire:
        turn = Chat(wire=wire, tools=[weigh], max_rounds=2).send("Weigh a fig.", as_=Fruit)

    assert turn.value == Fruit(name="fig", grams=153)
    assert [(bool(prompt.tools), bool(prompt.options)) for prompt in wire.prompts] == [(True, False), (False, True)]


def test_gemini_is_given_the_schema_itself() -> None:
    with WithSchemas([APPLE], "gemini") as wire:
        Chat(wire=wire).send("Which?", as_=Fruit)

    config = wire.prompts[0].options["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["required"] == ["name", "grams"]


def test_options_of_the_person_win() -> None:
    wire = WithSchemas([APPLE], "chat")
    with wire:
        Chat(wire=wire).send("Which?", as_=Fruit, options={"response_format": None})

    assert wire.prompts[0].options == {"response_format": None}


def test_an_answer_in_several_pieces_is_read_as_a_whole() -> None:
    with ScriptedWire([[APPLE[:9], ReplyEnd("length", "length")], APPLE[9:]]) as wire:
        turn = Chat(wire=wire, plugins=[Continuation()]).send("Which?", as_=Fruit)

    assert turn.value == Fruit(name="apple", grams=150)
    assert turn.text == APPLE


@pytest.mark.parametrize("said", [Refusal("No."), [APPLE[:9], ReplyEnd("length", "length")]])
def test_a_refusal_or_half_an_answer_is_not_asked_for_again(said: Any) -> None:
    with ScriptedWire([said]) as wire:
        turn = Chat(wire=wire).send("Which?", as_=Fruit)

    assert isinstance(turn.error, InvalidAnswer)


def test_an_answer_that_came_as_a_final_reply_counts() -> None:
    with ScriptedWire([call("weigh", name="fig"), "", '{"name": "fig", "grams": 153}']) as wire:
        turn = Chat(wire=wire, tools=[weigh]).send("Weigh a fig.", as_=Fruit)

    assert turn.value == Fruit(name="fig", grams=153)


def test_it_is_a_plugin_like_any_other() -> None:
    fruit = Structured(Fruit, retries=0)
    with ScriptedWire([APPLE, "Apple."]) as wire:
        chat = Chat(wire=wire, plugins=[fruit])
        chat.send("Which?")
        first = fruit.value
        chat.send("And now?")

    assert first == Fruit(name="apple", grams=150)
    assert fruit.value is None


def test_a_turn_without_a_type_has_no_value() -> None:
    with ScriptedWire([APPLE]) as wire:
        assert Chat(wire=wire).send("Which?").value is None


@pytest.mark.parametrize(
    "type_",
    [
        open,
        list[threading.Thread],
        "Missing",
        call_by_answer,
        partial(call_by_answer, "a"),
        list[call_by_answer],  # type: ignore[valid-type]  # the same mistake
        Called,
    ],
)
def test_a_type_that_json_cannot_be_is_refused_before_anything_is_sent(type_: Any) -> None:
    with pytest.raises(BadUsage, match="An answer cannot be read as"):
        Chat(wire=ScriptedWire([])).send("Which?", as_=type_)


def test_a_named_tuple_is_a_type() -> None:
    with ScriptedWire(['{"value": [1, 2]}']) as wire:
        assert Chat(wire=wire).send("Which?", as_=Corner).value == Corner(1, 2)


@pytest.mark.parametrize(("type_", "strict"), [(Fruit, True), (City, True), (Point, False), (dict[str, int], False)])
def test_only_closed_types_without_defaults_are_strict(type_: Any, strict: bool) -> None:
    assert is_strict(schema_for(type_)[1]) is strict


def test_a_recursive_type_keeps_its_definitions() -> None:
    _, schema, is_wrapped = schema_for(Tree)

    assert not is_wrapped
    assert schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    with ScriptedWire(['{"children": [{"children": []}]}']) as wire:
        assert Chat(wire=wire).send("Grow.", as_=Tree).value == Tree(children=[Tree(children=[])])


class Mood(Enum):
    KIND = "kind"
    RUDE = "rude"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("type_", "answer", "value"),
    [
        (bool, "Yes", True), (bool, "no.", False), (bool, "**True**", True), (Mood, "kind", Mood.KIND),
        (Mood, '"rude".', Mood.RUDE), (Literal["a", "b"], "`b`", "b"), (date, "2026-11-29", date(2026, 11, 29)),
        (str | None, "It is kind.", "It is kind."), (Decimal, "1.10", Decimal("1.1")),
    ],
)  # fmt: skip
def test_an_answer_without_json_counts_if_the_whole_of_it_is_a_value(type_: Any, answer: str, value: Any) -> None:
    assert Chat(wire=ScriptedWire([answer])).send("Which?", as_=type_).value == value


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("type_", "answer"),
    [
        (bool, "It is kind"),
        (int, "about 42"),
        (Mood, "kind or rude"),
        (list[str], "a, b"),
        (Fruit, "an apple"),
        (float, "3,5"),
    ],
)
def test_words_around_a_value_are_asked_about_again(type_: Any, answer: str) -> None:
    turn = Chat(wire=ScriptedWire([answer] * 3)).send("Which?", as_=type_)

    assert isinstance(turn.error, InvalidAnswer)
