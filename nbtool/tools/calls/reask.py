"""How often one call was asked about, and why it is asked about once more."""

from __future__ import annotations

import json
from dataclasses import dataclass

from nbtool.errors import ToolError
from nbtool.events import AskedAgain
from nbtool.tools.approval import Approved, Decision
from nbtool.tools.calls.binding import Bound

MAX_CHANGES = 3
"""Times that one call is asked about because what it stands for changed meanwhile."""

MAX_EDITS = 10
"""Times that arguments which a person wrote, and which do not fit, go back to the person."""

CHANGED = "What this call stands for changed each time it was asked about."
UNFIT = "The user's own arguments for this call did not fit."


@dataclass(slots=True)
class Asking:
    """The questions about one call: `count` of them were answered; `again` is why the next one is asked.

    `bound` is the call that is asked about next. `is_at_its_turn`: the last question was asked when nothing was left to
    wait for, so that its approval is followed by the run itself. `is_tool_unsteady`: what the tool works with changed
    while it was asked about; once the person was told, and asked again right before the run, it may go on changing.
    """

    count: int = 0
    bound: Bound | None = None
    again: AskedAgain | None = None
    is_at_its_turn: bool = False
    is_tool_unsteady: bool = False
    changes: int = 0
    edits: int = 0

    @property
    def is_over(self) -> bool:
        """Whether it was asked about too often."""
        return self.changes >= MAX_CHANGES or self.edits >= MAX_EDITS

    @property
    def why(self) -> str:
        """Why it is asked about no more."""
        return UNFIT if self.edits >= MAX_EDITS else CHANGED

    def take(self, now: Bound, again: AskedAgain, *, is_at_its_turn: bool = True) -> None:
        """Ask about the call as it is now."""
        self.count += 1
        self.changes += again.reason == "changed"
        self.bound, self.again, self.is_at_its_turn = now, again, is_at_its_turn

    def refuse_edit(self, bound: Bound, error: ToolError, decision: Decision) -> None:
        """Ask about the same call once more, for what a person wrote in its place does not fit."""
        edited = decision.arguments if isinstance(decision, Approved) else None
        written = json.dumps(edited, ensure_ascii=False, indent=2)
        self.count += 1
        self.edits += 1
        self.bound, self.again = bound, AskedAgain("invalid", problem=str(error), edited=written)
