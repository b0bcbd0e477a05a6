"""One call and what came of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.events import CallDecided, CallFinished, CallStatus, ResolvedArgument
from nbtool.messages import Media, ToolCall, ToolResult
from nbtool.mime import IMAGES, sniff
from nbtool.tools.values.multipart import MultipartResult

MAX_IMAGES = 8
"""Images of one result that a model sees; it reads of the others."""

MAX_IMAGE_BYTES = 4 * 1024 * 1024
"""Bytes of an image that a model sees."""


@dataclass(slots=True, weakref_slot=True)
class CallRecord:
    """One call and what came of it.

    `arguments` as the model sent them, `edited` the JSON of those that a person put in their place, `resolved` what
    ran, values described; `result` the object, `shown` the text that the model got, `images` what it sees of the
    result, `media` what the person does; `reference` the variable that holds the result, `dead_reference` the one
    that did in an earlier kernel, `arguments_reference` the one that holds long arguments; `traceback` where the
    person's own code failed, which no model is told; `id` the provider's.
    `is_unreadable` says that the result is what was exposed by reference alone, `received_unreadable` that the call is
    a script which was given such a result. Times are seconds since the epoch.
    """

    call_id: str
    name: str
    arguments: str
    round: int
    id: str = ""
    resolved: dict[str, ResolvedArgument] = field(default_factory=dict)
    status: CallStatus = "waiting"
    result: Any = field(default=None, repr=False)  # its repr may be slow, or say what was withheld
    shown: str = ""
    reason: str = ""
    reference: str = ""
    dead_reference: str = ""
    arguments_reference: str = ""
    edited: str = ""
    traceback: str = ""
    images: tuple[Media, ...] = field(default=(), repr=False)
    media: tuple[Media, ...] = field(default=(), repr=False)
    media_omitted: int = 0
    is_unreadable: bool = field(default=False, repr=False)
    received_unreadable: bool = field(default=False, repr=False)
    started: float | None = None
    ended: float | None = None
    decisions: list[CallDecided] = field(default_factory=list)

    @classmethod
    def from_call(cls, call: ToolCall, round: int) -> CallRecord:
        """Begin the record of a call."""
        return cls(call.call_id, call.name, call.arguments, round, call.id)

    @property
    def result_name(self) -> str:
        """The name by which references reach the result, or reached it in an earlier kernel."""
        return self.reference or self.dead_reference

    @property
    def seconds(self) -> float:
        """How long the tool ran and its result waited; 0 where it never began."""
        return max(0.0, self.ended - self.started) if self.started and self.ended else 0.0

    def finish(self, status: CallStatus, shown: str, reason: str = "") -> None:
        """Write down the one outcome."""
        self.status, self.shown, self.reason, self.ended = status, shown, reason, time.time()

    def override_text(self, texts: Mapping[str, str]) -> None:
        """Take other words for the model, where there are some for this outcome."""
        if self.status in texts:
            self.shown = texts[self.status].replace("{name}", self.name).replace("{reason}", self.reason)

    def finished(self) -> CallFinished:
        """Give the event of the outcome."""
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
        )

    def to_result(self) -> ToolResult:
        """Give the answer that goes back to the model; what a person withheld is an answer, and no error."""
        is_error = self.status not in ("ok", "withheld")
        text = self.shown or "The call has no result."
        return ToolResult(self.name, text, self.id, self.call_id, is_error, self.images)


class CallEnded(Exception):
    """A call ends here, with this outcome: `text` is what the model reads, `reason` what the record says."""

    def __init__(self, status: CallStatus, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.outcome: tuple[CallStatus, str, str] = (status, text, reason or text)


def extract_images(value: Any) -> tuple[Media, ...]:
    """Give the images that a result is, or has in its list or figures: those whose bytes are of a kind models see."""
    return _images_in(value)[:MAX_IMAGES]


def count_images_left_out(value: Any) -> int:
    """Return how many images of a result a model does not see because there are so many."""
    return max(0, len(_images_in(value)) - MAX_IMAGES)


def _images_in(value: Any) -> tuple[Media, ...]:
    shown = value.get("figures", ()) if isinstance(value, MultipartResult) else value
    items = shown if type(shown) in (list, tuple) else [shown]
    media = (item for item in items if isinstance(item, Media) and item.data and len(item.data) <= MAX_IMAGE_BYTES)
    return tuple(item for item in media if item.mime in IMAGES and sniff(item.data or b"") == item.mime)
