"""Every recorded answer, cut short: it is never completed by a cut."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool.errors import NbtoolError
from nbtool.events import ReplyEnd
from nbtool.wire import Decoder, find_wire
from tests.wire.corpus import MISSING, Recording, of_kind, recordings
from tests.wire.cuts import SMALL, Tell, cuts, states
from tests.wire.reading import close, feed

pytestmark = pytest.mark.skipif(not recordings(), reason=MISSING)


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("positive-end")
@pytest.mark.parametrize("item", of_kind("stream", "json", up_to=SMALL))
def test_a_small_recorded_reply_that_is_cut_short_is_not_completed(item: Recording, record_property: Tell) -> None:
    assert cuts_that_complete(item, record_property, sample=True) == []


SMALL_REPLIES: list[Recording] = [one.values[0] for one in of_kind("stream", "json", up_to=SMALL)]


@pytest.mark.promise("positive-end")
@settings(max_examples=80)
@given(item=st.sampled_from(SMALL_REPLIES) if SMALL_REPLIES else st.nothing(), share=st.floats(0, 1, exclude_max=True))
def test_a_reply_is_completed_by_its_terminal_signal_and_by_no_part_of_what_is_before(
    item: Recording, share: float
) -> None:
    body = item.body[: int(share * terminal_end(item))]

    assert not is_completed(find_wire(item.wire).decoder(stream=item.is_stream), body)


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("item", of_kind("stream", "json"))
def test_a_recorded_reply_that_is_cut_short_anywhere_is_never_completed(item: Recording, record_property: Tell) -> None:
    assert cuts_that_complete(item, record_property, sample=False) == []


def cuts_that_complete(item: Recording, tell: Tell, *, sample: bool) -> list[int]:
    """Where a cut before the terminal signal is whole leaves a reply that counts as complete."""
    wrong, last, tried = [], terminal_end(item), 0
    for begin, end, before, _, _ in states(item):
        for cut in cuts(item, begin, min(end + 1, last), sample=sample):
            tried += 1
            if is_completed(pickle.loads(before), item.body[begin:cut]):
                wrong.append(cut)
    tell("injected", tried)
    return wrong


def is_completed(decoder: Decoder, rest: bytes) -> bool:
    """Whether these last bytes end a reply; without its end no call of it can run (see `ReplyBuilder`)."""
    try:
        deltas = [*feed(decoder, rest), *close(decoder)]
    except NbtoolError:
        return False
    return any(isinstance(delta, ReplyEnd) for delta in deltas)


def terminal_end(item: Recording) -> int:
    """Where the recording's terminal signal is whole: the end of its line, or of its document."""
    body = item.body
    if not item.is_stream:
        return len(body.rstrip())
    at = 0
    for line in body.splitlines(keepends=True):
        content = line.rstrip()
        if content.startswith(b"data:") and IS_TERMINAL[item.wire](content[5:].strip()):
            return at + len(content)
        at += len(line)
    return len(body)


def ends_chat(data: bytes) -> bool:
    if data == b"[DONE]":
        return True
    choices = json.loads(data).get("choices") or []
    return any(choice.get("finish_reason") and choice.get("index", 0) == 0 for choice in choices)


def ends_responses(data: bytes) -> bool:
    if data == b"[DONE]":
        return False
    return json.loads(data).get("type") in ("response.completed", "response.incomplete", "response.failed")


def ends_anthropic(data: bytes) -> bool:
    return data != b"[DONE]" and json.loads(data).get("type") == "message_stop"


def ends_gemini(data: bytes) -> bool:
    return any(candidate.get("finishReason") for candidate in json.loads(data).get("candidates") or [])


IS_TERMINAL: dict[str, Callable[[bytes], bool]] = {
    "chat": ends_chat,
    "responses": ends_responses,
    "anthropic": ends_anthropic,
    "gemini": ends_gemini,
}
