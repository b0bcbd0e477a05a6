"""Code that the practice model writes for `run_python`: from the prompt, and such that it runs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from nbtool.practice.code import MAX_TRIES, find_code
from nbtool.practice.phrases import UNDERSTOOD
from nbtool.practice.plan import Plan, make_plan
from nbtool.practice.request import parse_request
from tests.practice.asking import FRAME, TEXT, request, tool

TOOLS = [
    tool("run_python", "code", code=TEXT),
    tool("describe", "of", of=FRAME),
    tool("head", "of", of=FRAME),
    tool("price", "ticker", ticker=TEXT),
]
SYSTEM = "Objects:\n- $VAR_REF{{df}}: DataFrame"


def calls(prompt: str) -> list[tuple[str, dict[str, Any]]]:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
    planned = make_plan(parse_request({"model": "fast", "messages": messages, "tools": TOOLS}))
    return [(one.name, json.loads(one.arguments)) for one in planned.calls]


@pytest.mark.parametrize(
    ("prompt", "code"),
    [
        ("Use &`run_python` to compute df.describe()", "df.describe()"),
        ("Use &`run_python` to run `df.describe()`.", "df.describe()"),
        ('Use `run_python` to show "df.head(2)".', "df.head(2)"),
        ("Use &`run_python` to compute $`df`.describe().", "df.describe()"),
        ("Use &`run_python` to run `$`df`.head()`.", "df.head()"),
        ("Use &`run_python` to compute 2 + 3 * 4.", "2 + 3 * 4"),
        ("Run this with run_python:\n```python\nx = 1\nx + len(df)\n```", "x = 1\nx + len(df)"),
        ("Use &`run_python` on $`df`.", "df"),
        ("Count the rows of $`df` with &`run_python`.", "df"),
        ("Use run_python to run \"price('AAPL')\".", "price('AAPL')"),
        ("Use run_python: df['close'].mean()", "df['close'].mean()"),
    ],
)
def test_code_of_the_prompt_is_run_as_it_is_written_there(prompt: str, code: str) -> None:
    assert calls(prompt) == [("run_python", {"code": code})]
    assert ast.parse(code)


@pytest.mark.parametrize("prompt", ["Use run_python to print Hello.", 'Use &`run_python` for "the mean of it".'])
def test_words_are_not_taken_for_code(prompt: str) -> None:
    assert calls(prompt) == []


@pytest.mark.parametrize("name", [one["function"]["name"] for one in TOOLS])
def test_a_mention_inside_a_quoted_text_is_reported_by_its_name(name: str) -> None:
    assert calls(f'Use &`price` for "the &`{name}` of $`df`".') == [("price", {"ticker": f"the {name} of df"})]


def test_a_prompt_of_very_many_expressions_is_searched_to_a_limit() -> None:
    found = list(find_code("a.b " * (2 * MAX_TRIES), {"a"}))

    assert len(found) == MAX_TRIES


def answer(prompt: str) -> Plan:
    return make_plan(parse_request(request(prompt, tools=[])))


@pytest.mark.parametrize(
    ("prompt", "cell"),
    [
        ("Write a cell that runs `sum(range(10))`.", "sum(range(10))"),
        ("Show me code for 2 + 3", "2 + 3"),
        ("Fix this and write the corrected cell in full:\n```python\nx = 1\nprint(x)\n```", "x = 1\nprint(x)"),
        ("Give me some Python for $`df`.", "df"),
    ],
)
def test_a_request_for_code_is_answered_with_the_python_of_the_prompt(prompt: str, cell: str) -> None:
    reply = answer(prompt)

    assert reply.text.startswith(f"```python\n{cell}\n```\n\n")
    assert "not a language model" in reply.text


def test_without_python_in_the_prompt_the_cell_is_an_example_that_runs() -> None:
    reply = answer("Write a function that doubles a number.")
    cell = reply.text.removeprefix("```python\n").partition("\n```")[0]

    assert "writes no code of its own" in cell
    exec(compile(cell, "cell", "exec"), {})


def test_the_introduction_and_the_documentation_list_what_it_understands() -> None:
    documentation = (Path(__file__).parents[2] / "docs" / "practice.md").read_text()
    reply = answer("Good morning.").text

    for what, example in UNDERSTOOD:
        assert f"| {what} | {example} |" in documentation
        assert f"- {what}: {example}." in reply
