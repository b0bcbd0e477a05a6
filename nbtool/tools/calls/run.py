"""Run one call: look up, resolve, validate, approve, execute, render, approve the result, store.

Each call gets exactly one outcome. What was approved is what runs: right before the run, the tool and every reference
are looked up again, and if anything changed, approval is asked again.
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
from nbtool.events import CallProgress, CallReady, CallStarted, Emit, Notice, RepeatedQuestion
from nbtool.loop import CallerThread, is_cancelling
from nbtool.messages import ToolCall
from nbtool.thread_pool import Outcome, run_with_timeout
from nbtool.tools.approval import (
    BY_POLICY,
    ApprovalQueue,
    Approved,
    Approver,
    AskFunction,
    Question,
    Resolution,
    canonical_json,
)
from nbtool.tools.calls.binding import BoundCall, bind, is_cheap
from nbtool.tools.calls.disclosure import CLOSED_PROGRESS, UnreadableValues
from nbtool.tools.calls.gates import (
    BY_REMEMBERED,
    gate_mode,
    record_decision,
    refusal_message,
    request_decision,
)
from nbtool.tools.calls.ordering import CallSlot
from nbtool.tools.calls.reask import CallQuestions
from nbtool.tools.calls.record import CallEnded, CallRecord
from nbtool.tools.calls.result import ResultDelivery
from nbtool.tools.execution.runner import BlockedLoop, ToolRun, run_tool, runner_for
from nbtool.tools.tool import Progress
from nbtool.tools.toolset import Toolset
from nbtool.tools.values.render import RESULT_CHARS, format_error
from nbtool.tools.variables.store import Variables

__all__ = ["CallRecord", "RunningCall", "ToolRuntime", "current_call", "run_call", "skip_call"]


BIND_SECONDS = 10.0
"""Seconds that resolving and rendering references may take."""

UNREADABLE_INPUT = (
    "The script has values that were exposed by reference only, and {tool!r} takes its arguments as plain text or "
    "sends them out of this kernel. Call it outside the script."
)

BLOCKED = (
    "The async tool `{name}` blocked the event loop of async tools, so another call was moved to a new loop."
    " Make it a plain function, or use `await asyncio.to_thread(…)`."
)

TIMEOUT_DETAILS = {
    "nothing": " and was stopped",
    "running": ", still running",
    "perhaps": " and was cancelled; if it had started in its executor, it may still be running",
}


RunNested = Callable[[ToolCall, "ToolRuntime", int], Awaitable["CallRecord"]]


@dataclass(slots=True)
class ToolRuntime:
    """The services that a call uses.

    Args:
        approver: None means that no one can be asked.
        timeout: seconds, for tools without their own.
        run_nested: makes a call for a tool of the chat; the turn counts, limits and records it.
        outcome_texts: replace the text for the model, per outcome; `{name}` and `{reason}` are filled in.
        plugins: the plugins of the chat; they also process what a tool sends to a model itself.
        has_unreadable_input: the calls are made by a script that received unreadable values.
        check_results: ask for approval of every result, whatever the tool's policy.
    """

    tools: Toolset
    variables: Variables
    emit: Emit
    approvals: ApprovalQueue = field(default_factory=ApprovalQueue)
    approver: Approver | AskFunction | None = None
    caller_thread: CallerThread = field(default_factory=CallerThread)
    budget: int = RESULT_CHARS
    timeout: float | None = None
    outcome_texts: Mapping[str, str] = field(default_factory=dict)
    plugins: tuple[object, ...] = ()
    has_unreadable_input: bool = False
    check_results: bool = False
    abandoned: dict[str, asyncio.Task[Outcome]] = field(default_factory=dict)
    run_nested: RunNested = field(default=lambda call, runtime, round: run_call(call, runtime, round=round))

    async def request_decision(self, question: Question, record: CallRecord) -> Resolution:
        """Return the decision on a question and write it to the journal."""
        resolution = await request_decision(
            question, approvals=self.approvals, approver=self.approver, caller_thread=self.caller_thread, emit=self.emit
        )
        record.decisions.append(await record_decision(question, resolution, self.emit))
        return resolution


@dataclass(frozen=True, slots=True)
class RunningCall:
    """The call in which some code runs, for tools that use the chat."""

    runtime: ToolRuntime
    call_id: str
    round: int
    record: CallRecord


_current_call: ContextVar[RunningCall] = ContextVar("nbtool_call")


def current_call() -> RunningCall:
    """Return the call in which the caller runs: in a tool, on any thread, or in a policy.

    Raises:
        ToolFailed: there is none.
    """
    try:
        return _current_call.get()
    except LookupError:
        raise ToolFailed("This works only as a tool of a chat.") from None


async def run_call(
    call: ToolCall,
    runtime: ToolRuntime,
    *,
    round: int,
    on_record: Callable[[CallRecord], object] = lambda _: None,
    slot: CallSlot | None = None,
) -> CallRecord:
    """Run one call to its outcome; `on_record` receives the record at the start, and it is updated during the call.

    `slot` is its position among the calls of its round; without one it does not wait for others. Exceptions of a tool,
    an approver or a policy do not propagate. Cancelling the task ends the call, writes its outcome to the journal and
    raises `asyncio.CancelledError`; so does a person's interrupt of a tool on the caller's thread.
    """
    record = CallRecord.from_call(call, round)
    on_record(record)
    _current_call.set(RunningCall(runtime, call.call_id, round, record))
    try:
        await _execute(call, runtime, record, slot or CallSlot())
    except CallEnded as ended:
        record.finish(*ended.outcome)
    except UnknownTool as error:
        record.finish("not_found", str(error), str(error))
    except ToolError as error:
        record.finish("invalid", str(error), str(error))
    except asyncio.CancelledError:
        record.finish("cancelled", record.shown or "The call was cancelled.")
    except Exception as error:  # noqa: BLE001 - a bug in nbtool must not leave a call without an answer
        record.finish("error", format_error(error), format_error(error))
    record.override_text(runtime.outcome_texts)
    runtime.variables.count(record, record.reference)
    await asyncio.shield(asyncio.ensure_future(runtime.emit(record.finished())))
    if record.status == "cancelled" or is_cancelling():
        raise asyncio.CancelledError
    return record


async def skip_call(call: ToolCall, runtime: ToolRuntime, *, round: int, reason: str) -> CallRecord:
    """Answer a call that must not run, and write it to the journal."""
    record = CallRecord.from_call(call, round)
    record.finish("not_run", reason, reason)
    record.override_text(runtime.outcome_texts)
    await runtime.emit(record.finished())
    return record


async def _execute(call: ToolCall, runtime: ToolRuntime, record: CallRecord, slot: CallSlot) -> None:
    requested = await _prepare(call, runtime, record)
    bound = await _pass_run_gate(call, requested, runtime, record, slot)
    if bound.arguments_json != requested.arguments_json:
        record.edited = json.dumps(bound.arguments, ensure_ascii=False)
    tool_run = await _run_bound(bound, runtime, record)
    name = bound.tool.store_as or runtime.variables.reserve_name(bound.tool.name)  # reserved in the order of the calls
    slot.release()
    request = partial(runtime.request_decision, record=record)
    delivery = ResultDelivery(
        bound,
        record,
        runtime.variables,
        runtime.budget,
        request,
        name,
        runtime.has_unreadable_input,
        always_checked=runtime.check_results,
    )
    await delivery.run(tool_run)


async def _prepare(call: ToolCall, runtime: ToolRuntime, record: CallRecord) -> BoundCall:
    runtime.tools.get(call.name)
    if call.args is None or not call.runnable:
        raise CallEnded(
            "not_run" if _is_json_object(call.arguments) else "invalid", call.error or "The call cannot run."
        )
    bound = await _bind(call.name, call.args, runtime)
    if runtime.has_unreadable_input and (bound.tool.sends_to or not bound.tool.resolves_references):
        raise CallEnded("invalid", UNREADABLE_INPUT.format(tool=call.name))
    record.resolved = bound.described_arguments
    call_fields = (call.call_id, call.name, record.round, call.arguments)
    await runtime.emit(CallReady(*call_fields, bound.described_arguments, call.repaired, {**bound.previews}))
    return bound


async def _bind(
    name: str, arguments: Mapping[str, Any], runtime: ToolRuntime, *, earlier: BoundCall | None = None
) -> BoundCall:
    """Look up the tool and resolve the arguments as they are now, off the event loop if that may take long.

    An `earlier` binding of the same arguments is reused if the tool is the same and there are no references.
    """
    tool = runtime.tools.get(name)
    if is_cheap(tool, arguments):
        return earlier if earlier and earlier.tool is tool else bind(tool, arguments, runtime.variables)
    outcome = await run_with_timeout(partial(bind, tool, arguments, runtime.variables), BIND_SECONDS)
    if outcome is None:
        raise CallEnded("invalid", f"The references took longer than {BIND_SECONDS:g} s to read.")
    if isinstance(outcome.error, Exception):
        raise outcome.error
    if outcome.error:
        raise CallEnded("error", format_error(outcome.error))
    bound: BoundCall = outcome.value
    return bound


async def _pass_run_gate(
    call: ToolCall, bound: BoundCall, runtime: ToolRuntime, record: CallRecord, slot: CallSlot
) -> BoundCall:
    """Pass the run gate and wait for this call's turn; return the call as approved and unchanged."""
    if not bound.tool.runs_in_order:
        slot.mark_ran()
    questions = CallQuestions()
    while not questions.is_over:
        mode = await gate_mode(bound, "run")
        mode = "ask_always" if bound.discloses_values else mode
        bound = bound if mode == "auto" else await _read_tool_token(bound, runtime)
        await slot.wait_to_ask()
        if mode == "auto":
            current = await _wait_and_rebind(bound, runtime, record, slot)
            if bound.same_tool_as(current):
                return current
            questions.ask_again(current, RepeatedQuestion("changed"))
        elif approved := await _ask_to_run(call, bound, questions, runtime, record, slot, mode=mode):
            return approved
        bound = questions.bound or bound
    raise CallEnded("denied", questions.reason)


