"""Merge the deltas of a call that arrive together.

Arguments are streamed in pieces of a few characters, and each piece would pass through plugins, journal and readers as
a separate event, although partial arguments are of no use to them. The fragments of a call from one read of the socket
become one event; text is not changed.
"""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.events import CallDelta, Delta


def coalesce(deltas: Iterable[Delta]) -> list[Delta]:
    """Join adjacent fragments of one call; a fragment with an id or a name, or a final one, starts a new delta."""
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
    """Append the collected fragments to the delta before them."""
    if last and texts:
        last.arguments += "".join(texts)
        texts.clear()
