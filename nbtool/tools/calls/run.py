"""One call: look up → resolve → validate → gate → run → render → gate → remember.

Each call gets exactly one outcome, whatever happens. What is approved is what runs: just before it does, the tool and
every reference are looked up again, and if anything is another than it was, the question is asked anew.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from nbtool.errors import ToolError, ToolFailed, UnknownTool
from nbtool.events import AskedAgain, CallProgress, CallReady, CallStarted, Emit, Notice
from nbtool.loop import LentThread
from nbtool.messages import ToolCall
from nbtool.thread_pool import Outcome, off_loop
from nbtool.tools.approval import (
    BY_POLICY,
    Approved,
    Approver,
    AskFunction,
    Desk,
    Question,
    Ruling,
    canonical,
)
from nbtool.tools.calls.binding import Bound, bind, is_quick
from nbtool.tools.calls.disclosure import CLOSED_PROGRESS, ClosedValues
from nbtool.tools.calls.gates import REMEMBERED, announce, is_cancelling, refused_text, rule, word_of
from nbtool.tools.calls.ordering import Ticket
from nbtool.tools.calls.reask import Asking
from nbtool.tools.calls.record import CallRecord, Closed
from nbtool.tools.calls.result import Delivery
from nbtool.tools.execution.runner import Blocked, Ended, place_of, run_tool
from nbtool.tools.tool import Progress
from nbtool.tools.toolset import Toolset
from nbtool.tools.values.render import BUDGET, error_text
from nbtool.tools.variables.store import Variables

__all__ = ["Bench", "CallRecord", "RunningCall", "not_run", "run_call", "running_call"]


BIND_SECONDS = 10.0
"""Seconds that looking up and writing out references may take."""

FROM_CLOSED = (
    "The script has values that were exposed by reference only, and {tool!r} takes its arguments as plain text, or "
    "sends them out of this kernel. Call it before, or outside of the script."
)

BLOCKED = (
    "The async tool `{name}` blocked the loop that async tools share, so another call was moved to a new loop."
    " Make it a plain function, or await asyncio.to_thread(…) in it."
)

TIMED_OUT = {
    "nothing": " and was stopped",
    "running": ", still running",
    "perhaps": " and was cancelled; had it begun at its executor, it may still be running",
}


Make = Callable[[ToolCall, "Bench", int], Awaitable["CallRecord"]]


@dataclass(slots=True)
class Bench:
    """What a call works with. `approver` None means that nobody can be asked; `timeout` is for tools without one.

    `make` is how a tool that works with the chat makes calls of its own: the turn counts, watches and records them.
    `texts` are what the model is told of an outcome in place of our own words; `{name}` and `{reason}` are filled in.
    `plugins` are those of the chat: whatever a tool sends to a model on its own goes through them too. `from_closed`
    says that the calls are made by a script which was given closed values. With `check_results` a person is asked
    before any result reaches the model, whatever its tool says.
    """

    tools: Toolset
    variables: Variables
    emit: Emit
    desk: Desk = field(default_factory=Desk)
    approver: Approver | AskFunction | None = None
    lent: LentThread = field(default_factory=LentThread)
    budget: int = BUDGET
    timeout: float | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    plugins: tuple[object, ...] = ()
    from_closed: bool = False
    check_results: bool = False
    left_running: dict[str, asyncio.Task[Outcome]] = field(default_factory=dict)
    make: Make = field(default=lambda call, bench, round: run_call(call, bench, round=round))

    async def rule(self, question: Question, record: CallRecord) -> Ruling:
        """Get a ruling and journal it."""
        ruling = await rule(question, desk=self.desk, approver=self.approver, lent=self.lent, emit=self.emit)
        record.decisions.append(await announce(question, ruling, self.emit))
        return ruling


@dataclass(frozen=True, slots=True)
class RunningCall:
    """The call in which some code runs, for tools that work with the chat around them."""

    bench: Bench
    call_id: str
    round: int
    record: CallRecord


_running: ContextVar[RunningCall] = ContextVar("nbtool_call")


def running_call() -> RunningCall:
    """Give the call in which the caller runs: in a tool, on whatever thread, and in a policy.

    Raises:
        ToolFailed: it runs in none.
    """
    try:
        return _running.get()
    except LookupError:
        raise ToolFailed("This works only as a tool of a chat.") from None


async def run_call(
    call: ToolCall,
    bench: Bench,
    *,
    round: int,
    keep: Callable[[CallRecord], object] = lambda _: None,
    ticket: Ticket | None = None,
) -> CallRecord:
    """See one call through to its outcome; `keep` is given the record at once, and it fills as the call goes on.

    `ticket` is its place among the calls of its round; without one it waits for no other.
    Nothing that a tool, an approver or a policy raises comes out. Cancelling the task ends the call, journals its
    outcome, and goes on as `asyncio.CancelledError`; so does a person's interrupt of a tool on the lent thread.
    """
    record = CallRecord.of(call, round)
    keep(record)
    _running.set(RunningCall(bench, call.call_id, round, record))
    try:
        await _see_through(call, bench, record, ticket or Ticket())
    except Closed as closed:
        record.end(*closed.outcome)
    except UnknownTool as error:
        record.end("not_found", str(error), str(error))
    except ToolError as error:
        record.end("invalid", str(error), str(error))
    except asyncio.CancelledError:
        record.end("cancelled", record.shown or "The call was cancelled.")
    except Exception as error:  # noqa: BLE001 - a defect of ours must not leave a call without an answer
        record.end("error", error_text(error), error_text(error))
    record.tell(bench.texts)
    bench.variables.count(record, record.reference)
    await asyncio.shield(asyncio.ensure_future(bench.emit(record.finished())))
    if record.status == "cancelled" or is_cancelling():
        raise asyncio.CancelledError
    return record


async def not_run(call: ToolCall, bench: Bench, *, round: int, reason: str) -> CallRecord:
    """Answer a call that is not to run at all, and journal it."""
    record = CallRecord.of(call, round)
    record.end("not_run", reason, reason)
    record.tell(bench.texts)
    await bench.emit(record.finished())
    return record


async def _see_through(call: ToolCall, bench: Bench, record: CallRecord, ticket: Ticket) -> None:
    asked_for = await _ready(call, bench, record)
    bound = await _approved(call, asked_for, bench, record, ticket)
    if bound.written != asked_for.written:
        record.edited = json.dumps(bound.arguments, ensure_ascii=False)
    ended = await _run(bound, bench, record)
    name = bound.tool.store_as or bench.variables.next_name(bound.tool.name)  # in the order of the calls
    ticket.leave()
    ask = partial(bench.rule, record=record)
    delivery = Delivery(
        bound, record, bench.variables, bench.budget, ask, name, bench.from_closed, is_checked=bench.check_results
    )
    await delivery.deliver(ended)


async def _ready(call: ToolCall, bench: Bench, record: CallRecord) -> Bound:
    bench.tools.get(call.name)
    if call.args is None or not call.runnable:
        raise Closed("not_run" if _is_whole(call.arguments) else "invalid", call.error or "The call cannot run.")
    bound = await _bind(call.name, call.args, bench)
    if bench.from_closed and (bound.tool.sends_to or not bound.tool.resolve):
        raise Closed("invalid", FROM_CLOSED.format(tool=call.name))
    record.resolved = bound.described
    who = (call.call_id, call.name, record.round, call.arguments)
    await bench.emit(CallReady(*who, bound.described, call.repaired, {**bound.glances}))
    return bound


async def _bind(name: str, arguments: Mapping[str, Any], bench: Bench, *, former: Bound | None = None) -> Bound:
    """Look up the tool and everything the arguments refer to, as they are now; off the loop where it may take long.

    A `former` binding of the same arguments holds where the tool is the same and nothing is referred to.
    """
    tool = bench.tools.get(name)
    if is_quick(tool, arguments):
        return former if former and former.tool is tool else bind(tool, arguments, bench.variables)
    outcome = await off_loop(partial(bind, tool, arguments, bench.variables), BIND_SECONDS)
    if outcome is None:
        raise Closed("invalid", f"The references took longer than {BIND_SECONDS:g} s to read.")
    if isinstance(outcome.error, Exception):
        raise outcome.error
    if outcome.error:
        raise Closed("error", error_text(outcome.error))
    bound: Bound = outcome.value
    return bound


async def _approved(call: ToolCall, bound: Bound, bench: Bench, record: CallRecord, ticket: Ticket) -> Bound:
    """Pass the first gate and wait for this call's turn; gives the call as it was approved and still is."""
    if not bound.tool.takes_turns:
        ticket.has_run()
    asking = Asking()
    while not asking.is_over:
        word = await word_of(bound, "run")
        word = "ask_always" if bound.is_disclosing else word
        bound = bound if word == "auto" else await _watched(bound, bench)
        await ticket.may_ask()
        if word == "auto":
            now = await _at_its_turn(bound, bench, record, ticket)
            if bound.has_tool_of(now):
                return now
            asking.take(now, AskedAgain("changed"))
        elif approved := await _ask_to_run(call, bound, asking, bench, record, ticket, word=word):
            return approved
        bound = asking.bound or bound
    raise Closed("denied", asking.why)


