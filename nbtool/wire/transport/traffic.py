"""What left this process: requests and bytes, by host. It only counts; what was said stands in the history."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from nbtool.loop import forget_in_children


@dataclass(frozen=True, slots=True)
class Sent:
    """How much went to one host. `size` counts the bytes of the requests' bodies; their headers are not counted."""

    requests: int = 0
    size: int = 0


_lock = threading.Lock()
_sent: dict[str, Sent] = {}


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


forget_in_children(_renew_lock)


def note(host: str, size: int) -> None:
    """Count a request that is about to leave."""
    with _lock:
        before = _sent.get(host, Sent())
        _sent[host] = replace(before, requests=before.requests + 1, size=before.size + size)


def sent() -> dict[str, Sent]:
    """Give what has left so far, by host, in the order of their first requests."""
    with _lock:
        return dict(_sent)
