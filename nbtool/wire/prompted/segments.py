"""What a model's text is cut into: prose and calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nbtool.wire.prompted.call_json import WrittenCall


@dataclass(frozen=True, slots=True)
class Prose:
    """Text that is no call, character for character."""

    text: str


@dataclass(frozen=True, slots=True)
class Calls:
    """One call or several that stood together; `source` is the text they were read from, marks included."""

    calls: tuple[WrittenCall, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Held:
    """A call is being written and held back; `size` characters of it are there."""

    size: int


def joined(pieces: Iterable[Prose | Calls]) -> list[Prose | Calls]:
    """Join neighbouring prose and drop what is empty."""
    together: list[Prose | Calls] = []
    run: list[str] = []
    for piece in pieces:
        if isinstance(piece, Prose):
            run.append(piece.text)
            continue
        _end_run(run, together)
        together.append(piece)
    _end_run(run, together)
    return together


def _end_run(run: list[str], together: list[Prose | Calls]) -> None:
    if text := "".join(run):
        together.append(Prose(text))
    run.clear()
