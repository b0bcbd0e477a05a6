"""Tools that ran at Google: code, searches, pages that were read, and the sources of a reply."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nbtool.events import ProviderDelta
from nbtool.messages import Citation, Link, ProviderCall
from nbtool.wire.dialects.provider_parts import cited_passage, unknown_part

Part = dict[str, Any]

_KNOWN = frozenset({
    "text", "thought", "thoughtSignature", "inlineData", "fileData", "audioTranscription", "mediaResolution",
    "videoMetadata", "partMetadata", "mediaProcessing", "speechMetadata", "documentMetadata", "spreadsheetMetadata",
    "audioMetadata",
})  # fmt: skip
"""The fields of parts that are shown otherwise, or say how a medium is made; others are shown as they are."""

_QUERIES = ("webSearchQueries", "imageSearchQueries", "retrievalQueries")


class GeminiProviderParts:
    """The tools of the provider in one reply: each is passed on when its outcome is known, or at the end."""

    def __init__(self) -> None:
        self._open: dict[str, ProviderCall] = {}  # by id: what has no outcome yet; the newest code has none
        self._has_searches = False
        self._grounding: dict[str, Any] = {}

    def add(self, part: Part) -> Iterator[ProviderDelta]:
        """Take a part of the reply, and yield what is complete with it."""
        match part:
            case {"executableCode": dict(code)}:
                yield from self._begin(_text(code, "id"), ProviderCall("code_execution", _text(code, "code")))
            case {"codeExecutionResult": dict(result)}:
                output = _text(result, "output") or _text(result, "outcome")
                yield from self._finish(_text(result, "id"), "code_execution", output)
            case {"toolCall": dict(call)}:
                tool = (_text(call, "toolType") or "tool").lower()
                self._has_searches = self._has_searches or "search" in tool
                yield from self._begin(_text(call, "id"), ProviderCall(tool, _arguments(call.get("args"))))
            case {"toolResponse": dict(answer)}:
                tool = (_text(answer, "toolType") or "tool").lower()
                yield from self._finish(_text(answer, "id"), tool, _arguments(answer.get("response")))
            case _:
                unknown = ((name, value) for name, value in part.items() if name not in _KNOWN)
                calls = (
                    unknown_part(name, value if isinstance(value, dict) else {name: value}) for name, value in unknown
                )
                yield from (ProviderDelta(call) for call in calls if call)

    def add_metadata(self, candidate: dict[str, Any]) -> None:
        """Take what a candidate says about its sources; the newest statement replaces the one before."""
        for name in ("groundingMetadata", "urlContextMetadata", "citationMetadata"):
            if isinstance(value := candidate.get(name), dict):
                self._grounding[name] = value

    def close(self) -> Iterator[ProviderDelta]:
        """Yield what has no outcome, the searches, the pages that were read, and the sources."""
        yield from (ProviderDelta(call) for call in self._open.values())
        self._open = {}
        grounding = self._grounding.get("groundingMetadata", {})
        chunks = [list(_chunk_links(chunk)) for chunk in _objects(grounding, "groundingChunks")]
        links = [link for chunk in chunks for link in chunk]
        queries = [query for name in _QUERIES for query in _list(grounding, name) if isinstance(query, str)]
        if queries and not self._has_searches:
            yield ProviderDelta(ProviderCall("google_search", "\n".join(queries), links=tuple(links)))
        pages = _objects(self._grounding.get("urlContextMetadata", {}), "urlMetadata")
        if read := tuple(Link(url) for page in pages if (url := _text(page, "retrievedUrl"))):
            yield ProviderDelta(ProviderCall("url_context", links=read))
        cited = list(_cited_passages(grounding, chunks))
        with_passage = {citation.link for citation in cited}
        yield from map(ProviderDelta, cited)
        yield from (ProviderDelta(Citation(link)) for link in links if link not in with_passage)
        metadata = self._grounding.get("citationMetadata", {})
        for source in (*_objects(metadata, "citationSources"), *_objects(metadata, "citations")):
            if url := _text(source, "uri"):
                yield ProviderDelta(Citation(Link(url, _text(source, "title"))))

    def _begin(self, key: str, call: ProviderCall) -> Iterator[ProviderDelta]:
        if former := self._open.pop(key, None):
            yield ProviderDelta(former)
        self._open[key] = call

    def _finish(self, key: str, tool: str, output: str) -> Iterator[ProviderDelta]:
        call = self._open.pop(key, ProviderCall(tool))
        yield ProviderDelta(ProviderCall(call.tool, call.text, output))


def _cited_passages(grounding: dict[str, Any], chunks: list[list[Link]]) -> Iterator[Citation]:
    """Yield the passages of the reply with their sources, whose numbers in a passage are those of chunks."""
    for support in _objects(grounding, "groundingSupports"):
        segment = support.get("segment")
        passage = cited_passage(_text(segment, "text")) if isinstance(segment, dict) else ""
        for index in dict.fromkeys(_list(support, "groundingChunkIndices")):
            if isinstance(index, int) and 0 <= index < len(chunks):
                yield from (Citation(link, passage) for link in chunks[index])


def _chunk_links(chunk: dict[str, Any]) -> Iterator[Link]:
    for value in chunk.values():
        if isinstance(value, dict):
            url, title = _text(value, "uri") or _text(value, "sourceUri"), _text(value, "title")
            if url or title:
                yield Link(url, title)


def _arguments(args: Any) -> str:
    """Return the arguments of a tool of the provider: its queries, one a line, or all of them as JSON."""
    queries = args.get("queries") if isinstance(args, dict) else None
    if isinstance(queries, list) and all(isinstance(query, str) for query in queries):
        return "\n".join(queries)
    return json.dumps(args, ensure_ascii=False) if args else ""


def _list(value: Any, name: str) -> list[Any]:
    items = value.get(name) if isinstance(value, dict) else None
    return items if isinstance(items, list) else []


def _objects(value: Any, name: str) -> list[dict[str, Any]]:
    return [item for item in _list(value, name) if isinstance(item, dict)]


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""
