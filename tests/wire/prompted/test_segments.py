"""Every recorded answer in pieces: the same deltas whatever the cut."""

from __future__ import annotations

import copy
import pickle
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.errors import NbtoolError
from nbtool.events import Delta
from nbtool.wire import Decoder, find_wire
from tests.wire.corpus import MISSING, Recording, of_kind, recordings
from tests.wire.cuts import MEDIUM, SMALL, Tell, cuts, read, states
from tests.wire.reading import close, feed

pytestmark = pytest.mark.skipif(not recordings(), reason=MISSING)


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("item", of_kind("stream", "json", up_to=MEDIUM))
def test_a_recorded_reply_is_the_same_byte_by_byte(item: Recording, record_property: Tell) -> None:
    record_property("injected", item.size)

    assert bytewise(item) == read(item, item.body)


SMALL_REPLIES: list[Recording] = [one.values[0] for one in of_kind("stream", "json", up_to=SMALL)]
replies = st.sampled_from(SMALL_REPLIES) if SMALL_REPLIES else st.nothing()
places = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=8)


@settings(max_examples=60)
@given(item=replies, shares=places)
def test_a_recorded_reply_is_the_same_in_any_pieces(item: Recording, shares: list[float]) -> None:
    cut_at = [0, *sorted(int(share * len(item.body)) for share in shares), len(item.body)]

    pieces = [item.body[begin:end] for begin, end in pairwise(cut_at)]

    assert read(item, *pieces) == read(item, item.body)


@settings(max_examples=60)
@given(item=replies, share=st.floats(0, 1, exclude_max=True))
def test_a_decoder_can_be_copied_anywhere_in_a_reply(item: Recording, share: float) -> None:
    cut = int(share * len(item.body))
    decoder = find_wire(item.wire).decoder(stream=item.is_stream)
    first = feed(decoder, item.body[:cut])

    twin = pickle.loads(pickle.dumps(copy.deepcopy(decoder)))
    with suppress(NbtoolError):  # it is cut
        close(decoder)

    assert [*first, *feed(twin, item.body[cut:]), *close(twin)] == read(item, item.body)


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("item", of_kind("stream", "json", beyond=MEDIUM))
def test_a_large_recorded_reply_is_the_same_byte_by_byte(item: Recording, record_property: Tell) -> None:
    record_property("injected", item.size)

    assert bytewise(item) == read(item, item.body)


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("item", of_kind("stream", up_to=SMALL))
def test_a_small_recorded_stream_is_the_same_in_two_pieces(item: Recording, record_property: Tell) -> None:
    assert cuts_that_matter(item, record_property, sample=True) == []


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("item", of_kind("stream"))
def test_a_recorded_stream_is_the_same_in_any_two_pieces(item: Recording, record_property: Tell) -> None:
    assert cuts_that_matter(item, record_property, sample=False) == []


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("item", of_kind("stream", up_to=SMALL))
def test_a_decoder_in_mid_stream_can_be_copied(item: Recording) -> None:
    half = len(item.body) // 2
    decoder = find_wire(item.wire).decoder()
    first = feed(decoder, item.body[:half])

    twin = copy.deepcopy(decoder)
    rest = [*feed(decoder, item.body[half:]), *close(decoder)]

    assert [*feed(twin, item.body[half:]), *close(twin)] == rest
    assert [*first, *rest] == read(item, item.body)


def bytewise(item: Recording) -> list[Delta]:
    body = item.body
    return read(item, *(body[at : at + 1] for at in range(len(body))))


def cuts_that_matter(item: Recording, tell: Tell, *, sample: bool) -> list[int]:
    """Where a cut changes anything: a line in two pieces must give the line's own deltas and leave the same state."""
    wrong, tried = [], 0
    for begin, end, before, after, deltas in states(item):
        written = pickle.dumps(after)
        for cut in cuts(item, begin, end, sample=sample):
            tried += 1
            decoder: Decoder = pickle.loads(before)
            pieces = [*feed(decoder, item.body[begin:cut]), *feed(decoder, item.body[cut:end])]
            alike = (
                pickle.dumps(decoder) == written  # most are, and nothing tells it sooner
                or is_same(decoder, after)
                or goes_on_alike(item.body[end:], decoder, after)
            )
            if pieces != deltas or not alike:
                wrong.append(cut)
    tell("injected", tried)
    return wrong


def goes_on_alike(rest: bytes, one: Decoder, other: Decoder) -> bool:
    """Whether two decoders give the same from here on, although their states are told apart by something inside."""
    other = copy.deepcopy(other)
    return [*feed(one, rest), *close(one)] == [*feed(other, rest), *close(other)]


def is_same(one: Any, other: Any) -> bool:
    """Whether two states are equal through and through."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    if hasattr(one, "__dict__"):
        return is_same(vars(one), vars(other))
    if slots := getattr(type(one), "__slots__", ()):
        return all(is_same(getattr(one, name, None), getattr(other, name, None)) for name in slots)
    return bool(one == other)