async def _ask_to_run(  # noqa: PLR0913 - the state of one call between its questions
    call: ToolCall,
    bound: BoundCall,
    questions: CallQuestions,
    runtime: ToolRuntime,
    record: CallRecord,
    slot: CallSlot,
    *,
    mode: str,
) -> BoundCall | None:
    """Ask once; return the approved call if it is unchanged, and None if approval must be asked again."""
    question = bound.question(
        call.call_id, "run", bound.arguments_text, attempt=questions.count, repeated=questions.repeated
    )
    resolution = await runtime.request_decision(question, record)
    try:
        approved, remember = await _apply_decision(bound, resolution, runtime)
    except ToolError as error:  # the person's own arguments: reported to the person, not to the model
        questions.refuse_edit(bound, error, resolution.decision)
        return None
    current = await _ignore_own_changes(
        approved, await _wait_and_rebind(approved, runtime, record, slot, was_asked=True), runtime
    )
    if questions.is_tool_changing:
        approved = replace(approved, tool_token=current.tool_token)
    elif approved.same_as(replace(current, tool_token=approved.tool_token)):
        questions.is_tool_changing = approved.tool_token != current.tool_token
    if not approved.same_as(current) or not bound.same_tool_as(current):
        questions.ask_again(
            current,
            RepeatedQuestion(
                "changed", (bound if current.arguments_json == bound.arguments_json else approved).differences(current)
            ),
        )
        return None
    if current.notes and resolution.by != BY_REMEMBERED and not questions.is_next_to_run:
        questions.ask_again(current, RepeatedQuestion("unwatched"), is_next_to_run=True)
        return None
    if resolution.by not in (BY_REMEMBERED, BY_POLICY) and (
        scope := remember or ("call" if mode == "ask_once" else "")
    ):
        next_question = current.question(call.call_id, "run", current.arguments_text)
        if scope in next_question.remember_keys:
            runtime.approvals.remember(next_question, scope, by=resolution.by)
    return current


