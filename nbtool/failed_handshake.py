"""Close a connection whose TLS handshake is given up: httpcore leaves its socket open until it is garbage.

httpcore closes it for an error of the handshake, but not for a cancellation: a stopped turn, or a timeout of nbtool.
It reports each step of a request to the request's `trace`: https://www.encode.io/httpcore/extensions/#trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class TracedRequest(Protocol):
    """A request of httpx or httpx2."""

    extensions: Any


async def close_failed_handshake(request: TracedRequest) -> None:
    """Have the socket of a request closed if its handshake fails (a hook of httpx and httpx2)."""
    connected: list[Any] = []

    async def trace(step: str, info: Mapping[str, Any]) -> None:
        if step.endswith("connect_tcp.complete"):
            connected.append(info["return_value"])
        elif step.endswith("start_tls.failed") and connected:
            await connected[-1].aclose()

    request.extensions = {**request.extensions, "trace": trace}
