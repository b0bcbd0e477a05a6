"""A person decides by a line of input, by a command, and after the cell has ended; a parked turn is denied in the end.

The first decision counts, and a pipe is no person.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.contract.notebook import Kernel, run_process
from tests.contract.simulator import Provider, call
from tests.contract.tools import PAY_CELL


@pytest.fixture
def notebook_of_person(kernel: Kernel) -> Kernel:
    """Give a kernel with a tool that asks, and a person at it."""
    assert not kernel.run(PAY_CELL).error
    return kernel


@pytest.mark.promise("once")
def test_a_person_approves_a_call_by_a_line_of_input(notebook_of_person: Kernel, kernel_model: Provider) -> None:
    notebook, model = notebook_of_person, kernel_model
    model.say(call("pay", amount=7), "All paid.")

    output = notebook.run("%%chat --new -t pay --approve input\nPay 7.", ["y"])

    assert all(word in output.inputs[0] for word in ("pay", "7"))
    assert "All paid." in output.text
    assert "7" in notebook.run("paid[-1]").text


@pytest.mark.promise("fails-closed")
def test_a_line_that_is_no_yes_denies_with_this_reason(notebook_of_person: Kernel, kernel_model: Provider) -> None:
    notebook, model = notebook_of_person, kernel_model
    model.say(call("pay", amount=8), "I may not.")

    notebook.run("%%chat --new -t pay --approve input -o turn\nPay 8.", ["that is too much"])

    assert "that is too much" in model.requests[-1].text
    assert "denied" in notebook.run("turn.calls[0].status").text


@pytest.mark.promise("parked")
@pytest.mark.feature("let an approval wait after the cell has ended")
def test_a_question_can_wait_after_its_cell_has_ended(notebook_of_person: Kernel, kernel_model: Provider) -> None:
    notebook, model = notebook_of_person, kernel_model
    model.say(call("pay", amount=9), "Nine is paid.")

    notebook.run("%%chat --new -t pay --approve later -o turn\nPay 9.")
    assert "parked" in notebook.run("turn.status").text
    assert "pay(amount=9)" in notebook.run("%chat approvals").text
    notebook.run("%chat approve")

    assert "Nine is paid." in notebook.run("(await turn).text").text
    assert "9" in notebook.run("paid[-1]").text


@pytest.mark.promise("parked")
def test_a_parked_call_that_is_denied_never_runs(notebook_of_person: Kernel, kernel_model: Provider) -> None:
    notebook, model = notebook_of_person, kernel_model
    model.say(call("pay", amount=10), "I may not.")

    notebook.run("%%chat --new -t pay --approve later -o turn\nPay 10.")
    notebook.run("%chat approvals")
    notebook.run("%chat deny")

    assert "I may not." in notebook.run("(await turn).text").text
    assert "10" not in notebook.run("paid").text


@pytest.mark.promise("parked")
def test_a_parked_turn_is_denied_at_its_deadline(notebook_of_person: Kernel, kernel_model: Provider) -> None:
    notebook, model = notebook_of_person, kernel_model
    model.say(call("pay", amount=11), "Nobody answered.")

    notebook.run("%%chat --new -t pay --approve later --set answer_within=0.05 -o turn\nPay 11.")

    assert "Nobody answered." in notebook.run("(await turn).text").text
    assert "11" not in notebook.run("paid").text


@pytest.mark.promise("once")
def test_approve_without_an_id_approves_nothing_while_several_wait(
    notebook_of_person: Kernel, kernel_model: Provider
) -> None:
    notebook, model = notebook_of_person, kernel_model
    model.say([call("pay", amount=12), call("pay", amount=13)], "I may not.")
    notebook.run("%%chat --new -t pay --approve later -o turn\nPay twice.")

    output = notebook.run("%chat approve")

    assert "amount=12" in output.text
    assert "amount=13" in output.text
    assert "parked" in notebook.run("turn.status").text
    notebook.run("%chat stop")


@pytest.mark.promise("first-decision")
def test_a_second_command_about_a_decided_question_is_refused(
    notebook_of_person: Kernel, kernel_model: Provider
) -> None:
    notebook, model = notebook_of_person, kernel_model
    model.say(call("pay", amount=14), "I may not.")
    notebook.run("%%chat --new -t pay --approve later -o turn\nPay 14.")
    listed = notebook.run("%chat approvals").stream
    (question,) = re.findall(r"^([0-9a-f]{8,})\b.*pay", listed, flags=re.MULTILINE)

    notebook.run(f"%chat deny {question}")
    second = notebook.run(f"%chat approve {question}")

    assert "decided" in second.text
    assert "14" not in notebook.run("(await turn) and paid").text


@pytest.mark.promise("seen-question")
@pytest.mark.promise("parked")
def test_the_output_of_a_waiting_turn_has_the_text_so_far_the_question_and_how_to_go_on(
    notebook_of_person: Kernel, kernel_model: Provider
) -> None:
    notebook, model = notebook_of_person, kernel_model
    model.say(["Let me pay that for you.", call("pay", amount=15)], "I may not.")

    output = notebook.run("%%chat --new -t pay --approve later -o turn\nPay 15.")

    assert all(part in output.text for part in ("Let me pay that for you.", "pay(amount=15)", "%chat approve"))
    notebook.run("%chat stop")


@pytest.mark.promise("no-piped-consent")
def test_a_yes_from_a_pipe_approves_nothing(home: Path, model: Provider) -> None:
    model.say(call("pay", amount=1), "I may not.")
    code = f"""
import io, sys
sys.stdin = io.StringIO("y\\n" * 10)
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "nbtool")
shell.run_cell({PAY_CELL!r})
shell.run_cell("%%chat -t pay --approve input -o turn\\nPay.")
print("outcome", shell.user_ns["turn"].calls[0].status, shell.user_ns["paid"])
"""

    printed = run_process(code, home, OLLAMA_HOST=model.host, NBTOOL_MODEL="ollama:tiny")

    assert "outcome denied []" in printed


@pytest.mark.promise("parked")
@pytest.mark.promise("shown-is-run")
def test_a_parked_call_runs_the_tool_that_was_shown_if_its_name_means_another_one_then(
    notebook_of_person: Kernel, kernel_model: Provider
) -> None:
    notebook, model = notebook_of_person, kernel_model
    model.say(call("pay", amount=16), "Sixteen is paid.")
    notebook.run("%%chat --new -t pay --approve later -o turn\nPay 16.")

    notebook.run(PAY_CELL.replace("append(amount)", "append(amount * 100)").replace("paid = []\n", ""))
    notebook.run("%chat approvals")
    notebook.run("%chat approve")

    assert "Sixteen is paid." in notebook.run("(await turn).text").text
    assert "[16]" in notebook.run("paid").text
