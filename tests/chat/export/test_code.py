from __future__ import annotations

import ast
import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel

from nbtool import Approved, Chat, Denied, Released, ToolFailed, tool
from nbtool.chat.export.calls import Around
from nbtool.chat.export.code import Code, code_of
from nbtool.chat.turn import Turn
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools.script import script_tools
from nbtool.tools.toolset import Toolset
from nbtool.toolsets.python import notebook_python
from nbtool.toolsets.runner import Ran

HIDDEN = "\u202e\u2066\u200b\u2028\x85\x1b[31m"


@tool(run="auto")
def clean(df: pd.DataFrame, col: str, factor: float = 1.0) -> pd.DataFrame:
    "Drop rows where a column is missing."
    return df.dropna(subset=[col]).assign(**{col: lambda d: d[col] * factor})


@tool(run="auto")
def mean(values: Any) -> float:
    "The mean of values."
    return float(np.asarray(values, dtype=float).mean())


@tool(run="auto")
def note(text: str) -> str:
    "Give a text back."
    return f"<{text}>"


@tool
def asked(n: int) -> int:
    "Twice a number, once somebody allows it."
    return 2 * n


def talk(
    notebook: dict[str, Any], *replies: Any, tools: Any = (), expose: str = "", approver: Any = None, says: str = "Go."
) -> tuple[Chat, Turn]:
    """Make a chat of one turn that calls tools on what a notebook holds."""
    with ScriptedWire([*replies, "Done."]) as wire:
        chat = Chat(wire=wire, tools=tools, notebook=notebook, approver=approver)
        for name in expose.split():
            chat.variables.expose(name)
        turn = chat.send(says)
    return chat, turn


def written(chat: Chat, *turns: Turn, notebook: Mapping[str, Any], before: Any = (), **how: Any) -> Code:
    around = Around(chat.tools.tools(), chat.variables, notebook, **how)
    return code_of(turns, around, before=before)


def run(code: Code, notebook: Mapping[str, Any]) -> dict[str, Any]:
    """Run code as cells do, in a fresh namespace that has what the notebook has."""
    names = dict(notebook)
    for cell in code.cells:
        compiled = compile(cell.source, "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        given = eval(compiled, names)
        if inspect.iscoroutine(given):
            asyncio.run(given)
    return names


def frame() -> pd.DataFrame:
    return pd.DataFrame({"x": [1.0, None, 3.0], "y": ["a", "b", "c"]})


def test_a_chain_over_frames_runs_again_and_gives_the_same_objects() -> None:
    book: dict[str, Any] = {"df": frame(), "clean": clean, "mean": mean}
    chat, turn = talk(
        book,
        call("clean", df="$VAR_REF{{df}}", col="x", factor=2),
        call("mean", values="$VAR_REF{{clean_1_result['x']}}"),
        tools=[clean, mean],
        expose="df",
    )
    code = written(chat, turn, notebook=book)
    names = run(code, book)

    assert 'r1 = clean(df, col="x", factor=2.0)' in code.text
    assert 'r2 = mean(values=r1["x"])' in code.text
    pd.testing.assert_frame_equal(names["r1"], turn.calls[0].result)
    assert names["r2"] == turn.calls[1].result == 4.0
    assert "nbtool" not in code.text.replace("nbtool wrote this; running it needs neither nbtool", "")


def test_arrays_and_plain_data_are_reached_by_key_and_index() -> None:
    array, data = np.arange(6.0).reshape(2, 3), {"a": [1, 2, {"b": 7}]}
    book: dict[str, Any] = {"array": array, "data": data, "mean": mean, "both": None}

    @tool(run="auto")
    def both(rows: list[Any], extra: Any) -> list[Any]:
        "Give everything back."
        return [*rows, extra]

    book["both"] = both
    chat, turn = talk(
        book,
        call("mean", values="$VAR_REF{{array[1]}}"),
        call(
            "both", rows=["$VAR_REF{{array}}", "$VAR_REF{{data['a'][2]['b']}}", 1], extra={"deep": "$VAR_REF{{data}}"}
        ),
        tools=[mean, both],
        expose="array data",
    )
    names = run(written(chat, turn, notebook=book), book)

    assert names["r1"] == turn.calls[0].result == 4.0
    assert names["r2"][0] is array
    assert names["r2"][1:] == turn.calls[1].result[1:] == [7, 1, {"deep": data}]


def test_a_series_is_counted_by_position_as_references_do() -> None:
    book: dict[str, Any] = {"s": pd.Series([10, 20], index=[1, 0]), "mean": mean}
    chat, turn = talk(book, call("mean", values="$VAR_REF{{s[0]}}"), tools=[mean], expose="s")
    code = written(chat, turn, notebook=book)

    assert "s.iloc[0]" in code.text
    assert run(code, book)["r1"] == turn.calls[0].result == 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello $VAR_REF{{name}}!", 'note(text=f"Hello {name}!")'),
        ("$VAR_REF{{n}} {apples}", 'note(text=f"{n!s} {{apples}}")'),
        ("$VAR_REF{{name:1:2}}", "note(text=name[1:3])"),
        ("$VAR_REF{{n:1}}", "note(text=str(n)[1:])"),
        ("$VAR_REF{{data}}: yes", 'note(text=json.dumps(data, ensure_ascii=False) + ": yes")'),
        ("\\$VAR_REF{{name}} and $VAR_REF{{name}}", 'note(text=f"$VAR_REF{{{{name}}}} and {name}")'),
        ("\\$VAR_REF{{name}}", 'note(text="$VAR_REF{{name}}")'),
        ('say "it" $VAR_REF{{name}}', "note(text='say \"it\" ' + name)"),
    ],
)
def test_references_inside_a_text_become_the_same_text(text: str, expected: str) -> None:
    book: dict[str, Any] = {"name": "Ada", "n": 12.5, "data": {"k": [True, None]}, "note": note}
    chat, turn = talk(book, call("note", text=text), tools=[note], expose="name n data")
    code = written(chat, turn, notebook=book)

    assert expected in code.text
    assert run(code, book)["r1"] == turn.calls[0].result


