"""A map that failed, stopped or was killed repeats no call, and sends again only what has no answer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved
from nbtool.errors import BadUsage, LimitReached
from tests.contract.notebook import run_process
from tests.contract.simulator import Provider, Refusal, Request, call, held
from tests.contract.tools import pay_for_review, paying

FILE_FEATURE = "run a prompt over more rows than fit in memory, and continue after a crash"
ROWS = [{"text": f"review {number}"} for number in range(4)]

pytestmark = pytest.mark.usefixtures("home")


def echo(request: Request) -> str:
    """Answer with the number of the review."""
    return f"answer {request.text.split('review ')[1][0]}"


@pytest.mark.promise("maps-once")
def test_the_same_map_once_more_sends_only_what_failed(model: Provider) -> None:
    failing = {"review 1"}
    model.always(lambda request: Refusal(400, "no") if any(one in request.text for one in failing) else echo(request))
    chat = model.chat()
    chat.map("Is it kind? {text}", ROWS, progress=False)
    failing.clear()

    values = chat.map("Is it kind? {text}", ROWS, progress=False).values

    assert values == ["answer 0", "answer 1", "answer 2", "answer 3"]
    assert len(model.requests) == 5


@pytest.mark.promise("maps-once")
def test_no_call_runs_again_when_a_map_goes_on_after_a_failure(model: Provider) -> None:
    ran: list[int] = []
    fails = [True]

    def reply(request: Request) -> Any:
        if "paid" not in request.text:
            return pay_for_review(request)
        return Refusal(400, "no") if fails else "Done."

    model.always(reply)
    chat = model.chat(tools=[paying(ran, run="auto")])
    chat.map("Pay for {text}", ROWS, progress=False)
    fails.clear()

    values = chat.map("Pay for {text}", ROWS, progress=False).values

    assert values == ["Done."] * 4
    assert sorted(ran) == [0, 1, 2, 3]


@pytest.mark.promise("maps-once")
def test_no_call_runs_again_after_a_budget_was_used_up(model: Provider) -> None:
    ran: list[int] = []

    def reply(request: Request) -> Any:
        return "Done." if "paid" in request.text else pay_for_review(request)

    model.always(reply)
    chat = model.chat(tools=[paying(ran, run="auto")])
    stopped = chat.map("Pay for {text}", ROWS, tokens=20, concurrency=1, progress=False)
    assert any(isinstance(answer.error, LimitReached) for answer in stopped.errors)

    chat.map("Pay for {text}", ROWS, progress=False)

    assert sorted(ran) == [0, 1, 2, 3]


@pytest.mark.promise("maps-once")
def test_a_call_that_nobody_could_be_asked_about_is_asked_about_later(
    model: Provider, pay: Any, paid: list[Any]
) -> None:
    def reply(request: Request) -> Any:
        messages = request.json["messages"]
        has_result = any(one["role"] == "tool" for one in messages)
        return "Done." if has_result else pay_for_review(request)

    model.always(reply)
    chat = model.chat(tools=[pay])
    chat.map("Pay for {text}", ROWS[:2], progress=False)
    assert paid == []

    chat.map("Pay for {text}", ROWS[:2], approver=lambda question: Approved(), progress=False)

    assert sorted(paid) == [0, 1]


KILLED = """
import os, signal
from nbtool import Chat, tool

@tool(run="auto")
def pay(amount: int) -> str:
    "Pay an amount."
    with open("paid.txt", "a") as paid:
        paid.write(f"{{amount}}\\n")
    if amount == 2 and os.environ.get("DIES"):
        os.kill(os.getpid(), signal.SIGKILL)
    return f"paid {{amount}}"

