from __future__ import annotations

import pytest

from nbtool import Chat, tool
from nbtool.errors import BadUsage, UnknownReference
from nbtool.magics.names.namespace import NotebookNamespace
from nbtool.magics.names.result_binding import bind_reference, bind_result, bind_value
from nbtool.testing import ScriptedWire, call
from nbtool.view.page_messages import BindRequest


@tool(run="auto", name="find-all")
def find() -> dict[str, list[int]]:
    "Find something."
    return {"a": [1, 2]}


@tool(run="auto", result="always")
def secret() -> str:
    "Tell a secret."
    return "SENTINEL"


def chat() -> Chat:
    """Give a chat in which one call was answered and the result of another was withheld."""
    asked = [[call("find-all"), call("secret")], "Done."]
    made = Chat(wire=ScriptedWire(asked), tools=[find, secret])
    made.send("Find.")
    return made


def test_the_result_of_a_call_is_bound_under_a_name_that_python_takes() -> None:
    made, names = chat(), {"other": 1}

    found, _ = made.tree.active_path[0].turn.calls  # type: ignore[union-attr]  # the turn has ended
    name = bind_result(made, BindRequest(found.call_id), names)

    assert name == "find_all_1_result"
    assert names[name] is found.result
    assert bind_result(made, BindRequest(found.call_id), names) == name


def test_a_result_that_was_withheld_cannot_be_bound() -> None:
    made, names = chat(), dict[str, object]()
    _, withheld = made.tree.active_path[0].turn.calls  # type: ignore[union-attr]  # the turn has ended

    with pytest.raises(BadUsage, match="has no stored result"):
        bind_result(made, BindRequest(withheld.call_id), names)
    with pytest.raises(BadUsage, match="has no stored result"):
        bind_result(made, BindRequest("guessed"), names)
    assert names == {}


def test_a_part_of_a_result_can_be_bound() -> None:
    names = dict[str, object]()

    name = bind_reference(chat(), "find-all_1_result['a']", names)

    assert (name, names[name]) == ("find_all_1_result_a", [1, 2])


def test_a_slice_of_its_text_and_more_than_one_reference_are_no_object() -> None:
    for written in ("find-all_1_result:0:3", "$VAR_REF{{a}} and $VAR_REF{{b}}"):
        with pytest.raises(BadUsage, match="not a whole variable"):
            bind_reference(chat(), written, {})


def test_what_is_gone_cannot_be_bound() -> None:
    made = chat()
    made.variables.remove("find-all_1_result")

    with pytest.raises(UnknownReference, match="no longer exists"):
        bind_reference(made, "find-all_1_result", {})


@pytest.mark.parametrize("name", ["list", "str", "print", "sum", "ValueError"])
def test_a_result_takes_the_name_of_a_builtin_only_when_a_person_says_so(name: str) -> None:
    names: dict[str, object] = {}
    with pytest.raises(BadUsage, match=f"`{name}` is a builtin of Python"):
        bind_value(5, names, name)
    assert names == {}
    bind_value(5, names, name, replace=True)
    bind_value(5, names, name)

    assert names == {name: 5}


def test_a_cell_takes_the_name_of_a_builtin_only_when_a_person_says_so() -> None:
    names: dict[str, object] = {}
    notebook = NotebookNamespace(names)
    with pytest.raises(BadUsage, match="builtin of Python"):
        notebook.check_free("list")
    notebook.bind("list", [1], replace=True)
    notebook.check_free("list")

    assert names == {"list": [1]}