async def _read_tool_token(bound: BoundCall, runtime: ToolRuntime) -> BoundCall:
    """Compute the token of the data that the tool uses, off the event loop."""
    outcome = await run_with_timeout(partial(bound.with_tool_token, runtime.approvals.tool_states), BIND_SECONDS)
    if outcome is None or outcome.error:
        raise CallEnded("invalid", f"The data that the tool {bound.tool.name!r} uses could not be read.")
    bound_now: BoundCall = outcome.value
    return bound_now


async def _ignore_own_changes(approved: BoundCall, current: BoundCall, runtime: ToolRuntime) -> BoundCall:
    """Recompute the tool's token; a change during an approved run of the same tool is attributed to that run."""
    token = approved.tool_token
    was_running = runtime.approvals.tool_states.is_running(token)
    current = await _read_tool_token(current, runtime)
    if current.tool_token != token and (was_running or runtime.approvals.tool_states.is_running(token)):
        runtime.approvals.tool_states.record(token, current.tool_token)
        return replace(current, tool_token=token)
    return current


async def _apply_decision(
    bound: BoundCall, resolution: Resolution, runtime: ToolRuntime
) -> tuple[BoundCall, Literal["", "call", "tool"]]:
    """Return the approved call, with edited arguments if there are any, and the scope to remember.

    Raises:
        ToolError: the edited arguments do not fit.
    """
    decision = resolution.decision
    if not isinstance(decision, Approved):
        raise CallEnded("denied", refusal_message(decision), getattr(decision, "reason", ""))
    if decision.arguments is None:
        return bound, decision.remember
    edited = await _bind(bound.tool.name, decision.arguments, runtime)
    return replace(edited, tool_token=bound.tool_token, tool_problem=bound.tool_problem), decision.remember


