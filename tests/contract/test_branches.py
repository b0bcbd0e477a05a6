"""A rerun, an edit or a deletion is a new version beside the old one; calls run again only if that is asked."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from nbtool import Approved, tool
from nbtool.errors import BadUsage
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, call, held
from tests.contract.tools import paying, wait_for_end


@pytest.mark.feature("rerun, edit and branch")
def test_a_rerun_is_a_new_version_and_sends_the_prompt_without_the_former_answer(
    notebook: Notebook, model: Provider
) -> None:
    model.say("First.", "Second.", "Third.")
    notebook.ask("Tell me a word.")
    notebook.ask("Another.")

    turn = notebook.ask("", "--rerun 1")

    assert turn.text == "Third."
    assert "Tell me a word." in model.requests[2].text
    assert "First." not in model.requests[2].text
    assert "Another." not in model.requests[2].text


@pytest.mark.feature("rerun, edit and branch")
def test_an_edit_starts_a_branch_and_keeps_the_former_one(notebook: Notebook, model: Provider) -> None:
    model.say("First.", "Second.", "Third.")
    notebook.ask("Tell me a word.")
    notebook.ask("Another.")

    notebook.ask("Tell me a number.", "--edit 1")

    assert "Tell me a word." not in model.requests[2].text
    assert "Another." not in model.requests[2].text
    assert "Tell me a word." in notebook.run("%chat history").text


@pytest.mark.feature("rerun, edit and branch")
def test_a_new_chat_names_the_command_that_continues_the_former_one(notebook: Notebook, model: Provider) -> None:
    model.say("First.", "Second.", "Third.")
    notebook.ask("Tell me a word.")
    notebook.ask("Another.", "--new")

    (command,) = re.findall(r"`(%chat branch \w+)`", notebook.output.text)
    notebook.run(command)
    notebook.ask("A number.")

    assert "Tell me a word." not in model.requests[1].text
    assert "Tell me a word." in model.requests[2].text
    assert "Another." not in model.requests[2].text


@pytest.mark.feature("see a request before it is sent")
def test_a_dry_run_of_a_new_chat_keeps_the_present_one(notebook: Notebook, model: Provider) -> None:
    model.say("First.", "Second.")
    notebook.ask("Tell me a word.")

    notebook.run("%%chat --new --dry-run\nAnother.")
    notebook.ask("A number.")

    assert "Tell me a word." in model.requests[1].text


@pytest.mark.feature("rerun, edit and branch")
def test_a_branch_goes_on_from_an_earlier_turn(notebook: Notebook, model: Provider) -> None:
    model.say("First.", "Second.", "Third.")
    notebook.ask("Tell me a word.")
    notebook.ask("Another.")

    notebook.run("%chat branch 1")
    notebook.ask("A number.")

    assert "Tell me a word." in model.requests[2].text
    assert "Another." not in model.requests[2].text


@pytest.mark.feature("rerun, edit and branch")
def test_a_rerun_with_another_result_goes_on_from_it_without_running_the_tool(model: Provider) -> None:
    ran: list[str] = []

    @tool(run="auto")
    def price(ticker: str) -> str:
        "The price of a ticker."
        ran.append(ticker)
        return "10"

    model.say(call("price", ticker="A"), "It costs 10.", "It costs 12.")
    chat = model.chat(tools=[price])
    first = chat.send("What does A cost?")

    second = chat.rerun(results={first.calls[0].call_id: "12"})

    assert ran == ["A"]
    assert second.text == "It costs 12."
    assert "12" in model.requests[2].text


PAYMENTS = [call("pay", amount=1), call("pay", amount=2), "Both are paid."]


@pytest.mark.promise("once")
@pytest.mark.feature("rerun, edit and branch")
def test_a_rerun_from_a_later_round_runs_no_call_of_the_earlier_ones(model: Provider) -> None:
    ran: list[int] = []
    model.say(*PAYMENTS, call("pay", amount=3), "Three is paid.")
    chat = model.chat(tools=[paying(ran)], approver=lambda question: Approved())
    chat.send("Pay.")

    turn = chat.rerun(from_round=2)

    assert turn.text == "Three is paid."
    assert ran == [1, 2, 3]


@pytest.mark.promise("once")
def test_a_re_execution_runs_the_calls_again_with_all_approvals(model: Provider) -> None:
    ran: list[int] = []
    model.say(*PAYMENTS)
    asked: list[str] = []

    def approve(question: Any) -> Approved:
        asked.append(question.shown)
        return Approved()

    chat = model.chat(tools=[paying(ran)], approver=approve)
    chat.send("Pay.")

    chat.reexecute()

    assert ran == [1, 2, 1, 2]
    assert len(asked) == 4
    assert len(model.requests) == 3


@pytest.mark.promise("once")
@pytest.mark.promise("stops")
def test_a_stopped_turn_is_resumed_without_running_a_call_again(model: Provider) -> None:
    ran: list[int] = []
    reply = held("Both")
    model.say(call("pay", amount=1), reply, "One is paid.")
    chat = model.chat(tools=[paying(ran)], approver=lambda question: Approved())
    turn = chat.start("Pay.")
    reply.wait()
    turn.cancel()
    asyncio.run(wait_for_end(turn))

    resumed = chat.resume()

    assert resumed.text == "One is paid."
    assert ran == [1]
    assert "paid 1" in model.requests[2].text


def test_a_hidden_turn_is_not_sent_and_a_shown_one_is_again(model: Provider) -> None:
    model.say("First.", "Second.", "Third.")
    chat = model.chat()
    turn = chat.send("Tell me a word.")

    chat.hide(turn)
    chat.send("And?")
    chat.show(turn)
    chat.send("And now?")

    assert "Tell me a word." not in model.requests[1].text
    assert "Tell me a word." in model.requests[2].text


def test_a_deleted_turn_is_not_sent(model: Provider) -> None:
    model.say("First.", "Second.")
    chat = model.chat()
    turn = chat.send("Tell me a word.")

    chat.delete(turn)
    chat.send("And?")

    assert "Tell me a word." not in model.requests[1].text


def test_a_deleted_turn_can_be_brought_back(model: Provider) -> None:
    model.say("First.", "Second.")
    chat = model.chat()
    turn = chat.send("Tell me a word.")

    chat.delete(turn)
    chat.undo()
    chat.send("And?")

    assert "Tell me a word." in model.requests[1].text


EXTRACT = "make a branch a chat of its own"


@pytest.mark.feature(EXTRACT)
def test_a_subtree_is_copied_or_cut_into_a_chat_of_its_own(model: Provider) -> None:
    model.say("One.", "Two.", "Three.", "Four.")
    chat = model.chat()
    first, second = chat.send("First?"), chat.send("Second?")
    third = chat.send("Third?")

    assert chat.turns_to_extract(second, subtree=True) == (second, third)
    made = chat.extract(second, subtree=True, cut=True)
    made.send("Fourth?")

    sent = model.requests[-1].text
    assert all(text in sent for text in ("Second?", "Three.", "Fourth?"))
    assert "First?" not in sent
    assert [turn.text for turn in chat.turns_to_extract()] == ["One."]
    assert first in chat.turns_to_extract()
    with pytest.raises(BadUsage, match="cannot be cut"):
        made.extract(cut=True)


@pytest.mark.feature(EXTRACT)
def test_a_command_makes_a_line_a_chat_that_cells_continue(notebook: Notebook, model: Provider) -> None:
    model.say("One.", "Two.", "Three.")
    notebook.ask("First?")
    notebook.ask("Second?")

    listed = notebook.run("%chat branch 1 --preview").text
    made = notebook.run("%chat branch 1 --as other")
    notebook.ask("Third?", "-c other")

    assert "First?" in listed
    assert "Second?" not in listed
    assert "-c other" in made.text
    assert "First?" in model.requests[-1].text
    assert "Second?" not in model.requests[-1].text
    again = notebook.run("%chat branch 1 --as other")
    assert "No chat can be called 'other' here" in again.text


EDIT_REPLY = "edit a reply"


@pytest.mark.feature(EDIT_REPLY)
def test_a_reply_that_the_person_edits_is_a_marked_version_that_later_requests_have(model: Provider) -> None:
    model.say("It costs 11.", "I see.")
    chat = model.chat()
    first = chat.send("What does A cost?")

    edited = chat.edit_reply(first, "It costs 10.")
    chat.send("And B?")

    assert (first.text, edited.text) == ("It costs 11.", "It costs 10.")
    assert any("You edited the last reply" in notice.text for notice in edited.notices)
    assert len(model.requests) == 2
    assert "It costs 10." in model.requests[-1].text
    assert "It costs 11." not in model.requests[-1].text


@pytest.mark.feature(EDIT_REPLY)
def test_a_cell_edits_a_reply_and_sends_nothing(notebook: Notebook, model: Provider) -> None:
    model.say("One.", "Three.")
    notebook.ask("Tell me a number.")

    edited = notebook.ask("Two.", "--edit 1:reply")
    notebook.ask("Another one.", "-q")

    assert edited.text == "Two."
    assert len(model.requests) == 2
    assert "Two." in model.requests[-1].text
    wrong = notebook.run("%%chat --edit 1:answer\nTwo.")
    assert "--edit TURN:reply" in wrong.text
