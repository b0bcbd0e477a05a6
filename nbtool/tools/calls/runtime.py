"""What the calls of a turn share: tools, variables, approvals and limits; and the call in which code runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from nbtool.argument_check import check_answer
from nbtool.clock import monotonic
from nbtool.errors import ToolFailed
from nbtool.events import CallDecided, CallFinished, CallStatus, Emit
from nbtool.messages import ToolCall
from nbtool.policy import site_policy
from nbtool.threads.caller_thread import CallerThread
from nbtool.threads.thread_pool import Outcome, run_with_timeout
from nbtool.tools.approval import (
    ApprovalQueue,
    Approved,
    Approver,
    AskFunction,
    PolicyContext,
    Question,
    Resolution,
    make_digest,
)
from nbtool.tools.calls.approval_request import failure_reasons, find_decision, record_decision
from nbtool.tools.calls.audit_file import AuditFile, Decided
from nbtool.tools.calls.bound_call import BoundCall, bind, is_cheap
from nbtool.tools.calls.call_ended import CallEnded, CallForbidden
from nbtool.tools.calls.site_rules import error_text, rule_to_refuse, with_site_rules
from nbtool.tools.calls.stops import CallStops
from nbtool.tools.calls.turn_sources import TurnSources
from nbtool.tools.execution.runner import RunLimits
from nbtool.tools.tool import Tool
from nbtool.tools.toolset import Toolset
from nbtool.tools.values.model_text import RESULT_CHARS
from nbtool.tools.variables.store import Variables
from nbtool.turn_state import Call, TurnState

BIND_SECONDS = 10.0
"""Seconds that resolving and rendering references may take."""

RENDER_SECONDS = 5.0
"""Seconds that rendering a result may take."""

POLICY_SECONDS = 10.0
"""Seconds that a tool's policy may take."""

UNAUDITED = "The audit file {path} cannot be written ({why})."
NOT_AUDITED = "The decision about this call could not be recorded, so nothing follows from it."

RunNested = Callable[[ToolCall, "ToolRuntime", int], Awaitable[Call]]


