"""Sources of a reply in every form of every dialect: in the turn, under the reply, in exports and in the journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.chat.conversation import restore
from nbtool.chat.export.markdown import as_markdown
from nbtool.chat.journal import journal
from nbtool.event_json import load_events
from nbtool.messages import Citation, Link, Media, ToolCall, ToolResult, assistant, results, user
from nbtool.wire import Prompt, Target, decode, find_wire
from nbtool.wire.dialects.provider_parts import MAX_PASSAGE
from tests.chaos import head, serve
from tests.wire import anthropics, geminis, responding

URL = "https://news.example/a"
TEXT = "It rains. It is cold."


def messages_reply(*citations: dict[str, Any]) -> bytes:
    """Return a reply of Claude with citations of documents, of which the first is in the start of the block."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "content": []}},
        {"type": "content_block_start", "index": 0,
         "content_block": {"type": "text", "text": "", "citations": list(citations[:1])}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}},
    ]  # fmt: skip
    for citation in citations[1:]:
        delta = {"type": "citations_delta", "citation": citation}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    ending = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    return anthropics.stream(*events, {"type": "content_block_stop", "index": 0}, ending, {"type": "message_stop"})


def document(kind: str, index: int = 0, title: str | None = "report.pdf", **place: int) -> dict[str, Any]:
    cited = {"type": kind, "cited_text": "Rain.", "document_index": index, "document_title": title}
    return {**cited, **place, "file_id": None}


def responses_reply(*annotations: dict[str, Any]) -> bytes:
    content = [{"type": "output_text", "text": TEXT, "annotations": list(annotations)}]
    said = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
    return responding.stream(responding.completed_event(said))


def gemini_reply(**metadata: Any) -> bytes:
    return geminis.stream(geminis.candidate({"text": TEXT}), geminis.end(**metadata))


WEB = {"web": {"uri": URL, "title": "News"}}
STORE = {"retrievedContext": {"title": "handbook.pdf", "text": "Rain."}}
SEGMENT = {"startIndex": 0, "endIndex": 9, "text": "It rains."}

