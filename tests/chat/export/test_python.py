"""The calls of a turn as plain Python, which gives the same objects when it is run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbtool import Approved, Chat, Denied, Released, ToolFailed, tool
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools.script.tool import script_tools
from tests.chat.export.writing import double_if_allowed, export, make_chat, note, run


@tool(run="auto")
def clean(df: pd.DataFrame, col: str, factor: float = 1.0) -> pd.DataFrame:
    "Drop rows where a column is missing."
    return df.dropna(subset=[col]).assign(**{col: lambda d: d[col] * factor})


@tool(run="auto")
def mean(values: Any) -> float:
    "The mean of values."
    return float(np.asarray(values, dtype=float).mean())


def frame() -> pd.DataFrame:
    return pd.DataFrame({"x": [1.0, None, 3.0], "y": ["a", "b", "c"]})


def test_a_chain_over_frames_runs_again_and_gives_the_same_objects() -> None:
    book: dict[str, Any] = {"df": frame(), "clean": clean, "mean": mean}
    chat, turn = make_chat(
        book,
        call("clean", df="$VAR_REF{{df}}", col="x", factor=2),
        call("mean", values="$VAR_REF{{clean_1_result['x']}}"),
        tools=[clean, mean],
        expose="df",
    )
    code = export(chat, turn, notebook=book)
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
    chat, turn = make_chat(
        book,
        call("mean", values="$VAR_REF{{array[1]}}"),
        call(
            "both", rows=["$VAR_REF{{array}}", "$VAR_REF{{data['a'][2]['b']}}", 1], extra={"deep": "$VAR_REF{{data}}"}
        ),
        tools=[mean, both],
        expose="array data",
    )
    names = run(export(chat, turn, notebook=book), book)

    assert names["r1"] == turn.calls[0].result == 4.0
    assert names["r2"][0] is array
    assert names["r2"][1:] == turn.calls[1].result[1:] == [7, 1, {"deep": data}]


def test_a_series_is_counted_by_position_as_references_do() -> None:
    book: dict[str, Any] = {"s": pd.Series([10, 20], index=[1, 0]), "mean": mean}
    chat, turn = make_chat(book, call("mean", values="$VAR_REF{{s[0]}}"), tools=[mean], expose="s")
    code = export(chat, turn, notebook=book)

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
    chat, turn = make_chat(book, call("note", text=text), tools=[note], expose="name n data")
    code = export(chat, turn, notebook=book)

    assert expected in code.text
    assert run(code, book)["r1"] == turn.calls[0].result


def test_a_text_that_str_does_not_give_is_written_out_and_reported() -> None:
    book: dict[str, Any] = {"df": frame(), "note": note}
    with ScriptedWire([call("note", text="Table: $VAR_REF{{df:0:9}}."), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[note], notebook=book)
        chat.variables.expose("df", readable=True)
        turn = chat.send("Go.")
    code = export(chat, turn, notebook=book)

    assert "# The text of `df` was rendered by nbtool" in code.text
    assert run(code, book)["r1"] == turn.calls[0].result


@pytest.mark.promise("by-reference")
def test_values_that_were_exposed_by_reference_only_are_not_copied() -> None:
    book: dict[str, Any] = {"df": pd.DataFrame({"who": ["SENTINEL"]}), "n": 90210, "note": note}
    calls = [call("note", text=f"Here: $VAR_REF{{{{{name}}}}}.") for name in ("df", "n")]
    chat, turn = make_chat(book, calls, tools=[note], expose="df n")
    code = export(chat, turn, notebook=book)

    assert [one.status for one in turn.calls] == ["ok", "ok"]
    assert "`df` was exposed by reference only, so its text is not copied" in code.text
    assert "SENTINEL" not in code.text
    assert "90210" not in code.text
    assert "n (int)" in code.text


def test_what_did_not_succeed_is_left_out_and_counted() -> None:
    @tool(run="auto")
    def broken() -> None:
        "Always fail."
        raise ToolFailed("no")

    book: dict[str, Any] = {"double_if_allowed": double_if_allowed, "broken": broken}
    chat, turn = make_chat(
        book,
        [
            call("double_if_allowed", n=1),
            call("double_if_allowed", n=2),
            call("broken"),
            call("nothing"),
            call("double_if_allowed", n="three"),
        ],
        call("double_if_allowed", n=4),
        tools=[double_if_allowed, broken],
        approver=ScriptedApprover([Approved(), Denied("no"), Denied("no")]),
    )
    code = export(chat, turn, notebook=book)

    assert code.omitted == {"denied": 2, "error": 1, "not_found": 1, "invalid": 1}
    assert "2 denied, 1 that failed, 1 of tools that do not exist, 1 with arguments that do not fit" in code.text
    assert (code.calls, run(code, book)["r1"]) == (1, 2)
    assert "n=2" not in code.text


def test_a_call_that_uses_what_is_left_out_is_in_a_comment() -> None:
    book: dict[str, Any] = {"note": note}
    with ScriptedWire([call("note", text="x" * 300), call("note", text="$VAR_REF{{note_1_result}}"), "Done."]) as wire:
        chat = Chat(wire=wire, tools=[note], notebook=book)
        turn = chat.send("Go.")
    turn.calls[0].status = "unknown"
    code = export(chat, turn, notebook=book)

    assert code.calls == 0
    assert "# Not exported: note(" in code.text
    assert "a call that did not succeed" in code.text
    assert run(code, book).keys() - book.keys() == {"__builtins__"}


def test_edited_arguments_are_those_that_ran() -> None:
    book: dict[str, Any] = {"double_if_allowed": double_if_allowed}
    approver = ScriptedApprover([Approved(arguments={"n": 21})])
    chat, turn = make_chat(book, call("double_if_allowed", n=1), tools=[double_if_allowed], approver=approver)
    code = export(chat, turn, notebook=book)

    assert "double_if_allowed(n=21)" in code.text
    assert run(code, book)["r1"] == turn.calls[0].result == 42


def test_a_result_that_was_edited_is_the_text_that_a_person_put_there() -> None:
    @tool(run="auto", result="always")
    def secret() -> str:
        "Give something away."
        return "SECRET"

    book: dict[str, Any] = {"secret": secret, "note": note}
    chat, turn = make_chat(
        book,
        call("secret"),
        call("note", text="$VAR_REF{{secret_1_result}}"),
        tools=[secret, note],
        approver=ScriptedApprover([Released(text="nothing")]),
    )
    code = export(chat, turn, notebook=book)
    names = run(code, book)

    assert turn.calls[1].result == "<nothing>"
    assert names["r3"] == "<nothing>"
    assert "SECRET" not in code.cells[-1].source


def test_names_clash_with_nothing() -> None:
    book: dict[str, Any] = {
        "r1": "mine",
        "r3": 3,
        "str": "shadowed",
        "n": 12,
        "note": note,
        "double_if_allowed": double_if_allowed,
    }
    chat, turn = make_chat(
        book,
        call("note", text="$VAR_REF{{n:0:1}}"),
        call("note", text="b"),
        tools=[note],
        expose="n",
    )
    code = export(chat, turn, notebook=book)
    names = run(code, book)

    assert (names["r1"], names["r3"]) == ("mine", 3)
    assert [names["r2"], names["r4"]] == [one.result for one in turn.calls] == ["<1>", "<b>"]


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
    code = export(chat, second, notebook=book, before=[first])

    assert f"# Needed from the turn {first.turn_id}" in code.text
    assert "other" not in code.text
    assert run(code, book)["r2"] == second.calls[0].result


def test_calls_that_a_script_of_the_model_made_are_written() -> None:
    book: dict[str, Any] = {"note": note}
    chat, turn = make_chat(
        book,
        call("RunScript", script='for word in ("a", "b"):\n    note(text=word)'),
        tools=[note, script_tools()],
        approver=ScriptedApprover([Approved()]),
    )
    names = run(export(chat, turn, notebook=book), book)

    assert [names["r1"], names["r2"]] == ["<a>", "<b>"]
