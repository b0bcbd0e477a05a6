"""Tools that ran at the provider, and the sources of a reply, in a Chat Completions reply.

See https://docs.perplexity.ai/api-reference/chat-completions-post (`search_results`, `citations`),
https://openrouter.ai/docs/features/web-search (`annotations`) and
https://console.groq.com/docs/compound (`executed_tools`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nbtool.events import ProviderDelta
from nbtool.messages import Citation, Link, ProviderCall
from nbtool.wire.dialects.provider_parts import cited_passage, input_text
from nbtool.wire.reply import require_few_items

SOURCE_FIELDS = frozenset({"search_results", "citations"})
"""The fields of a chunk with sources, beside its choices."""


class ChatProviderParts:
    """What a reply brings of tools of the provider; sources are yielded at its end, each once.

    The sources beside the choices come first and in their order: marks in the text, such as [2], count them.
    """

    def __init__(self) -> None:
        self._calls: dict[Any, ProviderCall] = {}  # by index: without an outcome so far
        self._results: Any = None
        self._urls: Any = None
        self._annotations: list[dict[str, Any]] = []

    def add_sources(self, value: dict[str, Any]) -> None:
        """Add the sources beside the choices; every chunk may repeat all of them."""
        self._results = value.get("search_results") or self._results
        self._urls = value.get("citations") or self._urls

    def add(self, fragment: dict[str, Any]) -> Iterator[ProviderDelta]:
        """Add the annotations of a message or of a fragment, and yield the calls that have an outcome."""
        self._annotations += _objects(fragment.get("annotations"))
        require_few_items(len(self._annotations))
        for number, tool in enumerate(_objects(fragment.get("executed_tools"))):
            index = repr(tool.get("index", number))
            call = _executed(tool)
            self._calls[index] = call
            if call.output or call.links:
                yield ProviderDelta(self._calls.pop(index))

    def close(self, text: str) -> Iterator[ProviderDelta]:
        """Yield the calls without an outcome, and the sources of the text."""
        yield from map(ProviderDelta, self._calls.values())
        found = [_link(result) for result in _items(self._results)]
        pages = list(dict.fromkeys(link.url for link in map(_link, _items(self._urls))))
        links = [*found, *(Link(url) for url in pages if url not in {link.url for link in found})]
        cited = [
            _annotated(annotation["url_citation"], text)
            for annotation in self._annotations
            if isinstance(annotation.get("url_citation"), dict)
        ]
        all_cited = dict.fromkeys([*map(Citation, links), *cited])
        require_few_items(len(all_cited))
        yield from (ProviderDelta(citation) for citation in all_cited if citation.link.url or citation.link.title)


def _executed(tool: dict[str, Any]) -> ProviderCall:
    arguments = tool.get("arguments")
    try:
        values = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        values = None
    results = tool.get("search_results")
    links = tuple(map(_link, _objects(results.get("results")))) if isinstance(results, dict) else ()
    name = _text(tool, "name") or _text(tool, "type") or "tool"
    return ProviderCall(name, input_text(values) or _text(tool, "arguments"), _text(tool, "output"), links)


def _annotated(value: dict[str, Any], text: str) -> Citation:
    start, end = value.get("start_index"), value.get("end_index")
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)):
        return Citation(_link(value))
    return Citation(_link(value), cited_passage(text, start, end))


def _link(value: Any) -> Link:
    if isinstance(value, str):
        return Link(value)
    return Link(_text(value, "url"), _text(value, "title")) if isinstance(value, dict) else Link("")


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in _items(value) if isinstance(item, dict)]


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""
