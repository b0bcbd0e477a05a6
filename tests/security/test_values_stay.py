"""A secret in the cells of a frame leaves in no request, whatever the model and the tools do, until it is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nbtool import Chat, Released, ToolFailed, tool
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedApprover, call
from nbtool.tools.variable_tools import variable_tools
from nbtool.toolsets import inspection
from tests.security.model import answers, model, sent_text

SECRET = "SENTINEL"


@dataclass
class Patient:
    name: str


class Holder:
    """Quotes what it holds wherever it can."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __repr__(self) -> str:
        return f"Holder({self.held})"

    def _repr_llm_(self) -> str:
        return f"I hold {self.held}"


FRAME = pd.DataFrame({"who": [f"{SECRET}-1", f"{SECRET}-2"], "mass": [3700, 5076]})
OBJECTS = {
    "frame": FRAME,
    "column": FRAME["who"],
    "polars": pl.DataFrame({"who": pl.Series([SECRET]).cast(pl.Enum([SECRET]))}),
    "array": np.array([SECRET]),
    "table": {"who": SECRET},
    "names": [SECRET],
    "some": {SECRET},
    "text": f"{SECRET} is a text",
    "patient": Patient(SECRET),
    "holder": Holder(FRAME),
}


@tool(run="auto")
def same(it: Any) -> Any:
    """Give back what comes."""
    return it


@tool(run="auto")
def wrapped(it: Any) -> Any:
    """Give it back in other things."""
    return {"inside": [(it,)], "count": 1}


@tool(run="auto")
def fails(it: Any) -> Any:
    """Fail with an error that quotes its argument."""
    raise ValueError(f"could not convert {it if not hasattr(it, 'iloc') else it.iloc[0]}")


@tool(run="auto")
def number(n: int) -> int:
    """Take a number and nothing else."""
    return n


@tool(run="auto")
def with_default(n: int, it: Any = FRAME) -> int:
    """Have a frame as a default."""
    return n + len(it)


TOOLS = [same, wrapped, fails, number, with_default, inspection]


def chat_with(url: str, **how: Any) -> Chat:
    chat = Chat("ollama:tiny", base_url=url, max_rounds=80, tools=TOOLS, **how)
    chat.tools.add(variable_tools(chat.variables).filtered(["WriteVar", "RemoveVars"]))
    chat.expose(**OBJECTS)
    return chat


def everything_about(name: str) -> list[ToolCall]:
    """Make every call with which a model could try to read one variable."""
    whole = f"$VAR_REF{{{{{name}}}}}"
    looks = [call(look, name=name) for look in ("ReadVar", "describe", "columns", "head", "sample", "value_counts")]
    given = [call(given, it=whole) for given in ("same", "wrapped", "fails")]
    wrong = [
        call("number", n=whole),
        call("number", n=f"It is {whole}"),
        call("same", it=f"{whole[:-2]}['nothing']}}}}"),
    ]
    note = [call("WriteVar", name=f"copy-{name}", value=whole), call("ReadVar", name=f"copy-{name}")]
    return [*looks, *given, *wrong, *note]


def numbered(calls: list[ToolCall]) -> list[ToolCall]:
    """Give each call an id of its own, as a provider does."""
    return [ToolCall(made.name, made.arguments, f"c{at}") for at, made in enumerate(calls)]


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("name", OBJECTS)
def test_a_secret_in_a_value_leaves_in_no_request(name: str) -> None:
    results = [call("ReadVar", name=result) for result in ("same_1_result", "wrapped_1_result", "same_1_args")]
    rounds = [numbered(everything_about(name)), numbered([*results, call("ListVars", page_size=200)])]
    with model(*rounds, "Done.", "Again.") as server:
        chat = chat_with(server.url)
        turn = chat.send(f"Tell me all about $VAR_REF{{{{{name}}}}}.")
        again = chat.send("And now?")

    assert (turn.status, again.status, len(server.requests)) == ("completed", "completed", 4)
    assert [made.status for made in turn.calls if made.name in ("same", "wrapped", "WriteVar", "ListVars")] == [
        *("ok", "ok", "invalid", "ok", "ok")
    ]
    assert {made.status for made in turn.calls if made.name == "fails"} == {"withheld"}
    assert SECRET not in sent_text(server)


