"""Cutting recorded answers: the deltas of pieces, and a decoder as it is before and after each line."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterator

from nbtool.events import Delta
from nbtool.wire import Decoder, find_wire
from tests.wire.corpus import Recording
from tests.wire.reading import close, feed

SMALL = 5_000
"""Bytes up to which a recording is cut in the ordinary run; all of them are cut at every byte at night."""

SAMPLE = 8
"""How far the cuts of the ordinary run are apart: there are a thousand recordings of four dialects."""

MEDIUM = 20_000
"""Bytes up to which a recording is fed byte by byte in the ordinary run; a larger one gets so many cuts at night."""

Tell = Callable[[str, object], None]


def read(item: Recording, *pieces: bytes) -> list[Delta]:
    """The deltas of a body that comes in these pieces."""
    decoder = find_wire(item.wire).decoder(stream=item.is_stream)
    deltas = [delta for piece in pieces for delta in feed(decoder, piece)]
    return deltas + close(decoder)


def states(item: Recording) -> Iterator[tuple[int, int, bytes, Decoder, list[Delta]]]:
    """Give each line of a recording: where it begins and ends, the state before and the decoder after it, its deltas.

    A decoder's state is kept as a pickle: a copy of it costs less than reading the body again up to there.
    """
    decoder = find_wire(item.wire).decoder(stream=item.is_stream)
    begin = 0
    for line in item.body.splitlines(keepends=True):
        before = pickle.dumps(decoder)
        end = begin + len(line)
        deltas = feed(decoder, line)
        yield begin, end, before, decoder, deltas
        begin = end


def cuts(item: Recording, begin: int, stop: int, *, sample: bool) -> list[int]:
    """Give the places to cut from the one after `begin` to the one before `stop`; a sample has both and some between.

    Which bytes are in a sample depends on the recording and on the line, so that all together try every place.
    """
    places = range(begin + 1, stop)
    if not sample:
        return list(places[:: 1 + item.size // MEDIUM])  # more than one byte apart only where it would take hours
    start = (zlib.crc32(item.id.encode()) + begin) % SAMPLE
    return sorted({*places[:1], *places[start::SAMPLE], *places[-1:]})
