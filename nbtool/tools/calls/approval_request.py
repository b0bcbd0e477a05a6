"""Request a decision at a gate: the question goes to the queue and to the approver; the first decision counts."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Literal

from nbtool.argument_check import describe_value
from nbtool.errors import AlreadyDecided, BadUsage, Cancelled, NbtoolError
from nbtool.events import CallDecided, CallStatus, Emit, Gate, Notice
from nbtool.text import shorten
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.loop import is_cancelling
from nbtool.threads.thread_pool import run_with_timeout
from nbtool.tools.approval import (
    BY_ERROR,
    BY_NOBODY,
    BY_POLICY,
    BY_REMEMBERED,
    BY_REVIEWER,
    NEEDS_PERSON,
    Answer,
    ApprovalQueue,
    Approved,
    Approver,
    AskFunction,
    Decision,
    Denied,
    PolicyContext,
    Question,
    Released,
    Resolution,
    ResultMode,
    Review,
    RunMode,
    Undecided,
    Withheld,
)
from nbtool.tools.approval.digest import json_copy
from nbtool.tools.calls.audit_file import RESERVED
from nbtool.tools.calls.bound_call import BoundCall
from nbtool.tools.calls.call_ended import CallEnded
from nbtool.tools.calls.site_rules import PERSON_FIX, refuse_automatic
from nbtool.tools.calls.traceback import last_own_line
from nbtool.tools.execution.async_loop import run_on_tool_loop
from nbtool.tools.values.model_text import format_error
from nbtool.tools.values.type_names import declared_name

RUN_UNASKED_FIX = 'Set `run="auto"` on the tool, or pass `approver=` to the chat.'
APPROVER_FIX = "Pass `approver=` to the chat."
SIGN_IN_FIX = 'No approver function can. Sign in before, with `servers["NAME"].login()` in a cell.'

RETURNS = (
    'It may return Approved() or Denied("why") for a call, Released() or Withheld("why") for a result (all from '
    "nbtool), or Undecided() of nbtool.tools.approval to leave the decision to somebody else."
)
MAX_SHOWN_VALUE = 60
"""Characters of a wrong return value in the notice about it."""

MAX_REASON = 2_000
"""Maximum number of characters of a reason sent to the model."""

APPROVER_FAILED = "The approver failed"
POLICY_FAILED = "The policy of the tool failed"
MISFIT = "The approver's answer does not fit"


async def find_decision(
    question: Question,
    *,
    approvals: ApprovalQueue,
    approver: Approver | AskFunction | None,
    caller_thread: CallerThread,
    emit: Emit,
    must_ask: bool = False,
) -> Resolution:
    """Return the decision on a question, asking only if it `must_ask` or no remembered approval covers it.

    It fails closed: without an approver, or if the approver raises or returns an invalid value, the decision is a
    denial with a reason. An approver whose `uses_remembered` is False decides every question itself. One that has a
    `reviewer` is asked what that one hands on; if nobody can be, the person reads why it was. The question and its
    decision are written to the journal before anything runs.
    """
    handed_on = ""
    is_edited = question.again is not None and question.again.reason == "invalid"  # the person wants other arguments
    uses_remembered = not (is_edited or must_ask) and getattr(approver, "uses_remembered", True)
    if uses_remembered and approvals.remembered_approvals.find(question):
        return Resolution(Approved(), BY_REMEMBERED)
    if reviewer := getattr(approver, "reviewer", None):
        decider: Approver | AskFunction = reviewer.decider
        approver = decider if approver is reviewer else approver
        if not is_edited and can_be_reviewed(question):
            review: Review = await reviewer.review(question.copy())
            if review.is_approval:
                return Resolution(Approved(reason=review.reason), BY_REVIEWER)
            handed_on = review.reason
            question = replace(question, notes=(*question.notes, handed_on))
    pending = approvals.add(question, uses_remembered=uses_remembered)
    try:
        await emit(question.as_event())
        approver_task = asyncio.create_task(_ask_approver(question, approvals, approver, caller_thread, emit))
        try:
            resolution = await pending
        finally:
            approver_task.cancel()
    finally:
        approvals.withdraw(question.digest)
    decision = resolution.decision
    if not handed_on or resolution.by != BY_NOBODY or not isinstance(decision, Denied):
        return resolution
    return replace(resolution, decision=replace(decision, fix=f"{handed_on} {decision.fix}"))  # the model reads no fix


def can_be_reviewed(question: Question) -> bool:
    """Whether a model may approve a question: one about a plain call, whose tool does not ask every time."""
    is_for_person = question.sensitive or question.person_rule or question.needs_person or question.is_form
    return question.gate == "run" and not is_for_person


async def gate_mode(
    bound: BoundCall, gate: Gate, seconds: float, emit: Emit, find_context: Callable[[], PolicyContext]
) -> RunMode | ResultMode:
    """Return the mode of the tool's policy for a gate, calling a function off the event loop.

    An answer that is no mode becomes a notice too. The context is found for a function only.

    Raises:
        CallEnded: the policy raised or took too long.
    """
    policy = bound.tool.policy
    if fixed := policy.fixed_run if gate == "run" else policy.fixed_result:
        return fixed
    evaluate = policy.run_mode if gate == "run" else policy.result_mode
    outcome = await run_with_timeout(partial(evaluate, bound.arguments, find_context()), seconds)
    if outcome and outcome.error is None:
        mode: RunMode | ResultMode = outcome.value
        return mode
    denial = Denied if gate == "run" else Withheld
    if outcome and outcome.error:
        if isinstance(outcome.error, BadUsage):
            effect = "the call was denied" if gate == "run" else "its result was withheld"
            await emit(Notice(f"`{bound.tool.name}`: {effect}. {outcome.error}", "warning", "wrong_answer"))
        refusal = denial(*failure_reasons(POLICY_FAILED, outcome.error))
    else:
        refusal = denial(f"{POLICY_FAILED}: it took longer than {seconds:g} s")
    raise refused_call(Resolution(refusal, BY_ERROR))


async def policy_reason(bound: BoundCall, gate: Gate, seconds: float, context: PolicyContext | None) -> str:
    """Return why the tool's policy asks at a gate, if it is an object with a method `explain`; else empty."""
    policy = bound.tool.policy
    if (explain := getattr(policy.run if gate == "run" else policy.result, "explain", None)) is None:
        return ""
    outcome = await run_with_timeout(partial(explain, json_copy(bound.arguments), context or PolicyContext()), seconds)
    reason = outcome.value if outcome and outcome.error is None else ""
    return reason if isinstance(reason, str) else ""


