"""Why a reply is not a finished answer, and the notice that says so."""

from __future__ import annotations

import pytest

from nbtool.chain.stop_reasons import IMMEDIATE_STOPS, end_reason_of, notice_of
from nbtool.events import EndReason, ReplyEnd
from nbtool.messages import Message, Part, Text, Thinking, ToolCall
from nbtool.wire.reply import Reply, StopReason
from tests.chain.running import run

TEXT, CALL, THINKING = Text("Half"), ToolCall("look", "{}"), Thinking("Hm.")


@pytest.mark.parametrize(
    ("parts", "stop_reason", "finish_reason", "explanation", "reason"),
    [
        ([TEXT], "refused", "refusal", "", "refused"),
        ([TEXT], "filtered", "content_filter", "", "filtered"),
        ([TEXT], "action", "x", "", "provider_action"),
        ([CALL], "calls", "tool_calls", "", "too_many_calls"),
        ([TEXT], "length", "length", "", "length"),
        ([TEXT], "error", "error", "", "broken_off"),
        ([TEXT], "unknown", "recitation", "", "broken_off"),
        ([TEXT], "unknown", "", "", ""),
        ([CALL], "tools", "tool_calls", "a computer", "provider_action"),
        ([CALL], "tools", "tool_calls", "", ""),
        ([TEXT], "end", "stop", "", ""),
        ([THINKING], "end", "stop", "", "thinking_only"),
        ([], "end", "stop", "", "empty"),
    ],
)
def test_the_reason_follows_from_how_the_reply_stopped(
    parts: list[Part], stop_reason: StopReason, finish_reason: str, explanation: str, reason: EndReason
) -> None:
    reply = Reply(Message("assistant", parts), stop_reason, finish_reason, explanation=explanation)

    assert end_reason_of(reply) == reason


@pytest.mark.parametrize(
    ("stop_reason", "reason"),
    [("refused", "refused"), ("filtered", "filtered"), ("action", "provider_action"), ("error", "broken_off")],
)
def test_a_reply_that_no_further_request_would_finish_is_reported_once(
    stop_reason: StopReason, reason: EndReason
) -> None:
    ran = run([["Half", ReplyEnd(stop_reason, "x")]])

    assert reason in IMMEDIATE_STOPS
    assert [(event.topic, event.level) for event in ran.of("notice")] == [(reason, "warning")]
    assert ran.of("turn_ended")[0].end_reason == reason


def test_a_notice_quotes_at_most_five_hundred_characters_of_the_provider() -> None:
    whole, cut = (notice_of("refused", "x" * length).text for length in (500, 600))

    assert whole == f"The model refused to answer: {'x' * 500}"
    assert cut == f"The model refused to answer: {'x' * 500}[… 100 characters more]"