REPLIES: dict[str, tuple[str, bytes, list[Citation]]] = {
    "a text file": (
        "anthropic", messages_reply(document("char_location", start_char_index=0, end_char_index=5, title="notes.txt")),
        [Citation(Link("", "notes.txt"), "Rain.")],
    ),
    "pages": (
        "anthropic",
        messages_reply(
            document("page_location", start_page_number=5, end_page_number=6),
            document("page_location", start_page_number=7, end_page_number=10),
        ),
        [Citation(Link("", "report.pdf, page 5"), "Rain."), Citation(Link("", "report.pdf, pages 7-9"), "Rain.")],
    ),
    "parts": (
        "anthropic", messages_reply(document("content_block_location", start_block_index=0, end_block_index=2)),
        [Citation(Link("", "report.pdf, parts 1-2"), "Rain.")],
    ),
    "a document without a title": (
        "anthropic", messages_reply(document("char_location", 1, None, start_char_index=0, end_char_index=5)),
        [Citation(Link("", "Document 2"), "Rain.")],
    ),
    "a result of a search tool": (
        "anthropic",
        messages_reply({"type": "search_result_location", "source": URL, "title": "News", "cited_text": "Rain.",
                        "search_result_index": 0, "start_block_index": 0, "end_block_index": 1}),
        [Citation(Link(URL, "News"), "Rain.")],
    ),
    "a page, and a file": (
        "responses",
        responses_reply(
            {"type": "url_citation", "url": URL, "title": "News", "start_index": 0, "end_index": 9},
            {"type": "file_citation", "file_id": "file-1", "filename": "report.pdf", "index": 9},
            {"type": "container_file_citation", "container_id": "c", "file_id": "file-2", "filename": "plot.png",
             "start_index": 10, "end_index": 21},
            {"type": "file_citation", "file_id": "file-3", "index": 9},
            {"type": "url_citation", "url": f"{URL}/b", "title": "B", "start_index": 10, "end_index": 99},
        ),
        [Citation(Link(URL, "News"), "It rains."), Citation(Link("", "report.pdf")),
         Citation(Link("", "plot.png"), "It is cold."), Citation(Link("", "file-3")),
         Citation(Link(f"{URL}/b", "B"))],
    ),
    "pages of a search, and a file": (
        "gemini",
        gemini_reply(groundingMetadata={
            "groundingChunks": [WEB, STORE, {"web": {"uri": f"{URL}/b", "title": "B"}}],
            "groundingSupports": [{"segment": SEGMENT, "groundingChunkIndices": [0, 1, 9, "x"]}, {"segment": None}],
        }),
        [Citation(Link(URL, "News"), "It rains."), Citation(Link("", "handbook.pdf"), "It rains."),
         Citation(Link(f"{URL}/b", "B"))],
    ),
    "sources of quotations": (
        "gemini", gemini_reply(citationMetadata={"citationSources": [{"startIndex": 0, "endIndex": 9, "uri": URL}]}),
        [Citation(Link(URL))],
    ),
    "sources of quotations at Vertex AI": (
        "gemini", gemini_reply(citationMetadata={"citations": [{"uri": URL, "title": "News", "license": "MIT"}]}),
        [Citation(Link(URL, "News"))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", REPLIES)
def test_the_sources_of_a_reply_are_in_the_turn_under_it_exported_and_saved(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire, body, expected = REPLIES[how]
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    journal.cache_clear()
    with serve(head(), body) as server:
        turn = Chat("m", base_url=server.url, wire=wire).send("Does it rain?")
    document = turn._repr_mimebundle_()[TURN_MIME]
    texts = [block["text"] for block in document["blocks"] if block["kind"] == "text"]

    assert (turn.text, turn.status) == (TEXT, "completed")
    assert list(turn.citations) == expected
    for citation in expected:
        name = citation.link.title or citation.link.url
        assert name in texts[-1].replace("\\", "")
        assert name in as_markdown([turn]).replace("\\", "")
    assert texts[-1].count("](<") == len({one.link.url for one in expected} - {""})
    saved = restore.restore_turn(load_events(journal().events(turn.turn_id)))
    assert saved.citations == turn.citations
    journal.cache_clear()


@pytest.mark.parametrize("how", REPLIES)
def test_a_reply_that_is_cut_anywhere_has_no_other_sources(how: str) -> None:
    wire, body, expected = REPLIES[how]
    for end in range(1, len(body), 29):
        reply = decode(wire, body[:end]) if body[:end].strip() else None
        assert reply is None or set(reply.message.citations) <= set(expected)


def test_passages_of_gemini_that_each_name_a_long_text_are_truncated() -> None:
    chunks = [{"web": {"uri": f"{URL}/{number}"}} for number in range(100)]
    support = {"segment": {"text": "x" * 10_000}, "groundingChunkIndices": list(range(100))}
    reply = decode(
        "gemini", gemini_reply(groundingMetadata={"groundingChunks": chunks, "groundingSupports": [support]})
    )

    assert len(reply.message.citations) == 100
    assert {len(one.text) for one in reply.message.citations} == {MAX_PASSAGE + len("[… 9,500 characters more]")}


# --- citations of one's own documents, where they have to be requested ------------------------------------------

PDF = Media("application/pdf", b"%PDF-1.7", name="report.pdf")
NOTES = Media("text/plain", b"It rains.", name="notes.txt")
IMAGE = Media("image/png", b"\x89PNG")


def body_of(**options: Any) -> dict[str, Any]:
    call = ToolCall("load", "{}", id="c1", call_id="call_1")
    result = ToolResult("load", "loaded", "c1", "call_1", media=(NOTES,))
    messages = (user("Read it.", PDF, IMAGE), assistant(call), results(result), user("And this?", NOTES))
    return find_wire("anthropic").encode(Prompt(messages, options=options), Target("h", "m")).body


def documents(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [block for item in value for block in documents(item)]
    if not isinstance(value, dict):
        return []
    return [value] if value.get("type") == "document" else documents(list(value.values()))


def test_all_documents_of_a_request_are_cited_with_the_option() -> None:
    body = body_of(citations=True)

    assert [block.get("citations") for block in documents(body["messages"])] == [{"enabled": True}] * 3
    assert "citations" not in body


@pytest.mark.parametrize("options", [{}, {"citations": False}, {"citations": None}])
def test_no_document_is_cited_without_it(options: dict[str, Any]) -> None:
    body = body_of(**options)

    assert [block.get("citations") for block in documents(body["messages"])] == [None] * 3
    assert "citations" not in body


def test_a_person_requests_citations_of_what_is_attached(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Rain.")
    cited = document("char_location", start_char_index=0, end_char_index=5, title="notes.txt")
    with serve(head(), messages_reply(cited)) as server:
        chat = Chat("m", base_url=server.url, wire="anthropic", options={"citations": True})
        turn = chat.send("What does it say?", attach=[path])
    (block,) = documents(server.requests[0].json["messages"])

    assert (block["title"], block["citations"]) == ("notes.txt", {"enabled": True})
    assert turn.citations == (Citation(Link("", "notes.txt"), "Rain."),)
