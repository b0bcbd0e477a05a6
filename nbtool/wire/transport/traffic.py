"""Count the requests and bytes sent by this process, per host; the content is not recorded."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from nbtool.loop import reset_after_fork


@dataclass(frozen=True, slots=True)
class HostTraffic:
    """The traffic to one host. `size` is the sum of the request bodies in bytes, without headers."""

    requests: int = 0
    size: int = 0


_lock = threading.Lock()
_totals: dict[str, HostTraffic] = {}


def _renew_lock() -> None:  # pragma: no cover - runs in a forked child
    global _lock
    _lock = threading.Lock()


reset_after_fork(_renew_lock)


def record(host: str, size: int) -> None:
    """Count a request that is about to be sent."""
    with _lock:
        previous = _totals.get(host, HostTraffic())
        _totals[host] = replace(previous, requests=previous.requests + 1, size=previous.size + size)


def totals() -> dict[str, HostTraffic]:
    """Return the traffic so far by host, in the order of the first requests."""
    with _lock:
        return dict(_totals)
