"""Calls at the seams: answers that come too late, tools that became others, work that nobody waits for."""

from __future__ import annotations

import asyncio
import functools
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from nbtool import Chat
from nbtool.loop import CallerThread
from nbtool.messages import ToolCall
from nbtool.testing import ScriptedWire, call
from nbtool.thread_pool import run_in_worker
from nbtool.tools import Approved, Denied, tool
from nbtool.tools.approval import ApprovalQueue, Policy, Question, Resolution
from nbtool.tools.calls import gates
from nbtool.tools.execution.executors import ExecutorRunner, _explain_pickle_error, _find_unpicklable
from nbtool.tools.execution.threads import CallerThreadRunner
from nbtool.tools.tool import Options, Tool, as_tools
from nbtool.tools.toolset import Toolset
from tests.tools.calling import ask_for, make_harness


@tool
def look(n: int) -> int:
    """Look."""
    return n


def test_an_approver_that_answers_after_somebody_else_did_changes_nothing() -> None:
    desk = make_harness(look)

    def late(question: Question) -> Approved:
        desk.bench.approvals.decide(question.digest, Approved(), by="button")
        return Approved(arguments={"n": 99})

    desk.bench.approver = late
    record = desk.run(ask_for("look", n=1))

    assert (record.status, record.result) == ("ok", 1)
    assert [decided.by for decided in record.decisions] == ["button"]


def test_the_mark_of_a_tool_stays_behind_when_its_function_is_sent_away() -> None:
    assert pickle.loads(pickle.dumps(Options(timeout=3.0))) is None


def test_a_call_that_is_over_at_its_executor_leaves_nothing_to_stop() -> None:
    async def done() -> str:
        with ThreadPoolExecutor(1) as pool:
            place = ExecutorRunner(pool, lambda: None)
            before = place.stop()
            place._is_closed = False
            await place.run(lambda: 1)
            return f"{before}, {place.stop()}"

    assert asyncio.run(done()) == "uncertain, idle"


def test_what_cannot_be_sent_is_named_and_what_is_no_partial_is_not_looked_into() -> None:
    work = functools.partial(max, 1, key=lambda one: one)

    assert list(_find_unpicklable(len)) == []
    assert next(_find_unpicklable(work)).startswith("the argument 'key' (")
    assert list(_find_unpicklable(functools.partial(max, 1))) == []
    assert str(_explain_pickle_error(TypeError("cannot pickle 'lock'"), len, ThreadPoolExecutor(1))).endswith(
        "the return value of the tool cannot be pickled."
    )
    assert isinstance(_explain_pickle_error(ValueError("cannot pickle"), work, ThreadPoolExecutor(1)), ValueError)


def test_edited_arguments_are_told_in_their_own_letters() -> None:
    said = tool(lambda text: text, name="say")
    desk = make_harness(said, approver=lambda _: Approved(arguments={"text": "Zürich 東京"}))
    record = desk.run(ask_for("say", text="x"))

    assert record.result == "Zürich 東京"
    assert record.edited == desk.of("call_started")[0].edited == '{"text": "Zürich 東京"}'


def test_an_answer_that_comes_after_the_decision_is_no_error() -> None:
    async def asked() -> tuple[object, object]:
        desk = ApprovalQueue()
        pending = desk.add(Question("c1", "run", "d1", "look", "{}"))

        def late(question: Question) -> Denied:
            desk.decide(question.digest, Approved(), by="button")
            return Denied("too late")

        await gates._ask_approver(pending.question, desk, late, CallerThread())
        return await pending, desk.pending()

    assert asyncio.run(asked()) == (Resolution(Approved(), "button"), ())


def test_a_toolset_keeps_its_name_under_another_policy() -> None:
    assert Toolset("mine", [look]).approved(Policy("auto")).name == "mine"


def test_a_tool_that_became_another_before_its_turn_is_looked_at_anew() -> None:
    offered: dict[str, Tool] = {}
    (second,) = as_tools(tool(lambda n: f"second {n}", name="swap", run="auto"))

    def first(n: int) -> str:
        offered["swap"] = second
        return f"first {n}"

    (offered["swap"],) = as_tools(tool(first, name="swap", run="auto"))

    class Swapping(Toolset):
        """Offers one tool, and another after that was called."""

        def tools(self) -> dict[str, Tool]:
            return dict(offered)

        def get(self, name: str) -> Tool:
            return offered[name]

    with ScriptedWire([[call("swap", n=1), call("swap", n=2)], "Done."]) as wire:
        turn = Chat(wire=wire, tools=[Swapping("swapping")]).send("Go.")

    assert [record.result for record in turn.calls] == ["first 1", "second 2"]


def test_work_that_was_stopped_before_its_turn_is_not_begun() -> None:
    begun: list[str] = []
    place = CallerThreadRunner(CallerThread(), lambda: begun.append("begun"))

    assert place.stop() == "idle"
    assert isinstance(place._run_guarded(lambda: begun.append("worked")).error, KeyboardInterrupt)
    assert begun == []


def test_work_in_a_thread_that_nobody_waits_for_any_more_ends_by_itself() -> None:
    async def forgotten() -> bool:
        goes_on, ended = threading.Event(), asyncio.Event()
        future = run_in_worker(goes_on.wait, on_done=ended.set)
        future.cancel()
        goes_on.set()
        await asyncio.wait_for(ended.wait(), 10)
        return future.cancelled()

    assert asyncio.run(forgotten())


@pytest.mark.parametrize(
    ("arguments", "status"), [("", "not_run"), ("{}", "not_run"), ('{"n": ', "invalid"), ("[1]", "invalid")]
)
def test_a_call_that_may_not_run_is_told_apart_from_one_that_cannot_be_read(arguments: str, status: str) -> None:
    record = make_harness(look).run(ToolCall("look", arguments, id="t1", call_id="c1"))

    assert (record.status, record.result) == (status, None)
