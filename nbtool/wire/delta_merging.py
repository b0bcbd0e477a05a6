"""Merge the deltas of one text or one call that arrive together.

Text and arguments are streamed in pieces of a few characters, and each piece would pass through plugins, journal and
readers as a separate event. The pieces from one read of the socket, which nobody could tell apart in time, become one
event; what they say is not changed. Of a provider's own pace nothing is lost: its pieces arrive in reads of their own.
"""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.events import CallDelta, Delta, TextDelta, ThinkingDelta

MAX_MERGED_CHARS = 2_000
"""Characters after which a text starts a new delta, so that a reader stays as responsive as with small ones."""

_PROSE = (TextDelta, ThinkingDelta)


def coalesce(deltas: Iterable[Delta]) -> list[Delta]:
    """Join adjacent fragments of one text or one call.

    A text that is new, and a fragment of a call with an id or a name, or a final one, start a new delta.
    """
    coalesced: list[Delta] = []
    last: CallDelta | TextDelta | ThinkingDelta | None = None
    fragments: list[str] = []
    size = 0
    for delta in deltas:
        if isinstance(delta, _PROSE):
            if last and last.kind == delta.kind and size < MAX_MERGED_CHARS and not _is_start(delta):
                fragments.append(delta.text)
                size += len(delta.text)
                continue
            _append(last, fragments)
            last, size = delta, len(delta.text)
        elif not isinstance(delta, CallDelta):
            _append(last, fragments)
            last = None
        elif isinstance(last, CallDelta) and _continues(delta, last):
            fragments.append(delta.arguments)
            continue
        else:
            _append(last, fragments)
            last = None if delta.final else delta
        coalesced.append(delta)
    _append(last, fragments)
    return coalesced


def _is_start(delta: TextDelta | ThinkingDelta) -> bool:
    return delta.is_new or (isinstance(delta, TextDelta) and bool(delta.phase))


def _continues(delta: CallDelta, last: CallDelta) -> bool:
    return delta.key == last.key and not (delta.final or delta.id or delta.name or delta.repaired)


def _append(last: CallDelta | TextDelta | ThinkingDelta | None, fragments: list[str]) -> None:
    """Append the collected fragments to the delta before them."""
    if last is None or not fragments:
        return
    if isinstance(last, CallDelta):
        last.arguments += "".join(fragments)
    else:
        last.text += "".join(fragments)
    fragments.clear()
