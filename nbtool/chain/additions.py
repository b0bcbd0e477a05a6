"""What a person adds to a turn while it runs: each text joins before the next request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from nbtool.errors import BadUsage
from nbtool.events import Event, MessageAppended, ReplyFinished
from nbtool.messages import ADDITION, Message, Text, user
from nbtool.text import count_of

MAX_CHARS = 20_000
"""Maximum characters of one addition."""

MAX_WAITING = 20
"""Maximum additions that wait for the next request."""

NOT_SENT = "Not sent, because the turn ended before its next request: {text}"


@dataclass(slots=True)
class Additions:
    """The additions to one turn; `add` may be called from any thread.

    Args:
        refusal: why the turn takes none; empty if it does.
        earlier: those of a version that the turn continues, by how many replies it had when they joined.
        on_taken: called with each that joins.
    """

    refusal: str = ""
    earlier: Mapping[int, Sequence[str]] = field(default_factory=dict)
    on_taken: Callable[[str], object] = field(default=lambda _: None, repr=False)
    _waiting: list[str] = field(default_factory=list)
    _unsent: tuple[str, ...] = ()
    _is_closed: bool = False
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def unsent(self) -> tuple[str, ...]:
        """Those that the model did not get before the turn ended."""
        return self._unsent

    def add(self, text: str) -> None:
        """Add a text, which waits for the next request.

        Raises:
            BadUsage: it is empty or too long, too many wait, or the turn has ended or takes none.
        """
        if self.refusal:
            raise BadUsage(self.refusal, fix="Send it as the next prompt.")
        if not text.strip():
            raise BadUsage("The text is empty, so nothing was added.", fix="Write what the model should know.")
        if len(text) > MAX_CHARS:
            raise BadUsage(
                f"The text has {count_of(len(text), 'character')}, but at most {count_of(MAX_CHARS, 'character')} fit.",
                fix="Shorten it.",
            )
        with self._lock:
            if self._is_closed:
                raise BadUsage("The turn has ended, so nothing can be added to it.", fix="Send it as the next prompt.")
            if len(self._waiting) >= MAX_WAITING:
                raise BadUsage(
                    f"{MAX_WAITING} additions wait for the next request already.", fix="Wait until they are sent."
                )
            self._waiting.append(text)

    def take(self, replies: int) -> list[Message]:
        """Return the messages that join now, before the request that follows so many replies."""
        with self._lock:
            texts, self._waiting = [*self.earlier.get(replies, ()), *self._waiting], []
        for text in texts:
            self.on_taken(text)
        return [user(Text(text, phase=ADDITION)) for text in texts]

    def close_if_empty(self) -> bool:
        """Take no more from here on, if none waits; return whether that is so."""
        with self._lock:
            self._is_closed = self._is_closed or not self._waiting
            return not self._waiting

    def close(self) -> tuple[str, ...]:
        """Take no more; return those that were not sent."""
        with self._lock:
            self._is_closed = True
            self._unsent, self._waiting = (*self._unsent, *self._waiting), []
            return self._unsent


def additions_of(log: Sequence[Event]) -> dict[int, list[str]]:
    """Return what was added to a turn, by how many replies it had then."""
    replies, found = 0, dict[int, list[str]]()
    for event in log:
        if isinstance(event, ReplyFinished):
            replies += 1
        elif isinstance(event, MessageAppended) and event.message and event.message.added:
            found.setdefault(replies, []).extend(event.message.added)
    return found
