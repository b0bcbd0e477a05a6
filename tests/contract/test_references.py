"""A model learns the name, type and shape of an object and no value in it; a tool gets the object itself.

A reference reaches only what was exposed, and one whose object is gone is an error, never another object.
"""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

import pandas as pd
import pytest

from nbtool import Progress, tool
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, call
from tests.contract.tools import KEEP_CELL, SECRET, keeping


def table() -> pd.DataFrame:
    return pd.DataFrame({"city": [SECRET, "Oslo"], "people": [1_346_332, 717_710]})


@pytest.mark.promise("by-reference")
def test_an_exposed_frame_is_described_by_name_type_and_shape(model: Provider) -> None:
    model.say("Fine.")
    chat = model.chat()
    chat.expose(df=table())

    chat.send("What is in df?")

    shown = model.requests[0].text
    assert all(word in shown for word in ("df", "DataFrame", "2 rows", "city", "people"))


@pytest.mark.promise("by-reference")
def test_no_value_of_an_exposed_frame_is_sent(model: Provider) -> None:
    model.say("Fine.")
    chat = model.chat()
    chat.expose(df=table())

    chat.send("What is in df?")

    assert SECRET not in model.everything
    assert "1346332" not in model.everything


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize(
    "value",
    [[SECRET, 2], {"k": SECRET}, SECRET, {SECRET: 1}, pd.Series([SECRET], name="x"), (SECRET,), b"Zanzibar"],
    ids=lambda value: type(value).__name__,
)
def test_no_value_of_any_kind_of_object_is_sent(model: Provider, value: Any) -> None:
    model.say("Fine.")
    chat = model.chat()
    chat.expose(thing=value)

    chat.send("What is thing?")

    assert "thing" in model.requests[0].text
    assert SECRET not in model.everything


@pytest.mark.promise("by-reference")
def test_a_tool_that_returns_its_input_does_not_disclose_it(model: Provider) -> None:
    @tool(run="auto")
    def same(data: Any) -> Any:
        "Give it back."
        return data

    model.say(call("same", data="$VAR_REF{{df}}"), "Done.")
    chat = model.chat(tools=[same])
    chat.expose(df=table())

    turn = chat.send("Give me df.")

    assert turn.calls[0].status == "ok"
    assert SECRET not in model.everything


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("path", ["rec[0]['v']", "rec[0]", "rec"])
def test_no_part_that_a_path_selects_is_disclosed(model: Provider, path: str) -> None:
    @tool(run="auto")
    def same(data: Any) -> Any:
        "Give it back."
        return data

    model.say(call("same", data=f"$VAR_REF{{{{{path}}}}}"), "Done.")
    chat = model.chat(tools=[same])
    chat.expose(rec=[{"v": SECRET}])

    assert chat.send("Give it to me.").calls[0].status == "ok"
    assert SECRET not in model.everything


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("form", ["to_csv", "to_json", "to_html", "to_dict", "to_string"])
def test_a_result_that_has_the_values_of_its_input_in_another_form_is_described(model: Provider, form: str) -> None:
    @tool(run="auto")
    def rewrite(data: Any) -> Any:
        "Write it in another form."
        return getattr(data, form)()

    model.say(call("rewrite", data="$VAR_REF{{df}}"), "Done.")
    chat = model.chat(tools=[rewrite])
    chat.expose(df=table())

    assert chat.send("Rewrite it.").calls[0].status == "ok"
    assert SECRET not in model.everything


@pytest.mark.promise("by-reference")
@pytest.mark.parametrize("way", ["print", "warn", "log", "progress", "raise", "note", "cause"])
def test_what_a_tool_says_of_its_input_beside_its_result_is_not_sent(model: Provider, way: str) -> None:
    @tool(run="auto")
    def say(data: pd.DataFrame) -> Any:
        "Say something of it."
        text = f"It is {data.to_dict()}"
        match way:
            case "print":
                sys.stdout.write(text)
            case "warn":
                warnings.warn(text, stacklevel=1)
            case "log":
                logging.getLogger("lab").warning(text)
            case "raise" | "cause":
                raise ValueError("no" if way == "cause" else text) from KeyError(text)
            case "note":
                error = ValueError("no")
                error.add_note(text)
                raise error
        yield Progress(text if way == "progress" else "half", 0.5)
        return "said"

    model.say(call("say", data="$VAR_REF{{df}}"), "Done.")
    chat = model.chat(tools=[say])
    chat.expose(df=table())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        turn = chat.send("Say it.")

    assert turn.status == "completed"
    statuses = {"raise": "withheld", "note": "withheld", "cause": "error"}
    assert turn.calls[0].status == statuses.get(way, "ok")
    assert SECRET not in model.everything


@pytest.mark.promise("by-reference")
def test_what_a_tool_computes_from_a_reference_is_sent(model: Provider) -> None:
    @tool(run="auto")
    def total(data: pd.DataFrame) -> int:
        "Sum of people."
        return int(data["people"].sum())

    model.say(call("total", data="$VAR_REF{{df}}"), "2,064,042.")
    chat = model.chat(tools=[total])
    chat.expose(df=table())

    chat.send("How many people?")

    assert "2064042" in model.requests[1].text


@pytest.mark.promise("by-reference")
def test_an_exposed_name_that_may_be_read_can_be_read(model: Provider) -> None:
    model.say(call("ReadVar", name="note"), "It is Zanzibar.")
    chat = model.chat()
    chat.expose(read=True, note=SECRET)

    turn = chat.send("What is note?")

    assert turn.calls[0].status == "ok"
    assert SECRET in model.requests[1].text


