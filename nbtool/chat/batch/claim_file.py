"""The prompts that maps of other processes are sending now: a file for each map, beside the journal that they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from nbtool.chat.journal.database import call_in_children
from nbtool.errors import BadUsage
from nbtool.files import locked, take_lock
from nbtool.ids import new_id

if TYPE_CHECKING:
    from filelock import BaseFileLock

HASH_BYTES = 16
"""Bytes of a prompt in a file."""

READ_BYTES = 1024 * HASH_BYTES
"""Bytes of a file that are read at a time."""

MUTEX_SECONDS = 3.0
"""Seconds to wait for another process that reads and writes these files, which takes it milliseconds."""

FIX = (
    "Wait until it has ended (`batch.wait()`, also after `batch.cancel()`), and map again; with `resume=False` they "
    "are sent all the same."
)

_own: set[Path] = set()


class ClaimFile:
    """The prompts of one map, in a file that counts as long as the lock beside it is held: until this process ends."""

    def __init__(self, path: Path, lock: BaseFileLock) -> None:
        self._path, self._lock = path, lock

    @classmethod
    def write(cls, folder: Path, prompts: Sequence[tuple[str, str]]) -> ClaimFile | None:
        """Write the prompts, each as its chat and its key, unless another map sends one of them.

        Returns:
            None where the file system has no locks.

        Raises:
            BadUsage: a map of another process sends some of them.
        """
        hashes = {sha256(repr(prompt).encode()).digest()[:HASH_BYTES] for prompt in prompts}
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            with locked(folder / "mutex", MUTEX_SECONDS):
                if count := sum(item in hashes for path in _of_others(folder) for item in _read_hashes(path)):
                    message = f"A map of another process is sending {count:,} of these prompts now, so none was sent."
                    raise BadUsage(message, fix=FIX)
                path = folder / f"{new_id('map')}.prompts"
                path.write_bytes(b"".join(hashes))  # without its lock it does not count, and is deleted
                if (lock := take_lock(_lock_path(path))) is None:  # what cannot be claimed is not sent
                    raise TimeoutError
                _own.add(path)
        except TimeoutError:
            raise BadUsage("A map of another process does not go on, so no prompt was sent.", fix=FIX) from None
        except (OSError, NotImplementedError):
            return None
        return cls(path, lock)

    def remove(self) -> None:
        """Remove the file: the prompts may be sent by other maps."""
        for path in (self._path, _lock_path(self._path)):
            with suppress(OSError):  # Windows does not delete an open file
                path.unlink(missing_ok=True)  # before it is unlocked: nobody can have taken it
        self._lock.release()
        _own.discard(self._path)


def _of_others(folder: Path) -> Iterator[Path]:
    """Yield the files of maps that other processes run; those of processes that are gone are deleted."""
    for path in folder.glob("*.prompts"):
        if path in _own:
            continue
        if (lock := take_lock(_lock_path(path))) is None:
            yield path
            continue
        try:
            path.unlink(missing_ok=True)
            _lock_path(path).unlink(missing_ok=True)
        finally:
            lock.release()


def _read_hashes(path: Path) -> Iterator[bytes]:
    with suppress(FileNotFoundError), path.open("rb") as file:  # its map has just ended
        while data := file.read(READ_BYTES):
            yield from (data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES))


def _lock_path(path: Path) -> Path:
    return path.with_suffix(".lock")


call_in_children(_own.clear)
