"""Tools that the provider ran, and its sources: typed in every dialect, and never calls of the notebook."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.chat.conversation import restore
from nbtool.chat.export.markdown import as_markdown
from nbtool.chat.journal import journal
from nbtool.errors import Unsupported
from nbtool.event_json import load_events
from nbtool.messages import Citation, Link, ProviderCall, user
from nbtool.wire import Prompt, Target, ToolSpec, decode, find_wire
from nbtool.wire.dialect import DIALECTS
from nbtool.wire.dialects.provider_parts import MAX_PASSAGE
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.providers.provider_tools import name_definition
from nbtool.wire.registry import WIRES
from tests.chaos import head, serve
from tests.providers.replies import Answer
from tests.providers.simulator import simulate
from tests.wire import anthropics, geminis, responding

URL, TITLE = "https://news.example/a?q=1", "The [news] of *today*"
SEARCHED = ProviderCall("web_search", "rain in Paris", links=(Link(URL, TITLE),))
RAN = ProviderCall("code_execution", "print(6*7)", "42\n")
CITED = Citation(Link(URL, TITLE), "It rains.")


def responses() -> bytes:
    search = {
        "type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": {"type": "search", "query": "rain in Paris", "sources": [{"url": URL, "title": TITLE}]},
    }  # fmt: skip
    code = {
        "type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "print(6*7)",
        "outputs": [{"type": "logs", "logs": "42\n"}],
    }  # fmt: skip
    note = {"type": "url_citation", "url": URL, "title": TITLE, "start_index": 0, "end_index": 9}
    said = {
        "type": "message", "id": "m_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "It rains.", "annotations": [note]}],
    }  # fmt: skip
    items = [search, code, said]
    done = [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)]
    return responding.stream(*done, responding.completed_event(*items))


def anthropic() -> bytes:
    found = {"type": "web_search_result", "url": URL, "title": TITLE, "encrypted_content": "sealed"}
    blocks: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
        ({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
         {"type": "input_json_delta", "partial_json": '{"query": "rain in Paris"}'}),
        ({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]}, None),
        ({"type": "server_tool_use", "id": "s2", "name": "code_execution", "input": {"code": "print(6*7)"}}, None),
        ({"type": "code_execution_tool_result", "tool_use_id": "s2",
          "content": {"type": "code_execution_result", "stdout": "42\n", "stderr": "", "return_code": 0}}, None),
        ({"type": "text", "text": "It rains.", "citations": []},
         {"type": "citations_delta", "citation": {
             "type": "web_search_result_location", "url": URL, "title": TITLE, "cited_text": "It rains."}}),
    ]  # fmt: skip
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "m", "content": []}}]
    for at, (block, delta) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": at, "content_block": block})
        events += [{"type": "content_block_delta", "index": at, "delta": delta}] if delta else []
    ending = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    return anthropics.stream(*events, ending, {"type": "message_stop"})


def gemini() -> bytes:
    grounding = {"webSearchQueries": ["rain in Paris"], "groundingChunks": [{"web": {"uri": URL, "title": TITLE}}]}
    return geminis.stream(
        geminis.candidate({"executableCode": {"language": "PYTHON", "code": "print(6*7)"}}),
        geminis.candidate({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42\n"}}),
        geminis.candidate({"text": "It rains."}),
        geminis.end(groundingMetadata=grounding),
    )


BODIES: dict[str, Callable[[], bytes]] = {"responses": responses, "anthropic": anthropic, "gemini": gemini}


def test_every_dialect_with_tools_of_the_provider_has_a_row() -> None:
    assert set(BODIES) == set(WIRES) - set(MEDIA_KINDS) - {"chat"}


@pytest.mark.parametrize("wire", BODIES)
def test_what_the_provider_ran_and_its_sources_are_typed_and_no_calls(wire: str) -> None:
    reply = decode(wire, BODIES[wire]())
    made = {part.tool: part for part in reply.message.parts if isinstance(part, ProviderCall)}
    search = made.get("web_search") or made["google_search"]
    code = made.get("code_execution") or made["code_interpreter"]

    assert (reply.text, reply.calls, reply.stop_reason) == ("It rains.", (), "end")
    assert (search.text, search.links) == (SEARCHED.text, SEARCHED.links)
    assert (code.text, code.output) == (RAN.text, RAN.output)
    assert [citation.link for citation in reply.message.citations] == [CITED.link]
    assert reply.message.citations[0].text in (CITED.text, "")


@pytest.mark.parametrize("wire", BODIES)
def test_a_reply_with_tools_of_the_provider_goes_back_as_it_came(wire: str) -> None:
    reply = decode(wire, BODIES[wire]())

    assert reply.message.native
    assert "print(6*7)" in json.dumps(reply.message.native.payload)


@pytest.mark.parametrize("wire", BODIES)
def test_what_the_provider_ran_is_shown_saved_exported_and_journaled(
    wire: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "home"))
    journal.cache_clear()
    with serve(head(), BODIES[wire]()) as server:
        turn = Chat("m", base_url=server.url, wire=wire).send("Does it rain?")
    document = turn._repr_mimebundle_()[TURN_MIME]
    notices = [block["text"] for block in document["blocks"] if block["kind"] == "notice"]
    texts = [block["text"] for block in document["blocks"] if block["kind"] == "text"]

    assert (turn.text, turn.status) == ("It rains.", "completed")
    assert [citation.link for citation in turn.citations] == [CITED.link]
    assert len(turn.provider_calls) == 2
    assert all(text.startswith("Run by the provider, not in this notebook: ") for text in notices)
    assert any("rain in Paris" in text and URL in text for text in notices)
    assert any("print(6*7)" in text and "Result: 42" in text for text in notices)
    assert texts[-1] == f"**Sources**\n\n1. [The \\[news\\] of \\*today\\*](<{URL}>)"
    assert URL in as_markdown([turn])
    recalled = restore.restore_turn(load_events(journal().events(turn.turn_id)))
    assert (recalled.citations, recalled.provider_calls) == (turn.citations, turn.provider_calls)
    assert recalled._repr_mimebundle_()[TURN_MIME]["blocks"] == document["blocks"]
    journal.cache_clear()


def test_a_source_whose_address_is_none_of_a_page_is_no_link() -> None:
    citations = [Citation(Link(url, "x")) for url in ("javascript:alert(1)", "https://a.example/> <b>", "")]
    grounding = {"groundingChunks": [{"web": {"uri": one.link.url, "title": "x"}} for one in citations]}
    with serve(
        head(), geminis.stream(geminis.candidate({"text": "So"}), geminis.end(groundingMetadata=grounding))
    ) as s:
        turn = Chat("m", base_url=s.url, wire="gemini").send("Hi")
    texts = [block["text"] for block in turn._repr_mimebundle_()[TURN_MIME]["blocks"] if block["kind"] == "text"]

    assert texts[-1] == "**Sources**\n\n1. x\n2. x\n3. x"


@pytest.mark.parametrize("wire", BODIES)
def test_a_cut_before_the_end_leaves_what_came_and_nothing_to_run(wire: str) -> None:
    body = BODIES[wire]()
    for end in range(0, len(body), 37):
        reply = decode(wire, body[:end]) if body[:end].strip() else None
        assert reply is None or not any(call.runnable for call in reply.calls)


# --- requests ---------------------------------------------------------------------------------------------------

DOUBLE = ToolSpec("double", "Twice.", {"type": "object", "properties": {"n": {"type": "integer"}}})
NAMED = {name: row.provider_tools for name, row in DIALECTS.items() if row.provider_tools}
CASES = [(wire, name) for wire, names in NAMED.items() for name in names]


@pytest.mark.parametrize(("wire", "name"), CASES)
def test_a_tool_of_the_provider_is_beside_those_of_the_notebook(wire: str, name: str) -> None:
    prompt = Prompt((user("Hi"),), tools=(DOUBLE,), options={"provider_tools": [name], "metadata": {"a": "b"}})
    body = find_wire(wire).encode(prompt, Target("api.example", "m")).body
    sent = json.dumps(body["tools"])

    assert "double" in sent
    assert NAMED[wire][name] in body["tools"]
    assert "provider_tools" not in body
    assert body["metadata"] == {"a": "b"}


@pytest.mark.parametrize("wire", NAMED)
def test_a_definition_of_ones_own_is_sent_as_it_is(wire: str) -> None:
    own = {"type": "new_tool", "name": "new", "max_uses": 3}
    prompt = Prompt((user("Hi"),), options={"provider_tools": [own]})

    assert find_wire(wire).encode(prompt, Target("h", "m")).body["tools"] == [own]


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_a_name_that_the_dialect_lacks_is_refused_with_what_there_is(wire: str) -> None:
    prompt = Prompt((user("Hi"),), options={"provider_tools": ["teleport"]})
    with pytest.raises(Unsupported) as caught:
        find_wire(wire).encode(prompt, Target("h", "m"))

    assert all(name in caught.value.fix for name in NAMED.get(wire, NAMED))


def test_gemini_shows_its_own_calls_beside_functions_where_the_host_can() -> None:
    options = {"provider_tools": ["web_search"]}
    beside = Prompt((user("Hi"),), tools=(DOUBLE,), options=options, tool_choice="required")
    alone = Prompt((user("Hi"),), options=options)
    wire = find_wire("gemini")

    assert wire.encode(beside, Target("api.example", "m")).body["toolConfig"] == {
        "functionCallingConfig": {"mode": "ANY"}, "includeServerSideToolInvocations": True,
    }  # fmt: skip
    assert "toolConfig" not in wire.encode(alone, Target("api.example", "m")).body
    on_vertex = wire.encode(beside, Target("europe-west1-aiplatform.googleapis.com", "m")).body["toolConfig"]
    assert "includeServerSideToolInvocations" not in on_vertex


def test_responses_asks_for_what_its_tools_found() -> None:
    options = {"provider_tools": ["web_search", "code_interpreter"]}
    body = find_wire("responses").encode(Prompt((user("Hi"),), options=options), Target("h", "gpt-4.1")).body

    assert {"web_search_call.action.sources", "code_interpreter_call.outputs"} <= set(body["include"])


def test_messages_sends_the_version_that_a_tool_requires() -> None:
    options = {"provider_tools": ["web_search", "code_interpreter"]}
    request = find_wire("anthropic").encode(Prompt((user("Hi"),), options=options), Target("h", "m"))

    assert request.headers["anthropic-beta"] == "code-execution-2025-08-25"


@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    return 2 * n


def test_a_chat_names_tools_of_the_provider_and_they_are_refused_nothing() -> None:
    asked = Answer("", calls=(("double", {"n": 21}),))
    with simulate("google", asked, Answer("42.")) as provider:
        chat = Chat(
            "google:gemini-3.5-flash", base_url=provider.url, api_key=provider.key, tools=[double],
            provider_tools=["web_search", "code_interpreter"],
        )  # fmt: skip
        turn = chat.send("Double 21.")

    assert (turn.text, [call.result for call in turn.calls], provider.refused) == ("42.", [42], [])
    assert {"googleSearch": {}} in provider.bodies[0]["tools"]


def test_a_model_that_takes_one_kind_of_tools_only_gets_those_of_the_notebook_in_the_prompt() -> None:
    with simulate("google", Answer("It rains.")) as provider:
        turn = Chat(
            "google:gemini-2.5-flash", base_url=provider.url, api_key=provider.key, tools=[double],
            provider_tools=["web_search"],
        ).send("Does it rain?")  # fmt: skip

    assert (turn.text, turn.status) == ("It rains.", "completed")
    assert provider.refused == ["takes its own tools or functions, not both"]
    assert provider.bodies[0]["tools"] == [{"googleSearch": {}}]


def test_citations_that_each_name_the_whole_text_take_a_bounded_passage_of_it() -> None:
    length, count = 100_000, 500
    notes = [
        {"type": "url_citation", "url": f"{URL}{number}", "start_index": 1, "end_index": length}
        for number in range(count)
    ]
    said = {
        "type": "message", "id": "m_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "x" * length, "annotations": notes}],
    }  # fmt: skip
    with serve(head(), responding.stream(responding.completed_event(said))) as server:
        turn = Chat("m", base_url=server.url, wire="responses").send("Hi")

    passages = [citation.text for citation in turn.citations]
    assert len(passages) == count
    assert set(passages) == {"x" * MAX_PASSAGE + f"[… {length - 1 - MAX_PASSAGE:,} characters more]"}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("definition", "name"),
    [
        ("web_search", "web_search"),
        ({"type": "web_search_20250305", "name": "search"}, "search"),
        ({"type": "web_search"}, "web_search"),
        ({"type": "mcp", "name": 7}, "mcp"),
        ({"googleSearch": {}}, "googleSearch"),
        ({}, ""),
    ],
)
def test_a_tool_of_the_provider_is_listed_by_its_name_or_its_kind(definition: Any, name: str) -> None:
    assert name_definition(definition) == name
