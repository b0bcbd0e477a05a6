"""What left this process: requests and bytes, by host. It only counts; what was said stands in the history."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from nbtool.loop import reset_after_fork


@dataclass(frozen=True, slots=True)
class HostTraffic:
    """How much went to one host. `size` counts the bytes of the requests' bodies; their headers are not counted."""

    requests: int = 0
    size: int = 0


_lock = threading.Lock()
_totals: dict[str, HostTraffic] = {}


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


reset_after_fork(_renew_lock)


def record(host: str, size: int) -> None:
    """Count a request that is about to leave."""
    with _lock:
        previous = _totals.get(host, HostTraffic())
        _totals[host] = replace(previous, requests=previous.requests + 1, size=previous.size + size)


def totals() -> dict[str, HostTraffic]:
    """Give what has left so far, by host, in the order of their first requests."""
    with _lock:
        return dict(_totals)
