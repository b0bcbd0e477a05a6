"""The saved form of a turn: data for pages that can render it, and static HTML and text for all others.

The data is the turn's document without anything that needs a live kernel: a closed set of keys
(`protocol_schema.py`) that the page's extension validates first. A page without the extension shows the HTML or text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from nbtool.blocks.display_limits import omitted_marker, truncate
from nbtool.blocks.labels import call_texts, head_texts
from nbtool.blocks.media import embed_media
from nbtool.blocks.protocol import (
    VERSION,
    Block,
    CallBlock,
    DecisionData,
    Document,
    Head,
    NoticeBlock,
    ResolvedShape,
    TablePreview,
)
from nbtool.blocks.protocol_schema import (
    CHAT_PATTERN,
    DATA_LIMIT,
    FINAL_STATUSES,
    ID_PATTERN,
    LINE_LENGTH,
    MAX_ENTRIES,
    NAME_LENGTH,
)
from nbtool.blocks.question import question_summary, remarks
from nbtool.blocks.render.document_truncation import fit_document
from nbtool.blocks.render.omission import mark_truncated
from nbtool.blocks.render.saved_document import without_person_only
from nbtool.blocks.render.static_html import (
    COLLAPSED_QUESTION,
    COLLAPSED_TURN,
    HTML_LIMIT,
    STATIC_QUESTION_NOTE,
    TEXT_LIMIT,
    name_collapsed,
    to_html,
    to_text,
)
from nbtool.messages import Media
from nbtool.text import clean_text

_T = TypeVar("_T")

DISPLAY_LIMIT = 150_000
"""Bytes of UTF-8 of what is saved of a turn's charts, formulas and HTML: half of its data."""

_MARK_ROOM = 64
"""Bytes of a truncation marker."""

TURN_MIME = "application/vnd.nbtool.turn+json"
"""The media type of a turn as data."""

COPY_TITLE = "For readers without nbtool: the turn that is shown in an Output widget"

UNFINISHED = (
    "This turn had not ended when the notebook was saved. `%chat open {turn_id}` opens its chat, with what was "
    "recorded of the turn."
)
"""Below a turn in a notebook that was saved while it ran."""


def turn_mimebundle(
    document: Document, media: Mapping[str, Media] | None = None, *, has_question: bool | None = None
) -> dict[str, Any]:
    """Return the mimebundle of a turn for a notebook: as data, as HTML and as text, each within its limit.

    `media` are the images and sounds of the document, by key; they are saved up to their limit. `has_question` is
    whether a question is to be answered in the output, by default whether the turn has not ended; a collapsed output
    says so.

    A turn that has not ended, or that cannot be made small enough, is not saved as data. A replayed one contains no
    times: running its cell again changes nothing in the file but the turn's id.
    """
    bare = without_person_only(_without_times(document) if document["head"].get("replayed") else document)
    embedded, size = embed_media(bare, media or {})
    status = embedded["head"]["status"]
    has_ended = status in FINAL_STATUSES
    if has_question is None:
        has_question = not has_ended or status == "parked"
    what = COLLAPSED_QUESTION if has_question else COLLAPSED_TURN
    bundle: dict[str, Any] = {
        "text/html": fit_document(embedded, lambda part: name_collapsed(what, to_html(part)), HTML_LIMIT + size),
        "text/plain": fit_document(bare, to_text, TEXT_LIMIT),
    }
    json_text = fit_document(turn_data(embedded), _json, DATA_LIMIT + size) if has_ended else ""
    if json_text and len(json_text.encode()) <= DATA_LIMIT + size:
        bundle[TURN_MIME] = json.loads(json_text)
    return bundle


def unfinished_mimebundle(document: Document, media: Mapping[str, Media], turn_id: str) -> dict[str, Any]:
    """Return the mimebundle of a turn that has not ended: what there is so far, and how to go on."""
    head: Head = {**document["head"], "error": UNFINISHED.format(turn_id=turn_id)}
    if head["status"] in FINAL_STATUSES:
        head["status"] = "running"
    return turn_mimebundle({**document, "head": head}, media)


