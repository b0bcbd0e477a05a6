"""Which chats of the journal another process has open: a lock for each, which ends with the process that holds it."""

from __future__ import annotations

import atexit
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nbtool.chat.journal.database import call_in_children
from nbtool.chat.journal.storage import is_in_memory
from nbtool.errors import SettingsError
from nbtool.files import take_lock
from nbtool.ids import is_id
from nbtool.settings import data_dir

if TYPE_CHECKING:
    from filelock import BaseFileLock

_held: dict[str, BaseFileLock] = {}


def use_chat(chat_id: str) -> bool:
    """Note that this process has a chat open, until it ends; return False if another running process has it open.

    Where the file system has no locks, and where the history is in memory only, nothing is known of others.
    """
    if chat_id in _held or not is_id(chat_id) or is_in_memory():
        return True
    try:
        folder = data_dir() / "locks"
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = take_lock(folder / f"{chat_id}.lock")
    except (OSError, NotImplementedError, SettingsError):
        return True
    if lock:
        _held[chat_id] = lock
    return lock is not None


def leave_chats() -> None:
    """Release the locks of this process."""
    while _held:
        _, lock = _held.popitem()
        with suppress(OSError):  # Windows removes no open file
            Path(lock.lock_file).unlink(missing_ok=True)  # before others can take it
        lock.release()


atexit.register(leave_chats)
call_in_children(_held.clear)