@dataclass(slots=True)
class ToolRuntime:
    """The services that a call uses.

    Args:
        emit: applies an event to the `state`, and emits it.
        state: the turn, with its calls.
        approver: None means that no one can be asked.
        timeout: seconds, for tools without their own.
        run_nested: makes a call for a tool of the chat; the turn counts, limits and records it.
        bind_seconds: seconds that resolving and rendering references may take.
        render_seconds: seconds that rendering a result may take.
        policy_seconds: seconds that the policy of a tool may take.
        run_limits: the limits of each run; its timeout is the one that applies to the tool.
        outcome_texts: replace the text for the model, per outcome; `{name}` and `{reason}` are filled in,
            the latter without what only a person may read.
        plugins: the plugins of the chat; they also process what a tool sends to a model itself.
        has_unreadable_input: the calls are made by a script that received unreadable values.
        check_results: ask for approval of every result, whatever the tool's policy.
        stops: the running calls, each of which a person can stop.
        recipient: who receives the results, if it is not the model.
        sources: what the person typed, and what came from outside.
        is_nested: the calls are made by the code of another call, which has seen results of this round.
        audit_file: where decisions are written, too; a call whose decision cannot be does not run.
    """

    tools: Toolset
    variables: Variables
    emit: Emit
    state: TurnState = field(default_factory=TurnState)
    approvals: ApprovalQueue = field(default_factory=ApprovalQueue)
    approver: Approver | AskFunction | None = None
    caller_thread: CallerThread = field(default_factory=CallerThread)
    budget: int = RESULT_CHARS
    timeout: float | None = None
    outcome_texts: Mapping[str, str] = field(default_factory=dict)
    plugins: tuple[object, ...] = ()
    has_unreadable_input: bool = False
    check_results: bool = False
    recipient: str = ""
    stops: CallStops = field(default_factory=CallStops)
    sources: TurnSources = field(default_factory=TurnSources)
    is_nested: bool = False
    audit_file: AuditFile | None = None
    abandoned: dict[str, asyncio.Task[Outcome]] = field(default_factory=dict)
    run_nested: RunNested | None = None
    bind_seconds: float = BIND_SECONDS
    render_seconds: float = RENDER_SECONDS
    policy_seconds: float = POLICY_SECONDS
    run_limits: RunLimits = field(default_factory=RunLimits)

    @property
    def uses_remembered(self) -> bool:
        """Whether remembered approvals count: not where the approver decides every question itself."""
        return bool(getattr(self.approver, "uses_remembered", True))

    def context_of(self, record: Call) -> PolicyContext:
        """Return what a policy and an approver may know of a call besides its arguments."""
        return self.sources.context(record.name, record.call_id, record.round, is_nested=self.is_nested)

    async def request_decision(self, question: Question, record: Call, *, must_ask: bool = False) -> Resolution:
        """Return the decision on a question and write it to the journal; see `approval_request.find_decision`."""
        question = replace(question, context=self.context_of(record))
        resolution, _ = await self._find_and_record(question, self.approver, must_ask=must_ask)
        return resolution

    async def request_approval(
        self, call_id: str, name: str, text: str, *, description: str, approver: Approver | AskFunction | None = None
    ) -> CallDecided:
        """Ask for an approval as for a sensitive call; implements `nbtool.chain.hooks.ApprovalService`."""
        digest = make_digest(call_id=call_id, text=text)
        rule = site_policy().rule_of_person
        question = Question(call_id, "run", digest, name, text, description, sensitive=True, person_rule=rule)
        _, decided = await self._find_and_record(question, approver or self.approver)
        return decided

    async def _find_and_record(
        self, question: Question, approver: Approver | AskFunction | None, *, must_ask: bool = False
    ) -> tuple[Resolution, CallDecided]:
        resolution = await find_decision(
            question,
            approvals=self.approvals,
            approver=approver,
            caller_thread=self.caller_thread,
            emit=self.emit,
            must_ask=must_ask,
        )
        decided = await record_decision(question, resolution, self.emit)
        edited = resolution.decision.arguments if isinstance(resolution.decision, Approved) else None
        await self.audit(
            Decided(
                decided.call_id,
                question.display_name,
                decided.gate,
                decided.verdict,
                decided.by,
                question.arguments if edited is None else edited,
                decided.edited,
                decided.remember,
            )
        )
        return resolution, decided

    async def audit(self, decided: Decided) -> None:
        """Write a decision to the audit file, if the chat has one.

        Raises:
            CallEnded: it cannot be written, so that nothing may follow from the decision.
        """
        if self.audit_file is None:
            return
        try:
            await asyncio.to_thread(self.audit_file.write, decided)
        except OSError as error:
            status: CallStatus = "not_run" if decided.gate == "run" else "withheld"
            why = UNAUDITED.format(path=error.filename, why=error.strerror or error)
            raise CallEnded(status, NOT_AUDITED, why, model_reason=NOT_AUDITED) from None

    async def check_start(self, name: str) -> None:
        """Ask the plugins with `may_start`, off the event loop, whether an approved call of this tool may start now.

        Raises:
            CallEnded: one of them returned False or failed.
        """
        for plugin in self.plugins:
            if (guard := getattr(plugin, "may_start", None)) is None:
                continue
            try:
                may_start = check_answer("may_start", bool, await asyncio.to_thread(guard, name))
            except Exception as error:
                reason, whole_text = failure_reasons("A plugin failed", error)
                message = f"This call did not run. Reason: {reason}"
                raise CallEnded("not_run", message, whole_text, model_reason=reason) from error
            if not may_start:
                raise CallEnded("not_run", "A plugin did not let this call start.")

    async def bind(self, tool: Tool, arguments: Mapping[str, Any], *, earlier: BoundCall | None = None) -> BoundCall:
        """Resolve the arguments for a tool as they are now, off the event loop if that may take long.

        An `earlier` binding of the same arguments is reused if the tool is the same and there are no references; else
        its values are, as far as they would be the same. Every call is bound right before it runs, so what the
        administrator's policy forbids is refused here, before anything of the tool runs.
        """
        tool = with_site_rules(tool)
        if rule := rule_to_refuse(tool):
            raise CallForbidden(rule)
        if is_cheap(tool, arguments):
            return earlier if earlier and earlier.tool is tool else bind(tool, arguments, self.variables)
        outcome = await run_with_timeout(partial(bind, tool, arguments, self.variables, earlier), self.bind_seconds)
        if outcome is None:
            raise CallEnded("invalid", f"The references took longer than {self.bind_seconds:g} s to read.")
        if isinstance(outcome.error, Exception):
            raise outcome.error
        if outcome.error:
            raise CallEnded("error", error_text(outcome.error))
        bound: BoundCall = outcome.value
        return bound

    async def read_tool_token(self, bound: BoundCall) -> BoundCall | None:
        """Compute the token of the data that the tool uses, off the event loop; None if it could not be read."""
        outcome = await run_with_timeout(partial(bound.with_tool_token, self.approvals.tool_states), self.bind_seconds)
        return outcome.value if outcome and not outcome.error else None

    async def record_tool_state(self, bound: BoundCall) -> None:
        """Record the data that the tool uses as left by a run of this call, which ends here."""
        states = self.approvals.tool_states
        try:
            if bound.tool_token and (bound_after := await self.read_tool_token(bound)):
                states.record(bound.tool_token, bound_after.tool_token)
        finally:
            states.end_run(bound.tool_token)

    async def read_contents(self, bound: BoundCall) -> BoundCall:
        """Read the contents of the referenced objects, off the event loop; without those that take too long."""
        if not bound.resolved.links:
            return bound
        outcome = await run_with_timeout(partial(bound.with_contents, self.variables), self.bind_seconds)
        return outcome.value if outcome and not outcome.error else bound


