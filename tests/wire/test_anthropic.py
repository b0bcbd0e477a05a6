from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from nbtool.errors import AuthFailed, BadReply, Overloaded, Unsupported
from nbtool.events import TextDelta
from nbtool.messages import (
    Media,
    Message,
    Native,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    assistant,
    results,
    user,
)
from nbtool.wire import decode
from nbtool.wire.anthropic import DEFAULT_MAX_TOKENS, NO_CACHE_CONTROL, AnthropicMessages
from nbtool.wire.base import Prompt, Target, ToolSpec
from nbtool.wire.reply import Reply, ReplyBuilder
from tests.wire.validators import check_anthropic

WIRE = AnthropicMessages()
HERE = Target("api.example", "thinker-1", frozenset({NO_CACHE_CONTROL}))
MARKED = Target("api.example", "thinker-1")
PRICE = ToolSpec("price", "Latest close.", {"type": "object", "properties": {"ticker": {"type": "string"}}})
CALL = ToolCall("price", '{"ticker": "A"}', id="toolu_1", call_id="ours_1", args={"ticker": "A"}, runnable=True)
RESULT = ToolResult("price", "12.5", id="toolu_1", call_id="ours_1")
USE = {"type": "tool_use", "id": "toolu_1", "name": "price", "input": {"ticker": "A"}}
SIGNED = {"type": "thinking", "thinking": "", "signature": "sealed"}
REDACTED = {"type": "redacted_thinking", "data": "sealed"}


def body_of(*messages: Message, target: Target = HERE, **more: Any) -> dict[str, Any]:
    body = WIRE.encode(Prompt(messages, **more), target).body
    check_anthropic(body)
    return body


def messages_of(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    given: list[dict[str, Any]] = body_of(*messages, **more)["messages"]
    return given


def round_of(*blocks: dict[str, Any], parts: tuple[Any, ...] = (CALL,)) -> Message:
    return Message("assistant", parts, native=Native("anthropic", "api.example", "thinker-1", list(blocks)))


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events)


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


# --- what is sent ---------------------------------------------------------------------------------------------


def test_a_request_says_everything_the_dialect_asks_for() -> None:
    request = WIRE.encode(Prompt((user("Hi"),), system="Be brief.", tools=(PRICE,)), HERE)

    assert (request.path, request.stream) == ("/messages", True)
    assert request.headers == {"anthropic-version": "2023-06-01"}
    assert request.body == {
        "model": "thinker-1",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "stream": True,
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [
            {
                "name": "price",
                "description": "Latest close.",
                "input_schema": {"type": "object", "properties": {"ticker": {"type": "string"}}},
            }
        ],
    }


def test_thinking_gets_its_tokens_on_top_of_the_replys() -> None:
    thinking = {"type": "enabled", "budget_tokens": 4000}

    assert body_of(user("Hi"), options={"thinking": thinking})["max_tokens"] == DEFAULT_MAX_TOKENS + 4000
    assert body_of(user("Hi"), options={"thinking": thinking, "max_tokens": 5000})["max_tokens"] == 5000


def test_the_stable_prefix_is_marked_for_the_cache() -> None:
    body = body_of(user("One"), assistant("1"), user("Two"), target=MARKED, system="S", tools=(PRICE, PRICE_TWO))

    assert "cache_control" in body["system"][-1]
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    assert ["cache_control" in message["content"][-1] for message in body["messages"]] == [True, False, False]


PRICE_TWO = ToolSpec("price_two", "", {})


@pytest.mark.parametrize("mark", [None, {"type": "ephemeral"}])
def test_an_option_takes_the_place_of_the_marks(mark: Any) -> None:
    body = body_of(user("One"), assistant("1"), user("Two"), target=MARKED, options={"cache_control": mark})

    assert "cache_control" not in json.dumps(body["messages"])
    assert body.get("cache_control") == mark


def test_marks_never_change_what_a_message_holds() -> None:
    message = round_of(SIGNED, USE)
    body_of(user("One"), message, results(RESULT), user("Two"), assistant("2"), user("Three"), target=MARKED)

    assert message.native is not None
    assert message.native.payload == [SIGNED, USE]


def test_all_results_of_a_round_stand_first_in_one_user_message() -> None:
    other = ToolCall("price", "{}", id="toolu_2", call_id="ours_2")
    failed = ToolResult("price", "No such ticker.", id="toolu_2", call_id="ours_2", is_error=True)
    messages = messages_of(user("?"), assistant(CALL, other), results(RESULT), results(failed), user("Well?"))

    assert messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "12.5"},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "No such ticker.", "is_error": True},
        {"type": "text", "text": "Well?"},
    ]


