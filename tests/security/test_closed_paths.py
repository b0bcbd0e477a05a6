"""What a path takes out of an object that was exposed by reference alone stays closed, whatever a tool makes of it.

Every kind of value, taken by a path or a slice, goes through every way in which a tool can hand it on; then the result
is referred to again, read, listed, and handed on once more. None of it is told.
"""

# ruff: noqa: ARG005 - a tool names its parameter, whether it reads it or not

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nbtool import Approved, Released, ToolFailed, Withheld, tool
from nbtool.messages import Media
from nbtool.tools.calls.disclosure import MAX_UNREADABLE
from nbtool.tools.calls.normalized_tables import MAX_INSPECTED
from nbtool.tools.script.tool import script_tools
from nbtool.tools.tool import as_tools
from nbtool.tools.values.named_parts import MultipartResult
from nbtool.tools.variable_tools import variable_tools
from tests.tools.calling import ToolHarness, ask_for, make_harness

WORDS = ("SENTINEL", "90210", "7351.25", "Q7", "1987")
"""What must not be told; each value below holds one of them."""

FRAME = pd.DataFrame({"who": ["SENTINEL of a frame"], "mass": [90210], "when": [pd.Timestamp("1987-06-05")]})
OBJECTS: dict[str, Any] = {
    "record": {"text": "SENTINEL", "short": "Q7", "number": 90210, "float": 7351.25, "bytes": b"SENTINEL"},
    "nested": [{"rows": [["SENTINEL", 90210]], "one": {"short": "Q7"}}],
    "dates": [dt.date(1987, 6, 5), decimal.Decimal("7351.25")],
    "frame": FRAME,
    "polars": pl.DataFrame({"who": ["SENTINEL"]}),
    "array": np.array([7351.25, 90210.0]),
    "texts": np.array(["SENTINEL"]),
    "text": 'It is SENTINEL, "the" one.',
}
PATHS = (
    "record['text']", "record['short']", "record['number']", "record['float']", "record['bytes']",
    "nested[0]", "nested[0]['rows']", "nested[0]['rows'][0][0]", "nested[0]['rows'][0][1]", "nested[0]['one']",
    "dates[0]", "dates[1]", "frame['who']", "frame['who'][0]", "frame['mass'][0]", "frame['when'][0]",
    "polars['who'][0]", "array[0]", "texts[0]", "text", "text:6:8", "text:0", "record:0", "array:0",
)  # fmt: skip


@dataclass
class Holder:
    held: Any


