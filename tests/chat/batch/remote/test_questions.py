"""What a worker asks is asked at home, and only its decision goes back."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.batch.remote.asked_question import (
    FROM_WORKER,
    MAX_QUESTION,
    pack_decision,
    pack_question,
    read_decision,
    read_question,
)
from nbtool.errors import ApprovalError, NbtoolError
from nbtool.events import CallDecided
from nbtool.sign_in import SIGN_IN_KEY
from nbtool.testing import call
from nbtool.threads.loop import run_sync
from nbtool.tools.approval import (
    Approved,
    Decision,
    Denied,
    Question,
    QueueChange,
    Released,
    Resolution,
    Undecided,
    Withheld,
)
from nbtool.toolsets.person_tools import person
from tests.chaos import Received, Step, serve_by
from tests.chat.batch.remote.far_tools import ask_for, asked, checked, result_in, say
from tests.chat.batch.remote.test_pool import use
from tests.policy.in_force import policy_in_force

REASON = "not that one"


def form_of(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": []}


QUESTION_1 = Question("call_1", "run", "d1", "asked", '{"n":1}', arguments={"n": 1}, remember_keys={"call": "k"})


def decisions_of(batch: Any) -> list[tuple[str, str, str, bool]]:
    """Give what was decided in the turns of a batch."""
    events = [event for one in batch.answers for event in one.turn.log if isinstance(event, CallDecided)]
    return [(event.verdict, event.by, event.reason, event.edited) for event in events]


@pytest.mark.parametrize("engine", ["pool", pytest.param("client", marks=pytest.mark.nightly)])
def test_a_form_of_a_worker_is_filled_in_at_home(engine: str, request: pytest.FixtureRequest) -> None:
    questions: list[Question] = []

    def fill_in(question: Question) -> Decision:
        questions.append(question)
        return Approved({"text": "blue"})

    def reply(received: Received) -> Sequence[Step]:
        result = result_in(received)
        return say(result) if result is not None else ask_for(call("ask_person", question="Which colour?"))

    with serve_by(reply) as server:
        chat = Chat("tiny", base_url=server.url, tools=[person()], approver=fill_in)
        batch = chat.map(["a", "b"], on=request.getfixturevalue(engine))

    assert ["blue" in str(value) for value in batch.values] == [True, True]
    assert [(question.is_form, FROM_WORKER in question.notes) for question in questions] == [(True, True)] * 2


def test_an_approver_at_home_decides_on_the_thread_that_waits(pool: Executor) -> None:
    lock, threads, seen = threading.Lock(), set(), []

    def decide(question: Question) -> Decision:
        with lock:  # which no pickle holds: the approver stays here
            threads.add(threading.current_thread())
            seen.append(question)
        n = question.arguments["n"]
        return (Approved(), Denied(REASON), Approved({"n": 40}))[n % 3]

    with serve_by(use("asked")) as server:
        chat = Chat("tiny", base_url=server.url, tools=[asked], approver=decide)
        batch = chat.map(["p0", "p1", "p2"], on=pool, chunk=1, resume=False)
        results = {result_in(request) for request in server.requests} - {None}

    assert batch.values[0] == "p0: did 0"
    assert batch.values[2].endswith("did 40")
    assert any(str(result).endswith(f": {REASON}") for result in results)
    assert sorted(decisions_of(batch)) == [
        ("approved", "approver", "", False),
        ("approved", "approver", "", True),
        ("denied", "approver", REASON, False),
    ]
    assert threads == {threading.current_thread()}
    assert all(question.notes[0] == FROM_WORKER for question in seen)
    assert not chat.approvals.pending()


def test_a_result_is_released_or_withheld_at_home(pool: Executor) -> None:
    def decide(question: Question) -> Decision:
        assert question.gate == "result"
        return Released("edited") if "1" in question.shown else Withheld("private")

    with serve_by(use("checked")) as server:
        batch = Chat("tiny", base_url=server.url, tools=[checked], approver=decide).map(["p1", "p2"], on=pool, chunk=1)

    assert batch.values[0] == "p1: edited"
    assert batch.values[1].startswith("p2: ")
    assert batch.values[1].endswith(": private")


def test_a_question_left_open_by_the_approver_is_decided_in_the_queue_of_the_chat(pool: Executor) -> None:
    with serve_by(use("asked")) as server:
        chat = Chat("tiny", base_url=server.url, tools=[asked], approver=lambda _: Undecided())

        def approve(change: QueueChange) -> None:
            if change.kind == "asked":
                chat.approvals.decide(change.question.digest, Approved(), by="%chat approve")

        chat.approvals.add_listener(approve)
        batch = chat.map(["p1"], on=pool, resume=False)

    assert batch.values == ["p1: did 1"]
    assert decisions_of(batch) == [("approved", "%chat approve", "", False)]


def test_what_is_remembered_here_does_not_answer_a_worker_and_its_approval_is_not_remembered_here(
    pool: Executor,
) -> None:
    questions: list[Question] = []

    def decide(question: Question) -> Decision:
        questions.append(question)
        return Approved(remember="tool")

    with serve_by(use("asked")) as server:
        chat = Chat("tiny", base_url=server.url, tools=[asked], approver=decide)
        for _ in range(2):
            assert chat.map(["p1", "p2"], on=pool, concurrency=1, chunk=2, resume=False).values[0] == "p1: did 1"
        assert chat.approvals.remembered() == ()
        here = chat.map(["p1"], resume=False)

    assert here.values == ["p1: did 1"]
    assert len(questions) == 3  # the worker remembers for its map


def test_an_approver_that_fails_or_answers_something_else_denies(pool: Executor) -> None:
    def decide(question: Question) -> Any:
        if question.arguments["n"] == 1:
            raise OSError("no screen")
        return True

    with serve_by(use("asked")) as server:
        batch = Chat("tiny", base_url=server.url, tools=[asked], approver=decide).map(["p1", "p2"], on=pool, chunk=1)

    assert [verdict for verdict, *_ in decisions_of(batch)] == ["denied", "denied"]
    assert "(OSError)" in batch.values[0]  # what the model repeats
    assert "no screen" not in batch.values[0]
    assert "OSError: no screen (test_questions.py, line" in batch.answers[0].approver_error
    assert "not True" in batch.answers[1].approver_error


def test_an_open_question_is_withdrawn_when_the_map_is_stopped_and_its_call_does_not_run(pool: Executor) -> None:
    changes: list[str] = []
    with serve_by(use("asked")) as server:
        chat = Chat("tiny", base_url=server.url, tools=[asked], approver=lambda _: Undecided())
        is_asked = threading.Event()
        chat.approvals.add_listener(lambda change: (changes.append(change.kind), is_asked.set()))
        batch = chat.start_map(["p1"], on=pool, resume=False)
        assert is_asked.wait(240)
        batch.cancel()
        batch.wait()

    assert changes == ["asked", "withdrawn"]
    assert chat.approvals.pending() == ()
    assert [one.error is not None for one in batch.answers] == [True]
    turn = batch.answers[0].turn
    assert turn is None or not any(call.started for call in turn.calls)


def test_a_decision_about_another_question_is_no_answer() -> None:
    text = pack_question(QUESTION_1)
    question, digest = read_question(text, "a1")
    answer = pack_decision(digest, Resolution(Approved({"n": 2}, "call"), "button"))

    assert digest == "d1"
    assert question.digest not in ("d1", read_question(text, "a2")[0].digest)
    assert replace(question, digest="d1", notes=()) == QUESTION_1
    assert read_decision(answer, QUESTION_1) == Resolution(Approved({"n": 2}, "call"), "button")
    with pytest.raises(ApprovalError, match="another question"):
        read_decision(answer, replace(QUESTION_1, digest="d2"))


@pytest.mark.parametrize("decision", [Approved(), Denied("no", "fix"), Released("text"), Withheld("no", "fix")])
def test_every_decision_comes_back_as_it_was(decision: Decision) -> None:
    assert read_decision(pack_decision("d1", Resolution(decision, "x")), QUESTION_1).decision == decision


def sent(**changes: Any) -> str:
    return json.dumps({**json.loads(pack_question(QUESTION_1)), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[" * 100_000,
        "{}",
        sent(asked="{}"),
        sent(asked=json.dumps({"kind": "call_denied"})),
        sent(remember_keys={"all": "k"}),
        sent(arguments=[1]),
        sent(person_rule=7),
        "x" * (MAX_QUESTION + 1),
    ],
)
def test_what_is_no_question_is_not_asked(text: str) -> None:
    with pytest.raises(NbtoolError):
        read_question(text, "a1")
    with pytest.raises(ApprovalError):
        read_decision(text, QUESTION_1)


def test_a_question_that_is_too_large_is_not_sent() -> None:
    with pytest.raises(ApprovalError, match="too large to be asked from a worker"):
        pack_question(replace(QUESTION_1, shown="x" * MAX_QUESTION))


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (pack_question(QUESTION_1), "Approved"),
        (pack_question(replace(QUESTION_1, is_form=True)), "Denied"),
        (pack_question(replace(QUESTION_1, is_form=True, schema=form_of("remark"))), "Approved"),
        (pack_question(replace(QUESTION_1, is_form=True, schema=form_of("password"))), "Denied"),
        (
            pack_question(
                replace(QUESTION_1, is_form=True, schema={**form_of("remark"), SIGN_IN_KEY: "https://example.org/"})
            ),
            "Denied",
        ),
        ("nothing", ""),
    ],
)
def test_a_worker_may_ask_for_approvals_and_input_but_for_no_secret_and_no_login(text: str, verdict: str) -> None:
    answer = answer_at_home(text, lambda _: Approved())

    assert (json.loads(answer)["kind"] if answer else "") == verdict
    assert bool(answer and json.loads(answer)["fix"]) is (SIGN_IN_KEY in text)


def test_a_policy_of_either_machine_that_asks_a_person_holds(tmp_path: Path) -> None:
    by_worker = answer_at_home(pack_question(replace(QUESTION_1, person_rule="A rule.")), lambda _: Approved())
    with policy_in_force(tmp_path, "[approval]\nautomatic = false\n") as path:
        by_home = answer_at_home(pack_question(QUESTION_1), lambda _: Approved())

    assert json.loads(by_worker)["reason"] == "A rule."
    assert str(path) in json.loads(by_home)["reason"]


def test_a_question_that_is_cancelled_before_it_begins_is_answered() -> None:
    from nbtool.chat.batch.remote import HomeQuestions
    from nbtool.chat.batch.remote.home_questions import NO_DECISION
    from nbtool.threads.caller_thread import CallerThread
    from nbtool.tools.approval import ApprovalQueue

    approvals, replies = ApprovalQueue(), list[str]()

    async def give_up() -> None:
        questions = HomeQuestions(approvals, lambda _: Approved())
        questions.open(CallerThread())
        questions.ask("a1", pack_question(QUESTION_1), "run_1", replies.append)
        questions.end("run_1")
        await questions.close()
        questions.open(CallerThread())
        questions.ask("a1", pack_question(QUESTION_1), "run_2", replies.append)  # its id is free again
        questions.end("run_2")
        await questions.close()

    run_sync(give_up())

    assert replies == [NO_DECISION, NO_DECISION]
    assert approvals.pending() == ()


def answer_at_home(text: str, approver: Callable[[Question], Decision]) -> str:
    """Return what is sent back from home for a question of a worker."""
    from nbtool.chat.batch.remote import HomeQuestions
    from nbtool.threads.caller_thread import CallerThread
    from nbtool.tools.approval import ApprovalQueue

    questions = HomeQuestions(ApprovalQueue(), approver)

    async def ask() -> str:
        answer = asyncio.get_running_loop().create_future()
        questions.open(CallerThread())
        questions.ask("a1", text, "run_1", answer.set_result)
        try:
            return str(await answer)
        finally:
            await questions.close()

    return run_sync(ask())
