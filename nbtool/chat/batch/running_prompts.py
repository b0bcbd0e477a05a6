"""The prompts that maps are sending now: no second map sends them too, and runs their calls twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from nbtool.chat.batch.claim_file import FIX, ClaimFile
from nbtool.chat.journal.database import call_in_children
from nbtool.errors import BadUsage

FOLDER = "running-maps"
"""Name of the folder of the claims of each map, beside the journal."""

_running: set[tuple[str, str]] = set()
_lock = threading.Lock()


class PromptClaim:
    """The claim of one map to its prompts, until it ends or its process does.

    None of them is in two maps at once, in this process and in others that share the journal.
    """

    def __init__(self) -> None:
        self._claimed: tuple[tuple[str, str], ...] = ()
        self._file: ClaimFile | None = None

    def take(self, chat_id: str, keys: Sequence[str], journal_path: Path | None) -> None:
        """Claim prompts by the chat that they are journalled under and their keys.

        Raises:
            BadUsage: another map has the claim to one of them.
        """
        wanted = tuple((chat_id, key) for key in keys)
        with _lock:
            if count := sum(pair in _running for pair in wanted):
                raise BadUsage(
                    f"Another map of this process is sending {count:,} of these prompts now, so none was sent.", fix=FIX
                )
            self._claimed = wanted
            _running.update(wanted)
        if journal_path and keys:
            try:
                self._file = ClaimFile.write(journal_path.parent / FOLDER, wanted)
            except BadUsage:
                self.release()
                raise

    def release(self) -> None:
        """Release the prompts for other maps."""
        with _lock:
            _running.difference_update(self._claimed)
            self._claimed = ()
        if self._file:
            self._file.remove()
            self._file = None


call_in_children(_running.clear)
