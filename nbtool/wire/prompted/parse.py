"""A whole text of a model, read for the calls that are written in it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from nbtool.errors import BadUsage
from nbtool.messages import ToolCall, new_id
from nbtool.wire.prompted.call_json import WrittenCall
from nbtool.wire.prompted.scanner import Scanner
from nbtool.wire.prompted.segments import Calls, Held, Prose, joined
from nbtool.wire.prompted.undelimited import read_unmarked

_THINKING_ENDS = "</think>"


@dataclass(frozen=True, slots=True)
class ParsedText:
    """Prose and calls of a text; `text` is all that is no call, character for character."""

    text: str
    calls: tuple[ToolCall, ...] = ()


def parse_calls(text: str, names: Iterable[str] | None = None, *, complete: bool = True) -> ParsedText:
    """Cut free model text into prose and calls.

    `names` are the tools there are: a call of any other stays text. Without `names` every name is believed.
    `complete` says whether the reply reached its own end; calls of one that was cut short are not runnable, and
    the one that was cut is no call. A text with a call that cannot be read holds no call at all: half of what the
    model planned is not what it planned.

    Raises:
        nbtool.errors.BadUsage: `text` is no text, or `names` is one text in place of several.
    """
    if not isinstance(text, str):
        raise BadUsage(f"What a model wrote is a text; {type(text).__name__} came.", fix="Decode bytes first.")
    if isinstance(names, str):
        raise BadUsage(f"`names` lists the tools there are; {names!r} is one text.", fix=f"Write `[{names!r}]`.")
    known = None if names is None else frozenset(names)
    scanner = Scanner(names=known)
    found = joined(
        piece for piece in (*scanner.feed(text), *scanner.close(complete=complete)) if not isinstance(piece, Held)
    )
    if scanner.damaged:
        return ParsedText(text)
    pieces = _said(found) if scanner.saw_mark else _read_plain(text, known)
    return ParsedText(
        text="".join(piece.text for piece in pieces if isinstance(piece, Prose)),
        calls=tuple(
            _as_tool_call(call, complete) for piece in pieces if isinstance(piece, Calls) for call in piece.calls
        ),
    )


def _said(pieces: list[Prose | Calls]) -> list[Prose | Calls]:
    """Take back the calls before a `</think>`: some templates open the thinking, so that only its end is seen."""
    ends = [at for at, piece in enumerate(pieces) if isinstance(piece, Prose) and _THINKING_ENDS in piece.text]
    end = ends[-1] if ends else 0
    return [piece if isinstance(piece, Prose) else Prose(piece.source) for piece in pieces[:end]] + pieces[end:]


def _read_plain(text: str, names: frozenset[str] | None) -> list[Prose | Calls]:
    thought, end, said = text.rpartition(_THINKING_ENDS)
    return [Prose(thought + end), *(read_unmarked(said, names) or [Prose(said)])]


def _as_tool_call(call: WrittenCall, complete: bool) -> ToolCall:
    call_id = new_id("call")
    return ToolCall(
        name=call.name,
        arguments=json.dumps(call.args, ensure_ascii=False),
        id=call_id,
        call_id=call_id,
        args=call.args if complete else None,
        error=None if complete else "The reply was cut off before it was complete; its calls do not run.",
        runnable=complete,
        repaired=call.mended,
    )
