from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from nbtool.errors import AlreadyDecided, ApprovalError
from nbtool.sign_in import SIGN_IN_KEY
from nbtool.tools.approval import (
    BY_PERSON,
    ApprovalQueue,
    Approved,
    Decision,
    Denied,
    Question,
    QueueChange,
    Released,
    Resolution,
    Withheld,
    canonical_json,
    make_digest,
)


def question(digest: str = "d1", gate: Any = "run", *, can_remember: bool = True) -> Question:
    keys = {"call": f"call-{digest}", "tool": "tool-pay"}
    return Question("call_1", gate, digest, "pay", '{"n": 1}', can_remember=can_remember, remember_keys=keys)  # type: ignore[arg-type]


def ruling_of(queue: ApprovalQueue, asked: Question, *decisions: tuple[Decision, str]) -> Resolution:
    async def work() -> Resolution:
        pending = queue.add(asked)
        for decision, by in decisions:
            queue.decide(asked.digest, decision, by=by)
        return await pending

    return asyncio.run(work())


def test_a_decision_reaches_the_waiting_call() -> None:
    queue = ApprovalQueue()

    assert ruling_of(queue, question(), (Approved(), "button")) == Resolution(Approved(), "button")
    assert queue.pending() == ()


@pytest.mark.promise("logins")
def test_a_sign_in_is_approved_by_hand_only_and_denied_by_anybody() -> None:
    asked = replace(question(), is_form=True, schema={SIGN_IN_KEY: "https://login.example/authorize"})
    queue = ApprovalQueue()
    queue.add(asked)

    for by in ("script", "approver", "remembered", "policy", "expired"):
        with pytest.raises(ApprovalError, match="Only a person"):
            queue.decide("d1", Approved(), by=by)
    assert [one.digest for one in queue.pending()] == ["d1"]
    queue.decide("d1", Denied(), by="script")

    for by in BY_PERSON:
        assert ruling_of(ApprovalQueue(), asked, (Approved(), by)) == Resolution(Approved(), by)


@pytest.mark.promise("first-decision")
def test_the_first_decision_wins_and_the_second_learns_who_it_was() -> None:
    queue = ApprovalQueue()
    queue.add(question())
    queue.decide("d1", Denied("no"), by="button")

    with pytest.raises(AlreadyDecided, match="Decided by button"):
        queue.decide("d1", Approved(), by="input")


