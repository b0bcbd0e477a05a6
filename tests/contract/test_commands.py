"""A command shows and sends nothing; what is wrong is one line that names it; a setting holds where it was set."""

from __future__ import annotations

import re
import threading

import pytest

from tests.contract.notebook import Kernel, Notebook
from tests.contract.simulator import Provider, call, held


@pytest.mark.parametrize(
    "command", ["status", "models", "tools", "history", "approvals", "config", "help", "show", "explore --static"]
)
def test_a_command_that_shows_something_sends_no_prompt(notebook: Notebook, model: Provider, command: str) -> None:
    output = notebook.run(f"%chat {command}")

    assert not output.error
    assert output.everything.strip()
    assert model.requests == []


@pytest.mark.parametrize(
    "line", ["%chat nonsense", "%chat export nonsense", "%chat approve nonsense", "%chat open nonsense"]
)
def test_a_wrong_command_is_one_line_without_a_traceback(notebook: Notebook, line: str) -> None:
    output = notebook.run(line)

    assert output.error.startswith("UsageError")
    assert "Traceback" not in output.text
    assert len(output.error.splitlines()) == 1


@pytest.mark.parametrize(
    "flags",
    ["--nonsense", "--approve nonsense", "--budget nonsense", "--timeout nonsense", "--as nonsense", "-v nonsense"],
)
def test_a_wrong_flag_is_one_line_and_sends_nothing(notebook: Notebook, model: Provider, flags: str) -> None:
    output = notebook.run(f"%%chat {flags}\nHello?")

    assert output.error.startswith("UsageError")
    assert "nonsense" in output.error
    assert len(output.error.splitlines()) == 1
    assert model.requests == []


def test_a_misspelt_command_names_the_right_one(notebook: Notebook) -> None:
    assert "status" in notebook.run("%chat statsu").error


@pytest.mark.parametrize(
    ("flags", "right"),
    [("--aprove auto", "--approve"), ("--budgt 1", "--budget"), ("--set sytem=Brief", "system"),
     ("--set max_round=3", "max_rounds")],
)  # fmt: skip
def test_a_misspelt_flag_or_setting_of_a_cell_names_the_right_one_and_sends_nothing(
    notebook: Notebook, model: Provider, flags: str, right: str
) -> None:
    output = notebook.run(f"%%chat {flags}\nHello?")

    assert output.error.startswith("UsageError")
    assert re.search(rf"Did you mean {right}\?", output.error)
    assert len(output.error.splitlines()) == 1
    assert model.requests == []


def test_a_setting_that_does_not_exist_is_refused_with_those_that_do(notebook: Notebook, model: Provider) -> None:
    output = notebook.run("%%chat --set nonsense=1\nHello?")

    assert all(word in output.error for word in ("UsageError", "nonsense", "max_rounds", "system", "budget"))
    assert model.requests == []


@pytest.mark.parametrize(
    ("line", "words"),
    [("NbTool.modle = 'x'", ("modle", "model")), ("NbTool.nonsense = 'x'", ("nonsense", "NbTool")),
     ("NbTool.max_rounds = 'many'", ("max_rounds", "int", "many")), ("NbTool.approve = 'auot'", ("approve", "auto"))],
)  # fmt: skip
def test_a_wrong_setting_of_the_notebook_is_named_and_changes_nothing(
    kernel: Kernel, kernel_model: Provider, line: str, words: tuple[str, ...]
) -> None:
    before = kernel.run("%chat config").text

    output = kernel.run(f"%config {line}")

    assert [word for word in words if word not in output.text] == []
    assert kernel.run("%chat config").text == before


@pytest.mark.parametrize(
    ("cell", "right"),
    [("Chat('ollama:tiny', sytem='Brief')", "system"),
     ("Chat('ollama:tiny').send('Hello?', aprover=print)", "approver"),
     ("Approved(remeber='tool')", "remember"), ("tool(rum='auto')", "run"),
     ("Chat('ollama:tiny').map(['Hello?'], concurency=2)", "concurrency")],
)  # fmt: skip
def test_a_misspelt_keyword_in_python_names_the_right_one_and_sends_nothing(
    notebook: Notebook, model: Provider, cell: str, right: str
) -> None:
    output = notebook.run(f"from nbtool import Approved, Chat, tool\n{cell}")

    assert output.error.startswith("BadUsage")
    assert re.search(rf"Did you mean {right}\?", output.error)
    assert model.requests == []


