"""Anthropic Messages: malformed blocks of the tools that ran at the provider."""

from __future__ import annotations

from typing import Any

from nbtool.messages import Citation, Link, ProviderCall
from nbtool.wire import Reply, decode
from tests.wire.anthropics import stream


def read(block: dict[str, Any]) -> Reply:
    return decode(
        "anthropic",
        stream(
            {"type": "message_start", "message": {"id": "m", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ),
    )


def test_a_citation_that_is_no_object_is_passed_over() -> None:
    reply = read({"type": "text", "text": "So", "citations": ["https://a.example", {"url": "https://b.example"}]})

    assert list(reply.message.citations) == [Citation(Link("https://b.example"))]


def test_an_outcome_whose_call_did_not_come_is_shown_without_an_input() -> None:
    result = {"type": "code_execution_result", "stdout": "42", "stderr": "", "return_code": 0}
    reply = read({"type": "code_execution_tool_result", "tool_use_id": "s1", "content": result})

    assert [part for part in reply.message.parts if isinstance(part, ProviderCall)] == [ProviderCall("tool", "", "42")]
