"""The prompts that maps of this process are sending now: no second map sends them too, and runs their calls twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from nbtool.chat.journal.database import call_in_children
from nbtool.errors import BadUsage

_running: set[tuple[str, str]] = set()
_lock = threading.Lock()


@dataclass(slots=True)
class PromptClaim:
    """The claim of one map to its prompts, until it ends."""

    _claimed: tuple[tuple[str, str], ...] = ()

    def take(self, chat_id: str, keys: Sequence[str]) -> None:
        """Claim prompts by the chat that they are journalled under and their keys.

        Raises:
            BadUsage: another map has the claim to one of them.
        """
        wanted = tuple((chat_id, key) for key in keys)
        with _lock:
            if count := sum(one in _running for one in wanted):
                raise BadUsage(
                    f"Another map of this process is sending {count:,} of these prompts now, so none was sent.",
                    fix="Wait for it (`batch.wait()`) or stop it (`batch.cancel()`), and map again; with "
                    "`resume=False` they are sent all the same.",
                )
            self._claimed = wanted
            _running.update(wanted)

    def release(self) -> None:
        """Give up the claim."""
        with _lock:
            for one in self._claimed:
                _running.discard(one)
            self._claimed = ()


call_in_children(_running.clear)
