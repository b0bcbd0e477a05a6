"""What a server says of its tools by annotations: shown as its own words, and never consent."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.tools.mcp.catalog.tool_list import parse_tools


def hint(of_tool: str = "", **annotations: Any) -> str:
    tool = {"name": "say", "inputSchema": {"type": "object"}, "title": of_tool or None, "annotations": annotations}
    return parse_tools("lab", [tool])["say"].hint


ANNOTATIONS: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, ""),
    ({"readOnlyHint": True}, "read-only"),
    ({"readOnlyHint": False, "destructiveHint": True}, "changes things, may destroy"),
    ({"destructiveHint": False, "idempotentHint": False}, "destroys nothing"),
    ({"idempotentHint": True, "openWorldHint": True}, "again"),
    ({"openWorldHint": False, "title": "Say\nit"}, '"Say it", '),
    ({"readOnlyHint": "yes", "destructiveHint": 1}, ""),
    ({"title": "x" * 100}, f'"{"x" * 64}'),
)
"""What a server says, and what is shown of it."""


@pytest.mark.parametrize(("annotations", "shown"), ANNOTATIONS)
def test_annotations_are_shown_as_the_words_of_the_server(annotations: dict[str, Any], shown: str) -> None:
    assert shown in hint(**annotations)
    assert bool(hint(**annotations)) is bool(shown)


def test_the_title_of_the_tool_comes_before_that_of_its_annotations() -> None:
    assert '"Outer"' in hint("Outer", title="Inner")
    assert "Inner" not in hint("Outer", title="Inner")
