"""The recording that the environment names, for chats without one of their own, and what no recording holds.

`NBTOOL_RECORDING=tests/recordings/penguins.nbtool.json` is the same as `chat.record(…)` for every chat of a process,
wherever in a program it is made; with `NBTOOL_REPLAY=only` it is the same as `chat.replay(…)`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from nbtool.chat.recording.file import Recording
from nbtool.settings import env

FILE = "NBTOOL_RECORDING"
"""The variable that names the file."""

MODE = "NBTOOL_REPLAY"
"""The variable that sets the replay mode."""

MAX_OPEN = 8
"""Maximum number of files whose turns are kept in memory."""


@dataclass(frozen=True, slots=True)
class UnrecordedTurn:
    """A turn that cannot be replayed: its prompt, and why no recording has it."""

    prompt: str
    reason: str


_watching: list[list[UnrecordedTurn]] = []


def environment_recording() -> Recording | None:
    """Return the recording that the environment names; it is only read where the environment asks for replay only."""
    path = env(FILE)
    return _recording(os.path.abspath(os.path.expanduser(path)), env(MODE) != "only") if path else None  # noqa: PTH100, PTH111 - a path that does not exist yet


@contextmanager
def watch_unrecorded() -> Iterator[list[UnrecordedTurn]]:
    """Collect the turns of this process that were not replayed, in replay-only mode, or not recorded."""
    found: list[UnrecordedTurn] = []
    _watching.append(found)
    try:
        yield found
    finally:
        _watching[:] = [other for other in _watching if other is not found]


def report_unrecorded(prompt: str, reason: str) -> None:
    """Report a turn that is in no recording to those who watch."""
    for found in tuple(_watching):
        found.append(UnrecordedTurn(prompt, reason))


@lru_cache(maxsize=MAX_OPEN)
def _recording(path: str, writes: bool) -> Recording:
    return Recording(path, writes=writes)
