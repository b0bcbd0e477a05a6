"""What a person edits before a call runs, or before the model reads its result: who learns of it, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied, Released, Turn, Withheld, tool
from tests.contract.notebook import Kernel, Notebook, Output
from tests.contract.simulator import Provider, Request, call
from tests.contract.tools import PAY_CELL, SECRET, keeping

KINDS = ("md", "json", "ipynb", "py")


def read_result(request: Request) -> str:
    """Return what the model was sent as the result of the only call."""
    (content,) = (message["content"] for message in request.json["messages"] if message["role"] == "tool")
    return str(content)


# --- arguments ------------------------------------------------------------------------------------------------


def send_with_edit(model: Provider, made: str, run: str) -> tuple[Chat, Turn]:
    """Let the model write a text, and a person another one in its place."""

    @tool
    def write(text: str) -> str:
        "Write a text."
        return "written"

    model.say(call("write", text=made), "Written.")
    chat = model.chat(tools=[write], approver=lambda question: Approved({"text": run}))
    return chat, chat.send("Write it.")


@pytest.mark.promise("shown-is-run")
def test_the_model_learns_that_a_person_edited_its_arguments_and_not_to_what(model: Provider) -> None:
    send_with_edit(model, "a public text", SECRET)

    notice, result = read_result(model.requests[1]).splitlines()
    assert all(word in notice for word in ("user", "changed", "arguments"))
    assert result == "written"
    assert SECRET not in model.everything


@pytest.mark.promise("shown-is-run")
def test_the_model_learns_nothing_of_arguments_that_a_person_approved_as_they_are(model: Provider) -> None:
    send_with_edit(model, "a public text", "a public text")

    assert read_result(model.requests[1]) == "written"


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("history", ["compact", "native", "results"])
def test_a_later_prompt_still_says_that_the_arguments_were_edited(model: Provider, history: Any) -> None:
    chat, _ = send_with_edit(model, "a public text", SECRET)
    chat.history = history
    model.say("Yes.")

    chat.send("Is it written?")

    assert "changed the arguments" in model.requests[2].text
    assert SECRET not in model.everything


@pytest.mark.promise("shown-is-run")
def test_the_record_has_the_arguments_that_the_model_made_and_those_that_ran(model: Provider) -> None:
    _, turn = send_with_edit(model, "made", "run")

    (made,) = turn.calls
    assert (json.loads(made.arguments), json.loads(made.edited)) == ({"text": "made"}, {"text": "run"})
    assert [(one.gate, one.verdict, one.edited) for one in made.decisions] == [("run", "approved", True)]


@pytest.mark.promise("shown-is-run")
@pytest.mark.parametrize("where", ["md", "json", "ipynb", "show"])
def test_a_reader_of_the_chat_sees_the_arguments_that_were_made_and_those_that_ran(
    notebook: Notebook, model: Provider, tmp_path: Path, where: str
) -> None:
    notebook.names["lab"], _ = send_with_edit(model, "made-by-the-model", "run-by-the-person")

    command = "show 1 --whole" if where == "show" else f"export {where} {tmp_path / 'chat'}"
    shown = notebook.run(f"%chat -c lab {command}").everything
    text = shown if where == "show" else (tmp_path / "chat").read_text(encoding="utf-8")

    assert "made-by-the-model" in text
    assert "run-by-the-person" in text


@pytest.mark.promise("shown-is-run")
def test_exported_code_has_the_arguments_that_ran(notebook: Notebook, model: Provider, tmp_path: Path) -> None:
    notebook.run(PAY_CELL)
    model.say(call("pay", amount=100), "Paid.")
    lab = model.chat(tools=[notebook.names["pay"]], approver=lambda question: Approved({"amount": 1}))
    lab.send("Pay.")
    notebook.names["lab"] = lab

    notebook.run(f"%chat -c lab export py {tmp_path / 'chat.py'}")
    notebook.names["paid"].clear()
    exec(compile((tmp_path / "chat.py").read_text(encoding="utf-8"), "chat.py", "exec"), notebook.names)

    assert notebook.names["paid"] == [1]


@pytest.mark.promise("shown-is-run")
def test_edited_arguments_that_do_not_fit_are_returned_to_the_person_and_nothing_runs_before_they_do(
    model: Provider, pay: Any, paid: list[Any]
) -> None:
    amounts: list[Any] = ["much", 2]
    questions: list[Any] = []

    def edit(question: Any) -> Approved | Denied:
        questions.append((question, list(paid)))
        return Approved({"amount": amounts.pop(0)}) if amounts else Approved()

    model.say(call("pay", amount=100), "Paid.")

    turn = model.chat(tools=[pay], approver=edit).send("Pay 100.")

    assert [before for _, before in questions] == [[], []]
    assert "amount" in questions[1][0].again.problem
    assert (turn.calls[0].status, paid) == ("ok", [2])


# --- results --------------------------------------------------------------------------------------------------


@tool(run="auto", result="always", store_as="diary")
def read_diary() -> str:
    "Read the diary."
    return f"I love {SECRET}"


@pytest.mark.promise("withheld")
def test_the_model_gets_the_text_of_a_person_as_the_result_and_learns_of_no_edit(model: Provider) -> None:
    model.say(call("read_diary"), "It is a place.")

    turn = model.chat(tools=[read_diary], approver=lambda question: Released("a place")).send("Read it.")

    assert read_result(model.requests[1]) == "a place"
    assert [(one.gate, one.verdict, one.edited) for one in turn.calls[0].decisions] == [("result", "released", True)]
    assert SECRET not in model.everything


@pytest.mark.promise("withheld")
def test_a_reference_to_an_edited_result_is_the_text_of_the_person(model: Provider) -> None:
    received: list[Any] = []
    ways = [call("ReadVar", name="diary"), call("keep", data="$VAR_REF{{diary}}"),
            call("keep", data="$VAR_REF{{diary:0:100}}"), call("ListVars")]  # fmt: skip
    chat = model.chat(tools=[read_diary, keeping(received)], approver=lambda question: Released("a place"))
    model.say(call("read_diary"), ways, "It is a place.", ways, "Still.")

    chat.send("Read it in every way.")
    chat.send("And now?")

    assert received == ["a place"] * 4
    assert SECRET not in model.everything


def write_everywhere(notebook: Notebook, lab: Chat, folder: Path) -> str:
    """Export a chat in every form, and return all that files and saved outputs have of it."""
    notebook.names["lab"] = lab
    shown = [notebook.run(f"%chat -c lab export {kind} {folder / kind}") for kind in KINDS]
    assert not any(output.error for output in shown)
    shown += [notebook.run(f"%chat -c lab {command}") for command in ("show 1 --whole", "explore --static", "tools")]
    files = [path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file()]
    assert len(files) > len(KINDS)  # the history is one more
    return "\n".join([*files, *(output.everything for output in shown)])


DECISIONS = {"edited": Released("a place"), "withheld": Withheld("It is private.")}


@pytest.mark.promise("withheld")
@pytest.mark.parametrize("decision", list(DECISIONS))
def test_an_original_that_a_person_edited_or_withheld_is_in_no_file_and_in_no_saved_output(
    notebook: Notebook, model: Provider, home: Path, tmp_path: Path, decision: str
) -> None:
    model.say(call("read_diary"), "Well.")
    lab = model.chat(tools=[read_diary], approver=lambda question: DECISIONS[decision])
    lab.record(tmp_path / "recording.json")

    turn = lab.send("Read it.")
    written = write_everywhere(notebook, lab, tmp_path)

    assert SECRET not in str(turn._repr_mimebundle_())
    assert SECRET not in written
    assert "read_diary" in written


# --- in a cell ------------------------------------------------------------------------------------------------

DECIDE = """
import nbtool
queue = nbtool.chats()["{chat}"].approvals
(question,) = queue.pending()
queue.decide(question.digest, nbtool.{decision})
await turn
"""


def decide(kernel: Kernel, chat: str, cell: str, decision: str) -> list[Output]:
    """Run a cell whose turn is parked, and decide its question as the card of its page does."""
    outputs = [kernel.run(f"%%chat -c {chat} -o turn --approve later {cell}")]
    outputs.append(kernel.run(DECIDE.format(chat=chat, decision=decision)))
    assert not any(output.error for output in outputs), outputs
    return outputs


@pytest.mark.promise("shown-is-run")
def test_arguments_that_a_person_edits_in_a_cell_run_so_and_the_model_learns_of_the_edit(
    kernel: Kernel, kernel_model: Provider
) -> None:
    kernel.run(PAY_CELL)
    kernel_model.say(call("pay", amount=100), "Paid.")

    decide(kernel, "edits", "-t pay\nPay 100.", "Approved({'amount': 1})")

    assert kernel.run("paid").text.strip() == "[1]"
    notice, result = read_result(kernel_model.requests[1]).splitlines()
    assert "changed the arguments" in notice
    assert result == "paid 1"
    assert kernel.run("print(turn.calls[0].arguments, turn.calls[0].edited)").stream.split("\n")[0] == (
        '{"amount": 100} {"amount": 1}'
    )


@pytest.mark.promise("withheld")
def test_a_result_that_a_person_edits_in_a_cell_is_in_no_request_and_in_no_output(
    kernel: Kernel, kernel_model: Provider
) -> None:
    kernel.run(f"from nbtool import tool\n@tool(run='auto')\ndef diary():\n    'Read it.'\n    return {SECRET!r}")
    kernel_model.say(call("diary"), "It is a place.")

    outputs = decide(kernel, "results", "-t diary --set check_results=true\nRead it.", "Released('a place')")

    assert read_result(kernel_model.requests[1]) == "a place"
    assert SECRET not in kernel_model.everything
    assert not any(SECRET in output.everything for output in outputs)
    assert SECRET not in kernel.run("%chat -c results show 1 --whole").everything
