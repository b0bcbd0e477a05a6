"""Full-text search over prompts, replies, calls and results in the turns of one conversation."""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.blocks.history.protocol import SearchHit
from nbtool.blocks.sanitize import one_line
from nbtool.event_filter import filter_events
from nbtool.events import CallFinished, CallReady, ReplyFinished
from nbtool.turn_view import TurnView
from nbtool.wire.framing.known_secrets import secret_hider

MAX_QUERY = 200
"""Characters of a search that are used."""

MAX_HITS = 2_000
"""Turns that a search returns, the first ones."""

MAX_WORDS = 200_000
"""Characters of one turn that are searched."""

_SNIPPET = 120
_BEFORE = 30
"""Characters of a snippet, and of it before the match."""


def search(turns: Iterable[TurnView], text: str) -> list[SearchHit]:
    """Return the turns that contain all these words, ignoring case; none for no words.

    The snippet is of the part with the most words that the prompt lacks; empty if the prompt has all.
    """
    words = text[:MAX_QUERY].casefold().split()
    hits: list[SearchHit] = []
    for turn in turns if words else ():
        parts = _searchable_parts(turn)
        folded = "\n".join(part for _, part in parts)[:MAX_WORDS].casefold()
        if all(word in folded for word in words):
            hits.append({"turn_id": turn.turn_id, "snippet": _snippet(parts, words)})
            if len(hits) == MAX_HITS:
                break
    return hits


def _snippet(parts: list[tuple[str, str]], words: list[str]) -> str:
    prompt = parts[0][1].casefold()
    wanted = [word for word in words if word not in prompt]
    most: list[int] = []
    excerpt = ""
    for label, part in parts[1:]:
        folded = part.casefold()
        places = [place for word in wanted if (place := folded.find(word)) >= 0]
        if len(places) > len(most):
            start, most = max(0, min(places) - _BEFORE), places
            excerpt = f"{label}: {'… ' if start else ''}{part[start : start + 2 * _SNIPPET]}"
    return one_line(excerpt, _SNIPPET)


def _searchable_parts(turn: TurnView) -> list[tuple[str, str]]:
    """Return the texts of a turn, the prompt first, each with a label."""
    parts = [("prompt", turn.prompt.text), ("turn", turn.turn_id)]
    for event in filter_events(list(turn.log), "notebook", secret_hider()):
        match event:
            case ReplyFinished():
                parts.append(("reply", event.message.text))
            case CallReady():
                names = " ".join(dict.fromkeys((event.display_name, event.name)))
                parts.append(("call", f"{names} {event.arguments}"))
            case CallFinished():
                parts += [("result", event.shown), ("reason", event.reason)]
            case _:
                pass
    return parts
