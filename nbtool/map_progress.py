"""How far a map of many prompts is, and what shows it here: an extension registers that when it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from nbtool.events import EndReason
    from nbtool.messages import Usage

MapState = Literal["running", "completed", "stopped"]

CUTTING_REASONS: tuple[EndReason, ...] = ("rounds", "calls", "length", "repetition")
"""Why an answer may be cut short, although its turn completed."""

CONTINUE_FIX = "map again to go on"
"""What a person can do about a map that was stopped."""


@dataclass(frozen=True, slots=True)
class MapProgress:
    """How far a map is; `total` is None where nobody knows how many prompts there are.

    `answered` and `failed` were sent now, `answered_before` had an answer, `unsent` were not sent or did not end,
    because the map was stopped; of `unknown` of them the outcome of a call is not known. `undecided` are those with an
    answer in whose turn a call was denied, or its result withheld, because nobody could be asked or the approver
    failed; `approver_error` is how it failed the first time, `acted` the number of those of which another call ran.
    `failures` are the messages of the first kinds of failures with their numbers (what differs within a kind, such as
    an id, is left out), `failure_rows` the labels of the first rows of each, `other_failures` the number of all further
    ones. `cut` are the numbers of answers that a limit cut short, by the reason. `max_tokens` and `max_usd` are the
    budget of the map, if it has one. `per_minute` is None while too little is known, `wait_seconds` are those until the
    provider is asked again, and `note` says of a running map how far its provider is. `reason` says why it was stopped,
    and is empty if a person did; `continue_fix` is what can be done then.
    """

    usage: Usage
    total: int | None = None
    answered: int = 0
    failed: int = 0
    answered_before: int = 0
    unsent: int = 0
    seconds: float = 0.0
    per_minute: float | None = None
    wait_seconds: float = 0.0
    failures: tuple[tuple[str, int], ...] = ()
    other_failures: int = 0
    state: MapState = "running"
    reason: str = ""
    undecided: int = 0
    approver_error: str = ""
    acted: int = 0
    cut: tuple[tuple[EndReason, int], ...] = ()
    max_tokens: int | None = None
    max_usd: float | None = None
    failure_rows: tuple[tuple[str, ...], ...] = ()
    unknown: int = 0
    continue_fix: str = CONTINUE_FIX
    note: str = ""

    @property
    def done(self) -> int:
        """How many prompts have an answer or have failed."""
        return self.answered + self.failed + self.answered_before

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the last answer, at the present rate; None where that is not known."""
        if self.total is None or not self.per_minute:
            return None
        return (self.total - self.done) * 60 / self.per_minute


class ProgressView(Protocol):
    """Shows the progress of one map."""

    def show(self, progress: MapProgress) -> None:
        """Show how far it is; on nbtool's loop, a few times a second."""

    def poll(self) -> None:
        """Process messages of the page; on the waiting thread, every tick."""

    def set_waiting(self, *, is_waiting: bool) -> None:
        """Note whether a cell waits for the map; on that cell's thread."""

    def end(self, progress: MapProgress) -> None:
        """Show what came of it, once; on any thread."""


MakeView = Callable[[MapProgress, Callable[[], object]], ProgressView | None]
"""Shows a map, on the thread that starts it, and can stop it by the function; None where no page would show it."""


@dataclass(slots=True)
class _Registry:
    make_view: MakeView | None = None


_registry = _Registry()


def set_progress_view(make_view: MakeView | None) -> None:
    """Set what shows the progress of the maps of this process; None removes it."""
    _registry.make_view = make_view


def get_progress_view() -> MakeView | None:
    """Return the registered function."""
    return _registry.make_view