async def _ask_to_run(  # noqa: PLR0913 - a call on its way, and what was asked about it
    call: ToolCall, bound: Bound, asking: Asking, bench: Bench, record: CallRecord, ticket: Ticket, *, word: str
) -> Bound | None:
    """Ask once; gives the call where it is approved and still the same, and None where it has to be asked again."""
    question = bound.question(call.call_id, "run", bound.shown, attempt=asking.count, again=asking.again)
    ruling = await bench.rule(question, record)
    try:
        approved, remember = await _allowed(bound, ruling, bench)
    except ToolError as error:  # the person's own arguments: the person is told, not the model
        asking.refuse_edit(bound, error, ruling.decision)
        return None
    now = await _unchanged_by_own_runs(approved, await _at_its_turn(approved, bench, record, ticket, asked=True), bench)
    if asking.is_tool_unsteady:
        approved = replace(approved, tool_token=now.tool_token)
    elif approved.is_still(replace(now, tool_token=approved.tool_token)):
        asking.is_tool_unsteady = approved.tool_token != now.tool_token
    if not approved.is_still(now) or not bound.has_tool_of(now):
        asking.take(now, AskedAgain("changed", (bound if now.written == bound.written else approved).differences(now)))
        return None
    if now.notes and ruling.by != REMEMBERED and not asking.is_at_its_turn:
        asking.take(now, AskedAgain("unwatched"), is_at_its_turn=True)
        return None
    if ruling.by not in (REMEMBERED, BY_POLICY) and (scope := remember or ("call" if word == "ask_once" else "")):
        again = now.question(call.call_id, "run", now.shown)
        if scope in again.keys:
            bench.desk.remember(again, scope, by=ruling.by)
    return now


