"""Ask for approval before a call runs, until the call that was approved is the call that would run, or too often."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from nbtool.errors import ToolError
from nbtool.events import RepeatedQuestion
from nbtool.tools.approval import BY_POLICY, BY_REMEMBERED, BY_REVIEWER, Approved, Decision, Resolution, RunMode, Scope
from nbtool.tools.calls.approval_request import gate_mode, policy_reason, refused_call
from nbtool.tools.calls.audit_file import Decided
from nbtool.tools.calls.bound_call import BoundCall
from nbtool.tools.calls.call_changes import find_differences
from nbtool.tools.calls.call_ended import CallEnded
from nbtool.tools.calls.ordering import CallSlot
from nbtool.tools.calls.runtime import ToolRuntime
from nbtool.turn_state import Call

MAX_CHANGES = 3
"""Maximum number of times that approval is asked again because the call changed meanwhile."""

MAX_EDITS = 10
"""Maximum number of times that invalid edited arguments are returned to the person."""

CHANGED_TOO_OFTEN = "This call changed each time approval was asked for."
MAX_UNFILLED = 3
"""Maximum number of times that a form is approved without what it asks for."""

UNFILLED = "The form was approved without what it asks for, so it was declined: {problems}."
INVALID_EDITS = "The user's edited arguments for this call were invalid."


@dataclass(slots=True)
class CallQuestions:
    """The questions about one call: `count` were answered; `repeated` is why the next one is asked.

    Args:
        bound: the call of the next question.
        is_next_to_run: the last question was asked when nothing was left to wait for, so that the call runs right
            after its approval.
        is_tool_changing: the data that the tool uses changed while approval was pending. Once the person has been
            informed, and asked again right before the run, it may continue to change.
    """

    count: int = 0
    bound: BoundCall | None = None
    repeated: RepeatedQuestion | None = None
    is_next_to_run: bool = False
    is_tool_changing: bool = False
    changes: int = 0
    edits: int = 0
    unfilled: int = 0
    gaps: str = ""

    @property
    def is_over(self) -> bool:
        """Whether approval was asked too often."""
        return self.changes >= MAX_CHANGES or self.edits >= MAX_EDITS or self.unfilled >= MAX_UNFILLED

    @property
    def reason(self) -> str:
        """Why approval is not asked again."""
        if self.unfilled >= MAX_UNFILLED:
            return UNFILLED.format(problems=self.gaps)
        return INVALID_EDITS if self.edits >= MAX_EDITS else CHANGED_TOO_OFTEN

    def ask_again(self, bound: BoundCall, repeated: RepeatedQuestion, *, is_next_to_run: bool = True) -> None:
        """Ask for approval of the call as it is now."""
        self.count += 1
        self.changes += repeated.reason == "changed"
        self.bound, self.repeated, self.is_next_to_run = bound, repeated, is_next_to_run

    def refuse_edit(self, bound: BoundCall, error: ToolError, decision: Decision) -> None:
        """Ask for approval of the same call again, because the edited arguments are invalid."""
        edited = decision.arguments if isinstance(decision, Approved) else None
        edited_json = json.dumps(edited, ensure_ascii=False, indent=2)
        self.count += 1
        self.edits += 1
        self.bound, self.repeated = bound, RepeatedQuestion("invalid", problem=str(error), edited=edited_json)

    def refuse_unfilled(self, bound: BoundCall, problems: list[str]) -> None:
        """Show a form again that was approved without what it asks for."""
        self.count += 1
        self.unfilled += 1
        self.gaps = "; ".join(problems)
        self.bound, self.repeated = (
            bound,
            RepeatedQuestion("invalid", problem=f"{self.gaps}.", edited=bound.arguments_text),
        )


FIRST_CALL = "If you approve it, this tool does not ask again in this chat; `%chat approvals` takes that back."
"""What the person is told where a tool asks before its first call only."""


@dataclass(slots=True)
class RunGate:
    """The approval of one call before it runs."""

    runtime: ToolRuntime
    record: Call
    slot: CallSlot
    _questions: CallQuestions = field(default_factory=CallQuestions)
    _has_remembered: bool = False

    async def approve(self, bound: BoundCall) -> BoundCall:
        """Ask for approval if it is required, and wait for the call's turn; return the call as approved and unchanged.

        Raises:
            CallEnded: it was not approved, or changed too often.
        """
        if not bound.tool.runs_in_order:
            self.slot.mark_ran()
        while not self._questions.is_over:
            mode = await self._mode_of(bound)
            mode = "ask_always" if bound.discloses_values else mode
            bound = bound if mode == "auto" else await self._read_tool_token(bound)
            await self.slot.wait_to_ask()
            if mode == "auto":
                current = await self._wait_and_rebind(bound)
                if bound.same_tool_as(current) and await self._keeps_mode(bound, current, "auto"):
                    await self._audit_unasked(current)
                    return current
                self._questions.ask_again(current, RepeatedQuestion("changed"))
            elif approved := await self._ask(bound, mode):
                return approved
            bound = self._questions.bound or bound
        raise CallEnded("denied", self._questions.reason)

    async def _audit_unasked(self, bound: BoundCall) -> None:
        """Write to the audit file that the policy of the tool lets a call run.

        Raises:
            CallEnded: it cannot be written.
        """
        if self.runtime.audit_file:
            name = self.record.display_name
            await self.runtime.audit(Decided(self.record.call_id, name, "run", "approved", BY_POLICY, bound.arguments))

    async def _ask(self, bound: BoundCall, mode: RunMode) -> BoundCall | None:
        """Ask once; return the approved call if it is unchanged, and None if approval must be asked again."""
        questions = self._questions
        self.slot.is_announced = False  # what a person approves, perhaps with other arguments, starts by itself
        bound = await self.runtime.read_contents(bound)
        resolution, is_first = await self._request_decision(bound, mode)
        try:
            approved, scope = await self._apply_decision(bound, resolution)
        except ToolError as error:  # the person's own arguments: reported to the person, not to the model
            questions.refuse_edit(bound, error, resolution.decision)
            return None
        if gaps := approved.tool.parameters.find_gaps(approved.values):
            questions.refuse_unfilled(approved, gaps)
            return None
        scope = scope or ("tool" if is_first else None)
        if scope == "tool":
            await self._remember_tool(approved, resolution.by)
        current = await self._wait_unchanged(bound, approved, resolution.by)
        if current is None:
            return None
        if scope := scope or (
            "call" if mode == "ask_once" and await self._keeps_mode(bound, current, "ask_once") else None
        ):
            self._remember(current, scope, resolution.by)
        return replace(current, may_tool_change=questions.is_tool_changing)

    async def _request_decision(self, bound: BoundCall, mode: RunMode) -> tuple[Resolution, bool]:
        """Put the question about a call; return what was decided, and whether that holds for the tool from now on."""
        question = bound.question(
            self.record.call_id,
            "run",
            bound.arguments_text,
            attempt=self._questions.count,
            repeated=self._questions.repeated,
        )
        is_first = mode == "ask_first" and question.can_remember
        context = self.runtime.context_of(self.record)
        reason = await policy_reason(bound, "run", self.runtime.policy_seconds, context)
        added = filter(None, (reason, FIRST_CALL if is_first else ""))
        question = replace(question, notes=(*question.notes, *added))
        must_ask = self._has_remembered  # what this call remembered does not answer its own next question
        return await self.runtime.request_decision(question, self.record, must_ask=must_ask), is_first

    async def _wait_unchanged(self, bound: BoundCall, approved: BoundCall, by: str) -> BoundCall | None:
        """Wait for the call's turn; return the call as it is then if it is what was approved, and None to ask again.

        `bound` is the call that was asked about, `approved` the same with the person's arguments if there are any.
        """
        questions = self._questions
        rebound = await self._wait_and_rebind(approved, was_asked=True)
        approved, current = await self._ignore_own_changes(approved, rebound)
        approved = self._ignore_changing_tool(approved, current)
        discloses_more = current.discloses_values and current.disclosure_notice != bound.disclosure_notice
        if not approved.same_as(current) or not bound.same_tool_as(current) or discloses_more:
            is_edited = current.arguments_json != bound.arguments_json
            shown = approved if is_edited and not discloses_more else bound
            differences = find_differences(shown, await self.runtime.read_contents(current))
            questions.ask_again(current, RepeatedQuestion("changed", differences))
            return None
        if current.notes and by != BY_REMEMBERED and not questions.is_next_to_run:
            questions.ask_again(current, RepeatedQuestion("unwatched"), is_next_to_run=True)
            return None
        return current

    async def _keeps_mode(self, bound: BoundCall, current: BoundCall, mode: RunMode) -> bool:
        """Whether the policy has the same mode for the call as it is now: edited, or of a tool with another policy."""
        is_same = current.tool.policy == bound.tool.policy and current.arguments_json == bound.arguments_json
        return is_same or await self._mode_of(current) == mode

    async def _mode_of(self, bound: BoundCall) -> RunMode:
        """Return the mode of the policy, with what is known of the turn now."""
        find_context = partial(self.runtime.context_of, self.record)
        mode: RunMode = await gate_mode(bound, "run", self.runtime.policy_seconds, self.runtime.emit, find_context)  # type: ignore[assignment]  # of this gate
        return mode

    def _ignore_changing_tool(self, approved: BoundCall, current: BoundCall) -> BoundCall:
        """Note whether only the data that the tool uses changed; once the person was informed of it, ignore that."""
        if self._questions.is_tool_changing:
            return replace(approved, tool_token=current.tool_token)
        if approved.same_as(replace(current, tool_token=approved.tool_token)):
            self._questions.is_tool_changing = approved.tool_token != current.tool_token
        return approved

    async def _remember_tool(self, approved: BoundCall, by: str) -> None:
        """Remember the approval of an unchanged tool before the call waits: it may cover what that waits for."""
        current = await self._bind(approved, approved.arguments, earlier=approved)
        current = await self._read_tool_token(current)
        if approved.same_tool_as(current) and approved.tool_token == current.tool_token:
            self._remember(current, "tool", by)
            self._has_remembered = True

    def _remember(self, current: BoundCall, scope: Scope, by: str) -> None:
        """Remember the approval, if it was given now and one of this scope can be remembered."""
        if by in (BY_REMEMBERED, BY_POLICY, BY_REVIEWER):
            return
        question = current.question(self.record.call_id, "run", current.arguments_text)
        if scope in question.remember_keys and question.can_remember:
            self.runtime.approvals.remember(question, scope, by=by)

    async def _read_tool_token(self, bound: BoundCall) -> BoundCall:
        if bound_now := await self.runtime.read_tool_token(bound):
            return bound_now
        raise CallEnded("invalid", f"The data that the tool {bound.tool.name!r} uses could not be read.")

    async def _ignore_own_changes(self, approved: BoundCall, current: BoundCall) -> tuple[BoundCall, BoundCall]:
        """Recompute the tool's token; return both calls with the state from which the tool's approved runs led.

        A run may end, and be recorded, between any two looks: so both states are looked up after the last one.
        A change while such a run is under way is attributed to it.
        """
        states = self.runtime.approvals.tool_states
        was_running = states.is_running(states.first_token(approved.tool_token))
        current = await self._read_tool_token(current)
        token, now = states.first_tokens(approved.tool_token, current.tool_token)
        if now != token and (was_running or states.is_running(token)):
            states.record(token, now)
            now = token
        return replace(approved, tool_token=token), replace(current, tool_token=now)

    async def _apply_decision(self, bound: BoundCall, resolution: Resolution) -> tuple[BoundCall, Scope | None]:
        """Replace the arguments by edited ones if there are any; return the call, and the scope to remember.

        Raises:
            CallEnded: it was denied.
            ToolError: the edited arguments do not fit.
        """
        decision = resolution.decision
        if not isinstance(decision, Approved):
            raise refused_call(resolution)
        if decision.arguments is not None:
            edited = await self._bind(bound, decision.arguments)
            bound = replace(edited, tool_token=bound.tool_token, tool_problem=bound.tool_problem)
        return bound, decision.remember or None

    async def _wait_and_rebind(self, bound: BoundCall, *, was_asked: bool = False) -> BoundCall:
        """Wait for the call's turn; bind it again if approval was asked or it had to wait."""
        unasked_id = "" if was_asked else self.record.call_id
        waited = bound.tool.runs_in_order and await self.slot.wait_to_run(unasked_id)
        if was_asked or waited:
            bound = await self._bind(bound, bound.arguments, earlier=bound)
        return bound

    async def _bind(
        self, bound: BoundCall, arguments: Mapping[str, Any], earlier: BoundCall | None = None
    ) -> BoundCall:
        """Bind arguments to the tool that has the name of this call's tool now."""
        return await self.runtime.bind(self.runtime.tools.get(bound.tool.name), arguments, earlier=earlier)
