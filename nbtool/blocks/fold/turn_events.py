"""Fold the events of a turn and its replies into a document and patches; those of its calls are in `call_events.py`.

The live view, the saved notebook, the terminal and the export all use these blocks.
Feeding an event costs time in its own length only; the whole document is built on request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast, get_args

from nbtool.blocks.display_limits import DISPLAY_LIMITS, Limits
from nbtool.blocks.fold.block_builder import BlockBuilder, ProseKind, prose_builder
from nbtool.blocks.fold.call_events import CallFolds
from nbtool.blocks.fold.document_builder import DocumentBuilder, usage_data
from nbtool.blocks.fold.provider_texts import provider_call_text, sources_text
from nbtool.blocks.media import media_data
from nbtool.blocks.protocol import Block, Document, Head, Patch
from nbtool.blocks.sanitize import without_controls
from nbtool.events import (
    CallDelta,
    CallPending,
    CallStatus,
    ErrorRaised,
    Event,
    Notice,
    ProviderDelta,
    RefusalDelta,
    ReplyFinished,
    RequestStarted,
    Retrying,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnStarted,
    UsageDelta,
)
from nbtool.messages import Media, Message, ProviderCall, Refusal, Text, Thinking, ToolCall, Usage
from nbtool.text import count_of

OUTCOMES = frozenset(get_args(CallStatus)) - {"waiting", "running"}
"""The final states of a call."""


class Transcript:
    """One turn as blocks. Feed it every event of the turn, in order."""

    def __init__(self, limits: Limits = DISPLAY_LIMITS) -> None:
        self._blocks = DocumentBuilder(limits)
        self._calls = CallFolds(self._blocks)
        self._failed_hooks: list[str] = []
        self._phase = ""  # of the newest text
        self._total_usage = Usage()
        self._changes_id = ""
        self._folds: dict[str, Callable[[Any], list[Patch]]] = {
            "turn_started": self._turn_started, "request_started": self._request_started,
            "text_delta": self._prose_delta, "thinking_delta": self._prose_delta,
            "refusal_delta": self._prose_delta, "provider_delta": self._provider_delta,
            "call_pending": self._call_pending, "usage_delta": self._usage_delta,
            "retrying": self._retrying, "reply_finished": self._reply_finished, "notice": self._notice,
            "error_raised": self._error_raised, "turn_ended": self._turn_ended, **self._calls.by_kind,
        }  # fmt: skip

    @property
    def media(self) -> Mapping[str, Media]:
        """The images, sounds and files of the blocks and the head, by key."""
        return self._blocks.media

    def feed(self, event: Event) -> list[Patch]:
        """Fold the next event; return the patches. Events that are not shown change nothing."""
        fold = self._folds.get(event.kind)
        return fold(event) if fold else []

    def update_head(self, **head: Any) -> list[Patch]:
        """Set head fields that events do not have: `why`, `version`, `versions`, `acts`; return the patches."""
        return self._blocks.set_head(**head)

    def show_changes(self, text: str, can_undo: bool) -> list[Patch]:
        """Show what the turn did to the notebook, and whether that can be undone; return the patches."""
        self._changes_id = f"n{len(self._blocks.entries)}"
        return [*self._notice(Notice(text, topic="aside")), *(self._blocks.set_head(undo=True) if can_undo else [])]

    def show_undone(self, text: str, can_undo: bool) -> None:
        """Show what was put back, in place of what `show_changes` shows, and whether anything is left to be undone."""
        if notice := self._blocks.entries.get(self._changes_id):
            notice.update(text=self._blocks.notice_text(text))
        if not can_undo:
            self._blocks.head.pop("undo", None)

    def document(self) -> Document:
        """Return the current turn: JSON, sharing nothing with this object."""
        return self._blocks.document()

    def block(self, block_id: str) -> Block:
        """Return the current state of one block.

        Raises:
            KeyError: there is none with this id.
        """
        return self._blocks.entries[block_id].block()

    def find_media(self, key: str) -> Media | None:
        """Return the media of a key: of the transcript, or of a pending question."""
        stores = (self._blocks.media, *self._calls.question_media.values())
        return next((store[key] for store in stores if key in store), None)

    @property
    def head(self) -> Head:
        """The state of the turn as a whole."""
        return self._blocks.head

    @property
    def text(self) -> str:
        """The prose of the last reply."""
        return "".join(str(entry.text) for entry in self._blocks.round if entry.kind == "text")

    # --- the turn -------------------------------------------------------------------------------------------

    def _turn_started(self, event: TurnStarted) -> list[Patch]:
        prompt = self._blocks.truncated(event.prompt.text, self._blocks.limits.field)
        self._calls.qualified_names = event.qualified_names
        attached = media_data([part for part in event.prompt.parts if isinstance(part, Media)], self._blocks.media)
        return self._blocks.set_head(
            turn_id=event.turn_id, model=without_controls(event.model), prompt=prompt,
            started=event.started, **({"replayed": event.replayed} if event.replayed else {}),
            **({"attached": attached} if attached else {}),
        )  # fmt: skip

    def _request_started(self, event: RequestStarted) -> list[Patch]:
        self._blocks.round, self._phase = [], ""
        return self._blocks.set_head(round=event.round, activity="")

    def _usage_delta(self, event: UsageDelta) -> list[Patch]:
        return self._blocks.set_head(usage=usage_data(self._total_usage + event.usage))

    def _retrying(self, event: Retrying) -> list[Patch]:
        reason = self._blocks.notice_text(event.reason)
        when = f" in {event.seconds:.0f} s" if event.seconds >= 1 else ""
        return self._blocks.set_head(activity=f"Retrying{when} ({reason})")

    def _turn_ended(self, event: TurnEnded) -> list[Patch]:
        patches = [patch for entry in self._blocks.entries.values() for patch in _close(entry, event)]
        if event.error_phase != "hook" or event.status == "completed":  # else the error of the turn is the failed hook
            for text in self._failed_hooks:
                patches += self._notice(Notice(text, "warning"))
        has_more = any(growing.omitted for entry in self._blocks.entries.values() for growing in entry.texts.values())
        error = self._blocks.notice_text(event.error) or self._blocks.head["error"]
        return patches + self._blocks.set_head(
            status=event.status, usage=usage_data(event.usage), round=event.rounds, calls=event.calls,
            seconds=event.seconds, error=error, activity="",
            **({"end_reason": event.end_reason} if event.end_reason else {}),
            **({"waited": event.waited} if event.waited else {}),
            **({"cut": True} if self._blocks.is_cut or has_more else {}),
        )  # fmt: skip

    def _notice(self, event: Notice) -> list[Patch]:
        text = self._blocks.notice_text(event.text)
        block_id = f"n{len(self._blocks.entries)}"
        aside = {"aside": True} if event.topic == "aside" else {}
        return self._blocks.open(BlockBuilder(block_id, "notice", {"text": text, "level": event.level} | aside))

    def _error_raised(self, event: ErrorRaised) -> list[Patch]:
        if event.phase in ("tool", "arguments"):
            return []  # shown in the call's own row
        if event.phase == "hook":
            self._failed_hooks.append(event.text)  # shown at the end, unless the end event contains it
            return []
        return self._blocks.set_head(error=self._blocks.notice_text(event.text))

    # --- a reply --------------------------------------------------------------------------------------------

    def _prose_delta(self, event: TextDelta | ThinkingDelta | RefusalDelta) -> list[Patch]:
        kind = cast("ProseKind", event.kind.removesuffix("_delta"))
        return self._blocks.clear_activity() + self._prose(kind, event)

    def _prose(self, kind: ProseKind, event: TextDelta | ThinkingDelta | RefusalDelta) -> list[Patch]:
        """Show prose; the text of another phase in a block of its own, as it is a part of its own of the message."""
        if not (text := without_controls(event.text)):
            return []
        last = self._blocks.round[-1] if self._blocks.round else None
        is_separate = isinstance(event, TextDelta) and event.is_separate(self._phase)
        if isinstance(event, TextDelta) and (event.phase or event.is_new):
            self._phase = event.phase
        if last is not None and last.accepts(kind) and not is_separate:
            return last.extend("text", text)
        block_id = f"b{len(self._blocks.entries)}"
        return self._blocks.open_in_reply(prose_builder(block_id, kind, text, self._blocks.limits))

    def _provider_delta(self, event: ProviderDelta) -> list[Patch]:
        """Show a tool that the provider ran; sources follow the reply."""
        if not isinstance(event.part, ProviderCall):
            return []
        text = self._blocks.notice_text(provider_call_text(event.part))
        entry = BlockBuilder(f"n{len(self._blocks.entries)}", "notice", {"text": text, "level": "info"})
        return self._blocks.clear_activity() + self._blocks.open_in_reply(entry)

    def _sources(self, message: Message) -> list[Patch]:
        """Show the sources of a reply below it."""
        text = sources_text(message.citations)
        if not text:
            return []
        block_id = f"b{len(self._blocks.entries)}"
        entry = prose_builder(block_id, "text", without_controls(text), self._blocks.limits)
        return [*self._blocks.open(entry), *entry.update(state="whole")]

    def _call_pending(self, event: CallPending) -> list[Patch]:
        return self._blocks.set_head(activity=f"Writing a tool call ({count_of(event.size, 'character')})")

    def _reply_finished(self, event: ReplyFinished) -> list[Patch]:
        self._total_usage += event.usage
        patches = self._blocks.clear_activity()
        if not self._blocks.round:
            patches += self._add_reply(event.message)
        patches += self._reconcile(event.message)
        state = "whole" if event.complete and event.stop_reason not in ("length", "error") else "cut"
        if self._blocks.round and self._blocks.round[-1].is_prose:
            patches += self._blocks.round[-1].update(state=state)
        return patches + self._sources(event.message) + self._blocks.set_head(usage=usage_data(self._total_usage))

    def _add_reply(self, message: Message) -> list[Patch]:
        """Fold a reply without deltas: it was not streamed, or is read from a journal."""
        patches: list[Patch] = []
        for part in message.parts:
            match part:
                case Text():
                    patches += self._prose(part.kind, TextDelta(part.text, is_new=True, phase=part.phase))
                case Thinking() | Refusal():
                    delta = ThinkingDelta if isinstance(part, Thinking) else RefusalDelta
                    patches += self._prose(part.kind, delta(part.text))
                case ToolCall():
                    patches += self._calls.call_delta(
                        CallDelta(part.id, name=part.name, arguments=part.arguments, final=True, call_id=part.call_id)
                    )
                case ProviderCall():
                    patches += self._provider_delta(ProviderDelta(part))
                case _:
                    pass
        return patches

    def _reconcile(self, message: Message) -> list[Patch]:
        """Replace the streamed prose by the finished message's, which a plugin may have changed."""
        proses = [part for part in message.parts if isinstance(part, (Text, Thinking, Refusal)) and part.text]
        entries = [entry for entry in self._blocks.round if entry.is_prose]
        if len(proses) != len(entries):
            return []
        pairs = zip(entries, (without_controls(part.text) for part in proses), strict=True)
        return [patch for entry, text in pairs if not entry.has_text(text) for patch in entry.replace("text", text)]


def _close(entry: BlockBuilder, event: TurnEnded) -> list[Patch]:
    """Close open blocks when the turn ends; calls that ran without an outcome stay unknown."""
    if entry.kind in ("text", "thinking") and entry.fields["state"] == "open":
        return entry.update(state="whole" if event.status == "completed" else "cut")
    if entry.kind != "call" or entry.fields["state"] in OUTCOMES:
        return []
    if event.status == "parked" and entry.fields["question"]:
        return []
    return entry.update(state="unknown" if entry.fields["started"] else "not_run", question=None, fraction=None)
