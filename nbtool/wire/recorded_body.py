"""Decode a response body that was recorded, without a request."""

from __future__ import annotations

from nbtool.errors import BadUsage
from nbtool.events import Delta, ReplyEnd
from nbtool.wire.registry import find_wire
from nbtool.wire.reply import Reply, ReplyBuilder


def decode(wire: str, body: bytes, *, stream: bool = True) -> Reply:
    """Decode a recorded response body, streamed or not.

    A truncated body returns a reply that is not `complete` and has no runnable calls.

    Raises:
        nbtool.errors.BadUsage: `wire` is not one of `WIRES`, or `body` is not bytes.
        nbtool.errors.WireError: the body reports an error, is a truncated document, or is not of the dialect.
    """
    if not isinstance(body, bytes | bytearray | memoryview):
        raise BadUsage(f"body must be bytes, not {type(body).__name__}.", fix="Read the file in binary mode.")
    decoder = find_wire(wire).decoder(stream=stream)
    builder = ReplyBuilder(wire=wire)
    deltas: list[Delta] = []
    decoder.feed(bytes(body), deltas)
    decoder.close(deltas)
    if decoder.continuation:
        deltas.append(ReplyEnd("paused"))  # it goes on in the response to another request
    for delta in deltas:
        builder.add(delta)
    return builder.reply()
