"""How often approval was asked for one call, and why it is asked again."""

from __future__ import annotations

import json
from dataclasses import dataclass

from nbtool.errors import ToolError
from nbtool.events import RepeatedQuestion
from nbtool.tools.approval import Approved, Decision
from nbtool.tools.calls.bound_call import BoundCall

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