@pytest.mark.promise("first-decision")
def test_of_many_threads_that_decide_at_once_exactly_one_wins() -> None:
    for round in range(50):
        queue, digest = ApprovalQueue(), f"d{round}"
        pending = queue.add(question(digest))
        start, won, lost = threading.Barrier(4), [], []

        def decide(
            name: str, queue: ApprovalQueue, digest: str, start: threading.Barrier, won: list[str], lost: list[str]
        ) -> None:
            start.wait()
            try:
                queue.decide(digest, Approved() if name < "c" else Denied(name), by=name)
                won.append(name)
            except AlreadyDecided:
                lost.append(name)

        threads = [threading.Thread(target=decide, args=(name, queue, digest, start, won, lost)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(won) == 1
        assert len(lost) == 3
        assert pending.future.result().by == won[0]


@pytest.mark.promise("once")
def test_a_question_is_never_asked_or_used_twice() -> None:
    queue = ApprovalQueue()
    queue.add(question())
    with pytest.raises(ApprovalError, match="asked before"):
        queue.add(question())
    queue.decide("d1", Approved())

    with pytest.raises(ApprovalError, match="asked before"):
        queue.add(question())


def test_only_a_question_that_waits_can_be_decided() -> None:
    with pytest.raises(ApprovalError, match="No question with the digest 'nothing'"):
        ApprovalQueue().decide("nothing", Approved())


@pytest.mark.parametrize(
    ("gate", "decision"),
    [("run", Released()), ("run", Withheld()), ("result", Approved()), ("result", Denied()), ("run", None)],
)
def test_a_decision_must_fit_its_gate(gate: str, decision: Any) -> None:
    queue = ApprovalQueue()
    queue.add(question(gate=gate))

    with pytest.raises(ApprovalError, match="gate takes"):
        queue.decide("d1", decision)
    assert len(queue.pending()) == 1


def test_a_question_that_expires_is_decided_against_the_call() -> None:
    queue = ApprovalQueue()
    run, result = queue.add(question("d1")), queue.add(question("d2", "result"))
    queue.expire("d1")
    queue.expire("d2", "Too late.")

    assert run.future.result() == Resolution(Denied("Nobody answered in time."), "expired")
    assert result.future.result() == Resolution(Withheld("Too late."), "expired")
    with pytest.raises(AlreadyDecided):
        queue.expire("d1")


def test_a_withdrawn_question_can_no_longer_be_decided() -> None:
    queue = ApprovalQueue()
    pending = queue.add(question())

    assert queue.withdraw("d1")
    assert not queue.withdraw("d1")
    assert pending.future.result().by == "withdrawn"
    with pytest.raises(AlreadyDecided, match="stopped before a decision"):
        queue.decide("d1", Approved())


def test_only_a_question_that_waits_can_be_shown() -> None:
    queue = ApprovalQueue()
    queue.add(question())

    shown = [queue.is_shown("d1")]
    for digest in ("d1", "another"):
        queue.mark_shown(digest)
        shown.append(queue.is_shown(digest))
    queue.decide("d1", Approved())
    shown.append(queue.is_shown("d1"))
    queue.mark_shown("d1")

    assert [*shown, queue.is_shown("d1")] == [False, True, False, False, False]


def test_a_caller_that_stops_waiting_leaves_the_question_in_the_queue() -> None:
    queue = ApprovalQueue()

    async def work() -> None:
        pending = queue.add(question())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(pending, 0.01)
        queue.decide("d1", Approved(), by="late")
        assert (await pending).by == "late"

    asyncio.run(work())

    assert queue.pending() == ()


def test_listeners_are_notified_and_dropped_when_they_fail() -> None:
    queue = ApprovalQueue()
    received: list[QueueChange] = []
    calls: list[str] = []

    def failing(change: QueueChange) -> None:
        calls.append(change.kind)
        raise RuntimeError

    queue.add_listener(failing)
    stop = queue.add_listener(received.append)
    queue.add(question("d1"))
    queue.decide("d1", Approved(), by="button")
    queue.add(question("d2"))
    queue.withdraw("d2")
    stop()
    stop()
    queue.add(question("d3"))

    assert [(change.kind, change.question.digest) for change in received] == [
        ("asked", "d1"),
        ("decided", "d1"),
        ("asked", "d2"),
        ("withdrawn", "d2"),
    ]
    assert received[1].resolution == Resolution(Approved(), "button")
    assert calls == ["asked"]


def test_a_remembered_approval_covers_its_scope_until_it_is_revoked() -> None:
    queue = ApprovalQueue()
    stored = queue.remembered_approvals.add(question("d1"), "call", by="button")

    assert queue.remembered_approvals.find(question("d1")) == stored
    assert queue.remembered_approvals.find(question("d2")) is None
    of_tool = queue.remembered_approvals.add(question("d1"), "tool", by="button")
    assert queue.remembered_approvals.find(question("d2")) == of_tool
    assert queue.remembered() == (stored, of_tool)
    assert queue.remembered_approvals.add(question("d1"), "tool", by="again") == of_tool
    queue.revoke(of_tool.approval_id)
    assert queue.remembered_approvals.find(question("d2")) is None
    with pytest.raises(ApprovalError, match="No remembered approval"):
        queue.revoke(of_tool.approval_id)


def test_edited_arguments_are_copied_for_listeners_and_have_to_be_json() -> None:
    queue, received = ApprovalQueue(), list[QueueChange]()
    queue.add_listener(received.append)
    queue.add(question())
    with pytest.raises(ApprovalError, match="The arguments are not JSON"):
        queue.decide("d1", Approved({"to": object()}))
    arguments = {"to": ["alice"]}
    queue.decide("d1", Approved(arguments))
    arguments["to"].append("mallory")

    assert received[1].resolution == Resolution(Approved({"to": ["alice"]}), "script")


def test_what_must_ask_each_time_is_never_remembered() -> None:
    queue = ApprovalQueue()
    sensitive = question(can_remember=False)
    queue.add(sensitive)

    with pytest.raises(ApprovalError, match="cannot be remembered"):
        queue.remembered_approvals.add(sensitive, "tool", by="button")
    with pytest.raises(ApprovalError, match="cannot be remembered"):
        queue.decide("d1", Approved(remember="tool"))
    assert queue.remembered_approvals.find(sensitive) is None


def test_the_list_of_closed_questions_is_bounded() -> None:
    queue = ApprovalQueue(max_decided=2)
    for digest in ("d1", "d2", "d3"):
        queue.add(question(digest))
        queue.decide(digest, Approved())

    with pytest.raises(ApprovalError, match="No question"):
        queue.decide("d1", Approved())
    with pytest.raises(AlreadyDecided):
        queue.decide("d3", Approved())


def test_json_is_written_in_one_way_only() -> None:
    assert canonical_json({"b": 1, "a": ["é"]}) == '{"a":["\\u00e9"],"b":1}'
    assert make_digest(a=1, b=2) == make_digest(b=2, a=1)
    assert make_digest(a=1) != make_digest(a="1")
    assert len(make_digest()) == 64


def test_an_approval_is_remembered_for_a_call_or_a_tool_and_nothing_else() -> None:
    queue = ApprovalQueue()
    queue.add(question())

    for scope in ("notebook", "", "Tool"):
        with pytest.raises(ApprovalError, match="remember=") as refused:
            queue.remembered_approvals.add(question(), scope, by="script")  # type: ignore[arg-type]  # the mistake
        assert ("'call'" in refused.value.fix, "'tool'" in refused.value.fix) == (True, True)
    assert queue.remembered() == ()
    assert [one.digest for one in queue.pending()] == ["d1"]
