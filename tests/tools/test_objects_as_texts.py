"""An object where a text is expected: its text takes its place, or the error says how it is written."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import pytest
from pydantic import Field

from nbtool.tools import tool
from nbtool.tools.values.model_text import render
from nbtool.turn_state import Call
from tests.tools.calling import ask_for, make_harness

FRAME = pd.DataFrame({"who": ["Ada", "Grace"]})
OBJECTS: dict[str, Any] = {
    "rows": ["Ada", {"n": 1}], "table": {"a": [1, 2]}, "frame": FRAME, "column": FRAME["who"], "array": np.arange(3),
    "number": 5, "flag": True, "nothing": None,
}  # fmt: skip


@tool(run="auto")
def say(text: str) -> str:
    """Say a text."""
    return text


@tool(run="auto")
def either(text: str | list[Any] | None = None, *more: str, **named: str) -> str:
    """Take a list as it is, and anything else as a text."""
    return f"{type(text).__name__} {text} {more} {named}"


@tool(run="auto")
def several(texts: list[str]) -> str:
    """Take texts."""
    return " ".join(texts)


@tool(run="auto")
def one_of(word: Literal["a", "b"], long: Annotated[str, Field(min_length=3)] = "long") -> str:
    """Take one of two words."""
    return word + long


def run_tool(tool: str, *, readable: bool = True, **arguments: Any) -> Call:
    work = make_harness(say, either, several, one_of)
    for name, value in OBJECTS.items():
        work.runtime.variables.expose(name, value, readable=readable)
    return work.run(ask_for(tool, **arguments))


@pytest.mark.parametrize("name", OBJECTS)
def test_what_was_opened_becomes_its_text_where_a_text_is_expected(name: str) -> None:
    whole, part = run_tool("say", text=f"$VAR_REF{{{{{name}}}}}"), run_tool("say", text=f"$VAR_REF{{{{{name}:0}}}}")

    assert whole.status == "ok", whole.shown
    assert whole.result == part.result == render(OBJECTS[name]).text


def test_an_item_becomes_its_text_too_and_the_person_is_informed() -> None:
    record = run_tool("say", text="$VAR_REF{{table['a']}}")

    assert record.result == "[1, 2]"
    assert str(record.resolved["text"]).endswith("($VAR_REF{{table['a']}}: list, 2 items (its text))")


def test_where_the_object_is_taken_it_stays_the_object() -> None:
    assert run_tool("either", text="$VAR_REF{{rows}}").result.startswith("list ['Ada'")
    assert run_tool("either", text="$VAR_REF{{nothing}}").result.startswith("NoneType None")
    assert run_tool("either", text="$VAR_REF{{table}}").result.startswith('str {"a": [1, 2]}')
    assert run_tool("either", named="$VAR_REF{{table}}").result.endswith("{'named': '{\"a\": [1, 2]}'}")


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("name", [name for name in OBJECTS if name != "nothing"])
def test_what_is_closed_is_refused_with_the_way_to_write_it(name: str) -> None:
    record = run_tool("say", readable=False, text=f"$VAR_REF{{{{{name}}}}}")

    assert record.status == "invalid"
    assert f"$VAR_REF{{{{{name}:0}}}}" in record.shown
    assert run_tool("say", readable=False, text=f"$VAR_REF{{{{{name}:0}}}}").status == "ok"


def test_in_a_list_and_for_an_item_the_error_says_how_it_is_written() -> None:
    assert "$VAR_REF{{table:0}}" in run_tool("several", texts=["$VAR_REF{{table}}"]).shown
    item = run_tool("say", readable=False, text="$VAR_REF{{table['a']}}")
    assert "'See $VAR_REF{{table['a']}}'" in item.shown
    assert run_tool("say", readable=False, text="See $VAR_REF{{table['a']}}").status == "ok"


def test_one_of_a_few_words_is_no_place_for_a_text_of_an_object() -> None:
    assert run_tool("one_of", word="$VAR_REF{{rows}}").status == "invalid"
    assert run_tool("one_of", word="a", long="$VAR_REF{{rows}}").status == "ok"


@pytest.mark.parametrize("reference", ["$VAR_REF{{name}}", "$VAR_REF{{table:0}}"])
def test_the_error_for_a_text_that_does_not_fit_has_no_hint_for_objects(reference: str) -> None:
    work = make_harness(one_of, notebook={"name": "Ada", "table": {"a": 1}}, expose=["name", "table"])
    record = work.run(ask_for("one_of", word=reference))

    assert record.status == "invalid"
    assert "string" in record.shown
    assert "its text" not in record.shown
