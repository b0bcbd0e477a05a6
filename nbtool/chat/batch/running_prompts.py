"""The prompts that maps are sending now: no second map sends them too, and runs their calls twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from nbtool.chat.journal.database import call_in_children
from nbtool.errors import BadUsage

if TYPE_CHECKING:
    from filelock import BaseFileLock

FOLDER = "running-maps"
"""Name of the folder of the lock files, beside the journal."""

FIX = (
    "Wait for it (`batch.wait()`) or stop it (`batch.cancel()`), and map again; with `resume=False` they are sent all "
    "the same."
)

_running: set[tuple[str, str]] = set()
_lock = threading.Lock()


class PromptClaim:
    """The claim of one map to its prompts, until it ends or its process does.

    In this process none of them is in two maps at once. Of maps in other processes that share the journal, those of the
    same list of prompts are known.
    """

    def __init__(self) -> None:
        self._claimed: tuple[tuple[str, str], ...] = ()
        self._file: BaseFileLock | None = None

    def take(self, chat_id: str, keys: Sequence[str], journal_path: Path | None) -> None:
        """Claim prompts by the chat that they are journalled under and their keys.

        Raises:
            BadUsage: another map has the claim to one of them.
        """
        wanted = tuple((chat_id, key) for key in keys)
        with _lock:
            if count := sum(one in _running for one in wanted):
                raise BadUsage(
                    f"Another map of this process is sending {count:,} of these prompts now, so none was sent.", fix=FIX
                )
            self._claimed = wanted
            _running.update(wanted)
        if journal_path and keys:
            try:
                self._file = _lock_file(journal_path.parent / FOLDER, wanted)
            except BadUsage:
                self.release()
                raise

    def release(self) -> None:
        """Release the prompts for other maps."""
        with _lock:
            _running.difference_update(self._claimed)
            self._claimed = ()
        if self._file:
            with suppress(OSError):  # Windows does not delete an open file
                Path(self._file.lock_file).unlink(missing_ok=True)  # before it is unlocked: nobody can have taken it
            self._file.release()
            self._file = None


def _lock_file(folder: Path, wanted: Sequence[tuple[str, str]]) -> BaseFileLock | None:
    """Return the lock of a list of prompts; None where the file system has no locks.

    Raises:
        BadUsage: another process has it.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - only where a map with tools runs

    name = sha256(repr(sorted(wanted)).encode()).hexdigest()[:32]
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = FileLock(folder / f"{name}.lock", timeout=0, mode=0o600, thread_local=False)
        lock.acquire()
    except Timeout:
        raise BadUsage("Another process is sending these prompts now, so none was sent.", fix=FIX) from None
    except (OSError, NotImplementedError):
        return None
    return lock


call_in_children(_running.clear)
