"""Text and code of a model in written code: data stays data, and code stands apart."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from nbtool import Approved, tool
from nbtool.chat.export.model_code import MAX_CODE
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedApprover, call
from nbtool.toolsets.python import notebook_python
from nbtool.toolsets.runner_registry import CodeResult
from tests.chat.export.writing import export, make_chat, note, run

HIDDEN = "\u202e\u2066\u200b\u2028\x85\x1b[31m"


def test_code_of_the_model_is_apart_and_is_marked() -> None:
    book: dict[str, Any] = {"note": note}

    def runner(code: str) -> CodeResult:
        names = dict(book)
        exec(code.rpartition("\n")[0], names)
        return CodeResult(
            output="", has_value=True, value=eval(code.rpartition("\n")[2], names), figures=(), error="", omitted=0
        )

    wrote = "r1 = [n * n for n in range(4)]\nsum(r1)"
    chat, turn = make_chat(
        book,
        call("run_python", code=wrote),
        call("note", text="=$VAR_REF{{run_python_1_result['value']}}"),
        tools=[notebook_python(runner), note],
        approver=ScriptedApprover([Approved()]),
    )
    code = export(chat, turn, notebook=book)
    names = run(code, book)

    (cell,) = [cell for cell in code.cells if cell.by_model]
    assert cell.source.startswith("# Written by the model")
    assert (names["r1"], names["r2"], names["r3"]) == ([0, 1, 4, 9], 14, "<=14>")


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
    chat, turn = make_chat(
        book,
        [call("note", text=text), call("note", text=f"{text}$VAR_REF{{{{name}}}}"), ToolCall(f"no{text}", "{}")],
        tools=[note],
        expose="name",
        says=f"Do {text}",
    )
    code = export(chat, turn, notebook=book)
    names = run(code, book)

    ok = [one for one in turn.calls if one.status == "ok"]
    assert [names[f"r{place}"] for place in range(1, len(ok) + 1)] == [one.result for one in ok]
    assert not set("\u202e\u2066\u200b\u2028\x85\x1b\r\x0c") & set(code.text)


ODD_CODE = ["%matplotlib inline", "return 1", "from __future__ import annotations\n1", "a(", f"x = '{HIDDEN[0]}'"]


@pytest.mark.parametrize("wrote", ODD_CODE)
def test_code_of_the_model_cannot_break_or_hide_in_what_surrounds_it(wrote: str) -> None:
    book: dict[str, Any] = {"note": note}

    def runner(_: str) -> CodeResult:
        return CodeResult(output="", has_value=False, value=None, figures=(), error="", omitted=0)

    chat, turn = make_chat(
        book,
        [call("run_python", code=wrote), call("note", text="after")],
        tools=[notebook_python(runner), note],
        approver=ScriptedApprover([Approved()]),
    )
    code = export(chat, turn, notebook=book)

    assert run(code, book)["r1"] == "<after>"
    assert not set(HIDDEN[:4]) & set(code.text)


def test_code_that_is_too_long_to_be_checked_is_exported_as_a_comment_that_says_so() -> None:
    def runner(_: str) -> CodeResult:
        return CodeResult(output="", has_value=False, value=None, figures=(), error="", omitted=0)

    wrote = "x = 1\n" * (MAX_CODE // 6 + 1)
    chat, turn = make_chat(
        {}, call("run_python", code=wrote), tools=[notebook_python(runner)], approver=ScriptedApprover([Approved()])
    )
    code = export(chat, turn, notebook={})

    (cell,) = [cell for cell in code.cells if cell.by_model]
    assert cell.source.count("#   x = 1") == wrote.count("\n")
    assert f"code of at most {MAX_CODE:,} characters: this has {len(wrote):,}" in code.text
    assert "x" not in run(code, {})


made: list[str] = []


class WatchedModel(BaseModel):
    n: int

    def model_post_init(self, _: Any) -> None:
        made.append("one")


def test_no_validator_runs_on_arguments_of_unknown_origin() -> None:
    @tool(run="auto")
    def use(one: WatchedModel) -> int:
        "Use it."
        return one.n

    book: dict[str, Any] = {"use": use, "Watched": WatchedModel}
    chat, turn = make_chat(book, call("use", one={"n": 1}), tools=[use])
    made.clear()
    code = export(chat, turn, notebook=book, trusted=False)

    assert 'use(one={"n": 1})' in code.text
    assert not made
