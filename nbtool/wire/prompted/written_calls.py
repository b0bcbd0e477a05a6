"""What looks like a call in a text in which calls are written otherwise, or not at all: reported, and never run."""

from __future__ import annotations

from collections.abc import Iterable

from nbtool.wire.prompted.reading import RunningForms
from nbtool.wire.prompted.segments import MalformedSegment
from nbtool.wire.prompted.text_scanner import TextScanner

LEFT_IN_TEXT = (
    "The reply holds a call of {name} as text: the server did not read it as one, so nothing ran. "
    '`--set tool_mode=prompted` (in Python `tool_mode="prompted"`) describes the tools in the prompt instead; or start '
    "the server with the parser for the calls of this model."
)
DESCRIBED_INSTEAD = (
    "The reply holds a call of {name} as text: the server did not read it as one, so nothing ran. The model is asked "
    "again, and tools are described in its prompt from now on; `--set tool_mode=native` keeps them out of it."
)
WRITE_AGAIN = (
    "The server left this call in the text of the reply, so it is no call and did not run. To call the tool, write the "
    "block that the system text describes."
)


def find_written_calls(text: str, names: Iterable[str]) -> list[MalformedSegment]:
    """Return what looks like a call of one of these tools in the text of a reply with native calls."""
    scanner = TextScanner(RunningForms(), names)
    pieces = [*scanner.feed(text), *scanner.close()]
    return [piece for piece in pieces if isinstance(piece, MalformedSegment) and piece.reason != "result"]
