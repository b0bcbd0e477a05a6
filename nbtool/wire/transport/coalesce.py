"""Fragments of a call that came at once, joined: nobody acts upon a part of its arguments.

A model's arguments come in pieces of a few characters, and each piece would go through plugins, journal and readers as
an event of its own. What one read of the socket brought of a call becomes one event; prose stays as it came.
"""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.events import CallDelta, Delta


def together(deltas: Iterable[Delta]) -> list[Delta]:
    """Join neighbouring fragments of one call; those that name it, or stand for all of it, begin anew."""
    joined: list[Delta] = []
    last: CallDelta | None = None
    pieces: list[str] = []
    for delta in deltas:
        if type(delta) is not CallDelta:
            _ended(last, pieces)
            last = None
        elif last and delta.key == last.key and not (delta.final or delta.id or delta.name or delta.repaired):
            pieces.append(delta.arguments)
            continue
        else:
            _ended(last, pieces)
            last = None if delta.final else delta
        joined.append(delta)
    _ended(last, pieces)
    return joined


def _ended(last: CallDelta | None, pieces: list[str]) -> None:
    """Put the fragments that followed into the one they followed."""
    if last and pieces:
        last.arguments += "".join(pieces)
        pieces.clear()
