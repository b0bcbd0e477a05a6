"""A reply that came over the wrong wire, or that is made elsewhere, says so: streamed and whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.errors import InvalidReply
from nbtool.wire import decode
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.registry import WIRES
from tests.chaos import DONE, event, finish, head, serve, text, whole
from tests.wire import anthropics, responding
from tests.wire.transport.test_http_endpoint import deltas_until, endpoint

STREAMS = {
    "chat": text("Hello") + finish() + DONE,
    "responses": responding.stream(
        {"type": "response.created", "response": {"status": "in_progress"}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hello"},
        responding.completed_event(responding.message_item("Hello")),
    ),
    "anthropic": anthropics.stream(
        {"type": "message_start", "message": {"id": "m", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hello"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ),
    "gemini": event({"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"}]}),
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "chat": {"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]},
    "responses": {"status": "completed", "output": [responding.message_item("Hello")]},
    "anthropic": {"type": "message", "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn"},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"}]},
}
TALKING = sorted(set(WIRES) - set(MEDIA_KINDS))


def test_every_dialect_is_tried_on_every_wire() -> None:
    assert set(STREAMS) == set(DOCUMENTS) == set(TALKING)


@pytest.mark.parametrize("wire", TALKING)
@pytest.mark.parametrize("arrived", STREAMS)
def test_a_stream_in_another_dialect_says_so(wire: str, arrived: str) -> None:
    if arrived == wire:
        assert decode(wire, STREAMS[arrived]).text == "Hello"
        return
    with pytest.raises(InvalidReply) as caught:
        decode(wire, STREAMS[arrived])

    assert "Check the address and the wire" in str(caught.value)
    assert f"`--set wire={arrived}`" in str(caught.value)


@pytest.mark.parametrize("wire", TALKING)
@pytest.mark.parametrize("arrived", DOCUMENTS)
def test_a_document_in_another_dialect_says_so(wire: str, arrived: str) -> None:
    body = json.dumps(DOCUMENTS[arrived]).encode()
    if arrived == wire:
        assert decode(wire, body, stream=False).text == "Hello"
        return
    with pytest.raises(InvalidReply, match="Check the address and the wire"):
        decode(wire, body, stream=False)


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_a_reply_that_is_made_in_the_background_is_not_supported_and_says_so(status: str) -> None:
    with serve(whole(200, {"id": "resp_1", "status": status, "output": [], "background": True})) as server:
        _, error = deltas_until(endpoint(server, wire=responding.WIRE), InvalidReply)

    assert "in the background" in str(error)
    assert status in str(error)
    assert "`background`" in str(error)


def test_a_stream_that_only_says_that_it_is_queued_is_reported_as_such() -> None:
    queued = responding.stream({"type": "response.queued", "response": {"status": "queued"}})
    with serve(head(), queued) as server:
        _, error = deltas_until(endpoint(server, wire=responding.WIRE), InvalidReply)

    assert "in the background" in str(error)


def test_a_stream_that_was_queued_first_is_read_as_any_other() -> None:
    queued = responding.stream({"type": "response.queued", "response": {"status": "queued"}})

    assert decode("responses", queued + STREAMS["responses"]).text == "Hello"