async def _watched(bound: Bound, bench: Bench) -> Bound:
    """Read what the tool works with, as it is now, off the loop."""
    outcome = await off_loop(partial(bound.watched, bench.desk.tool_states), BIND_SECONDS)
    if outcome is None or outcome.error:
        raise Closed("invalid", f"What the tool {bound.tool.name!r} works with could not be read.")
    watched: Bound = outcome.value
    return watched


async def _unchanged_by_own_runs(approved: Bound, now: Bound, bench: Bench) -> Bound:
    """Read what the tool works with now; what changes while an approved run of it goes on is that run's doing."""
    token = approved.tool_token
    was_running = bench.desk.tool_states.is_running(token)
    now = await _watched(now, bench)
    if now.tool_token != token and (was_running or bench.desk.tool_states.is_running(token)):
        bench.desk.tool_states.note(token, now.tool_token)
        return replace(now, tool_token=token)
    return now


async def _allowed(bound: Bound, ruling: Ruling, bench: Bench) -> tuple[Bound, Literal["", "call", "tool"]]:
    """Give what a person allowed, with the arguments as edited, and for how long.

    Raises:
        ToolError: the edited arguments do not fit.
    """
    decision = ruling.decision
    if not isinstance(decision, Approved):
        raise Closed("denied", refused_text(decision), getattr(decision, "reason", ""))
    if decision.arguments is None:
        return bound, decision.remember
    edited = await _bind(bound.tool.name, decision.arguments, bench)
    return replace(edited, tool_token=bound.tool_token, tool_problem=bound.tool_problem), decision.remember