chat = Chat("tiny", wire="chat", base_url={url!r}, api_key="key", tools=[pay])
rows = [{{"text": f"review {{number}}"}} for number in range(6)]
"""
INTO_A_FILE = """
totals = chat.map_into("answers.sqlite", "Pay for {text}", rows, concurrency=1, progress=False)
print("answered", totals.answered + totals.answered_before, "failed", totals.failed)
"""
IN_MEMORY = """
batch = chat.map("Pay for {text}", rows, concurrency=1, progress=False)
print("answered", batch.values.count("Done."), "failed", *[answer.index for answer in batch.errors])
"""


@pytest.mark.sampled(1)
@pytest.mark.promise("maps-once")
@pytest.mark.feature(FILE_FEATURE)
@pytest.mark.parametrize(("ending", "failed"), [(INTO_A_FILE, 1), (IN_MEMORY, 2)], ids=["into a file", "in memory"])
def test_a_killed_map_goes_on_and_sends_the_row_whose_call_ran_neither_then_nor_later(
    model: Provider, home: Path, ending: str, failed: int
) -> None:
    model.always(lambda request: "Done." if "paid" in request.text else pay_for_review(request))
    code = KILLED.format(url=model.url) + ending
    requested: list[list[str]] = []

    def run(**environment: str) -> str:
        before = len(model.requests)
        printed = run_process(code, home, fails=bool(environment), **environment)
        requested.append([request.text.split("review ")[1][0] for request in model.requests[before:]])
        return printed

    run(DIES="yes")
    second, third = run(), run()

    assert requested == [["0", "0", "1", "1", "2"], ["3", "3", "4", "4", "5", "5"], []]
    assert (home / "paid.txt").read_text(encoding="utf-8").split() == ["0", "1", "2", "3", "4", "5"]
    assert f"answered 5 failed {failed}" in second
    assert f"answered 5 failed {failed}" in third


@pytest.mark.sampled(0)
@pytest.mark.promise("maps-once")
@pytest.mark.feature(FILE_FEATURE)
def test_the_row_of_a_killed_map_whose_call_ran_is_an_error_in_its_file(model: Provider, home: Path) -> None:
    model.always(lambda request: "Done." if "paid" in request.text else pay_for_review(request))
    code = KILLED.format(url=model.url) + INTO_A_FILE
    run_process(code, home, fails=True, DIES="yes")
    run_process(code, home)

    with closing(sqlite3.connect(home / "answers.sqlite")) as answers:
        rows = answers.execute("SELECT row, value, error FROM answers ORDER BY row").fetchall()

    assert [(row, value) for row, value, error in rows if not error] == [(row, "Done.") for row in (0, 1, 3, 4, 5)]
    assert [(row, value, "repeat_calls" in error) for row, value, error in rows if error] == [(2, None, True)]


@pytest.mark.promise("maps-once")
def test_a_second_map_with_the_prompts_of_a_first_one_that_runs_is_refused(model: Provider) -> None:
    reply = held("Done.")
    model.say(reply)
    chat = model.chat()
    first = chat.start_map(["Tell me a word."], progress=False)
    reply.wait()

    with pytest.raises(BadUsage):
        _ = chat.map(["Tell me a word."], progress=False).values
    reply.open()

    assert first.values == ["Done."]
    assert len(model.requests) == 1


@pytest.mark.promise("maps-once")
@pytest.mark.promise("stops")
def test_a_stopped_map_starts_no_more_calls_and_goes_on_later(model: Provider) -> None:
    ran: list[int] = []
    reply = held("never")
    model.say(call("pay", amount=0), reply)
    chat = model.chat(tools=[paying(ran, run="auto")])
    batch = chat.start_map("Pay for {text}", ROWS[:2], concurrency=1, progress=False)
    reply.wait()
    batch.cancel()
    batch.wait()
    assert ran == [0]
    model.begin_again()
    model.always(lambda request: "Done." if "paid" in request.text else pay_for_review(request))

    values = chat.map("Pay for {text}", ROWS[:2], progress=False).values

    assert values == ["Done.", "Done."]
    assert ran == [0, 1]
