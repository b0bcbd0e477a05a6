"""Folds events into a turn's document and patches.

The live view, the saved notebook, the terminal and the export all use these blocks.
Feeding an event costs time in its own length only; the whole document is built on request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, cast, get_args

from nbtool.blocks.block_builder import BlockBuilder, ProseKind, call_builder, prose_builder
from nbtool.blocks.limits import DISPLAY_LIMITS, Limits, omitted_marker, truncate
from nbtool.blocks.media import media_data as told_media
from nbtool.blocks.protocol import (
    VERSION,
    Block,
    DecisionData,
    Document,
    Head,
    Patch,
    ResolvedShape,
    TablePreview,
    UsageData,
)
from nbtool.blocks.question import question_data
from nbtool.blocks.resolved import resolved_shapes
from nbtool.blocks.sanitize import without_controls
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallDelta,
    CallFinished,
    CallPending,
    CallProgress,
    CallReady,
    CallStarted,
    CallStatus,
    ErrorRaised,
    Event,
    MessageAppended,
    Notice,
    RefusalDelta,
    RepeatedQuestion,
    ReplyFinished,
    RequestStarted,
    ResolvedArgument,
    Retrying,
    TextDelta,
    ThinkingDelta,
    TurnEnded,
    TurnParked,
    TurnStarted,
    UsageDelta,
)
from nbtool.messages import Media, Message, Refusal, Text, Thinking, ToolCall, Usage
from nbtool.text import clean_text

OUTCOMES = frozenset(get_args(CallStatus)) - {"waiting", "running"}
"""The final states of a call."""


class Transcript:
    """One turn as blocks. Feed it every event of the turn, in order.

    `media` contains the images, sounds and files referenced by the blocks and the head, by key.
    """

    def __init__(self, limits: Limits = DISPLAY_LIMITS) -> None:
        self._limits = limits
        self._head = _head()
        self._entries: dict[str, BlockBuilder] = {}
        self._round: list[BlockBuilder] = []
        self._waiting: set[str] = set()
        self._is_parked = False
        self._is_cut = False
        self._failed_hooks: list[str] = []
        self._qualified_names: dict[str, str] = {}
        self._total_usage = Usage()
        self.media: dict[str, Media] = {}
        self._question_media: dict[str, dict[str, Media]] = {}
        self._folds: dict[str, Callable[[Any], list[Patch]]] = {
            "turn_started": self._turn_started, "request_started": self._request_started,
            "text_delta": self._prose_delta, "thinking_delta": self._prose_delta,
            "refusal_delta": self._prose_delta, "call_delta": self._call_delta, "call_held": self._call_held,
            "usage_delta": self._usage_delta, "retrying": self._retrying, "reply_finished": self._reply_finished,
            "call_ready": self._call_ready, "call_asked": self._call_asked, "call_decided": self._call_decided,
            "call_started": self._call_started, "call_progress": self._call_progress,
            "call_finished": self._call_finished, "notice": self._notice, "error_raised": self._error_raised,
            "message_appended": self._message_appended, "turn_parked": self._turn_parked,
            "turn_ended": self._turn_ended,
        }  # fmt: skip

    def feed(self, event: Event) -> list[Patch]:
        """Fold the next event; return the patches. Events that are not shown change nothing."""
        fold = self._folds.get(event.kind)
        return fold(event) if fold else []

    def update_head(self, **head: Any) -> list[Patch]:
        """Set head fields that events do not have: `why`, `version`, `versions`, `acts`; return the patches."""
        return self._set_head(**head)

    def document(self) -> Document:
        """Return the current turn: JSON, sharing nothing with this object."""
        head = cast("Head", {**self._head, "usage": {**self._head["usage"]}})
        return {"v": VERSION, "head": head, "blocks": [entry.block() for entry in self._entries.values()]}

    def block(self, block_id: str) -> Block:
        """Return the current state of one block.

        Raises:
            KeyError: there is none with this id.
        """
        return self._entries[block_id].block()

    def find_media(self, key: str) -> Media | None:
        """Return the media of a key: of the transcript, or of a pending question."""
        return next((store[key] for store in (self.media, *self._question_media.values()) if key in store), None)

    @property
    def head(self) -> Head:
        """The state of the turn as a whole."""
        return self._head

    @property
    def text(self) -> str:
        """The prose of the last reply."""
        return "".join(str(entry.text) for entry in self._round if entry.kind == "text")

    @property
    def is_ended(self) -> bool:
        """Return whether the turn's last event was fed."""
        return self._head["seconds"] is not None

    # --- the turn -------------------------------------------------------------------------------------------

    def _turn_started(self, event: TurnStarted) -> list[Patch]:
        prompt = self._truncated(event.prompt.text, self._limits.field)
        self._qualified_names = event.qualified_names
        attached = told_media([part for part in event.prompt.parts if isinstance(part, Media)], self.media)
        return self._set_head(
            turn_id=event.turn_id, model=without_controls(event.model), prompt=prompt,
            started=event.started, **({"replayed": event.replayed} if event.replayed else {}),
            **({"attached": attached} if attached else {}),
        )  # fmt: skip

    def _request_started(self, event: RequestStarted) -> list[Patch]:
        self._round = []
        return self._set_head(round=event.round, activity="")

    def _usage_delta(self, event: UsageDelta) -> list[Patch]:
        return self._set_head(usage=_usage(self._total_usage + event.usage))

    def _retrying(self, event: Retrying) -> list[Patch]:
        reason = self._truncated(event.reason, self._limits.notice)
        when = f" in {event.seconds:.0f} s" if event.seconds >= 1 else ""
        return self._set_head(activity=f"Retrying{when} ({reason})")

    def _turn_ended(self, event: TurnEnded) -> list[Patch]:
        patches = [patch for entry in self._entries.values() for patch in _close(entry, event)]
        for text in self._failed_hooks:
            if text != event.error or event.status == "completed":
                patches += self._notice(Notice(text, "warning"))
        has_more = any(growing.omitted for entry in self._entries.values() for growing in entry.texts.values())
        error = self._truncated(event.error, self._limits.notice) or self._head["error"]
        return patches + self._set_head(
            status=event.status, usage=_usage(event.usage), round=event.rounds, calls=event.calls,
            seconds=event.seconds, error=error, activity="",
            **({"end_reason": event.end_reason} if event.end_reason else {}),
            **({"cut": True} if self._is_cut or has_more else {}),
        )  # fmt: skip

    def _turn_parked(self, _: TurnParked) -> list[Patch]:
        self._is_parked = True
        return self._update_status()

    def _notice(self, event: Notice) -> list[Patch]:
        text = self._truncated(event.text, self._limits.notice)
        block_id = f"n{len(self._entries)}"
        return self._open(BlockBuilder(block_id, "notice", {"text": text, "level": event.level}))

    def _error_raised(self, event: ErrorRaised) -> list[Patch]:
        if event.phase in ("tool", "arguments"):
            return []  # shown in the call's own row
        if event.phase == "hook":
            self._failed_hooks.append(event.text)  # shown at the end, unless the end event contains it
            return []
        return self._set_head(error=self._truncated(event.text, self._limits.notice))

    # --- a reply --------------------------------------------------------------------------------------------

    def _prose_delta(self, event: TextDelta | ThinkingDelta | RefusalDelta) -> list[Patch]:
        kind = cast("ProseKind", event.kind.removesuffix("_delta"))
        return self._clear_activity() + self._prose(kind, without_controls(event.text))

    def _prose(self, kind: ProseKind, text: str) -> list[Patch]:
        if not text:
            return []
        last = self._round[-1] if self._round else None
        if last is not None and last.accepts(kind):
            return last.extend("text", text)
        patches = [] if last is None or last.kind == "call" else last.update(state="whole")
        entry = prose_builder(f"b{len(self._entries)}", kind, text, self._limits)
        self._round.append(entry)
        return patches + self._open(entry)

    def _call_delta(self, event: CallDelta) -> list[Patch]:
        block_id = event.call_id or f"r{self._head['round']}_{event.key}"
        name = self._qualified_names.get(event.name, event.name)
        patches, entry = self._call(block_id, name, self._head["round"])
        if name and not entry.fields["name"]:
            patches += entry.update(name=without_controls(name))
        if event.final and event.arguments:
            return patches + entry.replace("arguments", clean_text(event.arguments))
        return (
            self._clear_activity()
            + patches
            + entry.extend("arguments", "" if event.final else clean_text(event.arguments))
        )

    def _call_held(self, event: CallPending) -> list[Patch]:
        return self._set_head(activity=f"Writing a tool call ({event.size:,} characters)")

    def _reply_finished(self, event: ReplyFinished) -> list[Patch]:
        self._total_usage += event.usage
        patches = self._clear_activity()
        if not self._round:
            patches += self._add_reply(event.message)
        patches += self._reconcile(event.message)
        state = "whole" if event.complete and event.stop_reason not in ("length", "error") else "cut"
        if self._round and self._round[-1].kind != "call":
            patches += self._round[-1].update(state=state)
        return patches + self._set_head(usage=_usage(self._total_usage))

    def _add_reply(self, message: Message) -> list[Patch]:
        """Fold a reply without deltas: it was not streamed, or is read from a journal."""
        patches: list[Patch] = []
        for part in message.parts:
            match part:
                case Text() | Thinking() | Refusal():
                    patches += self._prose(part.kind, without_controls(part.text))
                case ToolCall():
                    patches += self._call_delta(
                        CallDelta(part.id, name=part.name, arguments=part.arguments, final=True, call_id=part.call_id)
                    )
                case _:
                    pass
        return patches

    def _reconcile(self, message: Message) -> list[Patch]:
        """Replace the streamed prose by the finished message's, which a plugin may have changed."""
        proses = [part for part in message.parts if isinstance(part, (Text, Thinking, Refusal)) and part.text]
        entries = [entry for entry in self._round if entry.kind != "call"]
        if len(proses) != len(entries):
            return []
        pairs = zip(entries, (without_controls(part.text) for part in proses), strict=True)
        return [patch for entry, text in pairs if not entry.has_text(text) for patch in entry.replace("text", text)]

    # --- its calls ------------------------------------------------------------------------------------------

    def _call_ready(self, event: CallReady) -> list[Patch]:
        patches, entry = self._call(event.call_id, event.display_name, event.round)
        if str(entry.texts["arguments"]) != event.arguments:
            patches += entry.replace("arguments", clean_text(event.arguments))
        patches += _apply_edit(entry, event.edited)
        resolved, previews = self._resolved(event.resolved), _previews(event.glances)
        return patches + entry.update(
            name=without_controls(event.display_name),
            resolved=resolved,
            repaired=list(event.repaired),
            state="ready",
            **previews,
        )

    def _call_asked(self, event: CallAsked) -> list[Patch]:
        patches, entry = self._call(event.call_id, event.display_name, self._head["round"])
        question = question_data(event, self._question_media.setdefault(entry.id, {}))
        self._waiting.add(entry.id)
        current = self._current_values(entry, event) if event.gate == "run" and event.resolved else {}
        current |= _not_counted(entry, event.again)
        return patches + entry.update(state="waiting", question=question, **current) + self._update_status()

    def _call_decided(self, event: CallDecided) -> list[Patch]:
        patches, entry = self._call(event.call_id, "", self._head["round"])
        decision: DecisionData = {
            "gate": event.gate, "digest": event.digest, "verdict": event.verdict,
            "by": without_controls(event.by), "reason": self._truncated(event.reason, self._limits.notice),
            "edited": event.edited,
        }  # fmt: skip
        states = {"denied": "denied", "withheld": "withheld", "approved": "ready", "released": "ready"}
        self._waiting.discard(entry.id)
        self._question_media.pop(entry.id, None)
        decisions = [*entry.fields["decisions"], decision]
        return (
            patches
            + entry.update(question=None, decisions=decisions, state=states[event.verdict])
            + self._update_status()
        )

    def _call_started(self, event: CallStarted) -> list[Patch]:
        patches, entry = self._call(event.call_id, "", self._head["round"])
        patches += _apply_edit(entry, event.edited)
        stands_for = {"resolved": self._resolved(event.resolved)} if event.resolved else {}
        return patches + entry.update(state="running", started=event.started, **stands_for) + self._update_status()

    def _call_progress(self, event: CallProgress) -> list[Patch]:
        patches, entry = self._call(event.call_id, "", self._head["round"])
        if event.fraction is not None:
            patches += entry.update(fraction=min(max(0.0, event.fraction), 1.0))
        return patches + entry.extend("progress", without_controls(event.text))

    def _call_finished(self, event: CallFinished) -> list[Patch]:
        patches, entry = self._call(event.call_id, event.display_name, event.round)
        self._waiting.discard(entry.id)
        self._question_media.pop(entry.id, None)
        is_beginning = event.shown.startswith(event.preview)  # the form of older versions
        changed = entry.replace("result", without_controls(event.shown if is_beginning else event.preview))
        if not is_beginning:
            changed += entry.replace("shown", without_controls(event.shown))
        reason = self._truncated(event.reason, self._limits.notice)
        if event.traceback:
            changed += entry.replace("traceback", without_controls(event.traceback))
        changed += entry.update(
            state=event.status, question=None, reason=reason, reference=without_controls(event.reference),
            seconds=event.seconds, fraction=None, **self._result_media(event),
            **self._qualified(event),
        )  # fmt: skip
        return patches + changed + self._update_status()

    def _qualified(self, event: CallFinished) -> dict[str, Any]:
        name = event.qualified_name or self._qualified_names.get(event.name)
        return {"name": without_controls(name)} if name else {}

    def _result_media(self, event: CallFinished) -> dict[str, Any]:
        media = {"media": told_media(event.media, self.media)} if event.media else {}
        return media | ({"media_left_out": event.media_left_out} if event.media_left_out else {})

    def _message_appended(self, event: MessageAppended) -> list[Patch]:
        """Show the images of a result that were sent to the model, if its outcome has none: as in a journal."""
        entries = ((result, self._entries.get(result.call_id)) for result in event.message.results if result.media)
        return [
            patch
            for result, entry in entries
            if entry and "media" not in entry.fields
            for patch in entry.update(media=told_media(result.media, self.media))
        ]

    def _call(self, block_id: str, name: str, in_round: int) -> tuple[list[Patch], BlockBuilder]:
        """Find the call's entry, or create it."""
        existing = self._entries.get(block_id)
        if existing and existing.kind != "call":  # a call's id is external, and may equal the id of another block
            block_id += "_"
            existing = self._entries.get(block_id)
        if existing:
            return [], existing
        last = self._round[-1] if self._round else None
        patches = last.update(state="whole") if last and last.kind != "call" else []
        entry = call_builder(block_id, without_controls(name), in_round, self._limits)
        self._round.append(entry)
        return patches + self._open(entry), entry

    # --- shared by all folds ------------------------------------------------------------------------

    def _open(self, entry: BlockBuilder) -> list[Patch]:
        self._entries[entry.id] = entry
        return [{"op": "open", "block": entry.block()}]

    def _set_head(self, **values: Any) -> list[Patch]:
        self._head.update(cast("Head", values))
        return [{"op": "head", "set": values}]

    def _clear_activity(self) -> list[Patch]:
        return self._set_head(activity="") if self._head["activity"] else []

    def _truncated(self, text: str, limit: int, clean: Callable[[str], str] = without_controls) -> str:
        """Return a clean text, with a truncation marker if needed."""
        visible, omitted = truncate(clean(text), limit)
        self._is_cut = self._is_cut or omitted > 0
        return visible + omitted_marker(omitted)

    def _resolved(self, resolved: Mapping[str, ResolvedArgument]) -> dict[str, ResolvedShape]:
        return resolved_shapes(resolved, lambda text: self._truncated(text, self._limits.notice, clean_text))

    def _current_values(self, entry: BlockBuilder, event: CallAsked) -> dict[str, Any]:
        """Return the current targets of the arguments, in place of those when the call was ready."""
        former: dict[str, Any] = {"glances": {}} if "glances" in entry.fields else {}
        return {"resolved": self._resolved(event.resolved), **former, **_previews(event.glances)}

    def _update_status(self) -> list[Patch]:
        """Update in the head whether the turn waits for a person, and whether a cell waits with it."""
        status = ("parked" if self._is_parked else "waiting") if self._waiting else "running"
        return self._set_head(status=status) if self._head["status"] != status else []


