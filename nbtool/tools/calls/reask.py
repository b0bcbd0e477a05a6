"""How often one call was asked about, and why it is asked about once more."""

from __future__ import annotations

import json
from dataclasses import dataclass

from nbtool.errors import ToolError
from nbtool.events import RepeatedQuestion
from nbtool.tools.approval import Approved, Decision
from nbtool.tools.calls.binding import BoundCall

MAX_CHANGES = 3
"""Times that one call is asked about because what it stands for changed meanwhile."""

MAX_EDITS = 10
"""Times that arguments which a person wrote, and which do not fit, go back to the person."""

CHANGED_TOO_OFTEN = "What this call stands for changed each time it was asked about."
INVALID_EDITS = "The user's own arguments for this call did not fit."


@dataclass(slots=True)
class CallQuestions:
    """The questions about one call: `count` of them were answered; `repeated` is why the next one is asked.

    `bound` is the call that is asked about next. `is_next_to_run`: the last question was asked when nothing was left to
    wait for, so that its approval is followed by the run itself. `is_tool_changing`: what the tool works with changed
    while it was asked about; once the person was told, and asked again right before the run, it may go on changing.
    """

    count: int = 0
    bound: BoundCall | None = None
    repeated: RepeatedQuestion | None = None
    is_next_to_run: bool = False
    is_tool_changing: bool = False
    changes: int = 0
    edits: int = 0

    @property
    def is_over(self) -> bool:
        """Whether it was asked about too often."""
        return self.changes >= MAX_CHANGES or self.edits >= MAX_EDITS

    @property
    def reason(self) -> str:
        """Why it is asked about no more."""
        return INVALID_EDITS if self.edits >= MAX_EDITS else CHANGED_TOO_OFTEN

    def ask_again(self, bound: BoundCall, repeated: RepeatedQuestion, *, is_next_to_run: bool = True) -> None:
        """Ask about the call as it is now."""
        self.count += 1
        self.changes += repeated.reason == "changed"
        self.bound, self.repeated, self.is_next_to_run = bound, repeated, is_next_to_run

    def refuse_edit(self, bound: BoundCall, error: ToolError, decision: Decision) -> None:
        """Ask about the same call once more, for what a person wrote in its place does not fit."""
        edited = decision.arguments if isinstance(decision, Approved) else None
        edited_json = json.dumps(edited, ensure_ascii=False, indent=2)
        self.count += 1
        self.edits += 1
        self.bound, self.repeated = bound, RepeatedQuestion("invalid", problem=str(error), edited=edited_json)
