"""Streams a turn to a plain terminal: the reply as it arrives, one line for each call when it is finished.

Nothing is overwritten, so the output is the same in a log. Model text is free of control sequences.
"""

from __future__ import annotations

from typing import Any, Protocol

from nbtool.blocks.argument_lines import long_arguments, omitted_arguments
from nbtool.blocks.display_limits import omitted_marker
from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.labels import (
    TRUNCATED,
    call_facts,
    call_line,
    footer_line,
    long_line,
    status_line,
    unread_reason,
    with_marker,
)
from nbtool.blocks.protocol import Block, Patch
from nbtool.blocks.question import effect_text, format_remarks, notice_text
from nbtool.blocks.render.omission import omission_line
from nbtool.blocks.sanitize import one_line
from nbtool.events import WHOLE_RESULT, CallAsked, CallFinished, Event, ReplyFinished, Retrying, TurnEnded
from nbtool.text import count_of

RESULT_LIMIT = 200
"""Characters of a result shown below its call."""


class Output(Protocol):
    """The output: a text stream."""

    def write(self, text: str, /) -> object:
        """Write text."""

    def flush(self) -> object:
        """Flush buffered text."""


class Terminal:
    """Writes a turn to `output`. Feed it every event of the turn, in order."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._transcript = Transcript()
        self._open = ""
        self._at_line_start = True
        self._is_cut = False
        self._thinking = ""

    def feed(self, event: Event) -> None:
        """Write what the next event adds."""
        for patch in self._transcript.feed(event):
            self._patch(patch)
        match event:
            case ReplyFinished():
                self._reply_finished()
            case CallAsked():
                self._ask(event)
            case CallFinished():
                self._call_finished(event.call_id)
            case Retrying():
                self._line(f"({self._transcript.head['activity']})")
            case TurnEnded():
                self._turn_ended()
            case _:
                pass
        self._output.flush()

    def update_head(self, **head: Any) -> None:
        """Set head fields that events do not have, before the end of the turn: its last line shows them."""
        self._transcript.update_head(**head)

    def _patch(self, patch: Patch) -> None:
        if patch["op"] == "open":
            self._block_opened(patch["block"])
        elif patch["op"] == "extend" and patch["id"] == self._open:
            self._write(patch["text"])
        elif patch["op"] == "update" and patch["set"].get("state") == "cut":
            self._line(f"[{TRUNCATED}]")

    def _block_opened(self, block: Block) -> None:
        self._reply_finished()
        match block["kind"]:
            case "text":
                self._paragraph()
                self._open = block["id"]
                self._write(block["text"])
            case "thinking":
                self._paragraph()
                self._write("(thinking")
                self._thinking = block["id"]
            case "notice":
                self._line(long_line(block["text"]))
            case "call":
                pass  # written as one line when it has its outcome

    def _reply_finished(self) -> None:
        """Write how much of the last text was omitted."""
        block = self._transcript.block(self._open) if self._open else None
        if block and block["kind"] == "text" and (mark := omitted_marker(block["more"].get("text", 0))):
            self._line(f"[{mark}]")
        self._open = ""

    def _ask(self, event: CallAsked) -> None:
        what = "wants to run" if event.gate == "run" else "has a result that needs approval"
        for line in format_remarks(event.again, event.notes).splitlines():
            self._line(line)
        self._line(f"◆ {one_line(event.display_name, 80)} {what}:")
        notice, effect = notice_text(event.notice).splitlines(), effect_text(event.effect).splitlines()
        for line in [*notice, *long_arguments(event.shown).split("\n"), *effect]:
            self._line(f"    {line}")

    def _call_finished(self, call_id: str) -> None:
        block = self._transcript.block(call_id)
        if block["kind"] != "call":
            return
        facts = call_facts(block)
        self._line(call_line(block) + (f" · {facts}" if facts else ""))
        text = block["result"].removesuffix(WHOLE_RESULT.format(name=block["reference"])) or block["reason"]
        result, mark = _truncate_line(text, block["more"].get("result", 0))
        if result:
            self._line(f"    {result}{f' [{mark}]' if mark else ''}")
        if block["result"] and (reason := unread_reason(block)):
            self._line(f"    {reason}")
        is_short = mark or omitted_arguments(block["arguments"]) or block["progress"]
        self._is_cut = self._is_cut or bool(is_short)
        trace = with_marker(block.get("traceback", ""), block["more"].get("traceback", 0))
        for line in trace.splitlines():
            self._line(f"    {line}")

    def _turn_ended(self) -> None:
        head = self._transcript.head
        rest = omission_line({**head, "cut": True}) if self._is_cut else omission_line(head)
        for line in (status_line(head), rest, footer_line(head)):
            if line:
                self._line(line)

    def _paragraph(self) -> None:
        if self._thinking:
            block, self._thinking = self._transcript.block(self._thinking), ""
            count = len(block["text"]) + block["more"].get("text", 0) if block["kind"] == "thinking" else 0
            self._is_cut = True
            self._write(f": {count_of(count, 'character')})")
        self._write("" if self._at_line_start else "\n")

    def _line(self, text: str) -> None:
        self._paragraph()
        self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        if text:
            self._output.write(text)
            self._at_line_start = text.endswith("\n")


def _truncate_line(text: str, omitted: int) -> tuple[str, str]:
    """Return the start of a result in one line, and a marker with the number of omitted characters."""
    line = one_line(text, RESULT_LIMIT)
    more = len(text) - RESULT_LIMIT + omitted
    return line, omitted_marker(more) if line.endswith("…") and more > 0 else ""
