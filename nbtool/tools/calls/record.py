"""The record of one call and its outcome."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.clock import monotonic
from nbtool.events import WHOLE_RESULT, CallDecided, CallFinished, CallStatus, ResolvedArgument
from nbtool.messages import Media, ToolCall, ToolResult
from nbtool.tools.approval.decisions import BY_NO_DECISION
from nbtool.tools.values.table_preview import TablePreview


@dataclass(slots=True, weakref_slot=True)
class CallRecord:
    """The record of one call and its outcome.

    Args:
        id: the provider's id.
        arguments: as sent by the model.
        edited: JSON of the arguments that a person wrote instead.
        resolved: the arguments that ran, with values described.
        result: the object.
        shown: the text sent to the model.
        images: the images of the result sent to the model.
        media: the media of the result shown to the person.
        table: the first rows of the result shown to the person.
        reference: the variable with the result.
        dead_reference: the variable that had it in an earlier kernel.
        arguments_reference: the variable with long arguments.
        qualified_name: the tool's name for a person, if it differs, such as `server.tool`.
        reason: why it has this outcome, for the person.
        model_reason: the part of the reason that may be sent to a model.
        traceback: where the user's code failed; never sent to a model.
        whole: what the whole result is, if the model received a part of its text.
        is_unreadable: the result is a value that was exposed by reference only.
        received_unreadable: the call is a script that received such a result.
        is_described: the model got a description in place of the result.
        inside: the call whose code made this one.
        is_guarded: its result, or that of a call around it, may still be withheld.
        is_from_outside: its text may be that of somebody else than the person and the author of the tool.

    Times are seconds since the epoch.
    """

    call_id: str
    name: str
    arguments: str
    round: int
    id: str = ""
    resolved: dict[str, ResolvedArgument] = field(default_factory=dict)
    status: CallStatus = "waiting"
    result: Any = field(default=None, repr=False)  # its repr may be slow, or contain what was withheld
    shown: str = ""
    reason: str = ""
    model_reason: str = field(default="", repr=False)
    reference: str = ""
    dead_reference: str = ""
    arguments_reference: str = ""
    edited: str = ""
    traceback: str = ""
    whole: str = ""
    images: tuple[Media, ...] = field(default=(), repr=False)
    media: tuple[Media, ...] = field(default=(), repr=False)
    media_omitted: int = 0
    table: TablePreview = field(default_factory=dict, repr=False)
    is_unreadable: bool = field(default=False, repr=False)
    received_unreadable: bool = field(default=False, repr=False)
    is_described: bool = field(default=False, repr=False)
    inside: str = ""
    is_guarded: bool = field(default=False, repr=False)
    is_from_outside: bool = field(default=True, repr=False)
    qualified_name: str = ""
    started: float | None = None
    ended: float | None = None
    _began: float = field(default=0.0, repr=False)
    decisions: list[CallDecided] = field(default_factory=list)

    @property
    def has_run(self) -> bool:
        """Whether the call started, in this turn or in one that it continues: of that only the outcome is recorded."""
        return self.started is not None or self.status in ("ok", "error", "withheld", "unknown")

    @property
    def is_undecided(self) -> bool:
        """Whether the call was denied, or its result withheld, by nobody's decision."""
        return any(one.by in BY_NO_DECISION for one in self.decisions)

    @classmethod
    def from_call(cls, call: ToolCall, round: int) -> CallRecord:
        """Start the record of a call."""
        return cls(call.call_id, call.name, call.arguments, round, call.id)

    @property
    def display_name(self) -> str:
        """The tool's name for a person."""
        return self.qualified_name or self.name

    @property
    def result_name(self) -> str:
        """The name by which references address the result, or addressed it in an earlier kernel."""
        return self.reference or self.dead_reference

    @property
    def own_text(self) -> str:
        """The text sent to the model without the line that names the variable of a complete result."""
        return self.shown.removesuffix(WHOLE_RESULT.format(name=self.result_name))

    @property
    def seconds(self) -> float:
        """Seconds from the start of the tool to its end, without the wait for decisions; 0 if it never started."""
        return max(0.0, self.ended - self.started) if self.started and self.ended else 0.0

    def begin(self) -> float:
        """Set the start to now, and return it, in seconds since the epoch."""
        self.status, self.started, self._began = "running", time.time(), monotonic()
        return self.started

    def stop(self) -> None:
        """Set the end to now: as long after the start as the call took, whatever happened to the clock meanwhile."""
        self.ended = time.time() if not (self.started and self._began) else self.started + monotonic() - self._began

    def finish(self, status: CallStatus, shown: str, reason: str = "", model_reason: str | None = None) -> None:
        """Set the outcome, once; without a `model_reason` the whole reason may be sent to a model.

        A call that did not run has no start, although its thread was requested.
        """
        self.started = None if status == "not_run" else self.started
        if not self.ended:
            self.stop()
        self.status, self.shown, self.reason = status, shown, reason
        self.model_reason = reason if model_reason is None else model_reason

    def override_text(self, texts: Mapping[str, str]) -> None:
        """Replace the text for the model if there is an override for this outcome."""
        if self.status in texts:
            self.shown = texts[self.status].replace("{name}", self.name).replace("{reason}", self.model_reason)

    def finished(self) -> CallFinished:
        """Return the event of the outcome."""
        return CallFinished(
            call_id=self.call_id,
            name=self.name,
            round=self.round,
            status=self.status,
            shown=self.shown,
            reason=self.reason,
            reference=self.reference,
            seconds=self.seconds,
            media=self.media,
            media_left_out=self.media_omitted,
            traceback=self.traceback,
            table=self.table,
            qualified_name=self.qualified_name,
            whole=self.whole,
            is_described=self.is_described,
        )

    def to_result(self) -> ToolResult:
        """Return the result sent to the model; a withheld result is not an error."""
        is_error = self.status not in ("ok", "withheld")
        text = self.shown or "The call has no result."
        return ToolResult(self.name, text, self.id, self.call_id, is_error, self.images)


class CallEnded(Exception):
    """Ends a call with this outcome: `text` is sent to the model, `reason` is written to the record.

    `model_reason` is the part of the reason that may be sent to a model, if it is not the whole one.
    """

    def __init__(self, status: CallStatus, text: str, reason: str = "", *, model_reason: str | None = None) -> None:
        super().__init__(text)
        self.outcome: tuple[CallStatus, str, str, str | None] = (status, text, reason or text, model_reason)