def test_the_help_of_a_cell_sends_nothing(notebook: Notebook, model: Provider) -> None:
    output = notebook.run("%%chat -h\nHello?")

    assert "--approve" in output.text
    assert model.requests == []


def test_a_cell_without_a_prompt_sends_nothing(notebook: Notebook, model: Provider) -> None:
    output = notebook.run("%%chat\n\n")

    assert output.error
    assert model.requests == []


def test_a_quiet_cell_shows_nothing_and_binds_its_turn(notebook: Notebook, model: Provider) -> None:
    model.say("Hello.")

    output = notebook.run("%%chat -q -o answer\nHello?")

    assert output.everything.strip() == ""
    assert notebook.names["answer"].text == "Hello."


def test_a_cell_shows_the_answer_the_calls_and_what_it_used(notebook: Notebook, model: Provider) -> None:
    notebook.run(
        "from nbtool import tool\n@tool(run='auto')\ndef double(n: int) -> int:\n    'Twice.'\n    return 2 * n"
    )
    model.say(call("double", n=21), "It is 42.")

    notebook.ask("Double 21.", "-t double")

    shown = notebook.output.text
    assert all(text in shown for text in ("double", "21", "42", "It is 42.", "ollama:tiny", "2 rounds", "30 tokens"))


@pytest.mark.promise("inert-text")
def test_control_characters_of_a_model_do_not_reach_the_terminal(notebook: Notebook, model: Provider) -> None:
    model.say("\x1b]0;title\x07\x1b[31mred\x1b[0m\x08\x08")

    notebook.ask("Hello?")

    assert not set("\x1b\x07\x08") & set(notebook.output.text)


def test_comments_may_precede_the_magic(notebook: Notebook, model: Provider) -> None:
    model.say("Hello.")

    notebook.run("# A comment.\n%%chat -o answer\nHello?")

    assert notebook.names["answer"].text == "Hello."


@pytest.mark.feature("change a setting")
def test_a_setting_holds_for_all_cells_and_can_be_set_back(notebook: Notebook, model: Provider) -> None:
    model.say("One.", "Two.")
    notebook.run("%config NbTool.model = 'ollama:large'")
    notebook.ask("Hello?")

    notebook.run("%config NbTool.model = ''")
    notebook.ask("Hello?", "--new")

    assert [request.json["model"] for request in model.requests] == ["large", "tiny"]


@pytest.mark.feature("change a setting")
def test_a_setting_can_be_set_for_one_cell_only(notebook: Notebook, model: Provider) -> None:
    model.say("One.", "Two.")

    notebook.ask("Hello?", "--set system=Brief")
    notebook.ask("Hello?", "--new")

    assert ["Brief" in request.text for request in model.requests] == [True, False]


@pytest.mark.feature("change a setting")
def test_a_setting_of_the_cell_wins_over_that_of_all_cells(notebook: Notebook, model: Provider) -> None:
    model.say("One.")
    notebook.run("%config NbTool.model = 'ollama:large'")

    notebook.ask("Hello?", "-m ollama:small")

    assert model.requests[0].json["model"] == "small"


def test_the_tools_are_listed_with_when_they_ask(notebook: Notebook, model: Provider) -> None:
    notebook.run(
        "from nbtool import tool\n@tool(run='auto')\ndef look():\n    'Look.'\n@tool\ndef pay():\n    'Pay.'\n"
    )
    model.say("Fine.")
    notebook.ask("Hello?", "-t look pay")

    lines = {line.split()[0]: line for line in notebook.run("%chat tools").text.splitlines() if line.split()}

    assert "without asking" in lines["look"]
    assert "asks" in lines["pay"]


def test_an_interrupt_of_a_cell_stops_its_turn(kernel: Kernel, kernel_model: Provider) -> None:
    reply = held("A long story that never ends.")
    kernel_model.say(reply)
    stopper = threading.Thread(target=lambda: (reply.wait(), kernel.manager.interrupt_kernel()))
    stopper.start()
    kernel.run("%%chat --new -o turn\nTell me.")
    stopper.join()

    assert "cancelled" in kernel.run("turn.status").text


def test_running_a_cell_again_is_a_new_version_of_its_turn(kernel: Kernel, kernel_model: Provider) -> None:
    kernel_model.say("First answer.", "Second answer.")

    kernel.run("%%chat -c versions\nTell me a word.", cell_id="cell-7")
    kernel.run("%%chat -c versions\nTell me a word.", cell_id="cell-7")

    assert "First answer." not in kernel_model.requests[-1].text