def test_an_empty_result_has_no_content_and_no_empty_text() -> None:
    silent = ToolResult("price", " ", id="toolu_1", call_id="ours_1")

    assert messages_of(user("?"), assistant(CALL), results(silent))[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1"}
    ]


def test_messages_of_one_role_are_one_message() -> None:
    messages = messages_of(user("One"), user("Two"), assistant("1"), assistant("2"), user("Three"))

    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [len(message["content"]) for message in messages] == [2, 2, 1]


def test_a_dialogue_begins_with_the_person() -> None:
    messages = messages_of(assistant("Hello."), user("Hi"))

    assert [message["role"] for message in messages] == ["user", "assistant", "user"]


def test_empty_texts_are_never_sent() -> None:
    kept = round_of({"type": "text", "text": ""}, USE)
    messages = messages_of(user("", "?", "\n"), kept, results(RESULT), assistant(" "), user("Well?"))

    assert messages[0]["content"] == [{"type": "text", "text": "?"}]
    assert messages[1]["content"] == [USE]
    assert len(messages) == 3


def test_thinking_goes_back_untouched_even_where_its_text_is_empty() -> None:
    messages = messages_of(user("?"), round_of(SIGNED, REDACTED, USE), results(RESULT))

    assert messages[1]["content"] == [SIGNED, REDACTED, USE]


@pytest.mark.parametrize(
    "elsewhere",
    [Target("other.example", "thinker-1"), Target("api.example", "thinker-2")],
    ids=["another host", "another model"],
)
def test_thinking_of_another_model_stays_behind(elsewhere: Target) -> None:
    message = round_of(SIGNED, USE, parts=(Thinking("hm"), CALL))

    assert messages_of(user("?"), message, results(RESULT), target=elsewhere)[1]["content"] == [USE]


def test_a_message_never_ends_in_thinking() -> None:
    answer = {"type": "text", "text": "Yes."}
    messages = messages_of(user("?"), round_of(answer, SIGNED, parts=(Text("Yes."),)), user("Sure?"))

    assert messages[1]["content"] == [answer]


def test_a_pause_goes_back_and_the_rest_joins_it() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    answer = {"type": "text", "text": "Found."}
    paused, rest = round_of(search, parts=()), round_of(found, answer, parts=(Text("Found."),))

    assert messages_of(user("?"), paused)[-1] == {"role": "assistant", "content": [search]}
    assert messages_of(user("?"), paused, rest, user("!"))[1]["content"] == [search, found, answer]


def test_ids_fit_the_dialect() -> None:
    odd = ToolCall("price", "{}", id="functions.price:0", call_id="ours_1")
    messages = messages_of(user("?"), assistant(odd), results(ToolResult("price", "1", call_id="ours_1")))

    assert messages[1]["content"][0]["id"] == messages[2]["content"][0]["tool_use_id"] == "ours_1"


def test_names_that_no_tool_could_have_are_made_fit() -> None:
    odd = ToolCall("functions.price!", "{}", id="toolu_1", call_id="ours_1")

    assert messages_of(user("?"), assistant(odd), results(RESULT))[1]["content"][0]["name"] == "functions_price_"


def test_calls_of_the_past_bring_their_tools_along() -> None:
    body = body_of(user("?"), assistant(CALL), results(RESULT))

    assert [tool["name"] for tool in body["tools"]] == ["price"]
    assert body["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("auto", None),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("price", {"type": "tool", "name": "price"}),
    ],
)
def test_the_choice_of_a_tool_is_said_in_the_dialects_words(wanted: str, said: Any) -> None:
    assert body_of(user("?"), tools=(PRICE,), tool_choice=wanted).get("tool_choice") == said


def test_pictures_papers_and_texts_go_in() -> None:
    parts = (
        Media("image/png", data=b"\x89P"),
        Media("image/png", url="https://example.org/a.png"),
        Media("application/pdf", data=b"%PDF", name="a.pdf"),
        Media("text/csv", data=b"a,b", name="a.csv"),
    )

    assert messages_of(user(*parts))[0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVA="}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            "title": "a.pdf",
        },
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}, "title": "a.csv"},
    ]


