"""What a server answers is given once, by the text or by the structured content, whichever says more."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from mcp.types import CallToolResult, ImageContent, ResourceLink, TextContent

from nbtool.errors import ToolFailed
from nbtool.messages import Media
from nbtool.tools.mcp.catalog.resources import RemoteResource
from nbtool.tools.mcp.catalog.result_content import result_value

ROWS = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
WEATHER = {"temperature": 22.5, "conditions": "Partly cloudy", "humidity": 65}


def result(*texts: str, data: Any = None, image: bytes | None = None) -> CallToolResult:
    content: list[Any] = [TextContent(text=text) for text in texts]
    if image is not None:
        content.append(ImageContent(data=b64encode(image).decode(), mime_type="image/png"))
    return CallToolResult(content=content, structured_content=data)


@pytest.mark.parametrize(
    ("texts", "data", "value"),
    [
        (["hello\n"], {"content": "hello\n"}, "hello\n"),  # server-filesystem
        (["[FILE] a\n[DIR] b"], {"content": "[FILE] a\n[DIR] b"}, "[FILE] a\n[DIR] b"),
        (["3"], {"result": 3}, 3),
        (["hello"], {"result": "hello"}, "hello"),
        (["true"], {"result": True}, True),
        (["1", "2"], {"result": [1, 2]}, [1, 2]),
        ([json.dumps(ROWS[0]), json.dumps(ROWS[1], indent=1)], {"result": ROWS}, ROWS),
        ([json.dumps(WEATHER, indent=2)], WEATHER, WEATHER),
        (["Temperature 22.5, Partly cloudy"], WEATHER, WEATHER),
        (["It is 22.5 degrees, Partly cloudy, and humidity is 65 today."], WEATHER, None),
        (["Köln: 22.5"], {"city": "Köln", "temperature": 22.5}, {"city": "Köln", "temperature": 22.5}),
        (["Rain\nin Rome"], {"text": "in\nRome", "title": "Rain"}, {"text": "in\nRome", "title": "Rain"}),
        (["C:\\new\\a b"], {"path": "C:\\new\\a", "name": "b"}, {"path": "C:\\new\\a", "name": "b"}),
        (["None"], {"value": None}, "None"),
        (["Found 2 rows."], {"rows": ROWS}, ["Found 2 rows.", {"rows": ROWS}]),
        ([], {"rows": ROWS}, {"rows": ROWS}),
        (["done"], {}, "done"),
        ([""], {"rows": []}, {"rows": []}),
        (["one", "two"], None, "one\ntwo"),
        ([], None, None),
    ],
)
def test_what_says_more_is_given_once(texts: list[str], data: Any, value: Any) -> None:
    expected = "\n".join(texts) if value is None and texts else value

    assert result_value(result(*texts, data=data), "lab") == expected


def test_data_beside_an_image_is_kept_and_an_image_within_data_is_not_given_twice() -> None:
    picture = Media("image/png", b"PNG")
    copy = {"result": [{"type": "image", "data": b64encode(b"PNG").decode()}]}

    assert result_value(result(data={"rows": 3}, image=b"PNG"), "lab") == [picture, {"rows": 3}]
    assert result_value(result("3 rows", data={"rows": 3}, image=b"PNG"), "lab") == ["3 rows", picture, {"rows": 3}]
    assert result_value(result("a picture", data=copy, image=b"PNG"), "lab") == ["a picture", picture]
    assert result_value(result(image=b"PNG"), "lab") == picture


def test_a_link_is_an_object_beside_the_texts_and_the_data() -> None:
    link, found = ResourceLink(name="notes", uri="lab://notes"), RemoteResource("lab", "lab://notes", "notes")
    text = TextContent(text="3 rows")

    assert result_value(CallToolResult(content=[link]), "lab") == found
    assert result_value(CallToolResult(content=[text, link]), "lab") == ["3 rows", found]
    assert result_value(CallToolResult(content=[link], structured_content={"rows": 3}), "lab") == [{"rows": 3}, found]
    both = CallToolResult(content=[text, link], structured_content={"total": 4})
    assert result_value(both, "lab") == ["3 rows", {"total": 4}, found]


def test_an_error_says_its_links_as_text() -> None:
    link = ResourceLink(name="no\nline", uri="lab://log")

    with pytest.raises(ToolFailed, match=r"^\[no line: lab://log\]$"):
        result_value(CallToolResult(content=[link], is_error=True), "lab")