def folded(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """Return the static forms of a turn that is shown elsewhere on the page: the HTML is folded."""
    html = f"<details><summary>{COPY_TITLE}</summary>{bundle['text/html']}</details>"
    return {"text/html": html, "text/plain": f"{COPY_TITLE}\n\n{bundle['text/plain']}"}


def embedded_turn(document: Document, turn_id: str) -> Document:
    """Return the document of a turn for a page without a kernel, where one that has not ended goes no further."""
    if document["head"]["status"] in FINAL_STATUSES:
        return turn_data(document)
    head: Head = {**document["head"], "status": "cancelled", "error": UNFINISHED.format(turn_id=turn_id)}
    return turn_data({**document, "head": head})


def turn_data(document: Document) -> Document:
    """Return the saved data of a turn: what its blocks show, and of a question only its subject."""
    clipper = _Truncator()
    blocks = [part for block in without_person_only(document)["blocks"] for part in _block(block, clipper)]
    part: Document = {"v": VERSION, "head": _head(document["head"], clipper), "blocks": blocks}
    return mark_truncated(part) if clipper.has_cut else part


class _Truncator:
    """Keeps texts and lists within the limits of saved data, marks truncation, and records that there was any."""

    def __init__(self) -> None:
        self.has_cut = False
        self._display_room = DISPLAY_LIMIT

    def has_room(self, text: str) -> bool:
        """Whether there is room for what a notebook would show for a result; if there is, it is taken."""
        is_enough = len(text.encode()) <= self._display_room
        self._display_room -= len(text.encode()) if is_enough else 0
        self.has_cut = self.has_cut or not is_enough
        return is_enough

    def text(self, text: str, limit: int) -> str:
        """Return a text of at most `limit` bytes, with a marker if truncated."""
        text = clean_text(text)
        if not truncate(text, limit)[1]:
            return text
        self.has_cut = True
        visible, omitted = truncate(text, limit - _MARK_ROOM)
        return visible + omitted_marker(omitted)

    def entries(self, entries: Iterable[_T]) -> list[_T]:
        """Return the first `ENTRIES` of a list."""
        every = list(entries)
        self.has_cut = self.has_cut or len(every) > MAX_ENTRIES
        return every[:MAX_ENTRIES]


def _call_without_times(block: CallBlock) -> CallBlock:
    bare: CallBlock = {**block, "started": None, "seconds": None}
    return cast("CallBlock", {**bare, **call_texts(bare)})


def _without_times(document: Document) -> Document:
    blocks = [_call_without_times(block) if block["kind"] == "call" else block for block in document["blocks"]]
    omitted = ("version", "versions", "turns", "waited")
    head = {name: value for name, value in document["head"].items() if name not in omitted}
    return cast("Document", {**document, "head": {**head, "started": None, "seconds": None}, "blocks": blocks})


def _head(head: Head, clipper: _Truncator) -> Head:
    """Remove the prompt, which is in the cell, the reason for the model, and the actions of the former page.

    A turn id that is not valid in a cell is removed: then no cells about the turn are offered.
    """
    result: dict[str, Any] = {
        **head,
        "turn_id": head["turn_id"] if re.fullmatch(ID_PATTERN, head["turn_id"]) else "",
        "model": clipper.text(head["model"], NAME_LENGTH),
        "prompt": "",
        "activity": "",
        "error": clipper.text(head["error"], LINE_LENGTH),
    }
    if "replayed" in result:
        result["replayed"] = clipper.text(result["replayed"], NAME_LENGTH)
    if (
        not all(re.fullmatch(ID_PATTERN, item) for item in result.get("turns", ()))
        or len(result.get("turns", ())) > MAX_ENTRIES
    ):
        del result["turns"]
    if not re.fullmatch(CHAT_PATTERN, result.get("chat", "main")):
        result = {**result, "turn_id": ""}
        del result["chat"]
    for name in (
        "acts",
        "why",
        "answer_by",
        "adds",
        "prompt_line",
    ):  # the reason for the model names the person's settings and files
        result.pop(name, None)
    return cast("Head", result | head_texts(cast("Head", result)))


def _block(block: Block, clipper: _Truncator) -> list[Block]:
    if block["kind"] == "call":
        questions = [_question_notice(block, clipper)] if block["question"] else []
        return [_call(block, clipper), *questions]
    result: dict[str, Any] = {**block, "id": _identifier(block["id"])}
    if block["kind"] == "notice":
        result["text"] = clipper.text(block["text"], LINE_LENGTH)
    return [cast("Block", result)]


def _question_notice(block: CallBlock, clipper: _Truncator) -> NoticeBlock:
    """Describe a question: saved data has none that could be answered, and no result that may still be withheld."""
    remark = remarks(block["question"]) if block["question"] else ""
    text = clipper.text(
        f"{remark}\n".lstrip() + f"Approval needed: {question_summary(block)} {STATIC_QUESTION_NOTE}", LINE_LENGTH
    )
    return {"id": f"{_identifier(block['id'], NAME_LENGTH - 6)}.asked", "kind": "notice", "text": text, "level": "info"}


def _call(block: CallBlock, clipper: _Truncator) -> CallBlock:
    resolved = clipper.entries(block["resolved"].items())
    result: dict[str, Any] = {
        **block,
        "id": _identifier(block["id"]),
        "call_id": _identifier(block["call_id"]),
        "name": clipper.text(block["name"], NAME_LENGTH),
        "reference": clipper.text(block["reference"], NAME_LENGTH),
        "resolved": {clipper.text(name, NAME_LENGTH): _resolved(shape, clipper) for name, shape in resolved},
        "repaired": [clipper.text(entry, LINE_LENGTH) for entry in clipper.entries(block["repaired"])],
        "reason": clipper.text(block["reason"], LINE_LENGTH),
        "question": None,
        "decisions": [_decision(entry, clipper) for entry in clipper.entries(block["decisions"])],
    }
    if "facts" in block:
        result["facts"] = clipper.text(block["facts"], LINE_LENGTH)
    if "display" in block and not clipper.has_room(block["display"]["text"]):
        del result["display"]
    if "table" in block:
        result["table"] = _preview(block["table"], clipper)
    return cast("CallBlock", result)


def _resolved(shape: ResolvedShape, clipper: _Truncator) -> ResolvedShape:
    references: list[Any] = [
        {name: clipper.text(str(text), LINE_LENGTH) for name, text in entry.items()}
        for entry in clipper.entries(shape["references"])
    ]
    return {**shape, "text": clipper.text(shape["text"], LINE_LENGTH), "references": references}


def _decision(decision: DecisionData, clipper: _Truncator) -> DecisionData:
    """Remove the digest: it identifies a question that can no longer be answered."""
    by, reason = clipper.text(decision["by"], NAME_LENGTH), clipper.text(decision["reason"], LINE_LENGTH)
    result: DecisionData = {**decision, "digest": "", "by": by, "reason": reason}
    if not_counted := decision.get("again"):
        result["again"] = {**not_counted, "problem": clipper.text(not_counted["problem"], LINE_LENGTH)}
    return result


def _preview(preview: TablePreview, clipper: _Truncator) -> TablePreview:
    rows = [
        [clipper.text(cell, NAME_LENGTH) for cell in clipper.entries(row)] for row in clipper.entries(preview["rows"])
    ]
    columns = [clipper.text(name, NAME_LENGTH) for name in clipper.entries(preview["columns"])]
    return {**preview, "columns": columns, "rows": rows}


def _identifier(text: str, limit: int = NAME_LENGTH) -> str:
    return truncate(clean_text(text), limit)[0]


def _json(document: Document) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
