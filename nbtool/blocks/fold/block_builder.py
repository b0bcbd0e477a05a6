"""Build one block of a document: its fields, and its texts in pieces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from nbtool.blocks.display_limits import DISPLAY_LIMITS, BoundedText, Limits
from nbtool.blocks.labels import call_texts
from nbtool.blocks.protocol import Block, CallBlock, Patch
from nbtool.clock import monotonic

MIN_THINKING_SECONDS = 1.0
"""Seconds of thinking from which on they are worth a word; a turn that is restored takes none."""

_WORDED = frozenset(("state", "arguments", "asked_arguments", "decisions", "seconds", "started"))
"""The fields of a call that its words are made of."""

ProseKind = Literal["text", "thinking", "refusal"]
TextField = Literal["text", "arguments", "progress"]


class BlockBuilder:
    """A block under construction: its plain values, and its texts in pieces."""

    __slots__ = ("fields", "id", "kind", "limits", "opened", "texts")

    def __init__(
        self, block_id: str, kind: Literal["text", "thinking", "call", "notice"], block_part: dict[str, Any],
        grown: dict[str, BoundedText] | None = None, limits: Limits = DISPLAY_LIMITS,
    ) -> None:  # fmt: skip
        self.limits = limits
        self.opened = monotonic()
        self.id = block_id
        self.kind = kind
        self.fields = block_part
        self.texts = grown or {}

    @property
    def text(self) -> BoundedText:
        """The kind of prose of the block, if it has prose."""
        return self.texts["text"]

    @property
    def is_prose(self) -> bool:
        """Whether the block is text of the model."""
        return self.kind in ("text", "thinking")

    def accepts(self, kind: ProseKind) -> bool:
        """Return whether prose of this kind is appended to this block."""
        block_kind = "thinking" if kind == "thinking" else "text"
        return self.kind == block_kind and bool(self.fields["refusal"]) == (kind == "refusal")

    def has_text(self, text: str) -> bool:
        """Return whether the block shows exactly this text, as far as it is shown."""
        return len(text) == len(str(self.text)) + self.text.omitted and text.startswith(str(self.text))

    def extend(self, field: TextField, text: str) -> list[Patch]:
        """Append to a text."""
        bounded = self.texts[field]
        visible = bounded.add(text)
        patches: list[Patch] = []
        if visible:
            patches.append({"op": "extend", "id": self.id, "field": field, "text": visible})
        if bounded.omitted:
            patches.append({"op": "update", "id": self.id, "set": {"more": self._omitted()}})
        return patches

    def replace(self, field: str, text: str) -> list[Patch]:
        """Replace a text."""
        limit = self.limits.prose if field == "text" else self.limits.field
        old, self.texts[field] = self.texts.get(field), BoundedText(limit, text)
        changed: dict[str, Any] = {field: str(self.texts[field])}
        if (old and old.omitted) or self.texts[field].omitted:
            changed["more"] = self._omitted()
        changed |= self._changed_words(changed)
        return [{"op": "update", "id": self.id, "set": changed}]

    def update(self, **values: Any) -> list[Patch]:
        """Set plain values and return them; thinking that is whole has the seconds that it took, where they matter."""
        seconds = round(monotonic() - self.opened, 1)
        if self.kind == "thinking" and values.get("state") == "whole" and seconds >= MIN_THINKING_SECONDS:
            values.setdefault("seconds", seconds)
        self.fields.update(values)
        return [{"op": "update", "id": self.id, "set": values | self._changed_words(values)}]

    def block(self) -> Block:
        """Return the current block."""
        texts = {field: str(bounded) for field, bounded in self.texts.items()}
        more = {"more": self._omitted()} if self.texts else {}
        return cast("Block", {"id": self.id, "kind": self.kind, **self.fields, **texts, **more})

    def _changed_words(self, changed: Mapping[str, Any]) -> dict[str, str]:
        """Return what a call says in words, where that has changed; its arguments are streamed before it is ready."""
        if self.kind != "call" or self.fields["state"] == "writing" or _WORDED.isdisjoint(changed):
            return {}
        words = call_texts(cast("CallBlock", self.block()))
        new = {name: text for name, text in words.items() if self.fields.get(name) != text}
        self.fields |= new
        return new

    def _omitted(self) -> dict[str, int]:
        return {field: bounded.omitted for field, bounded in self.texts.items() if bounded.omitted}


def prose_builder(block_id: str, kind: ProseKind, text: str, limits: Limits = DISPLAY_LIMITS) -> BlockBuilder:
    """Start a block of prose."""
    block_kind: Literal["text", "thinking"] = "thinking" if kind == "thinking" else "text"
    block = {"refusal": kind == "refusal", "state": "open"}
    return BlockBuilder(block_id, block_kind, block, {"text": BoundedText(limits.prose, text)}, limits)


def call_builder(call_id: str, name: str, in_round: int, limits: Limits = DISPLAY_LIMITS) -> BlockBuilder:
    """Start the block of a call whose arguments are being streamed."""
    block = {
        "call_id": call_id, "name": name, "round": in_round, "resolved": {}, "repaired": [], "state": "writing",
        "question": None, "decisions": [], "fraction": None, "reason": "", "reference": "", "started": None,
        "seconds": None,
    }  # fmt: skip
    texts = {field: BoundedText(limits.field) for field in ("arguments", "progress", "result")}
    return BlockBuilder(call_id, "call", block, texts, limits)
