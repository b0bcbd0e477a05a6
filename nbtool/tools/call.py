"""One call: look up → resolve → validate → gate → run → render → gate → remember.

Each call gets exactly one outcome, whatever happens. What is approved is what runs: just before it does, the tool and
every reference are looked up again, and if anything is another than it was, the question is asked anew.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nbtool.errors import BadUsage, NbtoolError, ToolError, ToolFailed, UnknownTool
from nbtool.events import CallProgress, CallReady, CallStarted, CallStatus, Emit, Gate
from nbtool.loop import LentThread
from nbtool.messages import ToolCall
from nbtool.tools.approval import (
    Approved,
    Approver,
    AskFunction,
    Denied,
    Desk,
    Question,
    Released,
    Ruling,
    Withheld,
    canonical,
)
from nbtool.tools.bound import Bound, bind
from nbtool.tools.describe import describe
from nbtool.tools.gate import REMEMBERED, announce, is_cancelling, refused_text, rule
from nbtool.tools.places import Outcome, off_loop
from nbtool.tools.record import CallRecord, images_in
from nbtool.tools.render import BUDGET, Rendered, cut, error_text, render
from nbtool.tools.running import Ended, place_of, run_tool
from nbtool.tools.tool import Progress, Tool
from nbtool.tools.toolset import Toolset
from nbtool.tools.variables import Variables

__all__ = ["Bench", "CallRecord", "RunningCall", "not_run", "run_call", "running_call"]

MAX_ASKED = 3
"""Times that one call is asked about because what it stands for changed meanwhile."""

BIND_SECONDS = 10.0
"""Seconds that looking up and writing out references may take."""

RENDER_SECONDS = 5.0
"""Seconds that writing out a result may take."""

REFERENCE_FROM = 200
"""Characters from which on a plain result is offered as a reference."""

TIMED_OUT = {
    "nothing": " and was stopped",
    "running": ", still running",
    "perhaps": " and was cancelled; had it begun at its executor, it may still be running",
}
UNKNOWN = {
    "running": "its tool cannot be stopped and is still running",
    "perhaps": "had its tool begun at its executor, it may still be running",
}


Make = Callable[[ToolCall, "Bench", int], Awaitable["CallRecord"]]


@dataclass(slots=True)
class Bench:
    """What a call works with. `approver` None means that nobody can be asked; `timeout` is for tools without one.

    `make` is how a tool that works with the chat makes calls of its own: the turn counts, watches and records them.
    `texts` are what the model is told of an outcome in place of our own words; `{name}` and `{reason}` are filled in.
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


