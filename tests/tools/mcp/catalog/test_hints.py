"""What a server says of its tools by annotations: shown as its own words, and never consent."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.tools.mcp.catalog.tool_list import parse_tools


def hint(of_tool: str = "", **annotations: Any) -> str:
    tool = {"name": "say", "inputSchema": {"type": "object"}, "title": of_tool or None, "annotations": annotations}
    return parse_tools("lab", [tool])["say"].hint


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ({}, ""),
        ({"readOnlyHint": True}, "The server says: read-only."),
        ({"readOnlyHint": False, "destructiveHint": True}, "The server says: changes things, may destroy."),
        ({"destructiveHint": False, "idempotentHint": False}, "The server says: destroys nothing."),
        (
            {"idempotentHint": True, "openWorldHint": True},
            "The server says: calling again has no further effect, reaches beyond itself.",
        ),
        ({"openWorldHint": False, "title": "Say\nit"}, 'The server says: "Say it", stays within itself.'),
        ({"readOnlyHint": "yes", "destructiveHint": 1}, ""),
        ({"title": "x" * 100}, f'The server says: "{"x" * 64}'),
    ],
)
def test_annotations_are_shown_as_the_words_of_the_server(annotations: dict[str, Any], said: str) -> None:
    assert hint(**annotations).startswith(said)
    assert bool(hint(**annotations)) is bool(said)


def test_the_title_of_the_tool_comes_before_that_of_its_annotations() -> None:
    assert hint("Outer", title="Inner") == 'The server says: "Outer".'
