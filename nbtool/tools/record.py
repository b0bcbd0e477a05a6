"""One call and what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from nbtool.events import CallDecided, CallFinished, CallStatus
from nbtool.messages import ToolCall, ToolResult

MAX_PREVIEW = 300
"""Characters of a result that a log line shows."""


@dataclass(slots=True)
class CallRecord:
    """One call and what came of it.

    `arguments` as the model sent them; `resolved` what ran, values described; `result` the object, `shown` the text
    that the model got; `reference` the variable that holds the result; `id` the provider's. Times are seconds since
    the epoch.
    """

    call_id: str
    name: str
    arguments: str
    round: int
    id: str = ""
    resolved: dict[str, str] = field(default_factory=dict)
    status: CallStatus = "waiting"
    result: Any = field(default=None, repr=False)  # its repr may be slow, or say what was withheld
    shown: str = ""
    reason: str = ""
    reference: str = ""
    started: float | None = None
    ended: float | None = None
    decisions: list[CallDecided] = field(default_factory=list)

    @classmethod
    def of(cls, call: ToolCall, round: int) -> CallRecord:
        """Begin the record of a call."""
        return cls(call.call_id, call.name, call.arguments, round, call.id)

    @property
    def seconds(self) -> float:
        """How long the tool ran and its result waited; 0 where it never began."""
        return max(0.0, self.ended - self.started) if self.started and self.ended else 0.0

    def end(self, status: CallStatus, shown: str, reason: str = "") -> None:
        """Write down the one outcome."""
        self.status, self.shown, self.reason, self.ended = status, shown, reason, time.time()

    def finished(self) -> CallFinished:
        """Give the event of the outcome."""
        return CallFinished(
            call_id=self.call_id,
            name=self.name,
            round=self.round,
            status=self.status,
            shown=self.shown,
            preview=self.shown[:MAX_PREVIEW],
            reason=self.reason,
            reference=self.reference,
            seconds=self.seconds,
        )

    def to_result(self) -> ToolResult:
        """Give the answer that goes back to the model; what a person withheld is an answer, and no error."""
        is_error = self.status not in ("ok", "withheld")
        return ToolResult(self.name, self.shown or "The call has no result.", self.id, self.call_id, is_error)