@pytest.mark.promise("by-reference")
def test_an_exposed_name_that_may_not_be_read_is_not_read(model: Provider) -> None:
    model.say(call("ReadVar", name="note"), "I cannot.")
    chat = model.chat()
    chat.expose(note=SECRET)

    turn = chat.send("What is note?")

    assert turn.calls[0].status == "withheld"
    assert SECRET not in model.everything


@pytest.mark.promise("by-reference")
def test_a_variable_of_a_cell_is_sent_without_its_values(notebook: Notebook, model: Provider) -> None:
    model.say("Fine.")
    notebook.names["df"] = table()

    notebook.ask("Look at df.", "-v df")

    assert "DataFrame" in model.requests[0].text
    assert SECRET not in model.everything


@pytest.mark.promise("by-reference")
def test_a_mention_in_a_cell_exposes_a_variable_without_its_values(notebook: Notebook, model: Provider) -> None:
    model.say("Fine.")
    notebook.names["df"] = table()

    notebook.ask("Look at $`df`.")

    assert "DataFrame" in model.requests[0].text
    assert SECRET not in model.everything


@pytest.mark.promise("by-reference")
def test_braces_dollars_and_formulas_of_a_prompt_are_sent_as_typed(notebook: Notebook, model: Provider) -> None:
    model.say("Fine.")
    notebook.names["x"] = SECRET

    notebook.ask(r"Why $\sum_{x} {x}$ and {{x}}?")

    assert r"Why $\sum_{x} {x}$ and {{x}}?" in model.requests[0].text
    assert SECRET not in model.everything


@pytest.mark.promise("same-object")
def test_an_argument_that_is_a_reference_is_the_object_itself(model: Provider) -> None:
    received: list[Any] = []
    model.say(call("keep", data="$VAR_REF{{df}}"), "Done.")
    chat, frame = model.chat(tools=[keeping(received)]), table()
    chat.expose(df=frame)

    chat.send("Keep df.")

    assert received[0] is frame


@pytest.mark.promise("same-object")
def test_a_result_is_handed_on_as_the_object_itself(model: Provider) -> None:
    made, received = object(), list[Any]()

    @tool(run="auto", store_as="thing")
    def make() -> Any:
        "Make it."
        return made

    chat = model.chat(tools=[make, keeping(received)])
    model.say(call("make"), "Made.", lambda request: call("keep", data=f"$VAR_REF{{{{{first.calls[0].reference}}}}}"))
    first = chat.send("Make it.")
    model.say("Kept.")

    chat.send("Keep it.")

    assert received == [made]


@pytest.mark.promise("same-object")
def test_a_slice_of_a_text_is_that_part_of_it(model: Provider) -> None:
    received: list[Any] = []
    model.say(call("keep", data="$VAR_REF{{note:2:3}}"), "Done.")
    chat = model.chat(tools=[keeping(received)])
    chat.expose(note="abcdefgh")

    chat.send("Keep a part.")

    assert received == ["cde"]


@pytest.mark.promise("only-exposed")
@pytest.mark.parametrize(
    "reference",
    ["hidden", "df.shape", "df.__class__", "df['city'].max()", "__import__('os')", "df[len(df)]", "df['nobody']"],
)
def test_a_reference_reaches_nothing_else_and_calls_nothing(
    notebook: Notebook, model: Provider, reference: str
) -> None:
    notebook.run(KEEP_CELL)
    notebook.names.update(df=table(), hidden=SECRET)
    model.say(call("keep", data=f"$VAR_REF{{{{{reference}}}}}"), call("keep", data="$VAR_REF{{df}}"), "Kept one.")

    turn = notebook.ask("Keep it.", "-t keep -v df")

    assert [one.status for one in turn.calls] == ["invalid", "ok"]
    assert notebook.names["received"] == [notebook.names["df"]]
    assert SECRET not in model.everything


@pytest.mark.promise("only-exposed")
def test_an_error_about_an_unknown_reference_lists_nothing_of_the_object(model: Provider) -> None:
    model.say(call("keep", data="$VAR_REF{{rec['nobody']}}"), "I cannot.")

    chat = model.chat(tools=[keeping([])])
    chat.expose(rec={"private_key_name": 1})

    chat.send("Keep it.")

    assert "private_key_name" not in model.everything


@pytest.mark.promise("only-exposed")
def test_what_is_taken_away_cannot_be_referred_to_any_more(notebook: Notebook, model: Provider) -> None:
    notebook.run(KEEP_CELL)
    notebook.names["df"] = table()
    model.say("Fine.", call("keep", data="$VAR_REF{{df}}"), "I cannot.")
    notebook.ask("Look.", "-v df")

    turn = notebook.ask("Keep it.", "-t keep -v '!df'")

    assert turn.calls[0].status == "invalid"
    assert notebook.names["received"] == []


@pytest.mark.promise("dead-reference")
def test_a_deleted_name_is_an_error_that_names_it(notebook: Notebook, model: Provider) -> None:
    notebook.run(KEEP_CELL)
    notebook.names["df"] = table()
    model.say("Fine.", call("keep", data="$VAR_REF{{df}}"), "I cannot.")
    notebook.ask("Look.", "-v df -t keep")

    del notebook.names["df"]
    turn = notebook.ask("Keep it.")

    assert turn.calls[0].status == "invalid"
    assert "df" in turn.calls[0].shown
    assert notebook.names["received"] == []


@pytest.mark.promise("dead-reference")
def test_an_exposed_name_means_the_object_that_has_the_name_now(notebook: Notebook, model: Provider) -> None:
    notebook.run(KEEP_CELL)
    notebook.names["df"] = [1]
    model.say("Fine.", call("keep", data="$VAR_REF{{df}}"), "Done.")
    notebook.ask("Look.", "-v df -t keep")

    notebook.names["df"] = newer = [2]
    notebook.ask("Keep it.")

    assert notebook.names["received"][0] is newer
