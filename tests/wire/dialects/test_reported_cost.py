"""The cost that a provider reports with a reply, in every dialect."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.wire import decode
from tests.wire import anthropics, responding
from tests.wire.chatting import chunk, stream

REPORTS: dict[str, tuple[dict[str, Any], float | None]] = {
    "dollars": ({"cost": 0.000112}, 0.000112),
    "a table": ({"cost": {"request_cost": 0.005, "total_cost": 0.00507}}, 0.00507),
    "ticks": ({"cost_in_usd_ticks": 10531000}, 0.0010531),
    "dollars and ticks": ({"cost": 0.5, "cost_in_usd_ticks": 1}, 0.5),
    "nothing": ({}, None),
    "no amount": ({"cost": "0.1", "cost_in_usd_ticks": True}, None),
    "less than nothing": ({"cost": -1}, None),
}


def reply_of(wire: str, usage: dict[str, Any]) -> bytes:
    if wire == "chat":
        return stream(chunk({"content": "Hi"}, finish="stop"), {"choices": [], "usage": usage})
    if wire == "responses":
        said = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi"}], "status": "completed"}
        event = responding.completed_event(said)
        event["response"]["usage"] = usage
        return responding.stream(event)
    return anthropics.stream(
        {"type": "message_start", "message": {"id": "m", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}, {"type": "message_stop"},
    )  # fmt: skip


@pytest.mark.parametrize("how", REPORTS)
@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_a_reported_cost_is_that_of_the_usage(wire: str, how: str) -> None:
    report, expected = REPORTS[how]
    usage = decode(wire, reply_of(wire, {"input_tokens": 3, "output_tokens": 4, **report})).usage

    assert usage.cost == pytest.approx(expected)
    assert (usage.input_tokens, usage.output_tokens) == (3, 4)