@dataclass(slots=True)
class RunningCall:
    """A call that runs: for tools that use the chat, and until it has an outcome.

    Args:
        inside: the call whose code made this one.
        is_guarded: its result may still be withheld, or that of the call around it, which holds back this one too.
        is_ready: its event `CallReady` was emitted.
        began: when its tool started, on the clock of `monotonic`; None if it has not.
        outcome: the event of its end, as far as it is known.
        model_reason: the part of the outcome's reason that may be sent to a model.
    """

    runtime: ToolRuntime
    record: Call
    inside: str = ""
    is_guarded: bool = False
    is_ready: bool = False
    began: float | None = None
    is_timed: bool = False
    outcome: CallFinished = field(init=False)
    model_reason: str = ""
    call_id: str = field(init=False)
    round: int = field(init=False)

    def __post_init__(self) -> None:
        self.call_id, self.round = self.record.call_id, self.record.round
        if around := _current_call.get(None):
            self.inside, self.is_guarded = around.call_id, around.is_guarded
        outcome = CallFinished(self.record.call_id, self.record.name, self.record.round, "cancelled", "")
        self.outcome = replace(outcome, inside=self.inside)

    def stop_clock(self) -> None:
        """Set the duration of the tool's run, once: what the call waits for afterwards takes it no longer."""
        if self.began is not None and not self.is_timed:
            self.outcome.seconds, self.is_timed = max(0.0, monotonic() - self.began), True

    def finish(self, status: CallStatus, shown: str, reason: str = "", model_reason: str | None = None) -> None:
        """Set the outcome; without a `model_reason` the whole reason may be sent to a model."""
        self.stop_clock()
        self.outcome.seconds = 0.0 if status == "not_run" else self.outcome.seconds
        self.outcome.status, self.outcome.shown, self.outcome.reason = status, shown, reason
        self.model_reason = reason if model_reason is None else model_reason

    def emit_outcome(self) -> Awaitable[None]:
        """Apply and emit the outcome, with the chat's own text for the model if it has one for this status."""
        outcome = self.outcome
        outcome.qualified_name = outcome.qualified_name or self.record.qualified_name
        if not (self.is_ready or self.runtime.state.is_as_requested(self.record)):
            outcome.arguments = self.record.arguments
        if text := self.runtime.outcome_texts.get(outcome.status):
            outcome.shown = text.replace("{name}", outcome.name).replace("{reason}", self.model_reason)
        return self.runtime.emit(outcome)


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


def is_guarded() -> bool:
    """Return whether the caller runs in a call whose result may still be withheld."""
    around = _current_call.get(None)
    return bool(around and around.is_guarded)


@contextmanager
def running(call: RunningCall) -> Iterator[None]:
    """Make a call the one in which the caller's task runs."""
    token = _current_call.set(call)
    try:
        yield
    finally:
        _current_call.reset(token)
