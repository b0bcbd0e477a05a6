"""Cut a text into prose, the calls that run, and what only looks like a call, which is reported.

What runs is up to the format that the model was asked for; everything else is text that the model may merely repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nbtool.wire.prompted.call_json import match_tools
from nbtool.wire.prompted.forms.marked_blocks import find_marked_blocks
from nbtool.wire.prompted.forms.table import find_bare_calls, find_other_forms
from nbtool.wire.prompted.markdown_place import MarkdownPlace
from nbtool.wire.prompted.model_formats import Delimiter
from nbtool.wire.prompted.own_fence import find_own_blocks
from nbtool.wire.prompted.segments import CallBlock, CallSegment, MalformedReason, MalformedSegment, Piece, TextSegment


@dataclass(frozen=True, slots=True)
class RunningForms:
    """The forms in which a call runs: behind the chat's own `word`, between `marks`, or `bare`, as the whole reply."""

    word: str = ""
    marks: tuple[Delimiter, ...] = ()
    bare: bool = False


class TextReader:
    """Cuts texts into pieces; `runs` are the forms in which a call runs, `names` the tools (None: any name)."""

    def __init__(self, runs: RunningForms, names: frozenset[str] | None) -> None:
        self._runs = runs
        self._names = names

    def read(
        self, text: str, place: MarkdownPlace | None = None, *, is_bare: bool = False, complete: bool = True
    ) -> list[Piece]:
        """Cut a text, the end of a reply or a complete block, into pieces.

        Args:
            text: The text.
            place: Where in the reply the text begins; it is moved behind the text.
            is_bare: Whether the reply is a call without marks, if it is one at all.
            complete: Whether the reply was not cut short.
        """
        if self._names is not None and not self._names:
            return [TextSegment(text)]
        pieces: list[Piece] = []
        position = 0
        is_after_result = False
        thinking_end = text.rfind("</think>")
        for block in (*self._find_blocks(text, place or MarkdownPlace(), is_bare, complete), None):
            others = list(self._read_others(text[position : block.start if block else len(text)]))
            pieces += others
            is_after_result |= any(isinstance(piece, MalformedSegment) and piece.reason == "result" for piece in others)
            if block:
                is_quoted = is_after_result or block.end <= thinking_end
                pieces.append(self._read_block(text[block.start : block.end], block, complete, is_quoted))
                position = block.end
        return pieces

    def _find_blocks(self, text: str, place: MarkdownPlace, is_bare: bool, complete: bool) -> Iterator[CallBlock]:
        """Find what is written in a form that runs."""
        if self._runs.word:
            yield from find_own_blocks(text, self._runs.word)
        elif is_bare and complete and (calls := find_bare_calls(text, self._names)):
            yield from calls
        else:
            blocks = find_marked_blocks(text, self._runs.marks, place, complete=complete)
            yield from (block for block in blocks if block.calls != ())

    def _read_others(self, text: str) -> Iterator[Piece]:
        position = 0
        for form in find_other_forms(text, self._names):
            yield TextSegment(text[position : form.start])
            yield MalformedSegment(text[form.start : form.end], form.reason, form.name)
            position = form.end
        yield TextSegment(text[position:])

    def _read_block(self, source: str, block: CallBlock, complete: bool, is_quoted: bool) -> Piece:
        """Return the calls of a block; the name of an unknown tool stays, for its result says which tools there are."""
        if block.is_unread:
            return MalformedSegment(source, "too_many")
        reason: MalformedReason = "after_result" if is_quoted else "unreadable" if complete else "cut"
        if block.calls is None or is_quoted or (block.is_cut and not complete):
            return MalformedSegment(source, reason)
        calls = [found for call in block.calls for found in (match_tools([call], self._names) or [call])]
        if self._runs.word and any(call.lacks_arguments for call in calls):
            return MalformedSegment(source, "unreadable")
        return CallSegment(tuple(calls), source)