def test_a_text_that_str_does_not_give_is_written_out_and_said() -> None:
    book: dict[str, Any] = {"df": frame(), "note": note}
    chat, turn = talk(book, call("note", text="Table: $VAR_REF{{df:0:9}}."), tools=[note], expose="df")
    code = written(chat, turn, notebook=book)

    assert "# The text of `df` is nbtool's own" in code.text
    assert run(code, book)["r1"] == turn.calls[0].result


def test_what_did_not_succeed_is_left_out_and_counted() -> None:
    @tool(run="auto")
    def broken() -> None:
        "Always fail."
        raise ToolFailed("no")

    book: dict[str, Any] = {"asked": asked, "broken": broken}
    chat, turn = talk(
        book,
        [call("asked", n=1), call("asked", n=2), call("broken"), call("nothing"), call("asked", n="three")],
        call("asked", n=4),
        tools=[asked, broken],
        approver=ScriptedApprover([Approved(), Denied("no"), Denied("no")]),
    )
    code = written(chat, turn, notebook=book)

    assert code.left_out == {"denied": 2, "error": 1, "not_found": 1, "invalid": 1}
    assert "2 denied, 1 that failed, 1 of tools that do not exist, 1 with arguments that do not fit" in code.text
    assert (code.calls, run(code, book)["r1"]) == (1, 2)
    assert "n=2" not in code.text