def _close(entry: BlockBuilder, event: TurnEnded) -> list[Patch]:
    """Close open blocks when the turn ends; calls that ran without an outcome stay unknown."""
    if entry.kind in ("text", "thinking") and entry.fields["state"] == "open":
        return entry.update(state="whole" if event.status == "completed" else "cut")
    if entry.kind != "call" or entry.fields["state"] in OUTCOMES:
        return []
    if event.status == "parked" and entry.fields["question"]:
        return []
    return entry.update(state="unknown" if entry.fields["started"] else "not_run", question=None, fraction=None)


def _apply_edit(entry: BlockBuilder, edited: str) -> list[Patch]:
    """Show the arguments that run in place of the model's, which are stored beside them."""
    if not edited:
        return []
    asked_for = entry.fields.get("asked_arguments", str(entry.texts["arguments"]))
    return entry.replace("arguments", clean_text(edited)) + entry.update(asked_arguments=asked_for)


def _previews(previews: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {"glances": {key: _preview(one) for key, one in previews.items()}} if previews else {}


def _preview(data: dict[str, Any]) -> TablePreview:
    """Sanitize the first rows of a table; a journal may contain anything."""
    rows = [[clean_text(str(cell)) for cell in row] for row in data.get("rows", ())]
    cleaned: TablePreview = {"columns": [clean_text(str(name)) for name in data.get("columns", ())], "rows": rows}
    for name in ("more_rows", "more_columns"):
        if type(count := data.get(name)) is int and count > 0:
            cleaned[name] = count
    return cleaned


def _head() -> Head:
    return {
        "turn_id": "", "model": "", "prompt": "", "status": "running", "round": 0, "calls": 0, "activity": "",
        "usage": _usage(Usage()), "started": None, "seconds": None, "error": "",
    }  # fmt: skip


def _usage(usage: Usage) -> UsageData:
    return cast("UsageData", asdict(usage))


def _not_counted(entry: BlockBuilder, reask: RepeatedQuestion | None) -> dict[str, Any]:
    """Record in the last decision why it was discarded, if approval is requested again."""
    decisions = entry.fields["decisions"]
    if reask is None or not decisions:
        return {}
    note = {"reason": reask.reason, "problem": without_controls(reask.problem)}
    return {"decisions": [*decisions[:-1], {**decisions[-1], "again": note}]}
