"""Close a connection on which a server sent more than its response: the rest would answer the next request.

httpcore keeps a connection if the response on it is complete. Bytes behind its end then wait in the buffer of h11, in
that of TLS or in that of the event loop, and are read as the response to whatever request comes next, which may be of
another chat with another key. What arrives later is still in the socket, and httpcore gives up an idle connection whose
socket is readable.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import httpx

_INNER = ("_stream", "_httpcore_stream", "_connection")
"""The attributes by which httpx and httpcore wrap the stream of a response, down to its connection."""

_MAX_LAYERS = 8
"""Layers of streams, or of TLS in TLS, that are followed."""


async def check_connection(response: httpx.Response) -> None:
    """Have the connection of a response closed with it if more than the response was received (a hook of httpx)."""
    stream = cast("httpx.AsyncByteStream", response.stream)  # an async client has no other
    response.stream = _CheckedStream(stream, response.extensions.get("network_stream"))


class _CheckedStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, network_stream: Any) -> None:
        self._inner = inner
        self._network_stream = network_stream

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._inner.__aiter__()

    async def aclose(self) -> None:
        if (connection := _find_connection(self._inner)) is None:
            await self._close_socket()  # of another kind: whether bytes are left is not known
        elif has_unread_bytes(connection):
            connection._h11_state.send_failed()  # with its cycle not completed, httpcore closes the connection
        await self._inner.aclose()

    async def _close_socket(self) -> None:
        if self._network_stream is not None:
            await self._network_stream.aclose()


def _find_connection(stream: Any) -> Any:
    """Return the HTTP/1.1 connection of a response; None if there is none to be found."""
    for _ in range(_MAX_LAYERS):
        if hasattr(stream, "_h11_state"):
            return stream
        stream = next((inner for name in _INNER if (inner := getattr(stream, name, None)) is not None), None)
    return None


def has_unread_bytes(connection: Any) -> bool:
    """Whether a connection received more than was read of it, or may have: its parts are not the known ones."""
    if connection._h11_state.trailing_data[0]:
        return True
    layer: Any = getattr(connection._network_stream, "_stream", None)
    for _ in range(_MAX_LAYERS):
        if hasattr(layer, "_protocol"):  # a socket of asyncio, which reads ahead of what is asked for
            return bool(layer._protocol.read_queue)
        if not hasattr(layer, "_read_bio") or layer._read_bio.pending or layer._ssl_object.pending():
            return True
        layer = layer.transport_stream
    return True
