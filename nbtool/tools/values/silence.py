"""Silence for one thread: what it prints goes nowhere, what other threads print goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nbtool.loop import forget_in_children

_lock = threading.Lock()
_silent: dict[int, int] = {}


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


forget_in_children(_renew_lock)


class _Filter:
    """Stands before a stream and drops what silent threads write."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if threading.get_ident() in _silent:
            return len(text)
        return int(self._stream.write(text) or 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def quiet() -> Iterator[None]:
    """Swallow what this thread writes to stdout and stderr."""
    me = threading.get_ident()
    with _lock:
        _silent[me] = _silent.get(me, 0) + 1
        _set_up()
    try:
        yield
    finally:
        with _lock:
            _silent[me] -= 1
            if not _silent[me]:
                del _silent[me]
            if not _silent:
                _take_down()


def _set_up() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, _Filter) and stream is not None:
            setattr(sys, name, _Filter(stream))


def _take_down() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _Filter):
            setattr(sys, name, stream._stream)
