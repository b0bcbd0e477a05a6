"""Responses: items of tools that the provider ran, and of those that it asks the client to run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool.messages import Link, Media, ProviderCall
from nbtool.wire import Reply, decode
from nbtool.wire.dialects.provider_parts import MAX_UNKNOWN
from tests.wire import responding

CONTAINER = {"environment": {"type": "container_reference", "container_id": "c"}}
SHELL = {"type": "shell_call", "id": "sh", "call_id": "c1", "action": {"commands": ["ls", "cat a"]}}
OUTPUT = {"type": "shell_call_output", "id": "so", "call_id": "c1", "output": [{"stdout": "a", "stderr": "no b"}]}
IMAGE = {"type": "image_generation_call", "id": "ig", "result": "iVA=", "revised_prompt": "A tabby."}

X_SEARCH = {
    "type": "custom_tool_call", "id": "ctc_1_xs_call_1", "call_id": "xs_call_1", "name": "x_keyword_search",
    "input": '{"query":"rain from:weather","limit":5}',
}  # fmt: skip

RAN: dict[str, tuple[list[dict[str, Any]], list[ProviderCall]]] = {
    "a shell in a container": (
        [{**SHELL, **CONTAINER}, OUTPUT], [ProviderCall("shell", "ls\ncat a"), ProviderCall("shell", "", "a\nno b")],
    ),
    "a program": (
        [{"type": "program", "id": "p", "call_id": "c", "code": "text(1)", "fingerprint": "x"}],
        [ProviderCall("program", "text(1)")],
    ),
    "a search of the web": (
        [{"type": "web_search_call", "id": "w", "action": {"query": "rain", "sources": [{"url": "https://a.example"}]}}],
        [ProviderCall("web_search", "rain", links=(Link("https://a.example"),))],
    ),
    "a search of files": (
        [{"type": "file_search_call", "id": "f", "queries": ["rain", "snow"], "results": [{"filename": "a.pdf"}]}],
        [ProviderCall("file_search", "rain\nsnow", links=(Link("", "a.pdf"),))],
    ),
    "code": (
        [{"type": "code_interpreter_call", "id": "c", "code": "1", "outputs": [{"logs": "a"}, {"url": "https://b"}]}],
        [ProviderCall("code_interpreter", "1", "a\nhttps://b")],
    ),
    "a tool of a server": (
        [{"type": "mcp_call", "id": "m1", "server_label": "shop", "name": "buy", "arguments": "{}", "output": "ok"}],
        [ProviderCall("shop.buy", "{}", "ok")],
    ),
    "a tool of a server that failed after a part": (
        [{"type": "mcp_call", "id": "m1", "name": "buy", "arguments": "{}", "output": "half", "error": "No more."}],
        [ProviderCall("buy", "{}", "half\nNo more.")],
    ),
    "an image": ([IMAGE], [ProviderCall("image_generation", "A tabby.")]),
    "the output of a program": (
        [{"type": "program_output", "id": "o", "call_id": "c", "result": "1"}], [ProviderCall("program", "", "1")],
    ),
    "an image of the prompt itself": ([{**IMAGE, "revised_prompt": None}], []),
    "a tool that is not known": (
        [{"type": "browse_call", "id": "b", "status": "completed", "page": "https://a.example", "found": "Rain."}],
        [ProviderCall("browse", output='{"page": "https://a.example", "found": "Rain."}')],
    ),
    "a search of X": ([X_SEARCH], [ProviderCall("x_search", "rain from:weather")]),
    "a search of X without a query": ([{**X_SEARCH, "input": "rain"}], [ProviderCall("x_search", "rain")]),
    "a summary of earlier messages": ([{"type": "compaction", "id": "k", "encrypted_content": "sealed"}], []),
    "nothing": ([{"type": "browse_call", "id": "b", "status": "completed", "page": "", "found": None}], []),
}  # fmt: skip


def read(*items: dict[str, Any], is_stream: bool = True) -> Reply:
    said = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "So."}]}
    output = [{"status": "completed", **item} for item in (*items, said)]
    done = [{"type": "response.output_item.done", "output_index": at, "item": one} for at, one in enumerate(output)]
    event = responding.completed_event(*output)
    if is_stream:
        return decode("responses", responding.stream(*done, event))
    return decode("responses", json.dumps(event["response"]).encode(), stream=False)


def provider_calls(reply: Reply) -> list[ProviderCall]:
    return [part for part in reply.message.parts if isinstance(part, ProviderCall)]


@pytest.mark.parametrize("is_stream", [True, False])
def test_what_the_provider_ran_is_shown_and_nothing_is_asked_of_the_client(is_stream: bool) -> None:
    replies = {how: read(*items, is_stream=is_stream) for how, (items, _) in RAN.items()}

    assert {how: provider_calls(reply) for how, reply in replies.items()} == {how: RAN[how][1] for how in RAN}
    assert {(reply.text, reply.stop_reason, reply.calls) for reply in replies.values()} == {("So.", "end", ())}
    assert all(reply.message.native for reply in replies.values())


def test_an_image_is_there_beside_its_prompt() -> None:
    parts = read(IMAGE).message.parts

    assert Media("image/png", data=b"\x89P") in parts


ACTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "a shell": (SHELL, "a command in a shell (ls cat a)"),
    "a local shell": (
        {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"command": ["ls", "-R"]}},
        "a command in a shell (ls -R)",
    ),
    "a patch": (
        {"type": "apply_patch_call", "id": "a", "call_id": "c", "operation": {"type": "create_file", "path": "a.md"}},
        "a change of files (a.md)",
    ),
    "a computer": (
        {"type": "computer_call", "id": "c", "call_id": "c", "action": {"type": "click", "x": 1}},
        "an action on a computer",
    ),
    "a shell without details": ({"type": "shell_call", "id": "s", "call_id": ["x"]}, "a command in a shell"),
}


@pytest.mark.parametrize("how", ACTIONS)
def test_what_the_client_would_run_is_named_with_its_details(how: str) -> None:
    item, explanation = ACTIONS[how]
    reply = read(item)

    assert (reply.stop_reason, reply.explanation) == ("action", explanation)
    assert provider_calls(reply) == []


def test_the_contents_of_an_item_that_is_not_known_are_truncated_with_a_note() -> None:
    (call,) = provider_calls(read({"type": "browse_call", "id": "b", "page": "x" * 10_000}))

    assert call.output == "x" * MAX_UNKNOWN + "[… 6,000 characters more]"


def test_a_search_of_x_that_is_streamed_is_no_call_and_goes_back_with_the_calls_of_the_client() -> None:
    started = {**X_SEARCH, "input": "", "status": "in_progress"}
    searched = {**X_SEARCH, "status": "completed"}
    own = {
        "type": "function_call",
        "id": "f",
        "call_id": "call_1",
        "name": "price",
        "arguments": "{}",
        "status": "completed",
    }
    place = {"item_id": X_SEARCH["id"], "output_index": 0}
    reply = decode(
        "responses",
        responding.stream(
            {"type": "response.output_item.added", "output_index": 0, "item": started},
            {"type": "response.custom_tool_call_input.delta", **place, "delta": X_SEARCH["input"]},
            {"type": "response.custom_tool_call_input.done", **place, "input": X_SEARCH["input"]},
            {"type": "response.output_item.done", "output_index": 0, "item": searched},
            {"type": "response.output_item.done", "output_index": 1, "item": own},
            responding.completed_event(searched, own),
        ),
    )

    assert [(call.id, call.name) for call in reply.calls] == [("call_1", "price")]
    assert provider_calls(reply) == [ProviderCall("x_search", "rain from:weather")]
    assert reply.message.native
    assert [item["type"] for item in reply.message.native.payload] == ["custom_tool_call", "function_call"]
