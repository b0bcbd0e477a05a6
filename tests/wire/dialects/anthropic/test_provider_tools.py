"""Anthropic Messages: malformed and unusual blocks of the tools that ran at the provider."""

from __future__ import annotations

from typing import Any

import pytest

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


OUTCOMES: dict[str, tuple[dict[str, Any], str]] = {
    "advice": ({"type": "advisor_result", "text": "Ship it."}, "Ship it."),
    "advice that only the provider reads": ({"type": "advisor_redacted_result", "encrypted_content": "sealed"}, ""),
    "a file": ({"type": "text_editor_code_execution_view_result", "content": "a,b\n1,2", "num_lines": 2}, "a,b\n1,2"),
    "an error": (
        {"type": "text_editor_code_execution_tool_result_error", "error_code": "unavailable", "error_message": "No."},
        "unavailable\nNo.",
    ),
}


@pytest.mark.parametrize("how", OUTCOMES)
def test_the_text_of_an_outcome_is_shown_whatever_tool_it_is_of(how: str) -> None:
    content, expected = OUTCOMES[how]
    reply = read({"type": "some_tool_result", "tool_use_id": "s1", "content": content})

    assert [part for part in reply.message.parts if isinstance(part, ProviderCall)] == [
        ProviderCall("tool", "", expected)
    ]


INPUTS: dict[str, tuple[dict[str, Any], str]] = {
    "a query": ({"query": "rain"}, "rain"),
    "code": ({"code": "print(1)", "timeout": 3}, "print(1)"),
    "a command with a file": ({"command": "view", "path": "/a"}, '{"command": "view", "path": "/a"}'),
    "other values": ({"n": 3}, '{"n": 3}'),
    "nothing": ({}, ""),
}


@pytest.mark.parametrize("how", INPUTS)
def test_all_of_the_input_of_a_tool_is_shown(how: str) -> None:
    values, expected = INPUTS[how]
    reply = read({"type": "server_tool_use", "id": "s1", "name": "some", "input": values})

    assert [part for part in reply.message.parts if isinstance(part, ProviderCall)] == [ProviderCall("some", expected)]


UNKNOWN: dict[str, tuple[dict[str, Any], list[ProviderCall]]] = {
    "a summary of earlier messages": (
        {"type": "compaction", "content": "They spoke of rain."},
        [ProviderCall("compaction", output="They spoke of rain.")],
    ),
    "a file": ({"type": "container_upload", "file_id": "f1"}, [ProviderCall("container_upload", output="f1")]),
    "thinking that is sealed": ({"type": "redacted_thinking", "data": "sealed"}, []),
    "a block without contents": ({"type": "new_block"}, []),
}


@pytest.mark.parametrize("how", UNKNOWN)
def test_a_block_of_unknown_kind_is_shown_with_its_contents(how: str) -> None:
    block, expected = UNKNOWN[how]

    assert [part for part in read(block).message.parts if isinstance(part, ProviderCall)] == expected


def test_a_summary_that_comes_in_fragments_is_shown_whole() -> None:
    pieces = [{"type": "compaction_delta", "content": text} for text in ("They spoke ", "of rain.")]
    reply = decode(
        "anthropic",
        stream(
            {"type": "message_start", "message": {"id": "m", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": None}},
            *({"type": "content_block_delta", "index": 0, "delta": piece} for piece in pieces),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ),
    )

    assert ProviderCall("compaction", output="They spoke of rain.") in reply.message.parts
