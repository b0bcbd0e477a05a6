"""Gemini: the order and the sources of the tools that ran at Google."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.messages import Citation, Link, ProviderCall
from nbtool.wire import Reply, decode
from tests.wire.geminis import candidate, end, stream


def read(*parts: dict[str, Any], **metadata: Any) -> Reply:
    return decode("gemini", stream(*map(candidate, parts), candidate({"text": "So"}), end(**metadata)))


def provider_calls(reply: Reply) -> list[ProviderCall]:
    return [part for part in reply.message.parts if isinstance(part, ProviderCall)]


def test_pages_that_google_read_are_the_links_of_one_call() -> None:
    pages = [{"retrievedUrl": "https://a.example"}, {"retrievedUrl": ""}, {"retrievedUrl": "https://b.example"}]
    reply = read(urlContextMetadata={"urlMetadata": pages})

    links = (Link("https://a.example"), Link("https://b.example"))
    assert provider_calls(reply) == [ProviderCall("url_context", links=links)]


def test_sources_that_the_text_repeats_are_citations_if_they_have_an_address() -> None:
    sources = [{"uri": "https://a.example", "startIndex": 0}, {"license": "mit"}]
    reply = read(citationMetadata={"citationSources": sources})

    assert list(reply.message.citations) == [Citation(Link("https://a.example"))]


def test_code_without_an_outcome_is_passed_on_before_the_next_code() -> None:
    reply = read({"executableCode": {"code": "a"}}, {"executableCode": {"code": "b"}})

    assert [(call.text, call.output) for call in provider_calls(reply)] == [("a", ""), ("b", "")]


def test_outcomes_in_another_order_than_their_tools_are_matched_by_their_ids() -> None:
    tools = [{"toolCall": {"toolType": "FILE_SEARCH", "id": name, "args": {"queries": [name]}}} for name in ("a", "b")]
    code = [{"executableCode": {"id": name, "code": name}} for name in ("c", "d")]
    outcomes = [
        {"codeExecutionResult": {"id": "d", "output": "4"}}, {"toolResponse": {"toolType": "FILE_SEARCH", "id": "b"}},
        {"codeExecutionResult": {"id": "c", "output": "3"}}, {"toolResponse": {"toolType": "FILE_SEARCH", "id": "a"}},
    ]  # fmt: skip
    calls = provider_calls(read(*tools, *code, *outcomes))

    assert [(call.text, call.output) for call in calls] == [("d", "4"), ("b", ""), ("c", "3"), ("a", "")]


@pytest.mark.parametrize(
    ("args", "shown"),
    [({"queries": ["rain", "Paris"]}, "rain\nParis"), ({"queries": [1]}, '{"queries": [1]}'), (None, "")],
)
def test_a_search_is_shown_by_its_queries(args: Any, shown: str) -> None:
    reply = read({"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t1", "args": args}})

    assert provider_calls(reply) == [ProviderCall("google_search_web", shown)]
