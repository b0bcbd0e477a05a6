"""One block of a turn while it grows."""

from __future__ import annotations

from typing import Any, Literal, cast

from nbtool.blocks.limits import SHOWN, Growing, Limits
from nbtool.blocks.protocol import Block, Patch

ProseKind = Literal["text", "thinking", "refusal"]
TextField = Literal["text", "arguments", "progress"]


class Entry:
    """A block while it grows: its plain values, and its texts in pieces."""

    __slots__ = ("block_part", "grown", "id", "kind", "limits")

    def __init__(
        self, block_id: str, kind: Literal["text", "thinking", "call", "notice"], block_part: dict[str, Any],
        grown: dict[str, Growing] | None = None, limits: Limits = SHOWN,
    ) -> None:  # fmt: skip
        self.limits = limits
        self.id = block_id
        self.kind = kind
        self.block_part = block_part
        self.grown = grown or {}

    @property
    def text(self) -> Growing:
        """The prose of a block that has one."""
        return self.grown["text"]

    def wears(self, kind: ProseKind) -> bool:
        """Whether prose of this kind goes on in this block."""
        shown = "thinking" if kind == "thinking" else "text"
        return self.kind == shown and bool(self.block_part["refusal"]) == (kind == "refusal")

    def says(self, text: str) -> bool:
        """Whether the block shows exactly this text, as far as it shows it."""
        return len(text) == len(str(self.text)) + self.text.omitted and text.startswith(str(self.text))

    def extend(self, field: TextField, text: str) -> list[Patch]:
        """Let a text grow."""
        growing = self.grown[field]
        shown = growing.add(text)
        patches: list[Patch] = []
        if shown:
            patches.append({"op": "extend", "id": self.id, "field": field, "text": shown})
        if growing.omitted:
            patches.append({"op": "update", "id": self.id, "set": {"more": self._more()}})
        return patches

    def replace(self, field: str, text: str) -> list[Patch]:
        """Put another text in place of one."""
        limit = self.limits.prose if field == "text" else self.limits.field
        old, self.grown[field] = self.grown.get(field), Growing(limit, text)
        changed: dict[str, Any] = {field: str(self.grown[field])}
        if (old and old.omitted) or self.grown[field].omitted:
            changed["more"] = self._more()
        return [{"op": "update", "id": self.id, "set": changed}]

    def update(self, **values: Any) -> list[Patch]:
        """Give some plain values."""
        self.block_part.update(values)
        return [{"op": "update", "id": self.id, "set": values}]

    def block(self) -> Block:
        """Give the block as it stands."""
        texts = {field: str(growing) for field, growing in self.grown.items()}
        more = {"more": self._more()} if self.grown else {}
        return cast("Block", {"id": self.id, "kind": self.kind, **self.block_part, **texts, **more})

    def _more(self) -> dict[str, int]:
        return {field: growing.omitted for field, growing in self.grown.items() if growing.omitted}


def prose_entry(block_id: str, kind: ProseKind, text: str, limits: Limits = SHOWN) -> Entry:
    """Open a block of prose."""
    shown: Literal["text", "thinking"] = "thinking" if kind == "thinking" else "text"
    block = {"refusal": kind == "refusal", "state": "open"}
    return Entry(block_id, shown, block, {"text": Growing(limits.prose, text)}, limits)


def call_entry(call_id: str, name: str, in_round: int, limits: Limits = SHOWN) -> Entry:
    """Open the block of a call whose arguments are about to come."""
    block = {
        "call_id": call_id, "name": name, "round": in_round, "resolved": {}, "repaired": [], "state": "writing",
        "question": None, "decisions": [], "fraction": None, "reason": "", "reference": "", "started": None,
        "seconds": None,
    }  # fmt: skip
    grown = {field: Growing(limits.field) for field in ("arguments", "progress", "result")}
    return Entry(call_id, "call", block, grown, limits)
