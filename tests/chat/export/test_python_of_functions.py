"""How the functions behind the tools are called: as the notebook has them, with what they take."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel

from nbtool import Approved, tool
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedApprover, call
from nbtool.tools.toolset import Toolset
from tests.chat.export.writing import export, make_chat, run


class Colour(Enum):
    RED = "red"


class Size(BaseModel):
    width: int
    height: int = 3


@dataclass
class Point:
    x: int
    when: date


def test_arguments_have_the_types_that_the_function_was_given() -> None:
    @tool(run="auto")
    def typed(
        when: date, colour: Colour, size: Size, point: Point, pair: tuple[int, str], tags: set[str], ratio: float
    ) -> Any:
        "Give everything back."
        return [when, colour, size, point, pair, tags, ratio]

    arguments = {
        "when": "2024-02-29",
        "colour": "red",
        "size": {"width": 2},
        "point": {"x": 1, "when": "2024-01-01"},
        "pair": [1, "b"],
        "tags": ["t"],
        "ratio": 2,
    }
    book: dict[str, Any] = {"typed": typed, "Colour": Colour, "Size": Size, "Point": Point, "datetime": "taken"}
    chat, turn = make_chat(book, call("typed", **arguments), tools=[typed])
    names = run(export(chat, turn, notebook=book), book)

    assert names["r1"] == turn.calls[0].result
    assert [type(one) for one in names["r1"]] == [date, Colour, Size, Point, tuple, set, float]
    assert names["datetime"] == "taken"


def test_arguments_are_where_the_signature_wants_them() -> None:
    @tool(run="auto")
    def odd(a: int, /, b: int = 2, *rest: int, c: int = 4, **more: Any) -> Any:
        "Give everything back."
        return [a, b, rest, c, more]

    calls = [
        {"a": 1},
        {"a": 1, "rest": [7, 8], "c": 5},
        {"a": 1, "b": 3, "for": 1, "a b": 2, "\ufb01": 3, "x": 4},
        {"a": 1, "rest": []},
    ]
    book: dict[str, Any] = {"odd": odd}
    chat, turn = make_chat(book, [ToolCall("odd", json.dumps(one)) for one in calls], tools=[odd])
    names = run(export(chat, turn, notebook=book), book)

    assert [one.status for one in turn.calls] == ["ok"] * 4
    assert [names[f"r{place}"] for place in (1, 2, 3, 4)] == [one.result for one in turn.calls]


@tool(run="auto")
async def later(n: int) -> int:
    "A number, later."
    await asyncio.sleep(0)
    return n


@tool(run="auto")
async def drops(n: int) -> AsyncIterator[str]:
    "Letters, one after another."
    for _ in range(n):
        yield "x"


@tool(run="auto")
def steps(n: int) -> Iterator[int]:
    "Numbers, one after another."
    yield from range(n)


@pytest.mark.parametrize("script", [False, True])
def test_asynchronous_tools_are_awaited_and_generators_gathered(script: bool) -> None:
    book: dict[str, Any] = {"later": later, "drops": drops, "steps": steps}
    chat, turn = make_chat(
        book, [call("later", n=3), call("drops", n=2), call("steps", n=3)], tools=[later, drops, steps]
    )
    code = export(chat, turn, notebook=book, script=script)
    names = run(code, book)

    assert ("await later(n=3)" in code.text) is not script
    assert [names["r1"], names["r2"], names["r3"]] == [one.result for one in turn.calls] == [3, "xx", [0, 1, 2]]


class Counter:
    "Counts."

    def __init__(self) -> None:
        self.count = 0

    @tool(run="auto")
    def add(self, n: int) -> int:
        "Add to the count."
        self.count += n
        return self.count


@pytest.mark.parametrize("named", [True, False])
def test_methods_and_prefixed_tools_are_the_objects_own(named: bool) -> None:
    counter = Counter()
    given = Toolset("t", [counter if named else Counter]).prefixed("my_")
    book: dict[str, Any] = {"counter": counter} if named else {"Counter": Counter}
    chat, turn = make_chat(book, [call("my_add", n=1), call("my_add", n=2)], tools=[given])
    code = export(chat, turn, notebook=book)
    names = run(code, {"counter": Counter()} if named else book)

    assert [names["r1"], names["r2"]] == [one.result for one in turn.calls] == [1, 3]
    assert "my_add" not in code.text


def test_functions_of_modules_are_imported_or_used_as_the_notebook_has_them() -> None:
    book: dict[str, Any] = {"js": json}
    chat, turn = make_chat(book, [call("dumps", obj=[1]), call("isleap", year=2024)],
                      tools=[json.dumps, calendar_isleap()],
                      approver=ScriptedApprover([Approved(), Approved()]))  # fmt: skip
    code = export(chat, turn, notebook=book)
    names = run(code, book)

    assert "js.dumps(obj=[1])" in code.text
    assert "import calendar" in code.text
    assert [names["r1"], names["r2"]] == ["[1]", True]


def calendar_isleap() -> Callable[..., bool]:
    import calendar

    return calendar.isleap


def test_a_function_that_has_no_name_is_reported_to_be_missing() -> None:
    chat, turn = make_chat({}, call("asked", n=1), tools=[asked_locally()], approver=ScriptedApprover([Approved()]))
    code = export(chat, turn, notebook={})

    assert (code.calls, code.omitted) == (0, {"unwritten": 1})
    assert "which has no name in the notebook" in code.text
    run(code, {})


def asked_locally() -> Any:
    def asked(n: int) -> int:
        "Twice a number."
        return 2 * n

    return asked


def test_a_redefined_function_is_used_and_reported() -> None:
    chat, turn = make_chat({}, call("asked", n=1), tools=[asked_locally()], approver=ScriptedApprover([Approved()]))
    again = {"asked": lambda n: -n}
    code = export(chat, turn, notebook=again)

    assert "# `asked` is the notebook's current function of this name" in code.text
    assert run(code, again)["r1"] == -1
