"""Suppress the output of one thread without affecting other threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nbtool.threads.loop import reset_after_fork

_lock = threading.Lock()
_silent_threads: dict[int, int] = {}


def _renew_lock() -> None:  # pragma: no cover - runs in a forked child
    global _lock
    _lock = threading.Lock()


reset_after_fork(_renew_lock)


class _ThreadFilter:
    """Wraps a stream and drops the output of silent threads."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if threading.get_ident() in _silent_threads:
            return len(text)
        return int(self._stream.write(text) or 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def suppress_output() -> Iterator[None]:
    """Suppress what this thread writes to stdout and stderr."""
    thread_id = threading.get_ident()
    with _lock:
        _silent_threads[thread_id] = _silent_threads.get(thread_id, 0) + 1
        _install()
    try:
        yield
    finally:
        with _lock:
            _silent_threads[thread_id] -= 1
            if not _silent_threads[thread_id]:
                del _silent_threads[thread_id]
            if not _silent_threads:
                _uninstall()


def _install() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, _ThreadFilter) and stream is not None:
            setattr(sys, name, _ThreadFilter(stream))


def _uninstall() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _ThreadFilter):
            setattr(sys, name, stream._stream)
