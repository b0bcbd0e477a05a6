"""Fragments of a call that came at once, joined: nobody acts upon a part of its arguments.

A model's arguments come in pieces of a few characters, and each piece would go through plugins, journal and readers as
an event of its own. What one read of the socket brought of a call becomes one event; prose stays as it came.
"""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.events import CallDelta, Delta


def coalesce(deltas: Iterable[Delta]) -> list[Delta]:
    """Join neighbouring fragments of one call; those that name it, or stand for all of it, begin anew."""
    coalesced: list[Delta] = []
    last: CallDelta | None = None
    texts: list[str] = []
    for delta in deltas:
        if type(delta) is not CallDelta:
            _flush(last, texts)
            last = None
        elif last and delta.key == last.key and not (delta.final or delta.id or delta.name or delta.repaired):
            texts.append(delta.arguments)
            continue
        else:
            _flush(last, texts)
            last = None if delta.final else delta
        coalesced.append(delta)
    _flush(last, texts)
    return coalesced


def _flush(last: CallDelta | None, texts: list[str]) -> None:
    """Put the fragments that followed into the one they followed."""
    if last and texts:
        last.arguments += "".join(texts)
        texts.clear()
