"""Anthropic Messages: what comes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from nbtool.errors import AuthenticationFailed, InvalidReply, ServerOverloaded
from nbtool.events import TextDelta
from nbtool.messages import ToolResult, results, user
from nbtool.wire import decode
from nbtool.wire.reply import Reply, ReplyBuilder
from tests.wire.anthropics import REDACTED, SIGNED, USE, WIRE, messages_of, stream
from tests.wire.reading import close, feed, feed_with_error


def begin(message_id: str = "msg_1", **more: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"id": message_id, "content": [], **more}}


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(reason: str, **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


END = {"type": "message_stop"}

EMPTY_TEXT = start(0, type="text", text="")

EMPTY_USE = {**USE, "input": {}}


def read(*events: dict[str, Any]) -> Reply:
    return decode("anthropic", stream(*events))


def native_of(reply: Reply) -> Any:
    assert reply.message.native is not None
    return reply.message.native.payload


def test_text_comes_as_it_is_written() -> None:
    reply = read(
        begin(), EMPTY_TEXT, {"type": "ping"}, delta(0, "text_delta", text="Hel"), delta(0, "text_delta", text="lo"),
        {"type": "content_block_stop", "index": 0}, stop("end_turn"), END,
    )  # fmt: skip

    assert (reply.text, reply.stop_reason, reply.finish_reason, reply.complete) == ("Hello", "end", "end_turn", True)
    assert native_of(reply) == [{"type": "text", "text": "Hello"}]


@pytest.mark.parametrize(
    ("events", "arguments"),
    [
        ((start(0, **EMPTY_USE), delta(0, "input_json_delta", partial_json="")), {}),
        ((start(0, **EMPTY_USE),), {}),
        ((start(0, **USE),), {"ticker": "A"}),
        ((start(0, **EMPTY_USE), delta(0, "input_json_delta", partial_json='{"ticker":"B"}')), {"ticker": "B"}),
        ((start(0, **USE), delta(0, "input_json_delta", partial_json='{"ticker":"B"}')), {"ticker": "B"}),
    ],
    ids=["an empty fragment", "no fragment", "filled at its start", "fragments", "fragments win"],
)
def test_arguments_are_whole_however_they_come(events: tuple[dict[str, Any], ...], arguments: dict[str, Any]) -> None:
    reply = read(begin(), *events, stop("tool_use"), END)

    assert [(call.id, call.name, call.args, call.runnable) for call in reply.calls] == [
        ("toolu_1", "price", arguments, True)
    ]
    assert native_of(reply) == [{**USE, "input": arguments}]


def test_late_fragments_of_an_earlier_block_find_it() -> None:
    reply = read(
        begin(), start(0, **EMPTY_USE), delta(0, "input_json_delta", partial_json='{"ticker":'),
        start(1, **{**EMPTY_USE, "id": "toolu_2"}), delta(1, "input_json_delta", partial_json='{"ticker":"B"}'),
        {"type": "content_block_stop", "index": 0}, delta(0, "input_json_delta", partial_json='"A"}'),
        stop("tool_use"), END,
    )  # fmt: skip

    assert [call.args for call in reply.calls] == [{"ticker": "A"}, {"ticker": "B"}]


def test_the_whole_answer_may_be_in_the_head() -> None:
    reply = read(begin(content=[{"type": "text", "text": "Hi"}, USE], stop_reason="tool_use"), END)

    assert (reply.text, reply.calls[0].args, reply.calls[0].runnable) == ("Hi", {"ticker": "A"}, True)
    assert native_of(reply) == [{"type": "text", "text": "Hi"}, USE]


def test_a_head_that_comes_twice_is_harmless_and_another_one_is_not() -> None:
    reply = read(begin(), begin(), EMPTY_TEXT, delta(0, "text_delta", text="Hi"), stop("end_turn"), END)

    assert reply.text == "Hi"
    with pytest.raises(InvalidReply, match="mixed two replies"):
        read(begin(), EMPTY_TEXT, begin("msg_2"), EMPTY_TEXT, stop("end_turn"), END)


def test_a_block_that_begins_twice_is_refused() -> None:
    with pytest.raises(InvalidReply, match="began twice"):
        read(begin(), EMPTY_TEXT, delta(0, "text_delta", text="Hi"), EMPTY_TEXT, stop("end_turn"), END)


def test_thinking_is_kept_with_its_signature() -> None:
    reply = read(
        begin(), start(0, type="thinking", thinking="", signature=""), delta(0, "thinking_delta", thinking="Hm"),
        delta(0, "signature_delta", signature="sea"), delta(0, "signature_delta", signature="led"),
        start(1, type="thinking", thinking="", signature=""), delta(1, "signature_delta", signature="sealed"),
        start(2, **REDACTED), start(3, **USE), stop("tool_use"), END,
    )  # fmt: skip

    assert reply.thinking == "Hm"
    assert native_of(reply) == [{"type": "thinking", "thinking": "Hm", "signature": "sealed"}, SIGNED, REDACTED, USE]


def test_tools_of_the_server_are_kept_and_never_offered_as_calls() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "x"}]}
    reply = read(
        begin(), start(0, **search), delta(0, "input_json_delta", partial_json='{"query":"x"}'), start(1, **found),
        start(2, type="mcp_tool_use", id="m", name="price", input={}), stop("end_turn"), END,
    )  # fmt: skip

    assert reply.calls == ()
    assert native_of(reply)[:2] == [{**search, "input": {"query": "x"}}, found]


def test_unknown_blocks_and_fragments_are_kept() -> None:
    reply = read(
        begin(), start(0, type="compaction", content=None), delta(0, "compaction_delta", content="So "),
        delta(0, "compaction_delta", content="far."), {"type": "unheard_of"}, delta(9, "odd_delta", level=3),
        start(1, type="text", text=""), delta(1, "text_delta", text="Hi"),
        delta(1, "citations_delta", citation={"url": "u"}), stop("end_turn"), END,
    )  # fmt: skip

    assert reply.text == "Hi"
    assert native_of(reply)[0] == {"type": "compaction", "content": "So far."}
    assert native_of(reply)[1] == {"type": "text", "text": "Hi", "citations": [{"url": "u"}]}


def test_arguments_for_a_call_that_nobody_named_are_refused() -> None:
    with pytest.raises(InvalidReply, match="never began"):
        read(begin(), delta(0, "input_json_delta", partial_json="{}"), stop("tool_use"), END)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "end"), ("stop_sequence", "end"), ("max_tokens", "length"), ("refusal", "refused"),
        ("pause_turn", "paused"), ("model_context_window_exceeded", "length"), ("unheard_of", "unknown"),
    ],
)  # fmt: skip
def test_stop_reasons_are_reported_in_our_words(word: str, reason: str) -> None:
    reply = read(begin(), EMPTY_TEXT, delta(0, "text_delta", text="Hi"), stop(word), END)

    assert (reply.stop_reason, reply.finish_reason, reply.complete) == (reason, word, True)


def test_a_reason_nobody_knows_yet_keeps_the_signed_thinking() -> None:
    assert native_of(read(begin(), start(0, **SIGNED), start(1, **USE), stop("unheard_of"), END)) == [SIGNED, USE]


def test_a_call_cut_off_by_the_limit_does_not_run_even_where_it_looks_whole() -> None:
    reply = read(begin(), start(0, **EMPTY_USE), stop("max_tokens"), END)

    assert not reply.calls[0].runnable
    assert reply.message.native is None


def test_only_the_last_event_completes() -> None:
    events = (begin(), EMPTY_TEXT, delta(0, "text_delta", text="Hi"), stop("end_turn"))

    assert not read(*events).complete
    assert decode("anthropic", stream(*events) + b"data: [DONE]\n\n").complete
    assert not decode("anthropic", stream(*events[:3]) + b"data: [DONE]\n\n").complete
    assert decode("anthropic", stream(*events, END) + b"event: data\ndata: [DONE]\n\n").complete


def test_an_end_without_a_beginning_is_refused() -> None:
    with pytest.raises(InvalidReply, match="before it began"):
        read(END)


def test_an_error_in_mid_stream_keeps_what_came_before_it() -> None:
    decoder = WIRE.decoder()
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "ServerOverloaded"}}
    first, raised = feed_with_error(decoder, stream(begin(), EMPTY_TEXT, delta(0, "text_delta", text="Hi"), error))

    assert first == [TextDelta("Hi")]
    assert isinstance(raised, ServerOverloaded)
    assert close(decoder) == []


def test_the_tokens_of_further_steps_are_counted_beside_those_of_the_messages() -> None:
    steps = [
        {"type": "compaction", "input_tokens": 60_000, "cache_read_input_tokens": 300, "output_tokens": 500},
        {"type": "message", "input_tokens": 600, "output_tokens": 1_000},
        {"type": "advisor_message", "model": "another", "input_tokens": 2_000, "output_tokens": -18},
        {"type": 7}, "no step",
    ]  # fmt: skip
    usage = read(
        begin(), EMPTY_TEXT, stop("end_turn", input_tokens=600, output_tokens=1_000, iterations=steps), END
    ).usage

    own, compaction, advisor = usage.parts()
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (62_900, 1_500, 64_400)
    assert (own.input_tokens, own.output_tokens) == (600, 1_000)
    assert (compaction.input_tokens, compaction.cached_tokens, compaction.model) == (60_300, 300, "")
    assert (advisor.input_tokens, advisor.output_tokens, advisor.model) == (2_000, 0, "another")


def test_usage_is_overwritten_and_counts_the_whole_prompt() -> None:
    head = begin(usage={"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 10})
    tail = stop("end_turn", input_tokens=7, output_tokens=3, output_tokens_details={"thinking_tokens": 2})
    usage = read(head, EMPTY_TEXT, tail, END).usage

    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.thinking_tokens) == (117, 100, 3, 2)


def test_a_whole_body_is_read_and_one_without_a_reason_is_not_complete() -> None:
    body = {"id": "m", "type": "message", "content": [SIGNED, USE], "stop_reason": "tool_use"}
    reply = decode("anthropic", json.dumps(body).encode(), stream=True)

    assert (reply.calls[0].arguments, reply.calls[0].runnable) == ('{"ticker": "A"}', True)
    assert native_of(reply) == [SIGNED, USE]
    assert not decode("anthropic", json.dumps({**body, "stop_reason": None}).encode(), stream=False).complete


def test_an_error_body_is_an_error() -> None:
    body = b'{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'

    with pytest.raises(AuthenticationFailed):
        decode("anthropic", body, stream=False)


@pytest.mark.parametrize("body", [b"<html><title>502</title>", b'{"choices": []}', b"upstream connect error"])
def test_what_is_no_reply_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidReply):
        decode("anthropic", body)


def test_a_decoder_can_be_copied_in_mid_stream() -> None:
    fragment = delta(0, "input_json_delta", partial_json="{}")
    body = stream(begin(), start(0, **EMPTY_USE), fragment, stop("tool_use"), END)
    decoder = WIRE.decoder()
    feed(decoder, body[: len(body) // 2])
    twin = copy.deepcopy(decoder)
    rest = feed(decoder, body[len(body) // 2 :])

    assert rest
    assert feed(twin, body[len(body) // 2 :]) == rest
    assert decoder.is_done


def test_a_reply_that_was_read_can_be_sent_back() -> None:
    decoder, builder = WIRE.decoder(), ReplyBuilder(wire="anthropic", host="api.example", model="thinker-1")
    for piece in feed(decoder, stream(begin(), start(0, **SIGNED), start(1, **USE), stop("tool_use"), END)):
        builder.add(piece)
    message = builder.reply().message
    call = message.calls[0]
    messages = messages_of(user("?"), message, results(ToolResult("price", "1", id=call.id, call_id=call.call_id)))

    assert messages[1]["content"] == [SIGNED, USE]
