"""What a notebook keeps of a turn: data for those who can draw it, and its static twins for all others.

The data is the turn's document without what only a living kernel understands: a closed set of keys (`schema.py`), which
the page's extension checks before it shows any of it. A page without the extension takes the HTML, or the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from nbtool.blocks.limits import clip, marker
from nbtool.blocks.media import with_media
from nbtool.blocks.omission import mark_cut
from nbtool.blocks.protocol import (
    VERSION,
    Block,
    CallBlock,
    Decided,
    Document,
    Glance,
    Head,
    NoticeBlock,
    ResolvedShape,
)
from nbtool.blocks.protocol_schema import CHAT_PATTERN, DATA_LIMIT, ENDED, ENTRIES, ID_PATTERN, LINE_LENGTH, NAME_LENGTH
from nbtool.blocks.question import remarks, sentence
from nbtool.blocks.static_html import ASKS, HTML_LIMIT, TEXT_LIMIT, to_html, to_text
from nbtool.blocks.truncate import fitted
from nbtool.messages import Media, clean_text

_T = TypeVar("_T")

_MARK_ROOM = 64
"""Bytes that the mark of a cut may take."""

TURN_MIME = "application/vnd.nbtool.turn+json"
"""The media type of a turn as data."""


def saved(document: Document, media: Mapping[str, Media] | None = None) -> dict[str, Any]:
    """Give the bundle that a notebook keeps: a turn as data, as HTML and as text, each within its limit.

    `media` are the images and sounds that the document tells of, by their keys: they are kept as far as they fit.

    A turn that has not ended, or that cannot be made small enough, is no data. One that was replayed tells no time:
    running its cell again changes nothing in the file but the turn's id.
    """
    bare = _timeless(document) if document["head"].get("replayed") else document
    told, size = with_media(bare, media or {})
    bundle: dict[str, Any] = {
        "text/html": fitted(told, to_html, HTML_LIMIT + size),
        "text/plain": fitted(bare, to_text, TEXT_LIMIT),
    }
    written = fitted(to_data(told), _json, DATA_LIMIT + size) if told["head"]["status"] in ENDED else ""
    if written and len(written.encode()) <= DATA_LIMIT + size:
        bundle[TURN_MIME] = json.loads(written)
    return bundle


def to_data(document: Document) -> Document:
    """Give what of a turn is kept as data: what its blocks show, and of a question only what it was about."""
    clipper = _Clipper()
    blocks = [kept for block in document["blocks"] for kept in _block(block, clipper)]
    kept: Document = {"v": VERSION, "head": _head(document["head"], clipper), "blocks": blocks}
    return mark_cut(kept) if clipper.has_cut else kept


class _Clipper:
    """Keeps texts and lists within the bounds of saved data, marks what is cut, and remembers that something was."""

    def __init__(self) -> None:
        self.has_cut = False

    def text(self, text: str, limit: int) -> str:
        """Return a text of `limit` bytes at most; where it is cut, with its mark."""
        text = clean_text(text)
        if not clip(text, limit)[1]:
            return text
        self.has_cut = True
        kept, omitted = clip(text, limit - _MARK_ROOM)
        return kept + marker(omitted)

    def entries(self, entries: Iterable[_T]) -> list[_T]:
        """Return the first `ENTRIES` of a list."""
        every = list(entries)
        self.has_cut = self.has_cut or len(every) > ENTRIES
        return every[:ENTRIES]


def _timeless(document: Document) -> Document:
    blocks = [
        {**block, "started": None, "seconds": None} if block["kind"] == "call" else block
        for block in document["blocks"]
    ]
    head = {name: value for name, value in document["head"].items() if name not in ("version", "versions", "turns")}
    return cast("Document", {**document, "head": {**head, "started": None, "seconds": None}, "blocks": blocks})


def _head(head: Head, clipper: _Clipper) -> Head:
    """Leave out the prompt, which stands in the cell, why this model answered, and what a page could once do.

    A turn that a cell cannot name has no id here: then no cell is offered that speaks of it.
    """
    kept: dict[str, Any] = {
        **head,
        "turn_id": head["turn_id"] if re.fullmatch(ID_PATTERN, head["turn_id"]) else "",
        "model": clipper.text(head["model"], NAME_LENGTH),
        "prompt": "",
        "activity": "",
        "error": clipper.text(head["error"], LINE_LENGTH),
    }
    if "replayed" in kept:
        kept["replayed"] = clipper.text(kept["replayed"], NAME_LENGTH)
    if not all(re.fullmatch(ID_PATTERN, one) for one in kept.get("turns", ())) or len(kept.get("turns", ())) > ENTRIES:
        del kept["turns"]
    if not re.fullmatch(CHAT_PATTERN, kept.get("chat", "main")):
        kept = {**kept, "turn_id": ""}
        del kept["chat"]
    for name in ("acts", "why"):  # why this model answers names settings and files of the person
        kept.pop(name, None)
    return cast("Head", kept)


def _block(block: Block, clipper: _Clipper) -> list[Block]:
    if block["kind"] == "call":
        asked = [_asked(block, clipper)] if block["question"] else []
        return [_call(block, clipper), *asked]
    kept: dict[str, Any] = {**block, "id": _identifier(block["id"])}
    if block["kind"] == "notice":
        kept["text"] = clipper.text(block["text"], LINE_LENGTH)
    return [cast("Block", kept)]


def _asked(block: CallBlock, clipper: _Clipper) -> NoticeBlock:
    """Tell of a question: the data holds none that could be answered, and no result that may be withheld yet."""
    known = remarks(block["question"]) if block["question"] else ""
    text = clipper.text(f"{known}\n".lstrip() + f"nbtool asks: {sentence(block)} {ASKS}", LINE_LENGTH)
    return {"id": f"{_identifier(block['id'], NAME_LENGTH - 6)}.asked", "kind": "notice", "text": text, "level": "info"}


def _call(block: CallBlock, clipper: _Clipper) -> CallBlock:
    resolved = clipper.entries(block["resolved"].items())
    kept: dict[str, Any] = {
        **block,
        "id": _identifier(block["id"]),
        "call_id": _identifier(block["call_id"]),
        "name": clipper.text(block["name"], NAME_LENGTH),
        "reference": clipper.text(block["reference"], NAME_LENGTH),
        "resolved": {clipper.text(name, NAME_LENGTH): _resolved(one, clipper) for name, one in resolved},
        "repaired": [clipper.text(one, LINE_LENGTH) for one in clipper.entries(block["repaired"])],
        "reason": clipper.text(block["reason"], LINE_LENGTH),
        "question": None,
        "decisions": [_decided(one, clipper) for one in clipper.entries(block["decisions"])],
    }
    if "glances" in block:
        some = clipper.entries(block["glances"].items())
        kept["glances"] = {clipper.text(name, NAME_LENGTH): _glance(glance, clipper) for name, glance in some}
    return cast("CallBlock", kept)


def _resolved(shape: ResolvedShape, clipper: _Clipper) -> ResolvedShape:
    references: list[Any] = [
        {name: clipper.text(str(text), LINE_LENGTH) for name, text in one.items()}
        for one in clipper.entries(shape["references"])
    ]
    return {**shape, "text": clipper.text(shape["text"], LINE_LENGTH), "references": references}


def _decided(decided: Decided, clipper: _Clipper) -> Decided:
    """Leave out the digest: it names a question that nobody can answer any more."""
    by, reason = clipper.text(decided["by"], NAME_LENGTH), clipper.text(decided["reason"], LINE_LENGTH)
    kept: Decided = {**decided, "digest": "", "by": by, "reason": reason}
    if again := decided.get("again"):
        kept["again"] = {**again, "problem": clipper.text(again["problem"], LINE_LENGTH)}
    return kept


def _glance(glance: Glance, clipper: _Clipper) -> Glance:
    rows = [
        [clipper.text(cell, NAME_LENGTH) for cell in clipper.entries(row)] for row in clipper.entries(glance["rows"])
    ]
    columns = [clipper.text(name, NAME_LENGTH) for name in clipper.entries(glance["columns"])]
    return {**glance, "columns": columns, "rows": rows}


def _identifier(text: str, limit: int = NAME_LENGTH) -> str:
    return clip(clean_text(text), limit)[0]


def _json(document: Document) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
