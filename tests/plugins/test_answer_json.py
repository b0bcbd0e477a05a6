"""The JSON of an answer: what is read, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from nbtool import Chat
from nbtool.errors import InvalidAnswer
from nbtool.events import ReplyEnd, TextDelta
from nbtool.plugins.answer_json import CUT_OFF, NO_JSON, TOO_DEEP, find_values
from nbtool.plugins.structured import AT_LIMIT, SEVERAL, Structured
from nbtool.testing import ScriptedWire
from tests.cpu_time import check_growth


class Work(BaseModel):
    title: str
    n: int


class Ratio(BaseModel):
    x: float


A, B = '{"title": "a", "n": 1}', '{"title": "b", "n": 2}'


@pytest.mark.parametrize(
    ("type_", "said", "value"),
    [
        (Work, '{"title": "a", "n": 1,}', Work(title="a", n=1)),
        (Work, '{"title": "a,}", "n": 1 , }', Work(title="a,}", n=1)),
        (Work, '```json\n{"title": "a", "n": 1,\n}\n```', Work(title="a", n=1)),
        (list[Work], f"[{A}, {B},]", [Work(title="a", n=1), Work(title="b", n=2)]),
        (list[list[int]], "[[1, 2,], [3,],]", [[1, 2], [3]]),
        (Work, f"{A}\n{A}", Work(title="a", n=1)),
        (Work, f"As {{braces}} go, it is {A}", Work(title="a", n=1)),
        (Work, f"For n in [0, 1) and [see above]: {A} [1]", Work(title="a", n=1)),
        (Work, f"```json\n{A}", Work(title="a", n=1)),
        (Work, f'{{"name": "a draft"}} and then {A}', Work(title="a", n=1)),
        (int, "```\n5\n```", 5),
    ],
)
def test_json_that_has_one_meaning_is_read(type_: Any, said: str, value: Any) -> None:
    with ScriptedWire([said]) as wire:
        turn = Chat(wire=wire).send("Which?", as_=type_)

    assert (turn.status, turn.value) == ("completed", value)
    assert len(wire.prompts) == 1


@pytest.mark.parametrize(
    ("type_", "said", "problem"),
    [
        (Work, f"{A}\n{B}", SEVERAL.format(count=2)),
        (Work, f"```json\n{A}\n```\nor\n```json\n{B}\n```", SEVERAL.format(count=2)),
        (Work, '{"title": "a", "n": }', "its JSON is invalid at line 1, column 21: Expecting value"),
        (Work, 'It is\n{"title": "a" "n": 1}', "its JSON is invalid at line 2, column 15: Expecting ',' delimiter"),
        (Work, "{'title': 'a', 'n': 1}", "its JSON is invalid at line 1, column 2"),
        (Work, '{"title": "a", "n": 1,,}', "its JSON is invalid at line 1, column 23"),
        (Work, '{"title": "a"', CUT_OFF),
        (Work, '{"title": "a", "n": 1, "more": {"title": "b", "n": 2}', CUT_OFF),
        (list[Work], f'[{A}, {{"title": "b', CUT_OFF),
        (list[int], "[,]", "its JSON is invalid at line 1, column 2: Expecting value"),
        (Work, "I do not know.", NO_JSON),
        (float, "NaN", "NaN is no number of JSON"),
        (float, "-Infinity", "-Infinity is no number of JSON"),
        (float, '{"value": NaN}', "NaN is no number of JSON"),
        (list[float], "It is [1.0, NaN].", "NaN is no number of JSON"),
        (Ratio, '{"x": 1e999}', "1e999 is out of the range of numbers"),
        (float, '{"value": "NaN"}', "the answer: Input should be a valid number"),
        (Work, '{"a":' * 100_000, TOO_DEEP),
        (Work, '{"title": "a"}', "n: Field required"),
    ],
)
def test_what_cannot_be_read_is_named(type_: Any, said: str, problem: str) -> None:
    with pytest.raises(InvalidAnswer, match="The answer is not a valid") as raised:
        Structured(type_).parse(said)

    assert problem in str(raised.value)


def test_an_answer_that_was_cut_off_at_its_limit_is_called_so() -> None:
    cut = [TextDelta('{"title": "a"'), ReplyEnd("length", "length")]
    with ScriptedWire([cut]) as wire:
        turn = Chat(wire=wire).send("Which?", as_=Work)

    assert turn.status == "error"
    assert AT_LIMIT in str(turn.error)


def test_the_model_is_asked_again_with_the_problem() -> None:
    with ScriptedWire([f"{A}\n{B}", A]) as wire:
        turn = Chat(wire=wire).send("Which?", as_=Work)

    assert turn.value == Work(title="a", n=1)
    assert SEVERAL.format(count=2) in wire.prompts[1].messages[-1].text


@pytest.mark.parametrize("part", ["{", "[", "{x ", '{"', "[1,", '{"a":1}', "{a}", "```\n", '{"a":1,}'])
def test_the_time_is_linear_in_the_answer(part: str) -> None:
    check_growth(lambda size: find_values(part * size), (4_000, 40_000), room=3)