def test_a_call_that_uses_what_is_left_out_stands_in_a_comment() -> None:
    book: dict[str, Any] = {"note": note}
    with ScriptedWire([call("note", text="x" * 300), call("note", text="$VAR_REF{{note_1_result}}"), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[note], notebook=book)
        turn = chat.send("Go.")
    turn.calls[0].status = "unknown"
    code = written(chat, turn, notebook=book)

    assert code.calls == 0
    assert "# Not written: note(" in code.text
    assert "a call that did not succeed" in code.text
    assert run(code, book).keys() - book.keys() == {"__builtins__"}


def test_edited_arguments_are_those_that_ran() -> None:
    book: dict[str, Any] = {"asked": asked}
    approver = ScriptedApprover([Approved(arguments={"n": 21})])
    chat, turn = talk(book, call("asked", n=1), tools=[asked], approver=approver)
    code = written(chat, turn, notebook=book)

    assert "asked(n=21)" in code.text
    assert run(code, book)["r1"] == turn.calls[0].result == 42


def test_a_result_that_was_edited_is_the_text_that_a_person_put_there() -> None:
    @tool(run="auto", result="always")
    def secret() -> str:
        "Give something away."
        return "SECRET"

    book: dict[str, Any] = {"secret": secret, "note": note}
    chat, turn = talk(
        book,
        call("secret"),
        call("note", text="$VAR_REF{{secret_1_result}}"),
        tools=[secret, note],
        approver=ScriptedApprover([Released(text="nothing")]),
    )
    code = written(chat, turn, notebook=book)
    names = run(code, book)

    assert turn.calls[1].result == "<nothing>"
    assert names["r3"] == "<nothing>"
    assert "SECRET" not in code.text


def test_names_clash_with_nothing() -> None:
    book: dict[str, Any] = {"r1": "mine", "r3": 3, "str": "shadowed", "n": 12, "note": note, "asked": asked}
    chat, turn = talk(
        book,
        call("note", text="$VAR_REF{{n:0:1}}"),
        call("note", text="b"),
        tools=[note],
        expose="n",
    )
    code = written(chat, turn, notebook=book)
    names = run(code, book)

    assert (names["r1"], names["r3"]) == ("mine", 3)
    assert [names["r2"], names["r4"]] == [one.result for one in turn.calls] == ["<1>", "<b>"]


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
    chat, turn = talk(book, call("typed", **arguments), tools=[typed])
    names = run(written(chat, turn, notebook=book), book)

    assert names["r1"] == turn.calls[0].result
    assert [type(one) for one in names["r1"]] == [date, Colour, Size, Point, tuple, set, float]
    assert names["datetime"] == "taken"


def test_arguments_stand_where_the_signature_wants_them() -> None:
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
    chat, turn = talk(book, [ToolCall("odd", json.dumps(one)) for one in calls], tools=[odd])
    names = run(written(chat, turn, notebook=book), book)

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
    chat, turn = talk(book, [call("later", n=3), call("drops", n=2), call("steps", n=3)], tools=[later, drops, steps])
    code = written(chat, turn, notebook=book, script=script)
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
    chat, turn = talk(book, [call("my_add", n=1), call("my_add", n=2)], tools=[given])
    code = written(chat, turn, notebook=book)
    names = run(code, {"counter": Counter()} if named else book)

    assert [names["r1"], names["r2"]] == [one.result for one in turn.calls] == [1, 3]
    assert "my_add" not in code.text


def test_functions_of_modules_are_imported_or_used_as_the_notebook_has_them() -> None:
    book: dict[str, Any] = {"js": json}
    chat, turn = talk(book, [call("dumps", obj=[1]), call("isleap", year=2024)], tools=[json.dumps, calendar_isleap()],
                      approver=ScriptedApprover([Approved(), Approved()]))  # fmt: skip
    code = written(chat, turn, notebook=book)
    names = run(code, book)

    assert "js.dumps(obj=[1])" in code.text
    assert "import calendar" in code.text
    assert [names["r1"], names["r2"]] == ["[1]", True]


def calendar_isleap() -> Callable[..., bool]:
    import calendar

    return calendar.isleap


def test_a_function_that_has_no_name_is_said_to_be_missing() -> None:
    chat, turn = talk({}, call("asked", n=1), tools=[asked_locally()], approver=ScriptedApprover([Approved()]))
    code = written(chat, turn, notebook={})

    assert (code.calls, code.left_out) == (0, {"unwritten": 1})
    assert "which has no name in the notebook" in code.text
    run(code, {})


def asked_locally() -> Any:
    def asked(n: int) -> int:
        "Twice a number."
        return 2 * n

    return asked


def test_a_function_defined_anew_is_used_and_said_so() -> None:
    chat, turn = talk({}, call("asked", n=1), tools=[asked_locally()], approver=ScriptedApprover([Approved()]))
    anew = {"asked": lambda n: -n}
    code = written(chat, turn, notebook=anew)

    assert "# `asked` is what the notebook calls so now" in code.text
    assert run(code, anew)["r1"] == -1


def test_earlier_calls_are_written_where_a_later_turn_uses_them() -> None:
    book: dict[str, Any] = {"df": frame(), "clean": clean, "mean": mean, "note": note}
    with ScriptedWire(
        [
            [call("clean", df="$VAR_REF{{df}}", col="x"), call("note", text="other")],
            "Done.",
            call("mean", values="$VAR_REF{{clean_1_result['x']}}"),
            "Done.",
        ]
    ) as wire:
        chat = Chat(wire=wire, tools=[clean, mean, note], notebook=book)
        chat.variables.expose("df")
        first, second = chat.send("One."), chat.send("Two.")
    code = written(chat, second, notebook=book, before=[first])

    assert f"# Needed from the turn {first.turn_id}" in code.text
    assert "other" not in code.text
    assert run(code, book)["r2"] == second.calls[0].result


def test_code_of_the_model_stands_apart_and_is_marked() -> None:
    book: dict[str, Any] = {"note": note}

    def runner(code: str) -> Ran:
        names = dict(book)
        exec(code.rpartition("\n")[0], names)
        return Ran(
            output="", has_value=True, value=eval(code.rpartition("\n")[2], names), figures=(), error="", omitted=0
        )

    wrote = "r1 = [n * n for n in range(4)]\nsum(r1)"
    chat, turn = talk(
        book,
        call("run_python", code=wrote),
        call("note", text="=$VAR_REF{{run_python_1_result['value']}}"),
        tools=[notebook_python(runner), note],
        approver=ScriptedApprover([Approved()]),
    )
    code = written(chat, turn, notebook=book)
    names = run(code, book)

    (cell,) = [cell for cell in code.cells if cell.by_model]
    assert cell.source.startswith("# Written by the model")
    assert (names["r1"], names["r2"], names["r3"]) == ([0, 1, 4, 9], 14, "<=14>")


def test_calls_that_a_script_of_the_model_made_are_written() -> None:
    book: dict[str, Any] = {"note": note}
    chat, turn = talk(
        book,
        call("RunScript", script='for word in ("a", "b"):\n    note(text=word)'),
        tools=[note, script_tools()],
        approver=ScriptedApprover([Approved()]),
    )
    names = run(written(chat, turn, notebook=book), book)

    assert [names["r1"], names["r2"]] == ["<a>", "<b>"]


HOSTILE = [
    '"); import os; os.abort(); ("',
    "'''\"\"\"\\",
    "a\nimport os\nos.abort()",
    "a\r\nb\rc\x0cd",
    HIDDEN,
    "{__import__('os')}",
    "\\",
    "\\N{DIGIT ONE}",
    "# -*- coding: utf-7 -*-",
    "$VAR_REF{{",
    "\ud800",
    "\\$VAR_REF{{name}} {x}" + HIDDEN + "\\",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_of_the_model_stays_a_text(text: str) -> None:
    book: dict[str, Any] = {"note": note, "name": "Ada"}
    chat, turn = talk(
        book,
        [call("note", text=text), call("note", text=f"{text}$VAR_REF{{{{name}}}}"), ToolCall(f"no{text}", "{}")],
        tools=[note],
        expose="name",
        says=f"Do {text}",
    )
    code = written(chat, turn, notebook=book)
    names = run(code, book)

    ok = [one for one in turn.calls if one.status == "ok"]
    assert [names[f"r{place}"] for place in range(1, len(ok) + 1)] == [one.result for one in ok]
    assert not set("\u202e\u2066\u200b\u2028\x85\x1b\r\x0c") & set(code.text)


ODD_CODE = ["%matplotlib inline", "return 1", "from __future__ import annotations\n1", "a(", f"x = '{HIDDEN[0]}'"]


@pytest.mark.parametrize("wrote", ODD_CODE)
def test_code_of_the_model_cannot_break_or_hide_in_what_stands_around_it(wrote: str) -> None:
    book: dict[str, Any] = {"note": note}

    def runner(_: str) -> Ran:
        return Ran(output="", has_value=False, value=None, figures=(), error="", omitted=0)

    chat, turn = talk(
        book,
        [call("run_python", code=wrote), call("note", text="after")],
        tools=[notebook_python(runner), note],
        approver=ScriptedApprover([Approved()]),
    )
    code = written(chat, turn, notebook=book)

    assert run(code, book)["r1"] == "<after>"
    assert not set(HIDDEN[:4]) & set(code.text)


made: list[str] = []


class Watched(BaseModel):
    n: int

    def model_post_init(self, _: Any) -> None:
        made.append("one")


def test_no_validator_runs_on_arguments_of_unknown_origin() -> None:
    @tool(run="auto")
    def use(one: Watched) -> int:
        "Use it."
        return one.n

    book: dict[str, Any] = {"use": use, "Watched": Watched}
    chat, turn = talk(book, call("use", one={"n": 1}), tools=[use])
    made.clear()
    code = written(chat, turn, notebook=book, trusted=False)

    assert 'use(one={"n": 1})' in code.text
    assert not made
