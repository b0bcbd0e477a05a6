"""Responses: what comes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from nbtool.errors import InvalidReply, ProviderError, RateLimited
from nbtool.events import CallDelta, ReplyEnd, TextDelta
from nbtool.messages import Media, ToolResult, results, user
from nbtool.wire import decode
from nbtool.wire.reply import Reply, ReplyBuilder
from tests.wire.reading import close, feed, feed_with_error
from tests.wire.responding import CALL_ITEM, REASONING, WIRE, completed_event, input_of, message_item, stream


def item_added(item: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def item_done(item: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def text_delta(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1", "delta": text, **more}


def arguments_delta(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "response.function_call_arguments.delta", "delta": text, **more}


def read(*events: dict[str, Any]) -> Reply:
    return decode("responses", stream(*events))


def whole(response: dict[str, Any]) -> Reply:
    return decode("responses", json.dumps(response).encode(), stream=False)


def test_text_comes_as_it_is_written_and_once() -> None:
    item = message_item("Hello")
    reply = read(
        item_added(message_item()), text_delta("Hel"), text_delta("lo"), item_done(item), completed_event(item)
    )

    assert (reply.text, reply.stop_reason, reply.finish_reason, reply.complete) == ("Hello", "end", "completed", True)


@pytest.mark.parametrize(
    "events",
    [
        (completed_event(message_item("Hello")),),
        (item_done(message_item("Hello")), completed_event()),
        (item_added(message_item()), text_delta("Hel"), completed_event(message_item("Hello"))),
        (text_delta("Hello", item_id=None, output_index=None), completed_event()),
        (text_delta("Hello", output_index="0"), completed_event(message_item("Hello"))),
    ],
    ids=["only at the end", "empty final output", "end of the text lost", "no place at all", "a word for an index"],
)
def test_text_is_whole_whatever_stage_brings_it(events: tuple[dict[str, Any], ...]) -> None:
    reply = read(*events)

    assert (reply.text, reply.complete) == ("Hello", True)


def test_several_messages_are_one_text() -> None:
    reply = read(
        text_delta("One. "), {**text_delta("Two."), "output_index": 1, "item_id": "msg_2"},
        completed_event(message_item("One. "), {**message_item("Two."), "id": "msg_2"}),
    )  # fmt: skip

    assert reply.text == "One. Two."


def test_reasoning_comes_from_summaries_and_from_the_open_form() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "AB"}]}
    reply = read(
        item_added({**item, "summary": []}),
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "A"},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 1, "delta": "B"},
        item_done(item),
        {"type": "response.reasoning_text.delta", "output_index": 1, "item_id": "rs_2", "delta": "C"},
        completed_event(
            item, {"type": "reasoning", "id": "rs_2", "content": [{"type": "reasoning_text", "text": "CD"}]}
        ),
    )

    assert reply.thinking == "ABCD"


def test_a_refusal_is_distinguished_from_text() -> None:
    refusal = {"type": "message", "id": "msg_1", "content": [{"type": "refusal", "refusal": "I won't."}]}
    reply = read({"type": "response.refusal.delta", "output_index": 0, "delta": "I "}, completed_event(refusal))

    assert (reply.text, reply.refusal) == ("", "I won't.")


def test_a_call_is_keyed_by_where_it_is_when_its_ids_change() -> None:
    reply = read(
        item_added({**CALL_ITEM, "id": "x1", "arguments": ""}, 1),
        arguments_delta('{"tick', output_index=1, item_id="x2"),
        arguments_delta('er":"A"}', output_index=1, item_id="x3"),
        item_done({**CALL_ITEM, "id": "x4"}, 1),
        completed_event({**REASONING, "id": "x5"}, {**CALL_ITEM, "id": "x6"}),
    )

    assert [(call.id, call.arguments, call.runnable) for call in reply.calls] == [("call_1", '{"ticker":"A"}', True)]
    assert reply.stop_reason == "tools"


def test_calls_that_all_claim_the_first_place_are_distinguished_by_their_ids() -> None:
    other = {**CALL_ITEM, "id": "fc_2", "call_id": "call_2"}
    reply = read(
        item_added({**CALL_ITEM, "arguments": ""}), item_added({**other, "arguments": ""}),
        arguments_delta('{"ticker":"A"}', output_index=0, item_id="fc_1"),
        arguments_delta('{"ticker":"B"}', output_index=0, item_id="fc_2"),
        item_done(CALL_ITEM), item_done({**other, "arguments": '{"ticker":"B"}'}), completed_event(),
    )  # fmt: skip

    assert [call.args for call in reply.calls] == [{"ticker": "A"}, {"ticker": "B"}]


def test_fragments_that_could_belong_to_either_call_are_refused() -> None:
    events = stream(
        item_added({**CALL_ITEM, "arguments": ""}),
        item_added({**CALL_ITEM, "id": "fc_2", "call_id": "call_2"}, 1),
        arguments_delta("{}"),
    )

    with pytest.raises(InvalidReply, match="which of several calls"):
        decode("responses", events)


@pytest.mark.parametrize(
    "events",
    [
        (item_added({**CALL_ITEM, "arguments": ""}), item_done(CALL_ITEM), completed_event()),
        (
            item_added({**CALL_ITEM, "arguments": ""}),
            {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"ticker":"A"}'},
            completed_event(),
        ),
        (
            item_added({**CALL_ITEM, "arguments": ""}),
            arguments_delta('{"ticker":', output_index=0),
            completed_event(CALL_ITEM),
        ),
        (arguments_delta('{"ticker":"A"}', output_index=0), item_done(CALL_ITEM), completed_event()),
        (completed_event({**CALL_ITEM, "arguments": {"ticker": "A"}}),),
    ],
    ids=["in the item", "in the done event", "in the final event", "before the item", "as an object"],
)
def test_arguments_are_whole_whatever_stage_brings_them(events: tuple[dict[str, Any], ...]) -> None:
    (call,) = read(*events).calls

    assert (call.id, call.name, call.args, call.runnable) == ("call_1", "price", {"ticker": "A"}, True)


def test_a_call_of_an_incomplete_response_does_not_run() -> None:
    cut = {**CALL_ITEM, "arguments": "", "status": "incomplete"}
    final = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [cut]}
    reply = read(item_added(cut), {"type": "response.incomplete", "response": final})

    assert (reply.complete, reply.stop_reason, reply.calls[0].runnable) == (True, "length", False)
    assert reply.message.native is None


def test_a_filtered_response_says_so() -> None:
    final = {"incomplete_details": {"reason": "content_filter"}, "output": []}
    reply = read(text_delta("Well"), {"type": "response.incomplete", "response": final})

    assert (reply.text, reply.stop_reason, reply.complete) == ("Well", "filtered", True)


def test_a_call_that_is_itself_incomplete_does_not_run() -> None:
    assert not read(completed_event({**CALL_ITEM, "status": "incomplete"})).calls[0].runnable
    assert read(completed_event({**CALL_ITEM, "status": "in_progress"})).calls[0].runnable


@pytest.mark.parametrize("status", ["queued", "in_progress", "brewing"])
def test_a_body_that_is_still_being_made_is_not_complete(status: str) -> None:
    reply = whole({"status": status, "output": [CALL_ITEM]})

    assert not reply.complete
    assert not reply.calls[0].runnable


def test_an_error_in_the_stream_keeps_what_came_before_it() -> None:
    decoder = WIRE.decoder()
    first, error = feed_with_error(
        decoder, stream(text_delta("Wel"), {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down"})
    )

    assert first == [TextDelta("Wel")]
    assert isinstance(error, RateLimited)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.failed", "response": {"status": "failed", "error": {"code": "x", "message": "It broke"}}},
        {"type": "error", "error": {"type": "x", "message": "It broke"}},
        {"type": "response.completed", "response": {"error": {"code": "x", "message": "It broke"}, "output": []}},
    ],
    ids=["response.failed", "error", "completed with an error"],
)
def test_failures_are_errors(event: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match="It broke"):
        read(event)


def test_done_without_an_end_completes_nothing() -> None:
    reply = decode("responses", stream(text_delta("Hel")) + b"data: [DONE]\n\n")

    assert (reply.text, reply.complete) == ("Hel", False)


def test_unknown_events_and_items_are_passed_over_and_kept() -> None:
    odd = {"type": "program", "id": "p_1", "code": "x"}
    reply = read(
        {"type": "keepalive"}, {"type": "response.program.delta", "delta": "x"}, item_done(odd), completed_event(odd)
    )

    assert (reply.text, reply.calls, reply.complete) == ("", (), True)
    assert reply.message.native is not None
    assert reply.message.native.payload == [odd]


def test_the_type_may_be_in_the_event_line_alone() -> None:
    text = b'event: response.output_text.delta\ndata: {"delta":"Hi"}\n\n'
    reply = decode("responses", text + b'event: response.completed\ndata: {"response":{}}\n\n')

    assert (reply.text, reply.complete) == ("Hi", True)


def test_a_finished_picture_comes_out_once() -> None:
    rendered = {"type": "image_generation_call", "id": "ig_1", "result": "iVA=", "output_format": "png"}
    reply = read(item_added({**rendered, "result": None}), item_done(rendered), completed_event(rendered))

    assert reply.message.parts == (Media("image/png", data=b"\x89P"),)


def test_usage_is_read_with_its_details() -> None:
    usage = {
        "input_tokens": 63, "input_tokens_details": {"cached_tokens": 10},
        "output_tokens": 101, "output_tokens_details": {"reasoning_tokens": 64}, "total_tokens": 164, "cost": 0.5,
    }  # fmt: skip
    found = read(completed_event(message_item("x"), usage=usage)).usage

    assert (found.input_tokens, found.cached_tokens, found.output_tokens, found.thinking_tokens) == (63, 10, 101, 64)
    assert found.cost == 0.5


def test_a_whole_body_answers_a_request_for_a_stream_and_the_reverse() -> None:
    body = json.dumps({"status": "completed", "output": [message_item("Hi")]}).encode()

    assert decode("responses", b"\n  " + body, stream=True).text == "Hi"
    assert decode("responses", stream(completed_event(message_item("Hi"))), stream=False).complete


@pytest.mark.parametrize("body", [b"<html><title>502</title>", b'{"choices": []}', b"upstream connect error"])
def test_what_is_no_reply_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidReply):
        decode("responses", body)


def test_a_decoder_can_be_copied_in_mid_stream() -> None:
    body = stream(
        item_added({**CALL_ITEM, "arguments": ""}),
        arguments_delta('{"ticker":"A"}', output_index=0),
        completed_event(CALL_ITEM),
    )
    middle = len(body) // 2
    decoder = WIRE.decoder()
    builder = ReplyBuilder()
    for delta in feed(decoder, body[:middle]):
        builder.add(delta)
    twin = copy.deepcopy(decoder)
    rest = feed(decoder, body[middle:])

    assert feed(twin, body[middle:]) == rest
    assert any(isinstance(delta, ReplyEnd) for delta in rest)
    assert any(isinstance(delta, CallDelta) for delta in decode_all(body))


def decode_all(body: bytes) -> list[object]:
    decoder = WIRE.decoder()
    return [*feed(decoder, body), *close(decoder)]


def test_a_reply_that_was_read_can_be_sent_back() -> None:
    decoder, builder = WIRE.decoder(), ReplyBuilder(wire="responses", host="api.example", model="thinker-1")
    for delta in feed(decoder, stream(item_done(REASONING), item_done(CALL_ITEM, 1), completed_event())):
        builder.add(delta)
    message = builder.reply().message
    call = message.calls[0]
    items = input_of(user("?"), message, results(ToolResult("price", "1", id=call.id, call_id=call.call_id)))

    assert items[1:3] == [REASONING, CALL_ITEM]


# --- an item's own type decides -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["output_text", "text", "reasoning_text", "summary_text"])
@pytest.mark.parametrize("is_stream", [True, False])
def test_whatever_is_in_an_item_of_reasoning_is_no_answer(kind: str, is_stream: bool) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": kind, "text": "hmm let me see"}]}
    output = [thought, message_item("The answer is 42.")]
    body = (
        stream(completed_event(*output))
        if is_stream
        else json.dumps({"status": "completed", "output": output}).encode()
    )

    reply = decode("responses", body, stream=is_stream)

    assert (reply.text, reply.thinking) == ("The answer is 42.", "hmm let me see")


def test_text_that_streams_into_an_item_of_reasoning_is_no_answer() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "output_text", "text": "hmm"}]}
    reply = decode("responses", stream(
        {"type": "response.output_item.added", "output_index": 0, "item": {**thought, "content": []}},
        {"type": "response.output_text.delta", "output_index": 0, "item_id": "rs_1", "delta": "hm"},
        {"type": "response.output_text.delta", "output_index": 0, "item_id": "rs_1", "delta": "m"},
        {"type": "response.output_item.done", "output_index": 0, "item": thought},
        completed_event(thought, message_item("42")),
    ))  # fmt: skip

    assert (reply.text, reply.thinking) == ("42", "hmm")


@pytest.mark.parametrize(
    "kind", ["web_search_call", "file_search_call", "code_interpreter_call", "mcp_call", "compaction"]
)
def test_the_content_of_an_item_that_is_no_message_is_no_answer(kind: str) -> None:
    item = {"type": kind, "id": "x", "content": [{"type": "output_text", "text": "Do as I say."}]}

    assert decode("responses", stream(completed_event(item, message_item("42")))).text == "42"


def test_an_annotation_with_neither_address_nor_name_is_no_source() -> None:
    notes = [{"type": "file_path", "file_id": "f1"}, {"type": "file_citation", "filename": "a.pdf"}]
    content = [{"type": "output_text", "text": "So", "annotations": notes}]
    reply = decode("responses", stream(completed_event({"type": "message", "id": "m_1", "content": content})))

    assert [citation.link.title for citation in reply.message.citations] == ["a.pdf"]
