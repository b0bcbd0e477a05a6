"""A cell offers the tools that it names, of a toolset all, one or some, and no other."""

from __future__ import annotations

import pytest

from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, call

MANY = "choose among many tools"


@pytest.mark.feature(MANY)
@pytest.mark.parametrize(
    ("flag", "offered"),
    [
        ("-t nbtool:files", {"list_files", "read_file", "write_file", "edit_file"}),
        ("-t nbtool:files.read_file", {"read_file"}),
        ("-t 'nbtool:files.*_file'", {"read_file", "write_file", "edit_file"}),
        ("-t nbtool:files '!write_file'", {"list_files", "read_file", "edit_file"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # a set has no order
)
def test_a_cell_chooses_tools_of_a_toolset(notebook: Notebook, model: Provider, flag: str, offered: set[str]) -> None:
    model.say("Fine.")

    notebook.ask("Hello?", flag)

    assert {name for name in model.requests[0].tools if "file" in name} == offered


@pytest.mark.feature(MANY)
def test_a_tool_is_taken_away_in_a_later_cell(notebook: Notebook, model: Provider) -> None:
    model.say("Fine.", "Fine.")

    notebook.ask("Hello?", "-t nbtool:files")
    notebook.ask("Hello?", "-t '!files.write_file'")

    assert "write_file" in model.requests[0].tools
    assert "write_file" not in model.requests[1].tools
    assert "read_file" in model.requests[1].tools


@pytest.mark.feature(MANY)
def test_a_function_of_the_notebook_is_mentioned_in_the_prompt(notebook: Notebook, model: Provider) -> None:
    notebook.run(
        "from nbtool import tool\n@tool(run='auto')\ndef double(n: int) -> int:\n    'Twice.'\n    return 2 * n"
    )
    model.say(call("double", n=21), "42.")

    turn = notebook.ask("Use &`double` for 21.")

    assert turn.calls[0].result == 42


def test_a_name_that_does_not_exist_sends_nothing(notebook: Notebook, model: Provider) -> None:
    output = notebook.run("%%chat -t nowhere\nHello?")

    assert "nowhere" in output.error
    assert model.requests == []


HUNDREDS = """
from nbtool import tool, Toolset

def make(number):
    def work(identifier: str) -> str:
        return f"{number} of {identifier}"
    work.__name__, work.__doc__ = f"open_drawer_{number}", f"Open drawer {number} of the cabinet."
    return tool(run="auto")(work)

drawers = Toolset("drawers", [make(number) for number in range(300)])
"""


@pytest.mark.feature("have hundreds of tools")
def test_of_hundreds_of_tools_the_model_finds_one_by_words_and_calls_it_under_its_name(
    notebook: Notebook, model: Provider
) -> None:
    notebook.run(HUNDREDS)
    opened = call("call_tool", name="open_drawer_271", arguments={"identifier": "oak"})
    model.say(call("find_tools", query="drawer 271"), opened, "Screws.")

    turn = notebook.ask("What is in drawer 271?", "-t drawers")

    assert [(one.name, one.result) for one in turn.calls][1:] == [("open_drawer_271", "271 of oak")]
    assert not any(name.startswith("open_drawer") for name in model.requests[0].tools)
    assert model.requests[0].tools == model.requests[2].tools


@pytest.mark.feature("let the model ask you something while it works")
def test_a_question_of_the_model_is_answered_by_the_person_and_by_nobody_else(
    notebook: Notebook, model: Provider
) -> None:
    model.say(call("ask_person", question="Which colour?", choices=["red", "blue"]), "Fine.")

    turn = notebook.ask("Paint it.", "-t nbtool:person --approve auto")

    assert turn.calls[0].status == "error"
    assert turn.text == "Fine."
