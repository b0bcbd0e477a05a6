"""The queues of a Dask cluster; also imported where Dask is not installed."""

from __future__ import annotations

from typing import Any


def count_queues(client: Any) -> int:
    return len(client.cluster.scheduler.extensions["queues"].queues)
