"""A turn as it goes, in a plain terminal: the reply as it comes, one line for each call when it has its outcome.

Nothing is ever rewritten, so the output reads the same in a log. Model text arrives without control sequences.
"""

from __future__ import annotations

from typing import Protocol

from nbtool.blocks.labels import CUT, call_facts, call_line, end_line, footer_line, long_arguments
from nbtool.blocks.limits import marker
from nbtool.blocks.protocol import Block, Patch
from nbtool.blocks.question import effect_of, notice_of, remarks_of
from nbtool.blocks.sanitize import one_line
from nbtool.blocks.transcript import Transcript
from nbtool.events import CallAsked, CallFinished, Event, Retrying, TurnEnded

RESULT_LIMIT = 200
"""Characters of a result shown below its call."""

WHOLE = "the model saw it as turn.calls holds it, in `shown`"
"""Where the rest of a result is."""


class Output(Protocol):
    """What is written to: a text stream."""

    def write(self, text: str, /) -> object:
        """Write text."""

    def flush(self) -> object:
        """Bring it to the reader."""


class Terminal:
    """Writes a turn to `output`. Feed it every event of the turn, in order."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._transcript = Transcript()
        self._open = ""
        self._at_line_start = True

    def feed(self, event: Event) -> None:
        """Write what the next event adds."""
        for patch in self._transcript.feed(event):
            self._patch(patch)
        match event:
            case CallAsked():
                self._asked(event)
            case CallFinished():
                self._finished(event.call_id)
            case Retrying():
                self._line(f"({self._transcript.head['activity']})")
            case TurnEnded():
                self._ended()
            case _:
                pass
        self._output.flush()

    def _patch(self, patch: Patch) -> None:
        if patch["op"] == "open":
            self._opened(patch["block"])
        elif patch["op"] == "extend" and patch["id"] == self._open:
            self._write(patch["text"])
        elif patch["op"] == "update" and patch["set"].get("state") == "cut":
            self._line(f"[{CUT}]")

    def _opened(self, block: Block) -> None:
        self._open = ""
        match block["kind"]:
            case "text":
                self._paragraph()
                self._open = block["id"]
                self._write(block["text"])
            case "thinking":
                self._line("(thinking)")
            case "notice":
                self._line(one_line(block["text"], 2000))
            case "call":
                pass  # told of in one line when it has its outcome

    def _asked(self, event: CallAsked) -> None:
        what = "wants to run" if event.gate == "run" else "has a result that waits to be read"
        for line in remarks_of(event.again, event.notes).splitlines():
            self._line(line)
        self._line(f"◆ {one_line(event.tool, 80)} {what}:")
        notice, effect = notice_of(event.notice).splitlines(), effect_of(event.effect).splitlines()
        for line in [*notice, *long_arguments(event.shown).split("\n"), *effect]:
            self._line(f"    {line}")

    def _finished(self, call_id: str) -> None:
        block = self._transcript.block(call_id)
        if block["kind"] != "call":
            return
        facts = call_facts(block)
        self._line(call_line(block) + (f" · {facts}" if facts else ""))
        if told := _shortened(block["result"] or block["reason"], block["more"].get("result", 0)):
            self._line(f"    {told}")
        for line in block.get("traceback", "").splitlines():
            self._line(f"    {line}")

    def _ended(self) -> None:
        head = self._transcript.head
        for line in (end_line(head), footer_line(head)):
            if line:
                self._line(line)

    def _paragraph(self) -> None:
        self._write("" if self._at_line_start else "\n")

    def _line(self, text: str) -> None:
        self._paragraph()
        self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        if text:
            self._output.write(text)
            self._at_line_start = text.endswith("\n")


def _shortened(text: str, omitted: int) -> str:
    """Give the beginning of a result in one line; where that is not all, a mark says how much more there is."""
    line = one_line(text, RESULT_LIMIT)
    more = len(text) - RESULT_LIMIT + omitted
    return f"{line} [{marker(more)}: {WHOLE}]" if line.endswith("…") and more > 0 else line