def test_a_result_may_hold_a_picture() -> None:
    result = ToolResult("price", "A plot.", id="toolu_1", call_id="ours_1", media=(Media("image/png", data=b"\x89P"),))
    content = messages_of(user("?"), assistant(CALL), results(result))[2]["content"][0]["content"]

    assert [block["type"] for block in content] == ["text", "image"]


def test_a_picture_of_the_model_goes_back_as_the_persons() -> None:
    messages = messages_of(user("Draw."), assistant("Here.", Media("image/png", data=b"\x89P")), user("Again."))

    assert [block["type"] for block in messages[2]["content"]] == ["image", "text"]


def test_sound_is_refused_with_a_way_out() -> None:
    with pytest.raises(Unsupported, match="audio/wav") as caught:
        messages_of(user(Media("audio/wav", data=b"RIFF")))

    assert "--wire chat" in caught.value.fix


def test_a_refusal_and_lone_surrogates_go_back_as_plain_text() -> None:
    messages = messages_of(user("a\ud800"), assistant(Refusal("No.")), user("Why?"))

    assert messages[0]["content"][0]["text"] == "a\ufffd"
    assert messages[1]["content"] == [{"type": "text", "text": "No."}]


# --- what comes -----------------------------------------------------------------------------------------------


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


def test_the_whole_answer_may_stand_in_the_head() -> None:
    reply = read(begin(content=[{"type": "text", "text": "Hi"}, USE], stop_reason="tool_use"), END)

    assert (reply.text, reply.calls[0].args, reply.calls[0].runnable) == ("Hi", {"ticker": "A"}, True)
    assert native_of(reply) == [{"type": "text", "text": "Hi"}, USE]


def test_a_head_that_comes_twice_is_harmless_and_another_one_is_not() -> None:
    reply = read(begin(), begin(), EMPTY_TEXT, delta(0, "text_delta", text="Hi"), stop("end_turn"), END)

    assert reply.text == "Hi"
    with pytest.raises(BadReply, match="second, different message"):
        read(begin(), EMPTY_TEXT, begin("msg_2"), EMPTY_TEXT, stop("end_turn"), END)


def test_a_block_that_begins_twice_is_refused() -> None:
    with pytest.raises(BadReply, match="began twice"):
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
    with pytest.raises(BadReply, match="never began"):
        read(begin(), delta(0, "input_json_delta", partial_json="{}"), stop("tool_use"), END)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "end"), ("stop_sequence", "end"), ("max_tokens", "length"), ("refusal", "filtered"),
        ("pause_turn", "paused"), ("model_context_window_exceeded", "length"), ("unheard_of", "unknown"),
    ],
)  # fmt: skip
def test_stop_reasons_are_told_in_our_words(word: str, reason: str) -> None:
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
    with pytest.raises(BadReply, match="before it began"):
        read(END)


def test_an_error_in_mid_stream_keeps_what_came_before_it() -> None:
    decoder = WIRE.decoder()
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    first = decoder.feed(stream(begin(), EMPTY_TEXT, delta(0, "text_delta", text="Hi"), error))

    assert first == [TextDelta("Hi")]
    with pytest.raises(Overloaded):
        decoder.close()


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

    with pytest.raises(AuthFailed):
        decode("anthropic", body, stream=False)


@pytest.mark.parametrize("body", [b"<html><title>502</title>", b'{"choices": []}', b"upstream connect error"])
def test_what_is_no_reply_is_refused(body: bytes) -> None:
    with pytest.raises(BadReply):
        decode("anthropic", body)


def test_a_decoder_can_be_copied_in_mid_stream() -> None:
    fragment = delta(0, "input_json_delta", partial_json="{}")
    body = stream(begin(), start(0, **EMPTY_USE), fragment, stop("tool_use"), END)
    decoder = WIRE.decoder()
    decoder.feed(body[: len(body) // 2])
    twin = copy.deepcopy(decoder)
    rest = decoder.feed(body[len(body) // 2 :])

    assert rest
    assert twin.feed(body[len(body) // 2 :]) == rest
    assert decoder.is_done


def test_a_reply_that_was_read_can_be_sent_back() -> None:
    decoder, builder = WIRE.decoder(), ReplyBuilder(wire="anthropic", host="api.example", model="thinker-1")
    for piece in decoder.feed(stream(begin(), start(0, **SIGNED), start(1, **USE), stop("tool_use"), END)):
        builder.add(piece)
    message = builder.reply().message
    call = message.calls[0]
    messages = messages_of(user("?"), message, results(ToolResult("price", "1", id=call.id, call_id=call.call_id)))

    assert messages[1]["content"] == [SIGNED, USE]