def test_a_preview_that_a_person_releases_is_what_leaves() -> None:
    approver = ScriptedApprover([("head", Released()), ("ReadVar", Released("[who is left out]"))])
    with model([call("head", name="frame", rows=1)], call("ReadVar", name="text"), "Done.") as server, approver:
        chat_with(server.url, approver=approver).send("Show me one row.")

    assert f"{SECRET}-1" in answers(server, 1)["call_0"]
    assert f"{SECRET}-2" not in sent_text(server)
    assert "[1 of 2 rows]" in sent_text(server)
    assert "[who is left out]" in sent_text(server)
    assert f"{SECRET} is a text" not in sent_text(server)


def test_an_object_that_is_handed_back_stays_what_it_is_and_can_be_passed_on() -> None:
    steps = [call("same", it="$VAR_REF{{frame}}"), call("same", it="$VAR_REF{{same_1_result}}")]
    with model(*steps, "Done.") as server:
        turn = chat_with(server.url).send("Pass it on.")

    assert turn.calls[0].shown.splitlines()[0].startswith("DataFrame, 2 rows by 2 columns: who (")
    assert turn.calls[1].result is FRAME


def test_an_error_that_says_nothing_of_the_values_is_reported_as_it_is() -> None:
    @tool(run="auto")
    def pick(frame: pd.DataFrame, column: str) -> float:
        """Add up a column."""
        return float(frame[column].sum())

    with model(call("pick", frame="$VAR_REF{{frame}}", column="weight"), "Sorry.") as server:
        chat = Chat("ollama:tiny", base_url=server.url, tools=[pick])
        chat.expose(frame=FRAME)
        chat.send("Go.")

    assert answers(server) == {"call_0": "KeyError: 'weight'"}


@pytest.mark.parametrize("decision", [Released(), Released("[one cell is no number]")])
def test_an_error_that_may_quote_a_value_waits_for_a_person(decision: Released) -> None:
    approver = ScriptedApprover([("fails", decision)])
    with model(call("fails", it="$VAR_REF{{column}}"), "I see.") as server, approver:
        turn = chat_with(server.url, approver=approver).send("Go.")

    assert turn.calls[0].status == "error"
    assert answers(server)["call_0"] == (decision.text or f"ValueError: could not convert {SECRET}-1")
    assert approver.questions[0].shown == f"ValueError: could not convert {SECRET}-1"


def test_where_nobody_can_be_asked_the_model_learns_that_it_failed_and_how_it_is_called() -> None:
    with model(call("fails", it="$VAR_REF{{column}}"), "I see.") as server:
        chat_with(server.url).send("Go.")

    answer = answers(server)["call_0"]
    assert answer.startswith("Nobody could be asked to release the text of its error (ValueError). Reason: ")
    assert SECRET not in sent_text(server)


def test_the_words_of_a_tool_itself_are_reported_as_they_are() -> None:
    @tool(run="auto")
    def careful(frame: pd.DataFrame) -> float:
        """Fail in words of its own."""
        raise ToolFailed(f"{len(frame)} rows are too few to say anything.")

    with model(call("careful", frame="$VAR_REF{{frame}}"), "I see.") as server:
        chat = Chat("ollama:tiny", base_url=server.url, tools=[careful])
        chat.expose(frame=FRAME)
        chat.send("Go.")

    assert answers(server) == {"call_0": "2 rows are too few to say anything."}


def test_values_that_were_opened_are_read_and_handed_back_without_a_question() -> None:
    steps = [call("ReadVar", name="frame"), call("same", it="$VAR_REF{{frame}}"), call("fails", it="$VAR_REF{{frame}}")]
    with model(*steps, "Done.") as server:
        chat = Chat("ollama:tiny", base_url=server.url, tools=TOOLS)
        chat.expose(read=True, frame=FRAME)
        turn = chat.send("Read it.")

    assert [made.status for made in turn.calls] == ["ok", "ok", "error"]
    assert all(SECRET in made.shown for made in turn.calls)
