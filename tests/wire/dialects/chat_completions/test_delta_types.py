"""Deltas of servers that put a value of another type in the place of a text, or a field in another place."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from nbtool.messages import Media
from tests.wire.chatting import calls, chunk, read, whole

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (["$", 0.005, " [", 1, "]"], "$0.005 [1]"),
        (["1", 0, 0], "100"),
        ([0], "0"),
        (["is ", False], "is false"),
        ([["a", 1, {"type": "text", "text": "b"}]], "a1b"),
        ([{"type": "text", "text": "hi"}], "hi"),
        ([{"answer": 5}], '{"answer": 5}'),
        ([[], {}, None, "", "hi"], "hi"),
    ],
)
def test_a_token_that_is_a_number_is_in_the_text(contents: list[Any], expected: str) -> None:
    streamed = read(*(chunk({"content": one}) for one in contents), chunk(finish="stop"))

    assert streamed.text == expected
    if len(contents) == 1:
        assert whole({"content": contents[0]}).text == expected


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
@pytest.mark.parametrize("pieces", [["27*", 0, 5], [{"text": "27*"}, {"text": "05"}], [["27*"], [{"text": "05"}]]])
def test_reasoning_of_another_type_is_shown(field: str, pieces: list[Any]) -> None:
    reply = read(*(chunk({field: one}) for one in pieces), chunk({"content": "hi"}), chunk(finish="stop"))

    assert reply.thinking == "27*05"
    assert reply.text == "hi"


def test_a_picture_and_a_refusal_among_the_parts_of_a_content_are_not_lost() -> None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    parts = [{"type": "text", "text": "Here:"}, picture]
    with_picture = read(chunk({"content": parts}), chunk(finish="stop"))
    refused = read(chunk({"content": [{"type": "refusal", "refusal": "No."}]}), chunk(finish="stop"))

    assert with_picture.text == "Here:"
    assert [part.mime for part in with_picture.message.parts if isinstance(part, Media)] == ["image/png"]
    assert refused.refusal == "No."


@pytest.mark.parametrize("arguments", [{"city": "Oslo"}, '{"city": "Oslo"}'])
def test_a_call_with_its_name_beside_its_id_has_that_name(arguments: Any) -> None:
    flat = {"index": 0, "id": "a", "type": "function", "name": "weather", "arguments": arguments}
    reply = read(chunk({"tool_calls": [flat]}), chunk(finish="tool_calls"))

    assert calls(reply) == [("weather", '{"city": "Oslo"}')]
