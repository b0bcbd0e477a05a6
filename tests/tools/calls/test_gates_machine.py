"""Any order of calls, clicks and changes keeps what the gates promise.

A machine makes calls on a real desk, answers the questions in every way a person or a clock can, from one thread and
from another, and changes meanwhile what the calls stand for. What it checks is kept apart from nbtool's own digests:
what was shown is written down in the machine's own words when it is shown, what ran is written down by the tools.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from nbtool.errors import AlreadyDecided, ApprovalError
from nbtool.events import CallFinished
from nbtool.tools import Approved, Denied, Released, Withheld
from nbtool.tools.variable_tools import variable_tools
from tests.tools.calling import ask_for
from tests.tools.ground import ASKS, SECONDS, GateMachine

OUTCOMES = {"ok", "denied", "withheld", "cancelled", "not_found", "unknown"}

PICK = st.integers(0, 9)
"""Which of those that there are, counted round."""


class Gates(GateMachine):
    """Calls, decisions and changes, in any order."""

    checked: ClassVar[int] = 0

    # --- rules -----------------------------------------------------------------------------------------------------

    @rule(
        calls=st.lists(
            st.tuples(
                st.sampled_from((*ASKS, "free", "secret")),
                st.integers(0, 2),
                st.sampled_from([None, "$VAR_REF{{x}}", "$VAR_REF{{y}}", "plain"]),
            ),
            min_size=1,
            max_size=3,
        ),
    )
    def emit(self, calls: list[tuple[str, int, str | None]]) -> None:
        """Make some calls; each begins when those before it have ended or asked, so that they ask in the same order."""
        for name, n, it in calls:
            self.begin(ask_for(name, n=n) if it is None else ask_for(name, n=n, it=it))
            self.settle()

    @precondition(lambda self: self.remembered)
    @rule(which=PICK, change=st.sampled_from(["", "", "redefine", "revoke"]))
    def repeat(self, which: int, change: str) -> None:
        """Make a call that an approval was remembered for, also after that has lost its meaning."""
        _, what = list(self.remembered.values())[which % len(self.remembered)]
        if change == "redefine":
            self.redefine(what.tool)
        elif change == "revoke":
            self.revoke(which)
        self.begin(ask_for(what.tool, **what.arguments))
        self.settle()

    @rule(name=st.sampled_from(["x", "y"]))
    def reassign(self, name: str) -> None:
        """Let a name mean another object with the same contents."""
        self.former.append(self.notebook[name])  # kept alive: an id must not be used again
        self.notebook[name] = type(self.notebook[name])(self.notebook[name])

    @rule(name=st.sampled_from(["x", "y"]))
    def mutate(self, name: str) -> None:
        """Change an object in place."""
        it = self.notebook[name]
        it.append(len(it)) if isinstance(it, list) else it.update(a=it["a"] + 1)

    @precondition(lambda self: not any(question.again for question in self.runtime.approvals.pending()))
    @rule(name=st.sampled_from(ASKS), how=st.sampled_from(["wrapper", "state"]))
    def change_tool(self, name: str, how: str) -> None:
        """Change a tool in place: its wrapper is defined anew over the same function, or its object's state changes."""
        self.versions[name] += 1
        if how == "wrapper":
            self.tools.add(self.make(name))
        else:
            self.states[name].version = self.versions[name]

    @precondition(lambda self: self.open())
    @rule(which=PICK, arguments=st.sampled_from([{"n": "x"}, {}, {"n": 1, "it": "$VAR_REF{{gone}}"}]))
    def approve_edited_wrongly(self, which: int, arguments: dict[str, Any]) -> None:
        """Approve with arguments that do not fit: the person is asked again, and nothing runs."""
        question = self.seen[self.pick(which)]
        if question.gate == "run":
            self.runtime.approvals.decide(question.digest, Approved(arguments))
            self.decided.add(question.digest)
            self.settle()
            again = [q.again for q in self.runtime.approvals.pending() if q.call_id == question.call_id]
            assert [one.reason for one in again if one] == ["invalid"] or self.made[question.call_id].task.done()

    @rule(name=st.sampled_from(ASKS))
    def redefine(self, name: str) -> None:
        """Define a tool anew, with other code."""
        self.versions[name] += 1
        self.tools.add(self.make(name))

    @precondition(lambda self: self.open())
    @rule(which=PICK, remember=st.sampled_from(["", "", "call", "tool"]))
    def approve(self, which: int, remember: Any) -> None:
        """Approve, or release."""
        self.say_yes(self.pick(which), Approved(remember=remember))

    @precondition(lambda self: self.open())
    @rule(which=PICK, change=st.sampled_from(["reassign", "mutate", "redefine"]))
    def approve_what_changed_meanwhile(self, which: int, change: str) -> None:
        """Approve what stands for something else now than it did when it was shown."""
        question = self.seen[self.pick(which)]
        said = question.arguments.get("it") or ""
        if change == "redefine" and question.tool in ASKS:
            self.redefine(question.tool)
        elif change != "redefine" and said.startswith("$VAR_REF"):
            getattr(self, change)(said[len("$VAR_REF{{") : -2])
        self.say_yes(question.digest, Approved())

    @precondition(lambda self: self.open())
    @rule(which=PICK, n=st.integers(3, 5), it=st.sampled_from([None, "$VAR_REF{{x}}"]))
    def approve_edited(self, which: int, n: int, it: str | None) -> None:
        """Approve with other arguments, or release another text."""
        self.say_yes(self.pick(which), Approved({"n": n} if it is None else {"n": n, "it": it}), text="edited")

    @precondition(lambda self: self.open())
    @rule(which=PICK)
    def approve_from_two_clients(self, which: int) -> None:
        """Let two threads approve the same question at once: one of them is told that it was second."""
        digest = self.pick(which)
        question, start = self.seen[digest], threading.Barrier(2)
        self.allow(question, Approved())
        decision = Approved() if question.gate == "run" else Released()
        answers = [self.click(digest, decision, by=by, start=start) for by in ("one", "two")]
        refused = [answer.exception(SECONDS) for answer in answers]
        self.decided.add(digest)
        assert sorted(type(error).__name__ for error in refused) == ["AlreadyDecided", "NoneType"]
        self.settle()

    @precondition(lambda self: self.closed())
    @rule(which=PICK, decision=st.sampled_from([Approved(), Approved(remember="tool"), Denied()]))
    def decide_again(self, which: int, decision: Any) -> None:
        """Decide what was decided before, or what was withdrawn: nothing comes of it but a refusal."""
        closed = self.closed()
        with pytest.raises(AlreadyDecided):
            self.runtime.approvals.decide(closed[which % len(closed)], decision)

    @rule(digest=st.text("0123456789abcdef", min_size=64, max_size=64))
    def approve_what_was_never_asked(self, digest: str) -> None:
        """Decide a digest that no question has."""
        with pytest.raises(ApprovalError):
            self.runtime.approvals.decide(digest, Approved())

    @precondition(lambda self: self.open())
    @rule(which=PICK, how=st.sampled_from(["deny", "expire"]))
    def say_no(self, which: int, how: str) -> None:
        """Deny or withhold, by a person or by the clock."""
        digest = self.pick(which)
        question = self.seen[digest]
        if how == "expire":
            self.runtime.approvals.expire(digest)
        else:
            self.runtime.approvals.decide(digest, Denied("no") if question.gate == "run" else Withheld("no"))
        self.decided.add(digest)
        if question.gate == "result":
            self.withheld.append(question.shown)
        self.settle()

    @precondition(lambda self: any(not made.task.done() for made in self.made.values()))
    @rule(which=PICK)
    def cancel(self, which: int) -> None:
        """Cancel a call that waits."""
        left = [made for made in self.made.values() if not made.task.done()]
        made = left[which % len(left)]
        at_result = [
            q.shown for q in self.runtime.approvals.pending() if (q.call_id, q.gate) == (made.call.call_id, "result")
        ]
        made.task.cancel()
        self.withheld += at_result
        self.settle()

    @precondition(lambda self: self.remembered)
    @rule(which=PICK)
    def revoke(self, which: int) -> None:
        """Forget a remembered approval."""
        approval_id = list(self.remembered)[which % len(self.remembered)]
        self.runtime.approvals.revoke(approval_id)
        del self.remembered[approval_id]

    # --- what holds ------------------------------------------------------------------------------------------------

    @invariant()
    def what_ran_was_approved_and_ran_once(self) -> None:
        Gates.checked += 1
        for made in self.made.values():
            assert len(made.ran) <= 1
            assert all(effect in made.allowed for effect in made.ran), (made.ran, made.allowed)

    @invariant()
    def every_call_has_one_outcome(self) -> None:
        ended = [event.call_id for event in self.events if isinstance(event, CallFinished)]
        assert sorted(ended) == sorted(made.call.call_id for made in self.made.values() if made.task.done())
        for made in self.made.values():
            if made.task.done() and not made.task.cancelled():
                record = made.task.result()
                assert record.status in OUTCOMES
                assert bool(made.ran) == (record.status in ("ok", "withheld"))

    @invariant()
    def every_question_has_a_digest_of_its_own_and_one_decision(self) -> None:
        asked = [event.digest for event in self.events if event.kind == "call_asked"]
        actual = [event.digest for event in self.events if event.kind == "call_decided" and event.by != "remembered"]
        assert len(asked) == len(set(asked))
        assert len(actual) == len(set(actual))
        assert self.decided <= set(actual)

    @invariant()
    def a_withheld_result_is_readable_by_no_road(self) -> None:
        if self.withheld:
            ways = "\n".join(self.ways())
            assert not [secret for secret in self.withheld if secret in ways]

    def ways(self) -> Iterator[str]:
        """Give all that a model can read, and all that lies in the journal."""
        functions = {made.name: made.function for made in variable_tools(self.variables)}
        yield functions["ListVars"](page_size=200)
        yield from (functions["ReadVar"](entry.name) for entry in self.variables.list_entries())
        for made in self.made.values():
            if made.task.done() and not made.task.cancelled():
                yield made.task.result().to_result().text
        yield from map(json.dumps, self.journal.events("turn"))

    def teardown(self) -> None:
        for made in self.made.values():
            made.task.cancel()
        self.settle()
        self.every_call_has_one_outcome()
        self.a_withheld_result_is_readable_by_no_road()
        assert self.runtime.approvals.pending() == ()
        self.journal.close()
        self.loop.close()


def run(examples: int, steps: int, tell: Callable[[str, object], None]) -> None:
    Gates.checked = 0
    run_state_machine_as_test(
        Gates,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate, Phase.shrink],
        ),
    )
    tell("injected", Gates.checked)


@pytest.mark.promise("once")
@pytest.mark.timeout(300)
def test_gates_hold_in_any_order_of_calls_clicks_and_changes(
    record_property: Callable[[str, object], None],
) -> None:
    run(examples=40, steps=40, tell=record_property)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_gates_hold_in_very_many_orders(record_property: Callable[[str, object], None]) -> None:
    run(examples=1_000, steps=50, tell=record_property)
