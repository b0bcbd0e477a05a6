"""The outcome of a turn: its status, its replies and its errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nbtool.events import EndReason, Phase, TurnStatus
from nbtool.wire.reply import Reply


@dataclass(slots=True)
class Outcome:
    """The outcome of a turn. `rounds` are its replies in order, `errors` are ordered, the main one first.

    `end_reason` says why it ended without a finished answer, `phase` is what the turn is doing. `error_phase` is the
    phase of the only error; empty if there are several or none.
    """

    status: TurnStatus = "running"
    text: str = ""
    rounds: list[Reply] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    end_reason: EndReason = ""
    phase: Phase = "hook"
    error_phase: Literal["", Phase] = ""

    @property
    def error(self) -> BaseException | None:
        """The error of the turn; several errors are an exception group."""
        if len(self.errors) > 1:
            return BaseExceptionGroup("Several errors in this turn", self.errors)
        return self.errors[0] if self.errors else None
