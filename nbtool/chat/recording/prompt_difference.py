"""Where a prompt differs from the recorded one that it was before it was changed."""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.blocks.sanitize import escape_invisible
from nbtool.chat.recording.file import RecordedTurn

MIN_SHARE = 0.5
"""How much of two prompts has to be the same at their beginnings and ends for one to be the other one, changed."""

BEFORE, AFTER = 20, 40
"""Characters shown before the first difference, and from there on."""

SAME_TEXT = "an attachment or a masked value of the prompt differs"
"""The difference of prompts whose texts are the same as they are recorded."""


def find_changed(turns: Iterable[RecordedTurn], prompt: str) -> RecordedTurn | None:
    """Return the turn whose prompt is most like this one, which is given as it would be recorded; None if none is."""
    shares = [(_shared_part(turn.prompt, prompt), turn) for turn in turns]
    share, turn = max(shares, key=lambda found: found[0], default=(0.0, None))
    return turn if share >= MIN_SHARE else None


def describe_difference(recorded: str, now: str) -> str:
    """Return a phrase that shows the first place where two prompts differ, which are given as they are recorded."""
    if recorded == now:
        return SAME_TEXT
    place = _common_length(recorded, now)
    shown = f'recorded "{_excerpt(recorded, place)}", now "{_excerpt(now, place)}"'
    return f"the prompt differs at character {place + 1:,}: {shown}"


def _shared_part(text: str, other: str) -> float:
    """Return how much of two texts is the same at their beginnings and ends, from 0 to 1."""
    total = len(text) + len(other)
    start = _common_length(text, other)
    end = _common_length(text[start:][::-1], other[start:][::-1])
    return 2 * (start + end) / total if total else 1.0


def _common_length(text: str, other: str) -> int:
    """Return how many characters are the same at the beginnings of two texts, by halving what is left."""
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if text[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _excerpt(text: str, place: int) -> str:
    """Return what is around a place as one line, in which also spaces and invisible characters can be told apart."""
    start, end = max(place - BEFORE, 0), place + AFTER
    line = escape_invisible(text[start:end]).replace("\n", "\\n").replace("\t", "\\t")
    return f"{'…' if start else ''}{line}{'…' if end < len(text) else ''}"
