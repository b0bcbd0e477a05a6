"""Build a turn's document: its head, and its blocks in order; one block is built in `block_builder.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from nbtool.blocks.display_limits import Limits, omitted_marker, truncate
from nbtool.blocks.fold.block_builder import BlockBuilder
from nbtool.blocks.labels import head_texts
from nbtool.blocks.protocol import VERSION, Document, Head, Patch, UsageData
from nbtool.blocks.sanitize import without_controls
from nbtool.messages import Media, Usage


class DocumentBuilder:
    """The head and the blocks of a turn; `round` are the blocks of the latest reply, `media` those in the blocks."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.head = _head()
        self.entries: dict[str, BlockBuilder] = {}
        self.round: list[BlockBuilder] = []
        self.media: dict[str, Media] = {}
        self.is_cut = False

    def document(self) -> Document:
        """Return the current turn: JSON, sharing nothing with this object."""
        head = cast("Head", {**self.head, "usage": {**self.head["usage"]}})
        return {"v": VERSION, "head": head, "blocks": [entry.block() for entry in self.entries.values()]}

    def open(self, entry: BlockBuilder) -> list[Patch]:
        """Add a block."""
        self.entries[entry.id] = entry
        return [{"op": "open", "block": entry.block()}]

    def open_in_reply(self, entry: BlockBuilder) -> list[Patch]:
        """Add a block to the latest reply, whose prose before it is complete."""
        last = self.round[-1] if self.round else None
        patches = last.update(state="whole") if last and last.is_prose else []
        self.round.append(entry)
        return patches + self.open(entry)

    def set_head(self, **values: Any) -> list[Patch]:
        """Set fields of the head."""
        self.head.update(cast("Head", values))
        new = {name: text for name, text in head_texts(self.head).items() if self.head.get(name, "") != text}
        self.head.update(cast("Head", new))
        return [{"op": "head", "set": values | new}]

    def clear_activity(self) -> list[Patch]:
        """Remove what the turn is doing from the head."""
        return self.set_head(activity="") if self.head["activity"] else []

    def truncated(self, text: str, limit: int, clean: Callable[[str], str] = without_controls) -> str:
        """Return a clean text, with a truncation marker if needed."""
        visible, omitted = truncate(clean(text), limit)
        self.is_cut = self.is_cut or omitted > 0
        return visible + omitted_marker(omitted)

    def notice_text(self, text: str, clean: Callable[[str], str] = without_controls) -> str:
        """Return a clean text of at most the length of a notice."""
        return self.truncated(text, self.limits.notice, clean)


def _head() -> Head:
    head: Head = {
        "turn_id": "", "model": "", "prompt": "", "status": "running", "round": 0, "calls": 0, "activity": "",
        "usage": usage_data(Usage()), "started": None, "seconds": None, "error": "",
    }  # fmt: skip
    return cast("Head", {**head, **head_texts(head)})


def usage_data(usage: Usage) -> UsageData:
    """Return a usage as it is shown."""
    fields = {name: getattr(usage, name) for name in UsageData.__annotations__}
    return cast("UsageData", {name: value for name, value in fields.items() if value is not False})
