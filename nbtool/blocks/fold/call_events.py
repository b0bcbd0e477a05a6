"""Fold the events of a turn's calls into their blocks; all other events are in `turn_events.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nbtool.blocks.argument_targets import resolved_shapes
from nbtool.blocks.fold.block_builder import BlockBuilder, call_builder
from nbtool.blocks.fold.document_builder import DocumentBuilder
from nbtool.blocks.labels import ADDED, decision_line
from nbtool.blocks.media import media_data
from nbtool.blocks.protocol import DecisionData, MediaData, NotCounted, Patch, ResolvedShape
from nbtool.blocks.question import argument_lines, preview_data, question_data, question_parts
from nbtool.blocks.sanitize import without_controls
from nbtool.event_filter import is_delivered, is_withdrawal
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallDelta,
    CallFinished,
    CallProgress,
    CallReady,
    CallStarted,
    MessageAppended,
    RepeatedQuestion,
    ResolvedArgument,
    TurnParked,
    resolve_arguments,
)
from nbtool.messages import Media, ToolResult
from nbtool.text import clean_text


class CallFolds:
    """Folds the events of calls, by their kinds.

    `qualified_names` are the names of tools of servers; `question_media` are the images of pending questions.
    """

    def __init__(self, blocks: DocumentBuilder) -> None:
        self._blocks = blocks
        self._waiting: set[str] = set()
        self._guarded: set[str] = set()
        self._withdrawn: set[str] = set()
        self._inside: dict[str, str] = {}
        self._is_parked = False
        self.qualified_names: Mapping[str, str] = {}
        self.question_media: dict[str, dict[str, Media]] = {}
        self.by_kind: dict[str, Callable[[Any], list[Patch]]] = {
            "call_delta": self.call_delta, "call_ready": self._call_ready, "call_asked": self._call_asked,
            "call_decided": self._call_decided, "call_started": self._call_started,
            "call_progress": self._call_progress, "call_finished": self._call_finished,
            "message_appended": self._message_appended, "turn_parked": self._turn_parked,
        }  # fmt: skip

    def call_delta(self, event: CallDelta) -> list[Patch]:
        """Fold a fragment of a call."""
        block_id = event.call_id or f"r{self._blocks.head['round']}_{event.key}"
        name = self.qualified_names.get(event.name, event.name)
        patches, entry = self._call(block_id, name, self._blocks.head["round"])
        if name and without_controls(name) != entry.fields["name"]:
            patches += entry.update(name=without_controls(name))
        if event.final and event.arguments:
            return patches + entry.replace("arguments", clean_text(event.arguments))
        return (
            self._blocks.clear_activity()
            + patches
            + entry.extend("arguments", "" if event.final else clean_text(event.arguments))
        )

    def _call_ready(self, event: CallReady) -> list[Patch]:
        patches, entry = self._call(event.call_id, event.display_name, event.round)
        if str(entry.texts["arguments"]) != event.arguments:
            patches += entry.replace("arguments", clean_text(event.arguments))
        patches += _apply_edit(entry, event.edited)
        resolved, previews = self._resolved(event.resolved), _previews(event.glances)
        if event.inside and event.inside != event.call_id and event.call_id not in self._inside:
            self._inside[event.call_id] = event.inside
        return patches + entry.update(
            name=without_controls(event.display_name),
            resolved=resolved,
            repaired=list(event.repaired),
            state="ready",
            **previews,
        )

    def _call_asked(self, event: CallAsked) -> list[Patch]:
        patches, entry = self._call(event.call_id, event.display_name, self._blocks.head["round"])
        question = question_data(event, self.question_media.setdefault(entry.id, {}))
        self._waiting.add(entry.id)
        resolved = event.resolved if event.gate == "run" else {}
        current = self._current_values(entry, event, resolved) if resolved else {}
        current |= _not_counted(entry, event.again)
        targets = current.get("resolved", entry.fields["resolved"])
        question["ask"] = question_parts(question, str(entry.texts["arguments"]), targets)
        if event.gate == "run" and (lines := argument_lines(question["shown"], targets)):
            question["lines"] = lines
        return patches + entry.update(state="waiting", question=question, **current) + self._update_status()

    def _call_decided(self, event: CallDecided) -> list[Patch]:
        patches, entry = self._call(event.call_id, "", self._blocks.head["round"])
        decision: DecisionData = {
            "gate": event.gate, "digest": event.digest, "verdict": event.verdict,
            "by": without_controls(event.by), "reason": self._blocks.notice_text(event.reason),
            "edited": event.edited,
        }  # fmt: skip
        if event.remember:
            decision["remember"] = event.remember
        decision["line"] = decision_line(decision)
        if is_withdrawal(event):
            self._withdrawn.add(event.call_id)
        states = {"denied": "denied", "withheld": "withheld", "approved": "ready", "released": "ready"}
        self._waiting.discard(entry.id)
        self.question_media.pop(entry.id, None)
        decisions = [*entry.fields["decisions"], decision]
        return (
            patches
            + entry.update(question=None, decisions=decisions, state=states[event.verdict])
            + self._update_status()
        )

    def _call_started(self, event: CallStarted) -> list[Patch]:
        patches, entry = self._call(event.call_id, "", self._blocks.head["round"])
        patches += _apply_edit(entry, event.edited)
        if event.guarded:
            self._guarded.add(event.call_id)
        if event.edited:
            resolved = self._resolved(resolve_arguments(event.edited, event.described))
            patches += entry.update(resolved=resolved)
        elif event.described:
            patches += entry.update(resolved={**entry.fields["resolved"], **self._resolved(event.described)})
        return patches + entry.update(state="running", started=event.started) + self._update_status()

    def _call_progress(self, event: CallProgress) -> list[Patch]:
        patches, entry = self._call(event.call_id, "", self._blocks.head["round"])
        if event.fraction is not None:
            patches += entry.update(fraction=min(max(0.0, event.fraction), 1.0))
        return patches + entry.extend("progress", without_controls(event.text))

    def _call_finished(self, event: CallFinished) -> list[Patch]:
        patches, entry = self._call(event.call_id, event.display_name, event.round)
        self._waiting.discard(entry.id)
        self.question_media.pop(entry.id, None)
        changed = entry.replace("result", without_controls(event.shown))
        reason = self._blocks.notice_text(event.reason)
        if event.traceback:
            changed += entry.replace("traceback", without_controls(event.traceback))
        changed += entry.update(
            state=event.status, question=None, reason=reason, reference=without_controls(event.reference),
            seconds=event.seconds, fraction=None, **self._result_media(event),
            **self._qualified(event), **({"table": preview_data(event.table)} if event.table else {}),
            **_display(event.display),
            **_described(event),
            **({"whole": self._blocks.notice_text(event.whole)} if event.whole else {}),
        )  # fmt: skip
        return patches + changed + self._without_withheld(event, entry) + self._update_status()

    def _without_withheld(self, event: CallFinished, entry: BlockBuilder) -> list[Patch]:
        """Remove what goes with a withheld result, which a saved notebook has no more than it: output, inner calls."""
        is_released = is_delivered(event) and event.call_id not in self._withdrawn
        if is_released or event.call_id not in self._guarded:
            return []
        inner = [item for call_id in self._inside_of(event.call_id) if (item := self._blocks.entries.get(call_id))]
        output = entry.replace("progress", "") if str(entry.texts["progress"]) else []
        return output + [patch for block_builder in inner for patch in _outline(block_builder)]

    def _inside_of(self, call_id: str) -> list[str]:
        """Return the calls that code of a call made, directly or by another call."""
        found = {call_id: None}
        for around in (waiting := [call_id]):
            inner = [text for text, other in self._inside.items() if other == around and text not in found]
            found |= dict.fromkeys(inner)
            waiting += inner
        return list(found)[1:]

    def _qualified(self, event: CallFinished) -> dict[str, Any]:
        name = event.qualified_name or self.qualified_names.get(event.name)
        return {"name": without_controls(name)} if name else {}

    def _result_media(self, event: CallFinished) -> dict[str, Any]:
        media = {"media": media_data(event.media, self._blocks.media)} if event.media else {}
        return media | ({"media_left_out": event.media_left_out} if event.media_left_out else {})

    def _message_appended(self, event: MessageAppended) -> list[Patch]:
        """Mark which images of a result were sent to the model, a journal has only those; show what was added."""
        results = event.message.results if event.message else ()
        added = [patch for text in event.message.added for patch in self._added(text)] if event.message else []
        entries = ((result, self._blocks.entries.get(result.call_id)) for result in results)
        return added + [
            patch
            for result, entry in entries
            if entry and (result.media or "media" in entry.fields)
            for patch in entry.update(media=self._marked_media(entry, result))
        ]

    def _added(self, text: str) -> list[Patch]:
        """Show what the person added while the turn ran."""
        fields = {"text": self._blocks.notice_text(ADDED.format(text=text)), "level": "info", "added": True}
        return self._blocks.open(BlockBuilder(f"n{len(self._blocks.entries)}", "notice", fields))

    def _marked_media(self, entry: BlockBuilder, result: ToolResult) -> list[MediaData]:
        """Return the media of a call, each with whether the model got it."""
        sent = media_data(result.media, {} if "media" in entry.fields else self._blocks.media)
        keys = {media["key"] for media in sent}
        shown: list[MediaData] = entry.fields.get("media", sent)
        return [{**media, "is_sent": media["key"] in keys} if media["key"] else media for media in shown]

    def _call(self, block_id: str, name: str, in_round: int) -> tuple[list[Patch], BlockBuilder]:
        """Find the call's entry, or create it."""
        existing = self._blocks.entries.get(block_id)
        if existing and existing.kind != "call":  # a call's id is external, and may equal the id of another block
            block_id += "_"
            existing = self._blocks.entries.get(block_id)
        if existing:
            return [], existing
        entry = call_builder(block_id, without_controls(name), in_round, self._blocks.limits)
        return self._blocks.open_in_reply(entry), entry

    def _resolved(self, resolved: Mapping[str, ResolvedArgument]) -> dict[str, ResolvedShape]:
        return resolved_shapes(resolved, lambda text: self._blocks.notice_text(text, clean_text))

    def _current_values(
        self, entry: BlockBuilder, event: CallAsked, resolved: Mapping[str, ResolvedArgument]
    ) -> dict[str, Any]:
        """Return the current targets of the arguments, in place of those when the call was ready."""
        former: dict[str, Any] = {"glances": {}} if "glances" in entry.fields else {}
        return {"resolved": self._resolved(resolved), **former, **_previews(event.glances)}

    def _turn_parked(self, event: TurnParked) -> list[Patch]:
        self._is_parked = True
        return self._blocks.set_head(answer_by=event.expires) + self._update_status()

    def _update_status(self) -> list[Patch]:
        """Update in the head whether the turn waits for a person, and whether a cell waits with it."""
        status = ("parked" if self._is_parked else "waiting") if self._waiting else "running"
        return self._blocks.set_head(status=status) if self._blocks.head["status"] != status else []