async def _wait_and_rebind(
    bound: BoundCall, runtime: ToolRuntime, record: CallRecord, slot: CallSlot, *, was_asked: bool = False
) -> BoundCall:
    """Wait for the call's turn; bind it again if approval was asked or it had to wait."""
    waited = bound.tool.runs_in_order and await slot.wait_to_run()
    current = await _bind(bound.tool.name, bound.arguments, runtime, earlier=bound) if was_asked or waited else bound
    record.resolved = current.described_arguments
    return current


async def _run_bound(bound: BoundCall, runtime: ToolRuntime, record: CallRecord) -> ToolRun:
    tool = bound.tool
    key = canonical_json([tool.name, bound.arguments, bound.token_digests])
    if key in runtime.abandoned:
        raise CallEnded("not_run", "The same call was made before and is still running.")
    thread_name = "loop" if tool.is_async else runner_for(tool, runtime.caller_thread).name
    record.status, record.started = "running", time.time()
    is_guarded = runtime.check_results or tool.policy.result != "never"
    started_event = CallStarted(
        record.call_id, record.started, thread_name, record.edited, is_guarded, {**record.resolved}
    )
    await runtime.emit(started_event)
    positional, keywords = tool.parameters.bind(bound.values)
    unreadable = UnreadableValues(bound, runtime.variables) if bound.unreadable_links else None
    report = partial(_report_progress, record, runtime.emit, unreadable)
    timeout = tool.timeout if tool.timeout is not None else runtime.timeout
    runtime.approvals.tool_states.begin_run(bound.tool_token)
    try:
        tool_run = await run_tool(
            tool, positional, keywords, caller_thread=runtime.caller_thread, report=report, timeout=timeout
        )
        await _record_tool_state(bound, runtime)
    finally:
        runtime.approvals.tool_states.end_run(bound.tool_token)
    if tool_run.task and tool_run.remaining == "running":
        runtime.abandoned[key] = tool_run.task
        tool_run.task.add_done_callback(lambda _: runtime.abandoned.pop(key, None))
    if tool_run.status == "timed_out":
        raise CallEnded("timed_out", f"The call timed out after {timeout:g} s{TIMEOUT_DETAILS[tool_run.remaining]}.")
    return tool_run


async def _record_tool_state(bound: BoundCall, runtime: ToolRuntime) -> None:
    """Record the state in which the call left its tool, if approval was asked."""
    if not bound.tool_token:
        return
    outcome = await run_with_timeout(partial(bound.with_tool_token, runtime.approvals.tool_states), BIND_SECONDS)
    if outcome and not outcome.error:
        runtime.approvals.tool_states.record(bound.tool_token, outcome.value.tool_token)


async def _report_progress(
    record: CallRecord, emit: Emit, unreadable: UnreadableValues | None, progress: Progress | BlockedLoop
) -> None:
    if isinstance(progress, BlockedLoop):
        await emit(Notice(BLOCKED.format(name=progress.name), "warning"))
        return
    text = progress.text
    if text and (record.received_unreadable or (unreadable and await unreadable.may_be_in_text(text))):
        text = CLOSED_PROGRESS
    await emit(CallProgress(record.call_id, text, progress.fraction))


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text or "{}"), dict)
    except (ValueError, RecursionError):
        return False