async def record_decision(question: Question, resolution: Resolution, emit: Emit) -> CallDecided:
    """Write a resolution to the journal and return the event."""
    decision = resolution.decision
    verdict = {"Approved": "approved", "Denied": "denied", "Released": "released", "Withheld": "withheld"}
    event = CallDecided(
        call_id=question.call_id,
        gate=question.gate,
        digest=question.digest,
        verdict=verdict[type(decision).__name__],  # type: ignore[arg-type]  # the four verdicts of the event
        by=resolution.by,
        reason=shorten(refusal_reason(resolution) or getattr(decision, "reason", ""), MAX_REASON),
        edited=_is_edited(decision),
        remember=_remembered_scope(resolution),
    )
    await emit(event)
    return event


def _remembered_scope(resolution: Resolution) -> Literal["", "call", "tool"]:
    """Return what an approval that was given now, as it was asked for, holds for from now on."""
    decision = resolution.decision
    if resolution.by in (BY_REMEMBERED, BY_POLICY) or not isinstance(decision, Approved) or _is_edited(decision):
        return ""
    return decision.remember


async def _ask_approver(
    question: Question,
    approvals: ApprovalQueue,
    approver: Approver | AskFunction | None,
    caller_thread: CallerThread,
    emit: Emit,
) -> None:
    """Ask the approver and pass its decision to the queue; if it leaves that to others, wait for another decision."""
    decision: Answer
    try:
        if approver is None:
            decision, by = deny_without_approver(question), BY_NOBODY
        else:
            made = await _call_approver(approver, question, caller_thread)
            decision = refuse_automatic(question, made, approver)
            by = _name_of(approver) if decision is made else BY_NOBODY
    except BaseException as error:  # noqa: BLE001 - an approver may raise anything, and the call is denied
        if _is_turn_stopped(error, caller_thread):
            return
        reason, whole_text = failure_reasons(APPROVER_FAILED, error)
        decision, by = question.denial(reason, fix=whole_text), BY_ERROR
    if isinstance(decision, Undecided):
        return
    if question.needs_person and isinstance(decision, Approved):  # whatever the approver calls itself
        decision, by = question.denial(NEEDS_PERSON, fix=SIGN_IN_FIX), BY_NOBODY
    try:
        approvals.decide(question.digest, decision, by=str(by))
    except AlreadyDecided:
        return
    except NbtoolError as error:
        text = _describe_wrong_return(approver, decision, question, error)
        await emit(Notice(text, "warning", "wrong_answer"))
        approvals.decide(question.digest, question.denial(f"{MISFIT}.", fix=f"{MISFIT}: {error}"), by=BY_ERROR)


def _name_of(approver: object) -> str:
    """Return what an approver calls itself; one of the user's own takes no name of nbtool's, such as a person's."""
    name = str(getattr(approver, "name", "approver"))
    is_own = type(approver).__module__.startswith("nbtool.")
    return name if is_own or name not in RESERVED else "approver"


