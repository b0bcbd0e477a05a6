"""Run one call: look up, resolve, validate, approve, execute, render, approve the result, store.

Each call gets exactly one outcome, set in `run_call` whatever ends it: a denial, an error, a stop of the call or of its
turn. What was approved is what runs: right before the run, the tool and every reference are looked up again, and if
anything changed, approval is asked again.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from functools import partial

from nbtool.clock import monotonic
from nbtool.errors import ToolError, ToolFailed, UnknownTool
from nbtool.events import CallProgress, CallReady, CallStarted, Notice
from nbtool.messages import ToolCall
from nbtool.policy import site_policy
from nbtool.threads.loop import is_cancelling
from nbtool.tools.approval import BY_POLICY, canonical_json
from nbtool.tools.calls.audit_file import Decided
from nbtool.tools.calls.bound_call import BoundCall
from nbtool.tools.calls.call_ended import CallEnded, CallForbidden
from nbtool.tools.calls.disclosure import CLOSED_PROGRESS, UnreadableValues
from nbtool.tools.calls.ordering import CallSlot
from nbtool.tools.calls.result import CANCELLED_RUN, ResultDelivery
from nbtool.tools.calls.run_gate import RunGate
from nbtool.tools.calls.runtime import RunningCall, ToolRuntime, running
from nbtool.tools.calls.site_rules import error_text
from nbtool.tools.execution.runner import BlockedLoop, ToolRun, run_tool, runner_for
from nbtool.tools.execution.start_check import ChangedBeforeStart
from nbtool.tools.execution.worker_version import OtherVersionInWorker
from nbtool.tools.tool import Progress, Tool
from nbtool.tools.tool_views import find_tool
from nbtool.turn_state import Call

UNREADABLE_INPUT = (
    "The script has values that were exposed by reference only, and {tool!r} takes its arguments as plain text or "
    "sends them out of this kernel. Call it outside the script."
)

BLOCKED = (
    "{name} blocked the event loop of async tools, so another call was moved to a new loop."
    " Make it a plain function, or use `await asyncio.to_thread(…)`."
)

CHANGED_BEFORE_START = (
    "This call did not run: what was approved changed while the call waited for other work to end."
    " Make the call again if it is still needed."
)

OTHER_IN_WORKER = (
    "This call did not run: the worker process has another version of the function, or of what it uses, than was"
    " approved. A new pool has what is here now."
)

NEVER_RUN = "The call did not run, because the turn was stopped."
"""The outcome of a call that waited, for a decision or for its turn, when the turn was stopped."""

STOPPED = "The user stopped this call{details}."

STOP_DETAILS = {
    "nothing": "",
    "running": "; its tool could not be interrupted and is still running",
    "perhaps": "; if it had started in its executor, it may still be running",
}

TIMEOUT_DETAILS = {
    "nothing": " and was stopped",
    "running": ", still running",
    "perhaps": " and was cancelled; if it had started in its executor, it may still be running",
}


class NeverStarted(Exception):
    """The turn was stopped when the call was about to start: while it was recorded, or waited for its thread."""


async def run_call(
    call: ToolCall,
    runtime: ToolRuntime,
    *,
    round: int,
    slot: CallSlot | None = None,
) -> Call:
    """Run one call to its outcome; it is among those of the turn's state from the start, and updated by its events.

    `slot` is its position among the calls of its round; without one it does not wait for others. Exceptions of a tool,
    an approver or a policy do not propagate. Cancelling the task ends the call, writes its outcome to the journal and
    raises `asyncio.CancelledError`; so does a person's interrupt of a tool on the caller's thread.
    """
    record = runtime.state.open_call(call, round)
    run = RunningCall(runtime, record)
    is_turn_stopped = False
    try:
        with running(run):
            await _execute(call, run, slot or CallSlot())
    except CallEnded as ended:
        run.finish(*ended.outcome)
    except UnknownTool as error:
        run.finish("not_found", str(error), str(error))
    except ToolError as error:
        run.finish("invalid", str(error), str(error))
    except NeverStarted:
        is_turn_stopped = True
        run.finish("not_run", NEVER_RUN)
    except asyncio.CancelledError:
        is_turn_stopped = True
        run.finish("cancelled", run.outcome.shown or (CANCELLED_RUN if record.started else NEVER_RUN))
    except Exception as error:  # noqa: BLE001 - a bug in nbtool must not leave a call without an answer
        run.finish("error", error_text(error), error_text(error))
    runtime.variables.count(record, run.outcome.reference)
    emission = run.emit_outcome()
    runtime.sources.note_call(record)
    await asyncio.shield(emission)
    if is_turn_stopped or record.status == "cancelled" or is_cancelling():
        raise asyncio.CancelledError
    return record


async def skip_call(call: ToolCall, runtime: ToolRuntime, *, round: int, reason: str) -> Call:
    """Answer a call that must not run, and write it to the journal."""
    run = RunningCall(runtime, runtime.state.open_call(call, round))
    if tool := find_tool(runtime.tools, call.name):
        run.outcome.qualified_name = tool.qualified_name
    run.finish("not_run", reason, reason)
    await run.emit_outcome()
    return run.record


async def _execute(call: ToolCall, run: RunningCall, slot: CallSlot) -> None:
    """Take a call through its steps: bind it, ask for approval, run the tool, deliver the result."""
    runtime, record = run.runtime, run.record
    try:
        requested = await _prepare(call, run)
        bound = await RunGate(runtime, record, slot).approve(requested)
    except CallForbidden:
        await runtime.audit(Decided(record.call_id, record.display_name, "run", "denied", BY_POLICY, call.args or {}))
        raise
    is_edited = bound.arguments_json != requested.arguments_json
    await runtime.check_start(bound.tool.name)
    edited = json.dumps(bound.arguments, ensure_ascii=False) if is_edited else ""
    tool_run = await _run_bound(bound, run, edited, slot)
    record.is_from_outside = bound.tool.reads_outside or not _is_own_text(tool_run)
    name = bound.tool.store_as or runtime.variables.reserve_name(bound.tool.name)  # reserved in the order of the calls
    slot.release()
    await ResultDelivery(run, bound, name, runtime).deliver(tool_run)


async def _prepare(call: ToolCall, run: RunningCall) -> BoundCall:
    """Bind a call as the model made it, and emit that it is ready.

    Raises:
        CallEnded: it cannot run.
        UnknownTool, ToolError: there is no such tool, or the arguments do not fit it.
    """
    runtime = run.runtime
    if call.is_malformed:
        raise CallEnded("invalid", call.error or "The call cannot be read.")
    tool = runtime.tools.get(call.name)
    run.outcome.qualified_name = tool.qualified_name
    if call.args is None or not call.runnable:
        raise CallEnded(
            "not_run" if _is_json_object(call.arguments) else "invalid", call.error or "The call cannot run."
        )
    bound = await runtime.bind(tool, call.args)
    if runtime.has_unreadable_input and (tool.sends_to or not tool.resolves_references):
        raise CallEnded("invalid", UNREADABLE_INPUT.format(tool=call.name))
    await runtime.emit(_ready_event(call, run, bound))
    run.is_ready = True
    return bound


def _ready_event(call: ToolCall, run: RunningCall, bound: BoundCall) -> CallReady:
    return CallReady(
        call_id=call.call_id,
        name=call.name,
        round=run.round,
        arguments=call.arguments,
        described=bound.described,
        repaired=call.repaired,
        glances={**bound.previews},
        qualified_name=run.outcome.qualified_name,
        inside=run.inside,
    )


async def _run_bound(bound: BoundCall, run: RunningCall, edited: str, slot: CallSlot) -> ToolRun:
    """Record the start of an approved call, then run its tool.

    Raises:
        CallEnded: it was stopped, took too long, or did not run after all.
        NeverStarted: the turn was stopped meanwhile.
    """
    tool, runtime = bound.tool, run.runtime
    if runtime.abandoned and _repeat_key(bound) in runtime.abandoned:
        raise CallEnded("not_run", "The same call was made before and is still running.")
    runner = runner_for(tool, runtime.caller_thread)
    await _record_start(bound, run, edited, slot, "loop" if tool.is_async else runner.name)
    positional, keywords = tool.parameters.bind(bound.values)
    unreadable = UnreadableValues(bound, runtime.variables) if bound.unreadable_links else None
    report = partial(_report_progress, run, unreadable)
    timeout = tool.timeout if tool.timeout is not None else runtime.timeout
    runtime.approvals.tool_states.begin_run(bound.tool_token)
    try:
        with runtime.stops.listen(run.call_id) as stop_request:
            tool_run = await run_tool(
                tool,
                partial(tool.function, *positional, **keywords),
                caller_thread=runtime.caller_thread,
                runner=runner,
                report=report,
                limits=replace(runtime.run_limits, timeout=timeout),
                is_unchanged=partial(bound.is_unchanged, runtime.approvals.tool_states) if bound.tool_token else None,
                stop_request=stop_request,
            )
        if isinstance(tool_run.outcome.error, ChangedBeforeStart):
            is_of_worker = isinstance(tool_run.outcome.error, OtherVersionInWorker)
            raise CallEnded("not_run", OTHER_IN_WORKER if is_of_worker else CHANGED_BEFORE_START)
    except BaseException:
        runtime.approvals.tool_states.end_run(bound.tool_token)
        raise
    await _end_run(bound, runtime, tool_run)
    if tool_run.task and tool_run.remaining == "running":
        key = _repeat_key(bound)
        runtime.abandoned[key] = tool_run.task
        tool_run.task.add_done_callback(lambda _: runtime.abandoned.pop(key, None))
    if tool_run.status == "not_run":
        raise NeverStarted
    if tool_run.status == "timed_out":
        raise CallEnded("timed_out", f"The call timed out after {timeout:g} s{TIMEOUT_DETAILS[tool_run.remaining]}.")
    if tool_run.status == "stopped":
        raise CallEnded("stopped", STOPPED.format(details=STOP_DETAILS[tool_run.remaining]))
    return tool_run


def _repeat_key(bound: BoundCall) -> str:
    """Identify a call with its tool, its arguments and the objects of its references."""
    return canonical_json([bound.tool.name, bound.arguments, bound.token_digests])


async def _record_start(bound: BoundCall, run: RunningCall, edited: str, slot: CallSlot, thread: str) -> None:
    """Write the start to the journal before anything runs, with an announcement of the calls that only wait for it.

    Raises:
        NeverStarted: the turn was stopped meanwhile.
    """
    tool, runtime = bound.tool, run.runtime
    run.is_guarded = run.is_guarded or _may_be_withheld(tool, runtime)
    known = {} if edited else run.record.described
    changed = {name: argument for name, argument in bound.described.items() if known.get(name) != argument}
    try:
        followers = await slot.find_followers() if tool.runs_in_order else []
        announces = tuple(follower.call_id for follower in followers)
        run.began, now = monotonic(), time.time()
        start = CallStarted(run.call_id, now, thread, edited, run.is_guarded, changed, announces, slot.is_announced)
        await runtime.emit(start)
    except asyncio.CancelledError:
        raise NeverStarted from None
    for follower in followers:
        follower.is_announced = True


def _may_be_withheld(tool: Tool, runtime: ToolRuntime) -> bool:
    """Whether a gate, or the administrator's policy, may still withhold the result of a call."""
    is_withheld = not (tool.is_value_free or site_policy().values_may_leave)
    return runtime.check_results or tool.policy.result != "never" or is_withheld


