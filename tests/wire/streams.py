"""Streams of any values, and how they are read: what the tests of malformed replies share."""

from __future__ import annotations

import json
from typing import Any

from nbtool.events import Delta
from nbtool.wire import Reply, decode, find_wire
from tests.wire.reading import feed


def lines(*values: Any) -> bytes:
    return b"".join(
        b"data: %s\n\n" % (value if isinstance(value, bytes) else json.dumps(value).encode()) for value in values
    )


def deltas(dialect: str, *values: Any) -> list[Delta]:
    """Decode a stream and give its deltas; one that has ended is not closed."""
    decoder = find_wire(dialect).decoder()
    return [delta for value in values for delta in feed(decoder, lines(value))]


def chunk(delta: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


STOP = chunk({}, "stop")


def chat(*values: Any) -> Reply:
    return decode("chat", lines(*values, STOP))
