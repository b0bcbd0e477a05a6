"""Chat Completions: sources of a reply, and tools that the provider ran."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat
from nbtool.messages import Citation, Link, ProviderCall
from nbtool.wire import Reply
from tests.chaos import head, serve
from tests.chat.again import notices
from tests.wire.chatting import chunk, read, stream, whole

URL, TITLE = "https://news.example/a", "News"
OTHER = "https://news.example/b"
TEXT = "It rains. It is cold."
ANNOTATION = {"type": "url_citation", "url_citation": {"url": URL, "title": TITLE, "start_index": 0, "end_index": 9}}

SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any], list[Citation]]] = {
    "annotations": ({"annotations": [ANNOTATION]}, {}, [Citation(Link(URL, TITLE), "It rains.")]),
    "annotations of no passage": (
        {"annotations": [{"type": "url_citation", "url_citation": {"url": URL, "start_index": 5, "end_index": 99}}]},
        {}, [Citation(Link(URL))],
    ),
    "results of a search": (
        {}, {"search_results": [{"url": URL, "title": TITLE, "snippet": "Rain."}, {"url": OTHER, "title": "B"}]},
        [Citation(Link(URL, TITLE)), Citation(Link(OTHER, "B"))],
    ),
    "addresses": ({}, {"citations": [URL, OTHER, URL]}, [Citation(Link(URL)), Citation(Link(OTHER))]),
    "results and addresses": (
        {}, {"search_results": [{"url": URL, "title": TITLE}], "citations": [URL, OTHER]},
        [Citation(Link(URL, TITLE)), Citation(Link(OTHER))],
    ),
    "nothing that can be read": (
        {"annotations": [7, {"type": "file", "file": {}}, {"url_citation": {"url": 3}}]},
        {"search_results": {"a": 1}, "citations": [None, 5, ""]}, [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", SOURCES)
@pytest.mark.parametrize("is_stream", [True, False])
def test_the_sources_of_a_reply_are_its_citations(how: str, is_stream: bool) -> None:
    fields, beside, expected = SOURCES[how]
    if is_stream:  # every chunk may repeat the sources beside the choices
        reply = read(chunk({"content": TEXT}, **beside), chunk(fields, **beside), chunk(finish="stop", **beside))
    else:
        reply = whole({"content": TEXT, **fields}, **beside)

    assert reply.text == TEXT
    assert list(reply.message.citations) == expected


def provider_calls(reply: Reply) -> list[ProviderCall]:
    return [part for part in reply.message.parts if isinstance(part, ProviderCall)]


SEARCH = {"index": 0, "type": "search", "arguments": '{"query": "rain in Paris"}'}
FOUND = {**SEARCH, "output": "Rain.", "search_results": {"results": [{"url": URL, "title": TITLE, "score": 0.9}]}}
CODE = {"index": 1, "type": "python", "arguments": '{"code": "print(6*7)"}', "output": "42"}


@pytest.mark.parametrize(
    ("executed", "expected"),
    [
        ([[SEARCH], [FOUND]], [ProviderCall("search", "rain in Paris", "Rain.", (Link(URL, TITLE),))]),
        ([[FOUND, CODE]], [ProviderCall("search", "rain in Paris", "Rain.", (Link(URL, TITLE),)),
                           ProviderCall("python", "print(6*7)", "42")]),
        ([[SEARCH]], [ProviderCall("search", "rain in Paris")]),
        ([[{"type": "visit", "arguments": "no JSON"}]], [ProviderCall("visit", "no JSON")]),
        ([[7, {}], "x"], [ProviderCall("tool")]),
    ],
)  # fmt: skip
def test_tools_that_the_provider_ran_are_typed_and_no_calls(executed: list[Any], expected: list[ProviderCall]) -> None:
    reply = read(*(chunk({"executed_tools": tools}) for tools in executed), chunk({"content": TEXT}, finish="stop"))

    assert provider_calls(reply) == expected
    assert (reply.text, reply.calls) == (TEXT, ())


def test_a_person_is_informed_of_choices_that_are_not_shown() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "It snows."}, "finish_reason": "stop"}]}
    with serve(head(), stream(chunk({"content": TEXT}), second, chunk(finish="stop"))) as server:
        turn = Chat("m", base_url=server.url).send("Hi")

    assert turn.text == TEXT
    assert notices(turn) == ["The reply has 2 choices; only the first is shown."]