async def _end_run(bound: BoundCall, runtime: ToolRuntime, tool_run: ToolRun) -> None:
    """Record the data that the tool uses as its run left them."""
    if not bound.tool_token:
        runtime.approvals.tool_states.end_run(bound.tool_token)
        return
    recording = asyncio.ensure_future(runtime.record_tool_state(bound))
    if tool_run.status not in (
        "cancelled",
        "not_run",
        "unknown",
    ):  # a turn that was stopped ends without waiting for it
        await recording


async def _report_progress(
    run: RunningCall, unreadable: UnreadableValues | None, progress: Progress | BlockedLoop
) -> None:
    emit, record = run.runtime.emit, run.record
    if isinstance(progress, BlockedLoop):
        await emit(Notice(BLOCKED.format(name=progress.name), "warning"))
        return
    text = progress.text
    if text and (record.received_unreadable or (unreadable and await unreadable.may_be_in_text(text))):
        text = CLOSED_PROGRESS
    await emit(CallProgress(record.call_id, text, progress.fraction, run.is_guarded))


def _is_own_text(tool_run: ToolRun) -> bool:
    """Whether the text of an outcome is the tool's own: the errors of others may quote what they read."""
    return tool_run.status != "error" or isinstance(tool_run.outcome.error, ToolFailed)


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text or "{}"), dict)
    except (ValueError, RecursionError):
        return False
