"""Every recorded answer of every dialect: decoded right, whatever the cut, and never completed by a cut."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nbtool.errors import (
    AuthFailed,
    ContextTooLong,
    ModelNotFound,
    NbtoolError,
    Overloaded,
    ProviderError,
    RateLimited,
    ToolsRefused,
)
from nbtool.events import Delta, ReplyEnd
from nbtool.wire import Decoder, Reply, decode, find_wire
from nbtool.wire.reply import CUT_SHORT
from nbtool.wire.status import error_from_response
from tests.wire.corpus import MISSING, Recording, recordings

DIALECTS = ("chat", "responses", "anthropic")
SMALL = 5_000
"""Bytes up to which a recording is cut at every byte in the ordinary run; the others are at night."""
MEDIUM = 20_000
"""Bytes up to which a recording is fed byte by byte in the ordinary run; a larger one gets so many cuts at night."""

NO_REPLY_YET = {
    "queued": "a background job that was only accepted: nothing in it is a reply, and it is not completed",
}

pytestmark = pytest.mark.skipif(not recordings(), reason=MISSING)

Tell = Callable[[str, object], None]


def of_kind(*kinds: str, up_to: int | None = None, beyond: int | None = None) -> list[Any]:
    chosen = [item for item in recordings() if item.wire in DIALECTS and item.kind in kinds]
    return [
        pytest.param(item, id=item.id)
        for item in chosen
        if (up_to is None or item.size <= up_to) and (beyond is None or item.size > beyond)
    ]


# --- what a correct client makes of it ------------------------------------------------------------------------


@pytest.mark.parametrize("item", of_kind("stream", "json"))
def test_a_recorded_reply_is_read_as_it_was_meant(item: Recording) -> None:
    expected = item.expected

    reply = decode(item.wire, item.body, stream=item.is_stream)

    assert said(reply) == said_by(expected)
    assert [(call.name, call.arguments) for call in reply.calls] == [(name, raw) for name, raw, _ in calls_of(expected)]
    assert ids_differ(reply, expected) == []
    assert reply.complete is (expected["finish_reason"] not in NO_REPLY_YET)
    assert reply.finish_reason == ((expected["finish_reason"] or "") if reply.complete else "")


@pytest.mark.promise("positive-end")
@pytest.mark.parametrize("item", of_kind("stream", "json"))
def test_a_recorded_call_may_run_only_where_it_is_complete(item: Recording) -> None:
    """Stricter than the recordings' note in two ways.

    A call that was whole before its reply hit the token limit does not run either, for the model was not done;
    and a free-form (`custom`) call is no JSON object, so there is nothing that could be run with it.
    """
    expected = calls_of(item.expected)

    reply = decode(item.wire, item.body, stream=item.is_stream)
    runnable = [call.runnable for call in reply.calls]

    if reply.stop_reason in CUT_SHORT:
        assert not any(runnable)
    else:
        assert runnable == [complete for _, _, complete in expected]


@pytest.mark.parametrize("item", of_kind("stream", "json"))
def test_a_recorded_usage_is_counted(item: Recording) -> None:
    usage = item.expected["usage"]

    counted = decode(item.wire, item.body, stream=item.is_stream).usage

    if usage is None:
        assert counted.total_tokens == 0
        return
    cached, written = usage["cached_input"] or 0, usage.get("cache_write") or 0
    beside = cached + written if item.wire == "anthropic" else 0  # Anthropic counts what was cached beside the input
    assert counted.input_tokens == (usage["input"] or 0) + beside
    assert counted.output_tokens == (usage["output"] or 0)
    assert counted.cached_tokens == cached
    assert usage["reasoning"] in (None, counted.thinking_tokens)


@pytest.mark.parametrize("item", of_kind("stream_error", "json_error"))
def test_a_recorded_error_inside_a_reply_is_an_error(item: Recording) -> None:
    with pytest.raises(NbtoolError) as caught:
        decode(item.wire, item.body, stream=item.is_stream)

    expected = item.expected["error"]
    if isinstance(caught.value, ProviderError):
        assert caught.value.code == expected["code"]
        assert expected["message"][:40] in caught.value.message


# --- cuts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("item", of_kind("stream", "json", up_to=MEDIUM))
def test_a_recorded_reply_is_the_same_byte_by_byte(item: Recording, record_property: Tell) -> None:
    record_property("injected", item.size)

    assert bytewise(item) == read(item, item.body)


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("item", of_kind("stream", "json", beyond=MEDIUM))
def test_a_large_recorded_reply_is_the_same_byte_by_byte(item: Recording, record_property: Tell) -> None:
    record_property("injected", item.size)

    assert bytewise(item) == read(item, item.body)


@pytest.mark.parametrize("item", of_kind("stream", up_to=SMALL))
def test_a_small_recorded_stream_is_the_same_in_any_two_pieces(item: Recording, record_property: Tell) -> None:
    assert cuts_that_matter(item, record_property) == []


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("item", of_kind("stream", beyond=SMALL))
def test_a_recorded_stream_is_the_same_in_any_two_pieces(item: Recording, record_property: Tell) -> None:
    assert cuts_that_matter(item, record_property) == []


@pytest.mark.promise("positive-end")
@pytest.mark.parametrize("item", of_kind("stream", "json", up_to=SMALL))
def test_a_small_recorded_reply_that_is_cut_short_anywhere_is_not_completed(
    item: Recording, record_property: Tell
) -> None:
    assert cuts_that_complete(item, record_property) == []


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("item", of_kind("stream", "json", beyond=SMALL))
def test_a_recorded_reply_that_is_cut_short_anywhere_is_never_completed(item: Recording, record_property: Tell) -> None:
    assert cuts_that_complete(item, record_property) == []


@pytest.mark.parametrize("item", of_kind("stream", up_to=SMALL))
def test_a_decoder_in_mid_stream_can_be_copied(item: Recording) -> None:
    half = len(item.body) // 2
    decoder = find_wire(item.wire).decoder()
    first = decoder.feed(item.body[:half])

    twin = copy.deepcopy(decoder)
    rest = [*decoder.feed(item.body[half:]), *decoder.close()]

    assert [*twin.feed(item.body[half:]), *twin.close()] == rest
    assert [*first, *rest] == read(item, item.body)


# --- HTTP errors ----------------------------------------------------------------------------------------------


@pytest.mark.promise("typed-errors")
@pytest.mark.parametrize("item", of_kind("http_error"))
def test_a_recorded_refusal_becomes_the_right_error(item: Recording) -> None:
    expected = item.expected["error"]
    status = item.row["status"] or 400

    error = error_from_response(status, item.row["headers"], item.body, who="them")

    assert type(error) is meant(status, expected)
    # the notes say None where a code stands beside `error` (xAI); we keep it
    assert expected["code"] is None or error.code == str(expected["code"])
    assert (error.type or "") == (expected["type"] or "")
    assert "\n" not in str(error)


def meant(status: int, expected: dict[str, Any]) -> type[ProviderError]:
    """Which error a refusal is, judged by its recorded status, code and message alone."""
    words = f"{expected['code']} {expected['type']} {expected['message']}".lower()
    signs: list[tuple[type[ProviderError], tuple[str, ...]]] = [
        (ToolsRefused, ("tools param requires",)),
        (ContextTooLong, ("context length", "context size", "too long", "tokens allowed")),
        (ModelNotFound, ("model_not_found", "not_found_error", "not a valid model", "invalid model", "model names are",
                         "deploymentnotfound")),
        (RateLimited, ("quota",)),
    ]  # fmt: skip
    for kind, texts in signs:
        if any(text in words for text in texts):
            return kind
    if status in (401, 403) or "incorrect api key" in words:
        return AuthFailed
    if status >= 500:
        return Overloaded
    return RateLimited if status == 429 else ProviderError


# --- words of these tests -------------------------------------------------------------------------------------


def read(item: Recording, *pieces: bytes) -> list[Delta]:
    """The deltas of a body that comes in these pieces."""
    decoder = find_wire(item.wire).decoder(stream=item.is_stream)
    deltas = [delta for piece in pieces for delta in decoder.feed(piece)]
    return deltas + decoder.close()


def bytewise(item: Recording) -> list[Delta]:
    body = item.body
    return read(item, *(body[at : at + 1] for at in range(len(body))))


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


def cuts_that_matter(item: Recording, tell: Tell) -> list[int]:
    """Where a cut changes anything: a line in two pieces must give the line's own deltas and leave the same state."""
    wrong, tried = [], 0
    for begin, end, before, after, deltas in states(item):
        for cut in range(begin + 1, end, stride(item)):
            tried += 1
            decoder: Decoder = pickle.loads(before)
            pieces = [*decoder.feed(item.body[begin:cut]), *decoder.feed(item.body[cut:end])]
            if pieces != deltas or not (is_same(decoder, after) or goes_on_alike(item.body[end:], decoder, after)):
                wrong.append(cut)
    tell("injected", tried)
    return wrong