async def _at_its_turn(bound: Bound, bench: Bench, record: CallRecord, ticket: Ticket, *, asked: bool = False) -> Bound:
    """Wait for the call's turn, and give it as it is then: looked up again where it was asked about or had to wait."""
    waited = bound.tool.takes_turns and await ticket.may_run()
    now = await _bind(bound.tool.name, bound.arguments, bench, former=bound) if asked or waited else bound
    record.resolved = now.described
    return now


async def _run(bound: Bound, bench: Bench, record: CallRecord) -> Ended:
    tool = bound.tool
    key = canonical([tool.name, bound.arguments, bound.words])
    if key in bench.left_running:
        raise Closed("not_run", "The same call was made before and is still running.")
    where = "loop" if tool.is_async else place_of(tool, bench.lent).name
    record.status, record.started = "running", time.time()
    is_guarded = bench.check_results or tool.policy.result != "never"
    started = CallStarted(record.call_id, record.started, where, record.edited, is_guarded, {**record.resolved})
    await bench.emit(started)
    positional, keywords = tool.parameters.bind(bound.values)
    closed = ClosedValues(bound, bench.variables) if bound.closed else None
    report = partial(_report, record, bench.emit, closed)
    timeout = tool.timeout if tool.timeout is not None else bench.timeout
    bench.desk.tool_states.begin_run(bound.tool_token)
    try:
        ended = await run_tool(tool, positional, keywords, lent=bench.lent, report=report, timeout=timeout)
        await _note_state(bound, bench)
    finally:
        bench.desk.tool_states.end_run(bound.tool_token)
    if ended.task and ended.left == "running":
        bench.left_running[key] = ended.task
        ended.task.add_done_callback(lambda _: bench.left_running.pop(key, None))
    if ended.status == "timed_out":
        raise Closed("timed_out", f"The call timed out after {timeout:g} s{TIMED_OUT[ended.left]}.")
    return ended


async def _note_state(bound: Bound, bench: Bench) -> None:
    """Note in which state the call left its tool, where it was asked about."""
    if not bound.tool_token:
        return
    outcome = await off_loop(partial(bound.watched, bench.desk.tool_states), BIND_SECONDS)
    if outcome and not outcome.error:
        bench.desk.tool_states.note(bound.tool_token, outcome.value.tool_token)


async def _report(record: CallRecord, emit: Emit, closed: ClosedValues | None, progress: Progress | Blocked) -> None:
    if isinstance(progress, Blocked):
        await emit(Notice(BLOCKED.format(name=progress.name), "warning"))
        return
    text = progress.text
    if text and (record.took_closed or (closed and await closed.may_be_in_text(text))):
        text = CLOSED_PROGRESS
    await emit(CallProgress(record.call_id, text, progress.fraction))


def _is_whole(text: str) -> bool:
    try:
        return isinstance(json.loads(text or "{}"), dict)
    except (ValueError, RecursionError):
        return False