def _is_turn_stopped(error: BaseException, caller_thread: CallerThread) -> bool:
    """Whether the approver was not asked to the end because its turn is being stopped: then nobody decides."""
    if isinstance(error, asyncio.CancelledError):
        return is_cancelling()
    return isinstance(error, Cancelled) and caller_thread.is_closed


def deny_without_approver(question: Question) -> Decision:
    """Return the denial of a question that nobody can be asked, with what would let the call run."""
    reason = "No approver is available."
    if question.person_rule:
        return question.denial(f"{reason} {question.person_rule}", fix=PERSON_FIX)
    can_run_unasked = question.gate == "run" and not question.sensitive
    return question.denial(reason, fix=RUN_UNASKED_FIX if can_run_unasked else APPROVER_FIX)


def _describe_wrong_return(approver: object, value: object, question: Question, error: NbtoolError) -> str:
    """Describe what an approver returned in place of a fitting decision, and what it may return."""
    name = getattr(approver, "__qualname__", type(approver).__qualname__)
    shown = describe_value(value) if value is None or isinstance(value, type) else type(value).__name__
    if isinstance(value, str | int | float):
        shown = f"{shorten(repr(value), MAX_SHOWN_VALUE)} ({type(value).__name__})"
    effect = "denied" if question.gate == "run" else "withheld"
    return f"The approver {name} returned {shown}, so `{question.tool}` was {effect}: {error} {RETURNS}"


async def _call_approver(approver: Approver | AskFunction, question: Question, caller_thread: CallerThread) -> Answer:
    question = question.copy()
    ask: AskFunction = getattr(approver, "ask", None) or approver  # type: ignore[assignment]  # without `ask` it is a function
    if inspect.iscoroutinefunction(ask):
        return await _await_answer(partial(ask, question), ask, caller_thread)
    answer = await caller_thread.run(lambda: ask(question))
    return await _await_answer(lambda: answer, ask, caller_thread) if inspect.isawaitable(answer) else answer


async def _await_answer(
    answer: Callable[[], Awaitable[Answer]], ask: AskFunction, caller_thread: CallerThread
) -> Answer:
    """Await a decision: nbtool's own code here, a user's function on the tool loop, where it may block."""
    if str(getattr(ask, "__module__", "")).startswith("nbtool."):
        return await answer()
    outcome, _ = await run_on_tool_loop(answer, "approver", caller_thread.caller_loop)
    if outcome.error:
        raise outcome.error
    decision: Answer = outcome.value
    return decision


def _is_edited(decision: Decision) -> bool:
    return (isinstance(decision, Approved) and decision.arguments is not None) or (
        isinstance(decision, Released) and decision.text is not None
    )


def failure_reasons(what: str, error: BaseException) -> tuple[str, str]:
    """Return the reason for the model that the user's own code failed, and the whole text for the person.

    That code sees the values themselves, and so may its error's text: the model gets the type of the error only.
    """
    place = last_own_line(error)
    whole_text = f"{what}: {format_error(error)}{f' ({place})' if place else ''}"
    return f"{what} ({declared_name(type(error))}).", whole_text


def refused_call(resolution: Resolution, *, subject: str = "its result") -> CallEnded:
    """Return the end of a call that a resolution refused: what the model reads of it, and what the person does."""
    decision = resolution.decision
    status: CallStatus = "withheld" if isinstance(decision, Withheld) else "denied"
    message = refusal_message(resolution, subject=subject)
    return CallEnded(status, message, refusal_reason(resolution), model_reason=_model_reason(decision))


def refusal_reason(resolution: Resolution) -> str:
    """Return the reason of a denial for the person, and what can be done about it; empty for an approval.

    Where code of the user failed, the `fix` is the whole text of the error, which repeats the reason.
    """
    decision = resolution.decision
    if not isinstance(decision, Denied | Withheld):
        return ""
    if resolution.by == BY_ERROR and decision.fix:
        return decision.fix
    return f"{decision.reason} {decision.fix}".strip()


def refusal_message(resolution: Resolution, *, subject: str = "its result") -> str:
    """Return the message to the model about a denial; `subject` is what was withheld at the result gate."""
    decision = resolution.decision
    is_withheld = isinstance(decision, Withheld)
    if resolution.by == BY_NOBODY:
        message = f"Nobody could be asked to {f'release {subject}' if is_withheld else 'approve this call'}."
    elif resolution.by == BY_ERROR:
        message = f"{subject[0].upper()}{subject[1:]} was withheld." if is_withheld else "This call did not run."
    else:
        message = f"The user {f'withheld {subject}' if is_withheld else 'did not approve this call'}."
    reason = _model_reason(decision)
    return f"{message} Reason: {reason}" if reason else message


def _model_reason(decision: Decision) -> str:
    return shorten(getattr(decision, "reason", "").strip(), MAX_REASON)