def _apply_edit(entry: BlockBuilder, edited: str) -> list[Patch]:
    """Show the arguments that run in place of the model's, which are stored beside them."""
    if not edited:
        return []
    asked_for = entry.fields.get("asked_arguments", str(entry.texts["arguments"]))
    return entry.replace("arguments", clean_text(edited)) + entry.update(asked_arguments=asked_for)


def _previews(previews: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {"glances": {key: preview_data(preview) for key, preview in previews.items()}} if previews else {}


def _display(display: Mapping[str, str]) -> dict[str, Any]:
    """Return what a notebook would show for a result; its text is drawn by what its media type names."""
    shown = {name: without_controls(text) for name, text in display.items()}
    return {"display": shown} if shown else {}


def _described(event: CallFinished) -> dict[str, Any]:
    """Return that the model got a description of a result, and what the person sees of it."""
    if not (event.is_described and event.status == "ok"):
        return {}
    text, table = event.seen.get("text", ""), event.seen.get("table")
    seen = {
        **({"text": without_controls(text)} if text else {}),
        **({"table": preview_data(table)} if table else {}),
        **_display(event.seen.get("display", {})),
    }
    return {"is_described": True, **({"seen": seen} if seen else {})}


def _outline(entry: BlockBuilder) -> list[Patch]:
    """Leave that a call was made, and not what it took and returned."""
    texts = [name for name in ("progress", "result", "traceback") if str(entry.texts.get(name, ""))]
    patches = [patch for name in texts for patch in entry.replace(name, "")] + entry.replace("arguments", "{}")
    empty: dict[str, Any] = {
        "media": [],
        "glances": {},
        "table": {"columns": [], "rows": []},
        "display": {"mime": "", "text": ""},
        "seen": {},
        "asked_arguments": "",
    }
    present = {name: value for name, value in empty.items() if name in entry.fields}
    return patches + entry.update(resolved={}, reason="", decisions=[], whole="", **present)


def _not_counted(entry: BlockBuilder, reask: RepeatedQuestion | None) -> dict[str, Any]:
    """Record in the last decision why it was discarded, if approval is requested again."""
    decisions: list[DecisionData] = entry.fields["decisions"]
    if reask is None or not decisions:
        return {}
    again: NotCounted = {"reason": reask.reason, "problem": without_controls(reask.problem)}
    last: DecisionData = {**decisions[-1], "again": again}
    last["line"] = decision_line(last)
    return {"decisions": [*decisions[:-1], last]}
