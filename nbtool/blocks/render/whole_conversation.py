"""The active line of a conversation, to read: as data for a page, and as static HTML.

Both are bounded: the latest turns are included, each up to a limit, and omissions are marked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from markdown_it.common.utils import escapeHtml

from nbtool.blocks.display_limits import omitted_marker, truncate
from nbtool.blocks.protocol import VERSION, Document
from nbtool.blocks.render.document_truncation import fit_document
from nbtool.blocks.render.mimebundle import turn_data
from nbtool.blocks.render.saved_document import without_person_only
from nbtool.blocks.render.static_html import name_collapsed, to_html, to_text
from nbtool.blocks.sanitize import one_line
from nbtool.text import count_are
from nbtool.wire.framing.known_secrets import hide_secrets

MAX_TURNS = 50
"""Turns of a conversation that are included: the latest ones."""

TURN_LIMIT = 60_000
"""Bytes of UTF-8 of one turn as data; a quarter of it as HTML or text in a saved notebook."""

PROMPT_LIMIT = 16_000
"""Bytes of UTF-8 of a prompt that are included."""

SAVED_LIMIT = 300_000
"""Bytes of UTF-8 of a conversation as data in a saved notebook."""

CONVERSATION_MIME = "application/vnd.nbtool.conversation+json"
"""The media type of a conversation as data in a saved notebook."""

COLLAPSED_CHAT = "A chat: show this output to read it."
"""What a collapsed output is."""

_PROMPT_STYLE = "margin:1.2em 0 .4em;font-weight:600;white-space:pre-wrap;overflow-wrap:anywhere"
_MUTED_STYLE = "opacity:.75"
_FOLD_TITLE = "Static version of the conversation, stored in the saved notebook"


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """A turn to read: its prompt, its outcome, and the cells for its actions, by action."""

    prompt: str
    document: Document
    cells: Mapping[str, str]


class ConversationTurnData(TypedDict):
    """A turn of a conversation as sent to the page."""

    prompt: str
    document: Document
    cells: dict[str, str]


class ModelChoice(TypedDict):
    """A model for the next prompt, with a note about it.

    `magic` is the first line of a cell that uses it; empty if it cannot be used, as the note says.
    """

    name: str
    note: str
    magic: str


class ConversationData(TypedDict):
    """A conversation as sent to the page: its latest turns, the number of earlier ones, and models for the next."""

    left_out: int
    turns: list[ConversationTurnData]
    models: NotRequired[list[ModelChoice]]


class SavedConversationTurn(TypedDict):
    """A turn of a conversation in a saved notebook."""

    prompt: str
    document: Document


class SavedConversation(TypedDict):
    """A conversation in a saved notebook: its latest turns, and the number of earlier ones."""

    v: Literal[1]
    title: str
    left_out: int
    turns: list[SavedConversationTurn]


def saved_data(turns: Sequence[ConversationTurn], title: str) -> SavedConversation:
    """Return the data for a page without a kernel, within `SAVED_LIMIT`; the latest turns are included first."""
    included: list[SavedConversationTurn] = []
    left = SAVED_LIMIT
    for turn in reversed(turns[-MAX_TURNS:]):
        document: Document = json.loads(fit_document(turn_data(turn.document), json.dumps, TURN_LIMIT))
        saved: SavedConversationTurn = {"prompt": _prompt(turn), "document": document}
        left -= len(json.dumps(saved, ensure_ascii=False).encode())
        if left < 0:
            break
        included.insert(0, saved)
    return {"v": VERSION, "title": one_line(title, 200), "left_out": len(turns) - len(included), "turns": included}


def page_data(turns: Sequence[ConversationTurn], models: Sequence[ModelChoice] = ()) -> ConversationData:
    """Return the data for a page, with the models that it offers for the next prompt."""
    latest = [_turn(turn) for turn in turns[-MAX_TURNS:]]
    return {"left_out": _left_out(turns), "turns": latest, "models": list(models)}


def mimebundle(turns: Sequence[ConversationTurn], *, folded: bool = False) -> dict[str, str]:
    """Return the saved form, `text/html` and `text/plain`; folded if a page shows the conversation above it."""
    html = _html(turns)
    if folded:
        html = f'<details><summary style="cursor:pointer;{_MUTED_STYLE}">{_FOLD_TITLE}</summary>{html}</details>'
    return {"text/html": name_collapsed(COLLAPSED_CHAT, html), "text/plain": _text(turns)}


def _turn(turn: ConversationTurn) -> ConversationTurnData:
    document: Document = json.loads(fit_document(turn_data(turn.document), json.dumps, TURN_LIMIT))
    head: Any = {**document["head"], "acts": list(turn.cells)}
    return {"prompt": _prompt(turn), "document": {**document, "head": head}, "cells": dict(turn.cells)}


def _html(turns: Sequence[ConversationTurn]) -> str:
    before = f'<div style="{_MUTED_STYLE}">{_before(turns)}</div>' if _left_out(turns) else ""
    parts = (
        f'<div style="{_PROMPT_STYLE}">{escapeHtml(_prompt(turn))}</div>'
        f"{fit_document(_saved(turn), to_html, TURN_LIMIT // 4)}"
        for turn in turns[-MAX_TURNS:]
    )
    return f'<div class="tex2jax_ignore mathjax_ignore">{before}{"".join(parts)}</div>'


def _text(turns: Sequence[ConversationTurn]) -> str:
    parts = (
        f"> {_prompt(turn)}\n\n{fit_document(_saved(turn), to_text, TURN_LIMIT // 4)}" for turn in turns[-MAX_TURNS:]
    )
    return "\n\n".join([*([_before(turns)] if _left_out(turns) else []), *parts])


def _saved(turn: ConversationTurn) -> Document:
    return without_person_only(turn.document)


def _prompt(turn: ConversationTurn) -> str:
    excerpt, omitted = truncate(hide_secrets(turn.prompt), PROMPT_LIMIT)
    return excerpt + omitted_marker(omitted)


def _before(turns: Sequence[ConversationTurn]) -> str:
    return f"… {count_are(_left_out(turns), 'earlier turn')} not shown"


def _left_out(turns: Sequence[ConversationTurn]) -> int:
    return max(0, len(turns) - MAX_TURNS)
