"""Every recorded answer of every dialect: read as it was meant."""

from __future__ import annotations

from typing import Any

import pytest

from nbtool.errors import (
    AuthenticationFailed,
    ContextTooLong,
    ModelNotFound,
    NbtoolError,
    ProviderError,
    RateLimited,
    ServerOverloaded,
    ToolsNotSupported,
)
from nbtool.wire import Reply, decode
from nbtool.wire.framing.provider_errors import error_from_response
from nbtool.wire.reply import TRUNCATED_REASONS
from tests.wire.corpus import MISSING, Recording, of_kind, recordings

NO_REPLY_YET = {
    "queued": "a background job that was only accepted: nothing in it is a reply, and it is not completed",
}

pytestmark = pytest.mark.skipif(not recordings(), reason=MISSING)

# --- what a correct client makes of it ------------------------------------------------------------------------


@pytest.mark.parametrize("item", of_kind("stream", "json"))
def test_a_recorded_reply_is_read_as_intended(item: Recording) -> None:
    expected = item.expected

    reply = decode(item.wire, item.body, stream=item.is_stream)

    assert reply_texts(reply) == expected_texts(expected)
    assert [(call.name, call.arguments) for call in reply.calls] == [(name, raw) for name, raw, _ in calls_of(expected)]
    assert ids_differ(reply, expected) == []
    assert reply.complete is (expected["finish_reason"] not in NO_REPLY_YET)
    assert reply.finish_reason == ((expected["finish_reason"] or "") if reply.complete else "")


@pytest.mark.promise("positive-end")
@pytest.mark.parametrize("item", of_kind("stream", "json"))
def test_a_recorded_call_may_run_only_where_it_is_complete(item: Recording) -> None:
    """Stricter than the recordings' note in two ways.

    A call that was whole before its reply hit the token limit does not run either, for the model was not done;
    and a free-form (`custom`) call is no JSON object, so there is nothing that could be run with it.
    """
    expected = calls_of(item.expected)

    reply = decode(item.wire, item.body, stream=item.is_stream)
    runnable = [call.runnable for call in reply.calls]

    if reply.stop_reason in TRUNCATED_REASONS:
        assert not any(runnable)
    else:
        assert runnable == [complete for _, _, complete in expected]


@pytest.mark.parametrize("item", of_kind("stream", "json"))
def test_a_recorded_usage_is_counted(item: Recording) -> None:
    usage = item.expected["usage"]

    counted = decode(item.wire, item.body, stream=item.is_stream).usage.parts()[0]  # without steps beside the totals

    if usage is None:
        assert counted.total_tokens == 0
        return
    cached, written = usage["cached_input"] or 0, usage.get("cache_write") or 0
    beside = cached + written if item.wire == "anthropic" else 0  # Anthropic counts what was cached beside the input
    thoughts = 0
    if item.wire == "gemini":  # counts thoughts beside the output, and what its tools read beside the input
        thoughts, beside = usage["reasoning"] or 0, item.expected["usage_raw"].get("toolUsePromptTokenCount", 0)
        assert counted.total_tokens == usage["total"]
    elif usage["total"] == sum(usage[name] or 0 for name in ("input", "output", "reasoning")):
        thoughts = usage["reasoning"] or 0  # xAI counts the reasoning beside the output
    assert counted.input_tokens == (usage["input"] or 0) + beside
    assert counted.output_tokens == (usage["output"] or 0) + thoughts
    assert counted.cached_tokens == cached
    assert usage["reasoning"] in (None, counted.thinking_tokens)


@pytest.mark.parametrize("item", of_kind("stream_error", "json_error"))
def test_a_recorded_error_inside_a_reply_is_an_error(item: Recording) -> None:
    with pytest.raises(NbtoolError) as caught:
        decode(item.wire, item.body, stream=item.is_stream)

    expected = item.expected["error"]
    if isinstance(caught.value, ProviderError):
        assert caught.value.code == expected["code"]
        assert expected["message"][:40] in caught.value.message


# --- HTTP errors ----------------------------------------------------------------------------------------------


@pytest.mark.promise("typed-errors")
@pytest.mark.parametrize("item", of_kind("http_error"))
def test_a_recorded_refusal_becomes_the_right_error(item: Recording) -> None:
    expected = item.expected["error"]
    status = item.row["status"] or 400

    error = error_from_response(status, item.row["headers"], item.body, label="them")

    assert type(error) is expected_error(status, expected)
    # the notes say None where a code stands beside `error` (xAI); we keep it
    assert expected["code"] is None or error.code == str(expected["code"])
    assert (error.type or "") == (expected["type"] or "")
    assert "\n" not in str(error)


def expected_error(status: int, expected: dict[str, Any]) -> type[ProviderError]:
    """Which error a refusal is, judged by its recorded status, code and message alone."""
    words = f"{expected['code']} {expected['type']} {expected['message']}".lower()
    signs: list[tuple[type[ProviderError], tuple[str, ...]]] = [
        (ToolsNotSupported, ("tools param requires",)),
        (ContextTooLong, ("context length", "context size", "too long", "tokens allowed")),
        (ModelNotFound, ("model_not_found", "not_found_error", "not a valid model", "invalid model", "model names are",
                         "deploymentnotfound", "is not found for api version")),
        (RateLimited, ("quota",)),
    ]  # fmt: skip
    for kind, texts in signs:
        if any(text in words for text in texts):
            return kind
    if status in (401, 403) or "incorrect api key" in words:
        return AuthenticationFailed
    if status >= 500:
        return ServerOverloaded
    return RateLimited if status == 429 else ProviderError


# --- words of these tests -------------------------------------------------------------------------------------


def reply_texts(reply: Reply) -> dict[str, str]:
    return {"text": reply.text, "thinking": reply.thinking, "refusal": reply.refusal}


def expected_texts(expected: dict[str, Any]) -> dict[str, str]:
    return {
        "text": expected["text"] or "",
        "thinking": expected["reasoning"] or "",
        "refusal": expected.get("refusal") or "",
    }


IN_PIECES = {
    "gem-google-vercelai-214249f1": [
        ("read_theme", "{}", True),
        *(("read_screen", f'{{"id": "{name}"}}', True) for name in "ABC"),
    ],
}
"""Recordings whose note counts each piece of a call's arguments as a call: their calls, read by hand."""


def calls_of(expected: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Name, raw arguments and completeness of each call; the one of 2023's `function_call` is a call too."""
    if expected["id"] in IN_PIECES:
        return IN_PIECES[expected["id"]]
    calls = [
        (call["name"], call.get("arguments_raw", call.get("input")), call["complete"] and not call.get("custom"))
        for call in expected["tool_calls"]
    ]
    legacy = expected.get("function_call")
    return [*calls, (legacy["name"], legacy["arguments_raw"], True)] if legacy and legacy["name"] else calls


def ids_differ(reply: Reply, expected: dict[str, Any]) -> list[tuple[str, str]]:
    """The ids that are not those of the server; where it gave none, or one twice, we make our own."""
    pairs = zip(reply.calls, expected["tool_calls"], strict=False)
    return [(call.id, intended["id"]) for call, intended in pairs if intended["id"] and call.id != intended["id"]]
