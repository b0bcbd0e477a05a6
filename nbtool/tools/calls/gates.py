"""Asking at a gate: the question goes to the desk and to the approver; the first decision counts."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import partial

from nbtool.errors import AlreadyDecided, NbtoolError
from nbtool.events import CallAsked, CallDecided, Emit, Gate
from nbtool.loop import LentThread
from nbtool.shorten import shorten
from nbtool.thread_pool import contained, off_loop
from nbtool.tools.approval import (
    BY_POLICY,
    Approved,
    Approver,
    AskFunction,
    Decision,
    Denied,
    Desk,
    Question,
    Released,
    ResultWord,
    Ruling,
    RunWord,
    Withheld,
)
from nbtool.tools.calls.binding import Bound
from nbtool.tools.calls.record import Closed
from nbtool.tools.execution.async_loop import on_tool_loop
from nbtool.tools.values.render import error_text

REMEMBERED = "remembered"
"""Whose a ruling is that an earlier approval covers."""

POLICY_SECONDS = 10.0
"""Seconds that the policy of a tool may think about a call."""

MAX_REASON = 2_000
"""Characters of a reason that a model reads."""


async def rule(
    question: Question, *, desk: Desk, approver: Approver | AskFunction | None, lent: LentThread, emit: Emit
) -> Ruling:
    """Get a ruling on a question, asking only where no remembered approval covers it.

    Everything fails closed: without an approver, and where it raises or answers nonsense, the ruling is a refusal
    that says why. An approver whose `uses_remembered` is False decides every question itself. Both the question and
    its decision are journalled before anything is done.
    """
    is_edited = question.again is not None and question.again.reason == "invalid"  # the person wants something else
    if not is_edited and getattr(approver, "uses_remembered", True) and desk.recall(question):
        return Ruling(Approved(), REMEMBERED)
    pending = desk.ask(question)
    try:
        await emit(_asked(question))
        asking = asyncio.create_task(_ask(question, desk, approver, lent))
        try:
            return await pending
        finally:
            asking.cancel()
    finally:
        desk.withdraw(question.digest)


async def word_of(bound: Bound, gate: Gate) -> RunWord | ResultWord:
    """Ask the tool's policy about a gate, a function off the loop; one that raises or takes too long keeps it shut.

    Raises:
        Closed: the policy failed.
    """
    policy = bound.tool.policy
    ask = partial(policy.run_word if gate == "run" else policy.result_word, bound.arguments)
    is_word = not callable(policy.run if gate == "run" else policy.result)
    outcome = contained(ask) if is_word else await off_loop(ask, POLICY_SECONDS)
    if outcome and outcome.error is None:
        word: RunWord | ResultWord = outcome.value
        return word
    came = error_text(outcome.error) if outcome and outcome.error else f"it took longer than {POLICY_SECONDS:g} s"
    reason = f"The policy of the tool failed: {came}"
    if gate == "run":
        raise Closed("denied", refused_text(Denied(reason)), reason)
    raise Closed("withheld", refused_text(Withheld(reason)), reason)


async def announce(question: Question, ruling: Ruling, emit: Emit) -> CallDecided:
    """Journal a ruling and give the event."""
    decision = ruling.decision
    verdict = {"Approved": "approved", "Denied": "denied", "Released": "released", "Withheld": "withheld"}
    decided = CallDecided(
        call_id=question.call_id,
        gate=question.gate,
        digest=question.digest,
        verdict=verdict[type(decision).__name__],  # type: ignore[arg-type]  # the four words of the event
        by=ruling.by,
        reason=shorten(getattr(decision, "reason", ""), MAX_REASON),
        edited=_is_edited(decision),
    )
    await emit(decided)
    return decided


async def _ask(question: Question, desk: Desk, approver: Approver | AskFunction | None, lent: LentThread) -> None:
    """Ask the approver and lay what it says on the desk; when it says None, the desk waits for another road."""
    try:
        if approver is None:
            decision: Decision | None = question.refusal("Nobody can be asked: there is no approver.")
            by = BY_POLICY
        else:
            decision = await _answer(approver, question, lent)
            by = getattr(approver, "name", "approver")
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and is_cancelling():
            raise
        decision, by = question.refusal(f"The approver failed: {error_text(error)}"), "error"
    if decision is None:
        return
    try:
        desk.decide(question.digest, decision, by=str(by))
    except AlreadyDecided:
        return
    except NbtoolError as error:
        desk.decide(question.digest, question.refusal(f"The approver's answer does not fit: {error}"), by="error")


async def _answer(approver: Approver | AskFunction, question: Question, lent: LentThread) -> Decision | None:
    question = question.copy()
    ask: AskFunction = getattr(approver, "ask", None) or approver  # type: ignore[assignment]  # what has no `ask` is called
    if inspect.iscoroutinefunction(ask):
        return await _on_its_loop(partial(ask, question), ask)
    given = await lent.run(lambda: ask(question))
    return await _on_its_loop(lambda: given, ask) if inspect.isawaitable(given) else given


async def _on_its_loop(answer: Callable[[], Awaitable[Decision | None]], ask: AskFunction) -> Decision | None:
    """Await an answer: nbtool's own here, a person's function on the loop of tools, so that it may block."""
    if str(getattr(ask, "__module__", "")).startswith("nbtool."):
        return await answer()
    outcome, _ = await on_tool_loop(answer, "approver")
    if outcome.error:
        raise outcome.error
    decision: Decision | None = outcome.value
    return decision


def _asked(question: Question) -> CallAsked:
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
        glances={name: dict(one) for name, one in question.glances.items()},
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


def refused_text(decision: Decision, *, of: str = "its result") -> str:
    """Say to the model what a person refused, and why; at the second gate `of` says what was withheld."""
    what = f"withheld {of}" if isinstance(decision, Withheld) else "did not approve this call"
    reason = shorten(getattr(decision, "reason", "").strip(), MAX_REASON)
    return f"The user {what}. Reason: {reason}" if reason else f"The user {what}."