class _Closed(Exception):
    """The call ends here, with this outcome."""

    def __init__(self, status: CallStatus, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.outcome: tuple[CallStatus, str, str] = (status, text, reason or text)


async def run_call(
    call: ToolCall, bench: Bench, *, round: int, keep: Callable[[CallRecord], object] = lambda _: None
) -> CallRecord:
    """See one call through to its outcome; `keep` is given the record at once, and it fills as the call goes on.

    Nothing that a tool, an approver or a policy raises comes out. Cancelling the task ends the call, journals its
    outcome, and goes on as `asyncio.CancelledError`; so does a person's interrupt of a tool on the lent thread.
    """
    record = CallRecord.of(call, round)
    keep(record)
    _running.set(RunningCall(bench, call.call_id, round))
    try:
        await _see_through(call, bench, record)
    except _Closed as closed:
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


async def _see_through(call: ToolCall, bench: Bench, record: CallRecord) -> None:
    bound = await _ready(call, bench, record)
    bound = await _approved(call, bound, bench, record)
    ended = await _run(bound, bench, record)
    await _deliver(bound, ended, bench, record)


async def _ready(call: ToolCall, bench: Bench, record: CallRecord) -> Bound:
    bench.tools.get(call.name)
    if call.args is None or not call.runnable:
        raise _Closed("not_run" if _is_whole(call.arguments) else "invalid", call.error or "The call cannot run.")
    bound = await _bind(call.name, call.args, bench)
    record.resolved = bound.described
    await bench.emit(CallReady(call.call_id, call.name, record.round, call.arguments, bound.described, call.repaired))
    return bound


async def _bind(name: str, arguments: Mapping[str, Any], bench: Bench) -> Bound:
    """Look up the tool and everything the arguments refer to, as they are now; off the loop, for it may take long."""
    outcome = await off_loop(lambda: bind(bench.tools.get(name), arguments, bench.variables), BIND_SECONDS)
    if outcome is None:
        raise _Closed("invalid", f"The references took longer than {BIND_SECONDS:g} s to read.")
    if isinstance(outcome.error, Exception):
        raise outcome.error
    if outcome.error:
        raise _Closed("error", error_text(outcome.error))
    bound: Bound = outcome.value
    return bound


async def _approved(call: ToolCall, bound: Bound, bench: Bench, record: CallRecord) -> Bound:
    """Pass the first gate, and give the call as it was approved and still is."""
    for attempt in range(MAX_ASKED):
        word = _word(bound, "run")
        if word == "auto":
            return bound
        ruling = await bench.rule(bound.question(call.call_id, "run", bound.shown, attempt=attempt), record)
        decision = ruling.decision
        if not isinstance(decision, Approved):
            raise _Closed("denied", refused_text(decision), getattr(decision, "reason", ""))
        approved = bound if decision.arguments is None else await _bind(call.name, decision.arguments, bench)
        record.resolved = approved.described
        now = await _bind(call.name, approved.arguments, bench)
        if approved.is_still(now) and bound.has_tool_of(now):
            if ruling.by != REMEMBERED and (scope := decision.remember or ("call" if word == "ask_once" else "")):
                bench.desk.remember(now.question(call.call_id, "run", now.shown), scope, by=ruling.by)
            return now
        bound = now
    raise _Closed("denied", "What this call stands for changed each time it was asked about.")


async def _run(bound: Bound, bench: Bench, record: CallRecord) -> Ended:
    tool = bound.tool
    key = canonical([tool.name, bound.arguments, bound.fingerprints])
    if key in bench.left_running:
        raise _Closed("not_run", "The same call was made before and is still running.")
    where = "loop" if tool.is_async else place_of(tool, bench.lent).name
    record.status, record.started = "running", time.time()
    await bench.emit(CallStarted(record.call_id, record.started, where))
    positional, keywords = tool.parameters.bind(bound.values)
    report = partial(_report, record.call_id, bench.emit)
    timeout = tool.timeout if tool.timeout is not None else bench.timeout
    ended = await run_tool(tool, positional, keywords, lent=bench.lent, report=report, timeout=timeout)
    if ended.task and ended.left == "running":
        bench.left_running[key] = ended.task
        ended.task.add_done_callback(lambda _: bench.left_running.pop(key, None))
    if ended.status == "timed_out":
        raise _Closed("timed_out", f"The call timed out after {timeout:g} s{TIMED_OUT[ended.left]}.")
    return ended


async def _report(call_id: str, emit: Emit, progress: Progress) -> None:
    await emit(CallProgress(call_id, progress.text, progress.fraction))


async def _deliver(bound: Bound, ended: Ended, bench: Bench, record: CallRecord) -> None:
    """Write the outcome out, pass the second gate, and remember the result."""
    if ended.status == "unknown":
        raise _Closed("unknown", f"The call was cancelled, but {UNKNOWN[ended.left]}: its outcome is unknown.")
    if ended.status == "cancelled":
        raise _Closed("cancelled", "The call was cancelled.")
    record.shown = "The tool ran, and the turn was cancelled before its result was delivered."
    is_error = ended.status == "error"
    value = record.result = ended.outcome.value
    drawn = _failure(ended.outcome.error) if is_error else await _drawn(value, bench.budget)
    edited = await _released(bound, drawn.text, bench, record, is_error=is_error)
    if edited is not None:  # what the person took out must not be kept where a reference could reach it
        value, drawn = edited, render(edited, bench.budget)
    elif not is_error:
        record.images = images_in(value)
    reason = drawn.text if is_error else ""
    if not is_error and bound.tool.remembered:
        drawn = _remembered(bound.tool, value, drawn, bench, record)
        _remember_arguments(bound, bench, record)
    record.end(ended.status, drawn.text, reason)


async def _released(bound: Bound, text: str, bench: Bench, record: CallRecord, *, is_error: bool) -> str | None:
    """Pass the second gate, and give the text that a person put in place of this one."""
    word = _word(bound, "result")
    if word == "never" or (word == "on_error" and not is_error):
        return None
    ruling = await bench.rule(bound.question(record.call_id, "result", text), record)
    if not isinstance(ruling.decision, Released):
        raise _Closed("withheld", refused_text(ruling.decision), getattr(ruling.decision, "reason", ""))
    return ruling.decision.text


def _remembered(tool: Tool, value: Any, drawn: Rendered, bench: Bench, record: CallRecord) -> Rendered:
    """Keep the result as a variable and, where that is of use, tell the model its name."""
    text = drawn.text if drawn.is_whole and not drawn.is_object else None
    name = tool.store_as or bench.variables.next_name(tool.name)
    said = f"Result of {tool.name}."
    try:
        bench.variables.remember(name, value, text, description=said)
    except BadUsage:  # an exposed variable has the name that the author chose
        name = bench.variables.next_name(tool.name)
        bench.variables.remember(name, value, text, description=said)
    record.reference = name
    if drawn.is_whole and not drawn.is_object and len(drawn.text) < REFERENCE_FROM:
        return drawn
    what = "Whole result" if drawn.is_whole else f"Shown in part; the whole ({describe(value)})"
    return Rendered(f"{drawn.text}\n[{what}: $VAR_REF{{{{{name}}}}}]", drawn.is_whole, drawn.is_object)


def _remember_arguments(bound: Bound, bench: Bench, record: CallRecord) -> None:
    """Keep long arguments as a variable too: later turns are told them cut short."""
    written = bound.shown
    name = record.reference.removesuffix("_result") + "_args"
    if len(written) >= REFERENCE_FROM:
        with suppress(BadUsage):  # an exposed variable has this name; the arguments stand in the record all the same
            record.arguments_reference = bench.variables.remember(
                name, bound.arguments, written, description=f"Arguments of {bound.tool.name}."
            )


async def _drawn(value: Any, budget: int) -> Rendered:
    outcome = await off_loop(partial(render, value, budget), RENDER_SECONDS)
    if outcome is None or outcome.error:
        return Rendered(f"{describe(value)} (it cannot be shown in time)", is_whole=False, is_object=True)
    drawn: Rendered = outcome.value
    return drawn


def _word(bound: Bound, gate: Gate) -> str:
    """Ask the tool's policy; one that raises keeps the gate shut."""
    policy = bound.tool.policy
    try:
        return policy.run_word(bound.arguments) if gate == "run" else policy.result_word(bound.arguments)
    except Exception as error:  # noqa: BLE001 - a policy that fails allows nothing
        reason = f"The policy of the tool failed: {error_text(error)}"
    if gate == "run":
        raise _Closed("denied", refused_text(Denied(reason)), reason)
    raise _Closed("withheld", refused_text(Withheld(reason)), reason)


def _failure(error: BaseException | None) -> Rendered:
    """Write an error for the model: a tool's own words, or type and message."""
    if isinstance(error, ToolFailed):
        return render(str(error) or "The tool failed.")
    if isinstance(error, NbtoolError) or error is None:
        return render(str(error))
    return Rendered(cut(error_text(error)))


def _is_whole(text: str) -> bool:
    try:
        return isinstance(json.loads(text or "{}"), dict)
    except (ValueError, RecursionError):
        return False
