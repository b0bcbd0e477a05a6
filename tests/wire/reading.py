"""Reading a reply piece by piece, as values: what a decoder appends for each piece."""

from __future__ import annotations

import pytest

from nbtool.errors import WireError
from nbtool.events import Delta
from nbtool.wire import Decoder


def feed(decoder: Decoder, data: bytes) -> list[Delta]:
    """Feed bytes, and return the deltas that they complete."""
    deltas: list[Delta] = []
    decoder.feed(data, deltas)
    return deltas


def close(decoder: Decoder) -> list[Delta]:
    """Signal the end of the bytes, and return the last deltas."""
    deltas: list[Delta] = []
    decoder.close(deltas)
    return deltas


def feed_with_error(decoder: Decoder, data: bytes) -> tuple[list[Delta], WireError]:
    """Feed bytes that report an error, and return what came before it, and the error."""
    deltas: list[Delta] = []
    with pytest.raises(WireError) as caught:
        decoder.feed(data, deltas)
    return deltas, caught.value