def goes_on_alike(rest: bytes, one: Decoder, other: Decoder) -> bool:
    """Whether two decoders give the same from here on, although their states are told apart by something inside."""
    other = copy.deepcopy(other)
    return [*one.feed(rest), *one.close()] == [*other.feed(rest), *other.close()]


def cuts_that_complete(item: Recording, tell: Tell) -> list[int]:
    """Where a cut before the terminal signal is whole leaves a reply that counts as complete."""
    wrong, last, tried = [], terminal_end(item), 0
    for begin, end, before, _, _ in states(item):
        for cut in range(begin + 1, min(end + 1, last), stride(item)):
            tried += 1
            if is_completed(pickle.loads(before), item.body[begin:cut]):
                wrong.append(cut)
    tell("injected", tried)
    return wrong


def is_completed(decoder: Decoder, rest: bytes) -> bool:
    """Whether these last bytes end a reply; without its end no call of it can run (see `ReplyBuilder`)."""
    try:
        deltas = [*decoder.feed(rest), *decoder.close()]
    except NbtoolError:
        return False
    return any(isinstance(delta, ReplyEnd) for delta in deltas)


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


def said(reply: Reply) -> dict[str, str]:
    return {"text": reply.text, "thinking": reply.thinking, "refusal": reply.refusal}


def said_by(expected: dict[str, Any]) -> dict[str, str]:
    return {
        "text": expected["text"] or "",
        "thinking": expected["reasoning"] or "",
        "refusal": expected.get("refusal") or "",
    }


def calls_of(expected: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Name, raw arguments and completeness of each call; the one of 2023's `function_call` is a call too."""
    calls = [
        (call["name"], call.get("arguments_raw", call.get("input")), call["complete"] and not call.get("custom"))
        for call in expected["tool_calls"]
    ]
    legacy = expected.get("function_call")
    return [*calls, (legacy["name"], legacy["arguments_raw"], True)] if legacy and legacy["name"] else calls


def ids_differ(reply: Reply, expected: dict[str, Any]) -> list[tuple[str, str]]:
    """The ids that are not those of the server; where it gave none, or one twice, we make our own."""
    pairs = zip(reply.calls, expected["tool_calls"], strict=False)
    return [(call.id, meant["id"]) for call, meant in pairs if meant["id"] and call.id != meant["id"]]


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


IS_TERMINAL: dict[str, Callable[[bytes], bool]] = {
    "chat": ends_chat,
    "responses": ends_responses,
    "anthropic": ends_anthropic,
}
