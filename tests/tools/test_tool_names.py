"""Functions with names in other letters are tools: under a name that every model's server takes, and their own."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire, call
from nbtool.tools.tool import as_named_tool, as_tools
from nbtool.tools.tool_names import MAX_LETTERS, NAME, own_name, wire_name
from nbtool.tools.toolset import Toolset


def größe(länge: float) -> str:
    """Measure."""
    return f"{länge} m"


def 計算(x: int) -> int:  # noqa: N802 - has no lower case
    return 2 * x


def Größe(länge: float) -> str:  # noqa: N802 - another name in the same letters without accents
    return f"another {länge}"


@pytest.mark.parametrize("function", [größe, 計算, Größe])
def test_a_function_in_other_letters_has_a_name_for_models_and_its_own_for_persons(function: Any) -> None:
    made = as_tools(function)[0]

    assert NAME.fullmatch(made.name)
    assert made.display_name == function.__name__
    assert not made.unfit_reason
    assert function.__name__ in made.spec["description"]
    assert made.origin.endswith(f".{function.__name__}")


def test_names_that_differ_in_accents_or_case_only_are_two_tools() -> None:
    tools = Toolset("t", [größe, Größe, 計算])

    assert len(tools.tools()) == 3
    assert wire_name("größe") == wire_name("größe")
    assert len({name.lower() for name in tools.tools()}) == 3


def test_a_call_by_the_name_for_models_runs_the_function_and_is_shown_under_its_own() -> None:
    made = as_tools(größe)[0]
    (parameter,) = made.spec["parameters"]["properties"]
    wire = ScriptedWire([call(made.name, **{parameter: 2.5}), "Done."])

    turn = Chat(wire=wire, tools=[tool(run="auto")(größe)]).send("Wie lang?")

    (record,) = turn.calls
    assert (record.status, record.result, record.display_name) == ("ok", "2.5 m", "größe")


def test_a_name_given_by_the_author_or_the_notebook_may_be_in_other_letters_too() -> None:
    def f() -> None: ...

    assert as_tools(tool(name="größe")(f))[0].display_name == "größe"
    assert as_named_tool(f, "größe").name == wire_name("größe")[0]


@pytest.mark.parametrize("name", ["ä b", "ä-b", "ä" * (MAX_LETTERS + 1), "<λ>", ""])
def test_what_is_no_python_name_stays_refused(name: str) -> None:
    with pytest.raises(BadUsage, match="is not a valid tool name"):
        wire_name(name)


def test_a_tool_of_a_server_is_known_in_the_notebook_by_its_name_for_the_model() -> None:
    assert own_name("server_find", "server.find") == "server_find"
    assert own_name(*wire_name("größe")) == "größe"
    assert own_name("price", "") == "price"
