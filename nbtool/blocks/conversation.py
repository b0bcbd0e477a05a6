"""The active line of a conversation, to be read from its beginning to its end: as data for a page, and as static HTML.

Both are bounded: the latest turns are told, each as far as it fits, and what is left out is said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from markdown_it.common.utils import escapeHtml

from nbtool.blocks.limits import clip, marker
from nbtool.blocks.mimebundle import to_data
from nbtool.blocks.protocol import Document
from nbtool.blocks.static_html import to_html, to_text
from nbtool.blocks.truncate import fitted

TURNS = 50
"""Turns of a conversation that are told: the latest ones."""

TURN_LIMIT = 60_000
"""Bytes of UTF-8 that one of them takes as data, and a quarter of it as HTML or text in a saved notebook."""

PROMPT_LIMIT = 16_000
"""Bytes of UTF-8 of a prompt that are told."""

_SAID = "margin:1.2em 0 .4em;font-weight:600;white-space:pre-wrap;overflow-wrap:anywhere"
_QUIET = "opacity:.75"
_FOLDED = "The conversation as it stood, which the saved notebook keeps"


@dataclass(frozen=True, slots=True)
class Told:
    """A turn to be read: what was said, what came of it, and the cells that do something with it, by their deeds."""

    prompt: str
    document: Document
    cells: Mapping[str, str]


class TurnShape(TypedDict):
    """A turn of a conversation as the page gets it."""

    prompt: str
    document: Document
    cells: dict[str, str]


class ConversationShape(TypedDict):
    """A conversation as the page gets it: its latest turns, and how many came before."""

    left_out: int
    turns: list[TurnShape]


def to_page(turns: Sequence[Told]) -> ConversationShape:
    """Give what a page shows."""
    return {"left_out": _left_out(turns), "turns": [_turn(turn) for turn in turns[-TURNS:]]}


def bundle(turns: Sequence[Told], *, folded: bool = False) -> dict[str, str]:
    """Give what a notebook keeps, `text/html` and `text/plain`; folded where a page shows the same above it."""
    html = _html(turns)
    if folded:
        html = f'<details><summary style="cursor:pointer;{_QUIET}">{_FOLDED}</summary>{html}</details>'
    return {"text/html": html, "text/plain": _text(turns)}


def _turn(turn: Told) -> TurnShape:
    document: Document = json.loads(fitted(to_data(turn.document), json.dumps, TURN_LIMIT))
    head: Any = {**document["head"], "acts": list(turn.cells)}
    return {"prompt": _prompt(turn), "document": {**document, "head": head}, "cells": dict(turn.cells)}


def _html(turns: Sequence[Told]) -> str:
    before = f'<div style="{_QUIET}">{_before(turns)}</div>' if _left_out(turns) else ""
    parts = (
        f'<div style="{_SAID}">{escapeHtml(_prompt(turn))}</div>{fitted(turn.document, to_html, TURN_LIMIT // 4)}'
        for turn in turns[-TURNS:]
    )
    return f'<div class="tex2jax_ignore mathjax_ignore">{before}{"".join(parts)}</div>'


def _text(turns: Sequence[Told]) -> str:
    parts = (f"> {_prompt(turn)}\n\n{fitted(turn.document, to_text, TURN_LIMIT // 4)}" for turn in turns[-TURNS:])
    return "\n\n".join([*([_before(turns)] if _left_out(turns) else []), *parts])


def _prompt(turn: Told) -> str:
    kept, omitted = clip(turn.prompt, PROMPT_LIMIT)
    return kept + marker(omitted)


def _before(turns: Sequence[Told]) -> str:
    return f"… {_left_out(turns):,} earlier turns are not shown here"


def _left_out(turns: Sequence[Told]) -> int:
    return max(0, len(turns) - TURNS)