class Own:
    """Tells what it holds in a text of its own."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __repr__(self) -> str:
        return f"<{self.held}>"


def quietly_false(it: Any) -> Any:
    raise ToolFailed(f"There is no {it} here.")


def loudly_false(it: Any) -> Any:
    raise KeyError(it)


def pieces(it: Any) -> Iterator[Any]:
    yield "It is "
    yield str(it)


async def later(it: Any) -> Any:
    return [it]


async def pieces_later(it: Any) -> AsyncIterator[Any]:
    yield it


WAYS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda it: it,
    "in a list": lambda it: ["first", it],
    "in a tuple": lambda it: (1, (it,)),
    "in a dict": lambda it: {"a": {"b": it}},
    "as a text": lambda it: f"I was given {it}, it says.",
    "as its text alone": lambda it: str(it),
    "as the bytes of its text": lambda it: str(it).encode(),
    "in the bytes of a text": lambda it: f"I was given {it}, it says.".encode(),
    "in a record": lambda it: Holder(it),
    "in an object": lambda it: Own(it),
    "in a part": lambda it: MultipartResult("some words", value=it),
    "among many": lambda it: [*range(9_999), it],
    "beyond what is looked at": lambda it: [*range(MAX_INSPECTED + 1), it],
    "in a frame": lambda it: pd.DataFrame({"a": [it]}),
    "as a kind of file": lambda it: Media("application/octet-stream", it) if isinstance(it, bytes) else it,
    "in words of its own": quietly_false,
    "as an error": loudly_false,
    "piece by piece": pieces,
    "later": later,
    "piece by piece, later": pieces_later,
}


def runtime_with(way: Callable[[Any], Any], **how: Any) -> ToolHarness:
    work = make_harness(tool(way, name="hands_on", run="auto"), **how)
    for toolset in (variable_tools(work.runtime.variables), script_tools()):
        work.runtime.tools.add(toolset)
    for name, value in OBJECTS.items():
        work.runtime.variables.expose(name, value)
    return work


SCRIPT = """
found = hands_on("$VAR_REF{{PATH}}")
again = hands_on(found)
print(str(again)[::-1], again)
print(*[letter for letter in str(again)])
again
"""
"""Computes with what a call gave: no comparison of words would find it in what is printed."""


def shown_texts(work: ToolHarness) -> str:
    return "\n".join(event.shown for event in work.of("call_finished"))


def assert_visible(text: str) -> list[str]:
    return [word for word in WORDS if word in text]


@pytest.mark.sampled(3)
@pytest.mark.timeout(300)  # looks at 100,000 values for each path, which tracing for coverage lengthens
@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("way", WAYS)
def test_what_a_path_takes_out_is_in_no_result_and_no_error_and_the_result_is_closed_too(way: str) -> None:
    for path in PATHS:
        work = runtime_with(WAYS[way])
        first = work.run(ask_for("hands_on", it=f"$VAR_REF{{{{{path}}}}}"))
        again = work.run(
            ask_for("ListVars"),
            ask_for("ReadVar", name=first.reference or "none"),
            ask_for("hands_on", it=f"$VAR_REF{{{{{first.reference or 'text'}}}}}"),
        )

        assert first.status in ("ok", "withheld"), (path, first.shown)
        assert again.status in ("ok", "withheld"), (path, again.shown)
        assert assert_visible(shown_texts(work)) == [], path
        assert not first.reference or not work.runtime.variables.get(first.reference).is_readable, path


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("path", PATHS)
def test_what_a_script_makes_of_it_waits_for_a_person(path: str) -> None:
    def approver(question: Any) -> Any:
        if question.gate == "result":
            waited.append(question.tool)
            return Withheld()
        return Approved()

    waited: list[str] = []
    work = runtime_with(lambda it: it, approver=approver)

    record = work.run(ask_for("RunScript", script=SCRIPT.replace("PATH", path)))

    assert (record.status, waited) == ("withheld", ["RunScript"]), record.shown
    assert assert_visible(shown_texts(work)) == []
    assert shown_texts(work)[::-1].count("LENITNES") == 0


def test_a_person_can_release_what_a_script_made_of_it() -> None:
    work = runtime_with(lambda it: it, approver=lambda asked: Approved() if asked.gate == "run" else Released())

    record = work.run(ask_for("RunScript", script='len(hands_on("$VAR_REF{{text}}"))'))

    assert (record.status, record.shown) == ("ok", "26")


def test_a_script_that_gives_the_object_itself_receives_its_shape_and_nobody_is_asked() -> None:
    asked: list[str] = []
    work = runtime_with(lambda it: it, approver=lambda question: asked.append(question.gate) or Approved())

    record = work.run(ask_for("RunScript", script='hands_on("$VAR_REF{{frame}}")'))

    assert record.shown.startswith("DataFrame, 1 row by 3 columns")
    assert asked == ["run"]


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize(
    "last",
    [
        'WriteVar("note", found)',
        "ReadVar(found)",
        "outside(found)",
        'ask("What is " + found[::-1] + "?")',
        "try:\n    ask(found)\nexcept ToolFailed as error:\n    print(error)",
    ],
)
def test_a_script_with_closed_values_writes_no_notes_and_asks_no_other_model_and_no_server(last: str) -> None:
    got: list[str] = []
    work = runtime_with(lambda it: it, approver=lambda asked: Approved() if asked.gate == "run" else Withheld())
    inner, outside = as_tools(tool(got.append, name="ask"))[0], as_tools(tool(got.append, name="outside"))[0]
    for one, sends_to in ((inner, "model"), (outside, "server")):
        work.runtime.tools.add(replace(one, sends_to=sends_to))  # type: ignore[arg-type]  # one of its words
    script = f"found = hands_on(\"$VAR_REF{{{{record['text']}}}}\")\n{last}"

    record = work.run(ask_for("RunScript", script=script))

    assert record.status == "withheld"
    assert got == []
    assert "note" not in [entry.name for entry in work.runtime.variables.list_entries()]
    assert assert_visible(shown_texts(work) + shown_texts(work)[::-1]) == []


def test_what_a_script_keeps_under_the_name_of_a_tool_stays_closed() -> None:
    work = runtime_with(lambda it: it, approver=lambda asked: Approved() if asked.gate == "run" else Withheld())
    stored = tool(lambda it: it, name="kept", run="auto", store_as="kept_value")
    work.runtime.tools.add(stored)

    work.run(ask_for("RunScript", script="kept(hands_on(\"$VAR_REF{{record['number']}}\") + 1 - 1)"))

    assert not work.runtime.variables.get("kept_value").is_readable
    assert assert_visible(shown_texts(work)) == []


@pytest.mark.parametrize(
    ("way", "shown"),
    [
        (lambda it: len(str(it)), "5"),
        (lambda it: f"{float(it) / 3:.3f}", "30070.000"),
        (lambda it: [902, 10, "902", None, True, 9021, "190210"], '[902, 10, "902", null, true, 9021, "190210"]'),
        (lambda it: None, "None"),
        (lambda it: {}, "{}"),
    ],
)
def test_what_a_tool_computes_of_it_is_sent(way: Callable[[Any], Any], shown: str) -> None:
    work = runtime_with(way)

    record = work.run(ask_for("hands_on", it="$VAR_REF{{record['number']}}"))

    assert (record.status, record.shown) == ("ok", shown)


def test_what_was_opened_is_sent_in_every_way() -> None:
    for name, way in WAYS.items():
        work = runtime_with(way)
        work.runtime.variables.expose("open", ["hello there"], readable=True)
        record = work.run(ask_for("hands_on", it="$VAR_REF{{open[0]}}"))
        assert record.status in ("ok", "error")
        assert "hello" in record.shown or name in ("in a part", "beyond what is looked at", "among many")


def test_a_call_with_more_closed_values_than_are_compared_reveals_none_of_them() -> None:
    work = runtime_with(lambda it: [one.swapcase() for one in it])

    record = work.run(ask_for("hands_on", it=["$VAR_REF{{record['text']}}"] * (MAX_UNREADABLE + 1)))

    assert record.shown.startswith(f"list, {MAX_UNREADABLE + 1} items\n")
