"""Cutting recorded answers: the deltas of pieces, and a decoder as it is before and after each line."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator

from nbtool.events import Delta
from nbtool.wire import Decoder, find_wire
from tests.wire.corpus import Recording

SMALL = 5_000
"""Bytes up to which a recording is cut at every byte in the ordinary run; the others are at night."""

MEDIUM = 20_000
"""Bytes up to which a recording is fed byte by byte in the ordinary run; a larger one gets so many cuts at night."""

Tell = Callable[[str, object], None]


def read(item: Recording, *pieces: bytes) -> list[Delta]:
    """The deltas of a body that comes in these pieces."""
    decoder = find_wire(item.wire).decoder(stream=item.is_stream)
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    return deltas + decoder.close()


def states(item: Recording) -> Iterator[tuple[int, int, bytes, Decoder, list[Delta]]]:
    """Give each line of a recording: where it begins and ends, the state before and the decoder after it, its deltas.

    A decoder's state is kept as a pickle: a copy of it costs less than reading the body again up to there.
    """
    decoder = find_wire(item.wire).decoder(stream=item.is_stream)
    begin = 0
    for line in item.body.splitlines(keepends=True):
        before = pickle.dumps(decoder)
        end = begin + len(line)
        deltas = decoder.feed(line)
        yield begin, end, before, decoder, deltas
        begin = end


def stride(item: Recording) -> int:
    """How far cuts are apart: one byte, and more only where they would take hours."""
    return 1 + item.size // MEDIUM
