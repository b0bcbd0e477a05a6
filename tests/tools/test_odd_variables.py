"""Variables whose objects are gone, closed, or meant by more than one name."""

from __future__ import annotations

import pandas as pd
import pytest
from pydantic import BaseModel

from nbtool.errors import ToolFailed, UnknownReference
from nbtool.tools import tool
from nbtool.tools.calls.binding import bind
from nbtool.tools.calls.disclosure import may_leak
from nbtool.tools.schema.parameters import parameters_of
from nbtool.tools.tool import as_tools
from nbtool.tools.variables.references import resolve
from nbtool.tools.variables.store import MAX_INVALID, Variables


def test_an_error_after_its_object_is_gone_counts_as_one_that_may_quote_it() -> None:
    variables = Variables({"secret": "hunter2"})
    variables.expose("secret", readable=True)
    told = tool(lambda text: text, name="told", run="auto")
    bound = bind(as_tools(told)[0], {"text": "$VAR_REF{{secret}}"}, variables)
    error = ValueError("hunter2 is no number")

    assert not may_leak(error, bound, variables)
    variables.unexpose("secret")
    assert may_leak(error, bound, variables)
    assert not may_leak(ToolFailed("hunter2 is no number"), bound, variables)
    assert not may_leak(None, bound, variables)


def test_an_exposed_variable_that_is_gone_is_no_object_of_any_name() -> None:
    notebook = {"a": [1]}
    variables = Variables(notebook)
    variables.expose("a")
    value = notebook.pop("a")

    assert variables.describe("a") == "'a' is no longer defined in the notebook."
    assert not any(one is value for one in variables.unreadable_objects())


def test_names_that_are_there_again_are_not_said_to_be_gone() -> None:
    variables = Variables({})
    name = variables.store_result("kept", [1], description="")
    variables.invalidate([name, "lost"], "it was in another chat")

    assert variables.value(name) == [1]
    with pytest.raises(UnknownReference, match="it was in another chat"):
        variables.value("lost")


def test_only_so_many_lost_names_are_remembered() -> None:
    variables = Variables({})
    variables.invalidate([f"n{number}" for number in range(MAX_INVALID + 1)], "it was in another chat")

    with pytest.raises(UnknownReference, match="it was in another chat"):
        variables.value("n1")
    with pytest.raises(UnknownReference) as raised:
        variables.value("n0")
    assert "another chat" not in str(raised.value)


def test_fresh_variables_have_the_bounds_of_the_old_ones() -> None:
    variables = Variables({}, max_entries=1, max_bytes=10_000).fork()
    names = [variables.store_result(f"n{number}", [number], description="") for number in range(2)]

    with pytest.raises(UnknownReference, match="evicted to free memory"):
        variables.value(names[0])
    assert variables.value(names[1]) == [1]
    assert variables.fork().list_entries() == ()


def test_a_short_text_of_its_own_can_be_closed_and_a_single_letter_cannot() -> None:
    notebook = {"pair": "".join(["a", "b"]), "letter": "a", "one": 1}
    variables = Variables(notebook)
    for name in notebook:
        variables.expose(name)

    assert variables.unreadable_objects() == [notebook["pair"]]


def test_arguments_are_described_by_what_they_refer_to() -> None:
    variables = Variables({"frame": pd.DataFrame({"a": [1]})})
    variables.expose("frame")
    shown = tool(lambda data, note: (data, note), name="show")
    bound = bind(as_tools(shown)[0], {"data": "$VAR_REF{{frame}}", "note": "see é"}, variables)

    assert str(bound.described_arguments["note"]) == '"see é"'
    assert "DataFrame" in str(bound.described_arguments["data"])
    assert bound.question("c1", "run", "{}").resolved == bound.described_arguments
    assert bound.question("c1", "run", "{}").arguments == {"data": "$VAR_REF{{frame}}", "note": "see é"}
    assert bound.question("c1", "run", "{}", attempt=1).digest != bound.question("c1", "run", "{}").digest


class Pair(BaseModel):
    left: int
    right: int


def test_plain_values_inside_a_model_may_come_by_reference() -> None:
    def take(pair: Pair) -> None: ...

    variables = Variables({"one": 1, "two": 2})
    for name in ("one", "two"):
        variables.expose(name)
    _, parameters = parameters_of(take)
    pair = {"left": "$VAR_REF{{one}}", "right": "$VAR_REF{{two}}"}

    assert parameters.check(resolve({"pair": pair}, variables)) == {"pair": Pair(left=1, right=2)}
