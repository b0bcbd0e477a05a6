"""A cell that is run again while its turn runs: a question that nobody can see any more stops the turn.

A front end clears the output of a cell as soon as it is run again, and a question with it, although the cell only waits
in the kernel's queue until its former run has ended.
"""

from __future__ import annotations

from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.events import CallFinished, Event
from nbtool.threads.loop import background_loop

STOPPED_NOTE = (
    "This cell was run again while {calls} waited for your decision: that turn was stopped, and is kept as an earlier"
    " version of this one."
)

MAX_NOTES = 64
"""How many cells are remembered whose turn was stopped; beyond that, the oldest is forgotten."""

_notes: dict[str, str] = {}
"""What the next run of a cell says about its former one, by the id of the cell."""


class CellRerun:
    """Stops the turn of a cell that is run again, once it only waits for a person; a call that runs is not stopped."""

    def __init__(self, turn: Turn, chat: Chat) -> None:
        self._turn, self._chat = turn, chat
        self._is_requested = False
        self._digests: set[str] = set()
        self.has_stopped = False

    def request(self) -> None:
        """Record that the front end runs the cell again; on any thread."""
        if not self._is_requested:
            self._is_requested = True
            background_loop().call_soon(self._check)

    def on_question(self, digest: str) -> None:
        """Record a question that waits for the person; on the loop."""
        self._digests.add(digest)
        self._check()

    def feed(self, event: Event) -> None:
        """Follow the turn: when a call has ended, it may only wait; on the loop."""
        if isinstance(event, CallFinished):
            self._check()

    def _check(self) -> None:
        state = self._turn.state
        is_asked = not self._digests.isdisjoint(state.questions)
        if not self._is_requested or self.has_stopped or not (is_asked and state.is_waiting):
            return
        self.has_stopped = True
        _notes.pop(self._turn.cell_id, None)
        _notes[self._turn.cell_id] = STOPPED_NOTE.format(calls=_waiting_calls(self._turn, self._chat))
        while len(_notes) > MAX_NOTES:
            del _notes[next(iter(_notes))]
        self._turn.cancel()


def former_run_note(cell_id: str) -> str:
    """Return what became of the question of a cell's former run, once; empty if it had none."""
    return _notes.pop(cell_id, "")


def _waiting_calls(turn: Turn, chat: Chat) -> str:
    """Name the calls of a turn that wait for a decision."""
    digests = turn.state.questions
    names = [question.display_name for question in chat.approvals.pending() if question.digest in digests]
    return ", ".join(f"`{one_line(name, 60)}`" for name in names)
