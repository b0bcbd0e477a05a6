"""Full-text search over prompts, replies, calls and results in the turns of one conversation."""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.blocks.history.protocol import SearchHit
from nbtool.blocks.sanitize import one_line
from nbtool.events import CallFinished, CallReady, ReplyFinished
from nbtool.turn_view import TurnView

MAX_QUERY = 200
"""Characters of a search that are used."""

MAX_HITS = 2_000
"""Turns that a search returns, the first ones."""

MAX_WORDS = 200_000
"""Characters of one turn that are searched."""

_SNIPPET = 120
_BEFORE = 30


def search(turns: Iterable[TurnView], text: str) -> list[SearchHit]:
    """Return the turns that contain all these words, ignoring case; none for no words."""
    words = text[:MAX_QUERY].casefold().split()
    hits: list[SearchHit] = []
    for turn in turns if words else ():
        content = _searchable_text(turn)
        folded = content.casefold()
        if all(word in folded for word in words):
            at = max(0, min(folded.find(word) for word in words) - _BEFORE)
            hits.append({"turn_id": turn.turn_id, "snippet": one_line(content[at : at + 2 * _SNIPPET], _SNIPPET)})
            if len(hits) == MAX_HITS:
                break
    return hits


def _searchable_text(turn: TurnView) -> str:
    pieces = [turn.prompt.text, turn.turn_id]
    for event in list(turn.log):
        match event:
            case ReplyFinished():
                pieces.append(event.message.text)
            case CallReady():
                pieces += [event.name, event.qualified_name, event.arguments]
            case CallFinished():
                pieces += [event.shown, event.reason]
            case _:
                pass
    return "\n".join(pieces)[:MAX_WORDS]
