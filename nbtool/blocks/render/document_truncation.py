"""Truncate a document to a size for saving: long texts first, then the blocks in the middle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from nbtool.blocks.display_limits import truncate
from nbtool.blocks.protocol import Block, Document, NoticeBlock
from nbtool.blocks.render.omission import mark_truncated
from nbtool.text import count_of

_MIN_CHARS = 256
_OVERHEAD = 400
"""Estimated bytes of a block in addition to its texts."""

_PROSE_SHARE = 4
"""A reply may be this many times longer than the text of a call before it is truncated."""


def fit_document(document: Document, write: Callable[[Document], str], limit: int) -> str:
    """Return a document within `limit` bytes of UTF-8, with markers at the omissions.

    Sizes are estimated first, so that a huge turn is not serialized repeatedly.
    """
    count = min(len(document["blocks"]), limit // (2 * _OVERHEAD))
    cap = limit
    while cap > _MIN_CHARS and _estimate(document, count, cap) > limit:
        cap //= 2
    text = write(_truncated(document, count, cap))
    while _size(text) > limit and (cap > _MIN_CHARS or count > 1):
        if cap > _MIN_CHARS:
            cap //= 2
        else:
            count //= 2
        text = write(_truncated(document, count, cap))
    return text


def _estimate(document: Document, count: int, cap: int) -> int:
    texts = (len(block[field]) for block in document["blocks"] for field in _fields(block))  # type: ignore[literal-required]  # the block's own fields
    return count * _OVERHEAD + sum(min(length, cap) for length in texts)


def _truncated(document: Document, count: int, cap: int) -> Document:
    short = _drop_middle(document, count) if count < len(document["blocks"]) else document
    blocks = [_truncated_block(block, cap) for block in short["blocks"]]
    is_cut = short is not document or any(new is not old for new, old in zip(blocks, short["blocks"], strict=True))
    shortened = cast("Document", {**short, "blocks": blocks})
    return mark_truncated(shortened) if is_cut else shortened


def _fields(block: Block) -> tuple[str, ...]:
    if block["kind"] == "call":
        optional = ("traceback", "asked_arguments")
        return ("arguments", "progress", "result", *(name for name in optional if name in block))
    return () if block["kind"] == "notice" else ("text",)


def _truncated_block(block: Block, cap: int) -> Block:
    if block["kind"] == "notice":
        return block
    allowed = cap * _PROSE_SHARE if block["kind"] == "text" else cap
    short: dict[str, Any] = dict(block)
    more = dict(block["more"])
    for field in _fields(block):
        short[field], omitted = truncate(short[field], allowed)
        if omitted:
            more[field] = more.get(field, 0) + omitted
    return cast("Block", {**short, "more": more}) if more != block["more"] else block


def _drop_middle(document: Document, count: int) -> Document:
    blocks = document["blocks"]
    first = blocks[: count // 2]
    last = blocks[len(blocks) - (count - count // 2) :]
    left_out = len(blocks) - count
    mark: NoticeBlock = {"id": "", "kind": "notice", "text": f"… {count_of(left_out, 'more block')}", "level": "info"}
    return cast("Document", {**document, "blocks": [*first, mark, *last]})


def _size(text: str) -> int:
    return len(text.encode())
