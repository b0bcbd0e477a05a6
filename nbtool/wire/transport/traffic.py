"""Count the requests and bytes sent by this process, per host; the content is not recorded."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from nbtool.threads.loop import reset_after_fork


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


@contextmanager
def counting(host: str, size: int) -> Iterator[None]:
    """Count a request that the block sends, but not if it could not connect: then nothing of it was sent.

    A connection that fails is one whose name does not resolve, that is refused, whose certificate is not accepted, or
    that a proxy does not open.
    """
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    record(host, size)
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol):
        _take_back(host, size)
        raise


def _take_back(host: str, size: int) -> None:
    with _lock:
        counted = _totals[host]
        if counted.requests == 1:
            del _totals[host]
        else:
            _totals[host] = replace(counted, requests=counted.requests - 1, size=counted.size - size)


def totals() -> dict[str, HostTraffic]:
    """Return the traffic so far by host, in the order of the first requests."""
    with _lock:
        return dict(_totals)
