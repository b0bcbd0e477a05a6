"""Asking at a gate: the question goes to the desk and to the approver; the first decision counts."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial

from nbtool.errors import AlreadyDecided, NbtoolError
from nbtool.events import CallAsked, CallDecided, Emit, Gate
from nbtool.loop import CallerThread
from nbtool.shorten import shorten
from nbtool.thread_pool import capture, run_with_timeout
from nbtool.tools.approval import (
    BY_POLICY,
    ApprovalQueue,
    Approved,
    Approver,
    AskFunction,
    Decision,
    Denied,
    Question,
    Released,
    Resolution,
    ResultMode,
    RunMode,
    Withheld,
)
from nbtool.tools.calls.binding import BoundCall
from nbtool.tools.calls.record import CallEnded
from nbtool.tools.execution.async_loop import run_on_tool_loop
from nbtool.tools.values.render import format_error

BY_REMEMBERED = "remembered"
"""Whose a ruling is that an earlier approval covers."""

POLICY_SECONDS = 10.0
"""Seconds that the policy of a tool may think about a call."""

MAX_REASON = 2_000
"""Characters of a reason that a model reads."""


async def request_decision(
    question: Question,
    *,
    approvals: ApprovalQueue,
    approver: Approver | AskFunction | None,
    caller_thread: CallerThread,
    emit: Emit,
) -> Resolution:
    """Get a ruling on a question, asking only where no remembered approval covers it.

    Everything fails closed: without an approver, and where it raises or answers nonsense, the ruling is a refusal
    that says why. An approver whose `uses_remembered` is False decides every question itself. Both the question and
    its decision are journalled before anything is done.
    """
    is_edited = question.again is not None and question.again.reason == "invalid"  # the person wants something else
    if not is_edited and getattr(approver, "uses_remembered", True) and approvals.find_remembered(question):
        return Resolution(Approved(), BY_REMEMBERED)
    pending = approvals.add(question)
    try:
        await emit(_request_event(question))
        approver_task = asyncio.create_task(_ask_approver(question, approvals, approver, caller_thread))
        try:
            return await pending
        finally:
            approver_task.cancel()
    finally:
        approvals.withdraw(question.digest)


async def gate_mode(bound: BoundCall, gate: Gate) -> RunMode | ResultMode:
    """Ask the tool's policy about a gate, a function off the loop; one that raises or takes too long keeps it shut.

    Raises:
        Closed: the policy failed.
    """
    policy = bound.tool.policy
    evaluate = partial(policy.run_mode if gate == "run" else policy.result_mode, bound.arguments)
    is_literal = not callable(policy.run if gate == "run" else policy.result)
    outcome = capture(evaluate) if is_literal else await run_with_timeout(evaluate, POLICY_SECONDS)
    if outcome and outcome.error is None:
        mode: RunMode | ResultMode = outcome.value
        return mode
    problem = format_error(outcome.error) if outcome and outcome.error else f"it took longer than {POLICY_SECONDS:g} s"
    reason = f"The policy of the tool failed: {problem}"
    if gate == "run":
        raise CallEnded("denied", refusal_message(Denied(reason)), reason)
    raise CallEnded("withheld", refusal_message(Withheld(reason)), reason)


async def record_decision(question: Question, resolution: Resolution, emit: Emit) -> CallDecided:
    """Journal a ruling and give the event."""
    decision = resolution.decision
    verdict = {"Approved": "approved", "Denied": "denied", "Released": "released", "Withheld": "withheld"}
    event = CallDecided(
        call_id=question.call_id,
        gate=question.gate,
        digest=question.digest,
        verdict=verdict[type(decision).__name__],  # type: ignore[arg-type]  # the four words of the event
        by=resolution.by,
        reason=shorten(getattr(decision, "reason", ""), MAX_REASON),
        edited=_is_edited(decision),
    )
    await emit(event)
    return event


async def _ask_approver(
    question: Question, approvals: ApprovalQueue, approver: Approver | AskFunction | None, caller_thread: CallerThread
) -> None:
    """Ask the approver and lay what it says on the desk; when it says None, the desk waits for another road."""
    try:
        if approver is None:
            decision: Decision | None = question.denial("Nobody can be asked: there is no approver.")
            by = BY_POLICY
        else:
            decision = await _call_approver(approver, question, caller_thread)
            by = getattr(approver, "name", "approver")
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and is_cancelling():
            raise
        decision, by = question.denial(f"The approver failed: {format_error(error)}"), "error"
    if decision is None:
        return
    try:
        approvals.decide(question.digest, decision, by=str(by))
    except AlreadyDecided:
        return
    except NbtoolError as error:
        approvals.decide(question.digest, question.denial(f"The approver's answer does not fit: {error}"), by="error")


async def _call_approver(
    approver: Approver | AskFunction, question: Question, caller_thread: CallerThread
) -> Decision | None:
    question = question.copy()
    ask: AskFunction = getattr(approver, "ask", None) or approver  # type: ignore[assignment]  # what has no `ask` is called
    if inspect.iscoroutinefunction(ask):
        return await _await_answer(partial(ask, question), ask)
    answer = await caller_thread.run(lambda: ask(question))
    return await _await_answer(lambda: answer, ask) if inspect.isawaitable(answer) else answer


async def _await_answer(answer: Callable[[], Awaitable[Decision | None]], ask: AskFunction) -> Decision | None:
    """Await an answer: nbtool's own here, a person's function on the loop of tools, so that it may block."""
    if str(getattr(ask, "__module__", "")).startswith("nbtool."):
        return await answer()
    outcome, _ = await run_on_tool_loop(answer, "approver")
    if outcome.error:
        raise outcome.error
    decision: Decision | None = outcome.value
    return decision


def _request_event(question: Question) -> CallAsked:
    return CallAsked(
        call_id=question.call_id,
        gate=question.gate,
        digest=question.digest,
        tool=question.tool,
        shown=question.shown,
        description=question.description,
        schema=dict(question.schema),
        can_remember=question.can_remember,
        sensitive=question.sensitive,
        effect=question.effect,
        notice=question.notice,
        media=question.media,
        resolved=dict(question.resolved),
        glances={name: dict(preview) for name, preview in question.previews.items()},
        notes=question.notes,
        again=question.again,
        can_remember_call=question.can_remember_call,
    )


def _is_edited(decision: Decision) -> bool:
    return (isinstance(decision, Approved) and decision.arguments is not None) or (
        isinstance(decision, Released) and decision.text is not None
    )


def is_cancelling() -> bool:
    """Whether the running task is being cancelled, as opposed to something in it raising CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def refusal_message(decision: Decision, *, subject: str = "its result") -> str:
    """Say to the model what a person refused, and why; at the second gate `subject` says what was withheld."""
    action = f"withheld {subject}" if isinstance(decision, Withheld) else "did not approve this call"
    reason = shorten(getattr(decision, "reason", "").strip(), MAX_REASON)
    return f"The user {action}. Reason: {reason}" if reason else f"The user {action}."
