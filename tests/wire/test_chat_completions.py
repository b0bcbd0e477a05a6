from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool.errors import BadReply, ContextTooLong, IncompleteReply, NbtoolError, ProviderError, Unsupported
from nbtool.events import MediaDelta, TextDelta, UsageDelta
from nbtool.messages import (
    Media,
    Message,
    Native,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    assistant,
    results,
    user,
)
from nbtool.wire import Prompt, Reply, Target, ToolSpec, decode, find_wire

WIRE = find_wire("chat")
HERE = Target("host.example", "m")


def chunk(delta: dict[str, Any] | None = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def stream(*chunks: dict[str, Any], done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(value)}\n\n" for value in chunks]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def read(*chunks: dict[str, Any], done: bool = True) -> Reply:
    return decode("chat", stream(*chunks, done=done))


def whole(message: dict[str, Any], finish: Any = "stop", **more: Any) -> Reply:
    body = {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}
    return decode("chat", json.dumps(body).encode(), stream=False)


def call(index: Any = 0, call_id: Any = None, name: Any = None, arguments: Any = None) -> dict[str, Any]:
    fragment: dict[str, Any] = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    if index is None:
        del fragment["index"]
    return {"tool_calls": [fragment]}


def calls(reply: Reply) -> list[tuple[str, str]]:
    return [(made.name, made.arguments) for made in reply.calls]


# --- the end --------------------------------------------------------------------------------------------------


def test_a_finish_reason_completes_a_reply() -> None:
    assert read(chunk({"content": "Hi"}), chunk(finish="stop"), done=False).complete


def test_the_end_mark_completes_a_reply_without_a_finish_reason() -> None:
    reply = read(chunk({"content": "Hi"}))

    assert reply.complete
    assert (reply.finish_reason, reply.stop_reason) == ("", "unknown")


def test_the_end_of_the_bytes_does_not_complete_a_reply() -> None:
    reply = read(chunk({"content": "Hi"}), done=False)

    assert reply.text == "Hi"
    assert not reply.complete


def test_an_empty_finish_reason_does_not_complete_a_stream() -> None:
    assert not read(chunk({"content": "Hi"}, finish=""), done=False).complete


def test_a_whole_document_completes_a_reply_with_any_finish_reason() -> None:
    assert whole({"content": "Hi"}, finish="").complete
    assert whole({"content": "Hi"}, finish=None).complete


def test_a_document_that_is_cut_is_no_reply() -> None:
    with pytest.raises(IncompleteReply):
        decode("chat", b'{"choices":[{"message":{"content":"Hi', stream=False)


def test_calls_of_a_stream_that_is_cut_do_not_run() -> None:
    reply = read(chunk(call(0, "c1", "f", "{}")), done=False)

    assert calls(reply) == [("f", "{}")]
    assert not reply.calls[0].runnable


@pytest.mark.parametrize("reason", ["length", "max_tokens", "content_filter", "abort"])
def test_calls_of_a_reply_that_was_cut_short_do_not_run(reason: str) -> None:
    reply = read(chunk(call(0, "c1", "f", "")), chunk(finish=reason))

    assert reply.complete
    assert not reply.calls[0].runnable


def test_a_limit_that_a_gateway_hides_is_seen_in_the_models_own_word() -> None:
    end = {
        "choices": [
            {"index": 0, "delta": {}, "finish_reason": "tool_calls", "native_finish_reason": "max_output_tokens"}
        ]
    }
    reply = read(chunk(call(0, "c1", "f", "{}")), end)

    assert (reply.finish_reason, reply.stop_reason) == ("tool_calls", "length")
    assert not reply.calls[0].runnable


def test_stop_beside_calls_runs_them() -> None:
    reply = read(chunk(call(0, "c1", "f", "{}"), finish="stop"))

    assert reply.stop_reason == "tools"
    assert reply.calls[0].runnable


def test_a_finish_reason_may_come_twice() -> None:
    assert read(chunk({"content": "Hi"}, "stop"), chunk({"content": ""}, "stop")).text == "Hi"


def test_a_call_after_the_finish_reason_belongs_to_the_reply() -> None:
    reply = read(chunk(call(0, "a", "f", "{}"), "tool_calls"), chunk(call(1, "b", "g", "{}"), "tool_calls"))

    assert calls(reply) == [("f", "{}"), ("g", "{}")]


def test_what_follows_the_end_mark_is_ignored() -> None:
    decoder = WIRE.decoder()
    decoder.feed(stream(chunk({"content": "Hi"}, "stop")))

    assert decoder.is_done
    assert decoder.feed(stream(chunk({"content": "more"}))) == []
    assert decoder.close() == []


# --- text -----------------------------------------------------------------------------------------------------


def test_chunks_without_choices_or_delta_say_nothing() -> None:
    odd: list[dict[str, Any]] = [
        {"choices": [], "prompt_filter_results": []},
        {"choices": None, "usage": None},
        {"choices": [{"index": 0, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": None}]},
        chunk({"role": "assistant", "content": None, "tool_calls": None}),
        chunk({"tool_calls": []}),
    ]

    assert read(*odd, chunk({"content": "Hi"}, "stop")).text == "Hi"


def test_empty_text_makes_no_delta() -> None:
    decoder = WIRE.decoder()

    assert decoder.feed(stream(chunk({"role": "assistant", "content": ""}), done=False)) == []


def test_content_may_be_a_list_of_parts() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
    reply = read(
        chunk({"content": [thinking]}), chunk({"content": [{"type": "text", "text": "Hi"}]}), chunk({"content": "!"})
    )

    assert (reply.thinking, reply.text) == ("Hm", "Hi!")


def test_content_may_be_an_object() -> None:
    assert whole({"content": {"a": "ä"}}).text == '{"a": "ä"}'


def test_the_transcript_of_a_sound_is_its_text() -> None:
    assert whole({"content": None, "audio": {"transcript": "Hi"}}).text == "Hi"


def test_a_refusal_is_no_text() -> None:
    reply = read(chunk({"refusal": "I "}), chunk({"refusal": "won't"}), chunk(finish="stop"))

    assert (reply.text, reply.refusal) == ("", "I won't")


def test_only_the_first_choice_counts() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]}

    reply = read(chunk({"content": "Hi"}), second, done=False)

    assert reply.text == "Hi"
    assert not reply.complete


def test_a_message_beside_the_deltas_adds_only_what_is_new() -> None:
    last = {
        "choices": [
            {"index": 0, "delta": {"content": " you"}, "message": {"content": "Hi you!"}, "finish_reason": "stop"}
        ]
    }

    assert read(chunk({"content": "Hi"}), last).text == "Hi you!"


def test_a_message_in_place_of_deltas_is_read() -> None:
    said = {"content": "Hi", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]}
    reply = read({"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]})

    assert reply.text == "Hi"
    assert calls(reply) == [("f", '{"x": 1}')]


def test_a_picture_that_comes_along_is_media_and_one_by_address_is_not_fetched() -> None:
    images = [
        {"image_url": {"url": "data:image/png;base64,AAEC"}},
        {"image_url": {"url": "https://host.example/x.png"}},
    ]
    deltas = WIRE.decoder().feed(stream(chunk({"content": "See", "images": images})))

    assert [delta.media for delta in deltas if isinstance(delta, MediaDelta)] == [Media("image/png", data=b"\0\1\2")]


def test_lone_surrogates_are_replaced() -> None:
    reply = decode("chat", b'data: {"choices":[{"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}\n\n')

    assert reply.text == "a\ufffd"


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    reply = decode("chat", b'data: {"choices":[{"delta":{"content":"a\xff"},"finish_reason":"stop"}]}\n\n')

    assert reply.text == "a\ufffd"


# --- thinking -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_comes_in_a_field_of_its_own(field: str) -> None:
    reply = read(chunk({field: "Hm"}), chunk({"content": "Hi"}, "stop"))

    assert (reply.thinking, reply.text) == ("Hm", "Hi")


def test_thinking_that_comes_in_several_fields_is_shown_once_and_kept_in_all() -> None:
    detail = {"type": "reasoning.text", "index": 0, "text": "Hm"}
    delta = {"reasoning": "Hm", "reasoning_content": "Hm", "reasoning_details": [detail]}
    reply = read(chunk(delta), chunk({"content": "Hi"}, "stop"))

    assert reply.thinking == "Hm"
    assert native(reply)["reasoning"] == native(reply)["reasoning_content"] == "Hm"
    assert native(reply)["reasoning_details"] == [detail]


def test_thinking_that_comes_in_details_only_is_shown() -> None:
    first = {"type": "reasoning.text", "index": 0, "text": "H", "signature": None}
    reply = read(
        chunk({"reasoning_details": [first]}),
        chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "m"}]}),
        chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "S"}]}),
        chunk({"reasoning_details": [{"type": "reasoning.encrypted", "index": 0, "data": "X"}]}, "stop"),
    )

    assert reply.thinking == "Hm"
    assert native(reply)["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "Hm", "signature": "S"},
        {"type": "reasoning.encrypted", "index": 0, "data": "X"},
    ]


# --- calls ----------------------------------------------------------------------------------------------------


def test_arguments_come_in_fragments() -> None:
    reply = read(
        chunk(call(0, "c1", "f", "")), chunk(call(0, None, None, '{"x"')), chunk(call(0, "", "", ": 1}"), "tool_calls")
    )

    assert calls(reply) == [("f", '{"x": 1}')]
    assert (reply.calls[0].id, reply.calls[0].args) == ("c1", {"x": 1})


def test_parallel_calls_are_told_apart_by_index_also_interleaved() -> None:
    reply = read(
        chunk(call(0, "a", "f", '{"x"')),
        chunk(call(1, "b", "g", '{"y"')),
        chunk(call(0, None, None, ":1}")),
        chunk(call(1, None, None, ":2}"), "tool_calls"),
    )

    assert calls(reply) == [("f", '{"x":1}'), ("g", '{"y":2}')]


@pytest.mark.parametrize("index", [1, 7, "0", "3", 2.0])
def test_an_index_is_a_key_and_no_place(index: Any) -> None:
    reply = read(chunk(call(index, "a", "f", "{")), chunk(call(index, None, None, "}"), "tool_calls"))

    assert calls(reply) == [("f", "{}")]


@pytest.mark.parametrize("index", [None, -1, 0.5, "x", True, [], {}])
def test_without_an_index_the_id_tells_calls_apart(index: Any) -> None:
    reply = read(
        chunk(call(index, "a", "f", '{"x"')),
        chunk(call(index, "a", None, ":1}")),
        chunk(call(index, "b", "f", "{")),
        chunk(call(index, None, None, "}"), "tool_calls"),
    )

    assert calls(reply) == [("f", '{"x":1}'), ("f", "{}")]


def test_without_an_index_and_an_id_the_name_tells_calls_apart() -> None:
    reply = read(chunk(call(None, "", "f", '{"x":1}')), chunk(call(None, "", "f", '{"x":2}'), "stop"))

    assert calls(reply) == [("f", '{"x":1}'), ("f", '{"x":2}')]
    assert len({made.id for made in reply.calls}) == 2


def test_several_calls_in_one_delta_without_an_index_are_several() -> None:
    both = {"tool_calls": [{"function": {"name": "f", "arguments": ""}}, {"function": {"name": "f", "arguments": ""}}]}

    assert calls(read(chunk(both, "tool_calls"))) == [("f", ""), ("f", "")]


def test_the_same_index_with_another_id_is_another_call() -> None:
    reply = read(
        chunk(call(0, "a", "f", "{}")), chunk(call(0, "b", "g", "{")), chunk(call(0, None, None, "}"), "tool_calls")
    )

    assert calls(reply) == [("f", "{}"), ("g", "{}")]


def test_the_same_index_and_no_ids_are_told_apart_by_whole_arguments() -> None:
    reply = read(chunk(call(0, None, "f", '{"x":1}')), chunk(call(0, None, "f", '{"x":2}'), "tool_calls"))

    assert calls(reply) == [("f", '{"x":1}'), ("f", '{"x":2}')]


def test_another_index_with_the_same_id_is_another_call() -> None:
    reply = read(chunk(call(0, "a", "f", "{}")), chunk(call(1, "a", "g", "{}"), "tool_calls"))

    assert calls(reply) == [("f", "{}"), ("g", "{}")]
    assert len({made.id for made in reply.calls}) == 2


def test_an_id_and_a_name_that_are_repeated_are_not_appended() -> None:
    reply = read(
        chunk(call(0, "0", "f", "")), chunk(call(0, "0", "f", "{")), chunk(call(0, "0", "f", "}"), "tool_calls")
    )

    assert calls(reply) == [("f", "{}")]
    assert reply.calls[0].id == "0"


def test_a_name_that_is_repeated_without_an_id_is_not_another_call() -> None:
    reply = read(
        chunk(call(0, None, "f", '{"x":')), chunk(call(0, None, "f", "{}")), chunk(call(0, None, "f", "}"), "stop")
    )

    assert calls(reply) == [("f", '{"x":{}}')]


def test_an_id_that_comes_late_is_the_calls() -> None:
    reply = read(chunk(call(0, None, "f", "{")), chunk(call(0, "late", None, "}"), "tool_calls"))

    assert [made.id for made in reply.calls] == ["late"]
    assert calls(reply) == [("f", "{}")]


@pytest.mark.parametrize("arguments", [None, "", "null"])
def test_no_arguments_are_an_empty_object(arguments: str | None) -> None:
    reply = read(chunk(call(0, "a", "f", arguments), "tool_calls"))

    assert reply.calls[0].args == {}
    assert reply.calls[0].runnable


def test_arguments_may_be_an_object() -> None:
    reply = read(chunk(call(0, "a", "f", {"x": "ä"}), "tool_calls"))

    assert reply.calls[0].arguments == '{"x": "ä"}'


def test_arguments_that_are_repeated_whole_each_time_count_once() -> None:
    parts = ['{"x"', '{"x": 1', '{"x": 1}', '{"x": 1}']
    reply = read(*(chunk(call(0, "a", "f", part)) for part in parts), chunk(finish="tool_calls"))

    assert reply.calls[0].args == {"x": 1}
    assert native(reply)["tool_calls"][0]["function"]["arguments"] == '{"x": 1}'


def test_fragments_that_cannot_be_told_apart_never_run() -> None:
    reply = read(
        chunk(call(0, None, "f", '{"x"')), chunk(call(0, None, "f", '{"y"')), chunk(call(0, None, None, ":1}"), "stop")
    )

    assert not any(made.runnable for made in reply.calls)


def test_a_call_may_be_in_the_way_of_2023() -> None:
    reply = read(
        chunk({"function_call": {"name": "f", "arguments": "{"}}),
        chunk({"function_call": {"arguments": "}"}}, "function_call"),
    )

    assert calls(reply) == [("f", "{}")]
    assert reply.calls[0].runnable


def test_an_empty_call_in_the_way_of_2023_is_none() -> None:
    assert whole({"content": "Hi", "function_call": {"name": "", "arguments": ""}}).calls == ()


def test_a_call_that_is_told_in_both_ways_is_one_call() -> None:
    def told(arguments: str) -> dict[str, Any]:
        return {"function_call": {"name": "f", "arguments": arguments}, **call(0, "c1", "f", arguments)}

    assert calls(read(chunk(told("{")), chunk(told("}")), chunk(finish="tool_calls"))) == [("f", "{}")]
    assert calls(whole(told("{}"), "tool_calls")) == [("f", "{}")]


def test_a_free_form_call_is_read_and_does_not_run() -> None:
    reply = whole(
        {"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "f", "input": "4 + 4"}}]}, "tool_calls"
    )

    assert calls(reply) == [("f", "4 + 4")]
    assert not reply.calls[0].runnable


def test_calls_at_the_root_of_a_chunk_are_taken() -> None:
    reply = read({"choices": [], **call(0, "a", "f", "{}")}, chunk(finish="tool_calls"))

    assert calls(reply) == [("f", "{}")]


def test_text_before_and_after_calls_is_kept() -> None:
    reply = read(chunk({"content": "One "}), chunk(call(0, "a", "f", "{}")), chunk({"content": "two"}, "tool_calls"))

    assert reply.text == "One two"
    assert [part.kind for part in reply.message.parts] == ["text", "call", "text"]


# --- usage ----------------------------------------------------------------------------------------------------

COUNTED = {"prompt_tokens": 3, "completion_tokens": 4}


@pytest.mark.parametrize(
    "last",
    [
        {"choices": [], "usage": COUNTED},
        chunk(usage=COUNTED),
        chunk(x_groq={"usage": COUNTED}),
        {"choices": [{"index": 0, "delta": {}, "usage": COUNTED}]},
    ],
)
def test_usage_is_found_where_servers_put_it(last: dict[str, Any]) -> None:
    assert read(chunk({"content": "Hi"}, "stop"), last).usage == Usage(3, 4)


def test_usage_that_grows_is_not_added_up() -> None:
    first = {"prompt_tokens": 3, "completion_tokens": 1}

    assert read(chunk({"content": "H"}, usage=first), chunk({"content": "i"}, "stop", usage=COUNTED)).usage == Usage(
        3, 4
    )


def test_cached_tokens_thinking_tokens_and_cost_are_counted() -> None:
    usage = COUNTED | {
        "prompt_tokens_details": {"cached_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 1},
        "cost": 0.5,
    }

    assert whole({"content": "Hi"}, usage=usage).usage == Usage(3, 4, 2, 1, 0.5)
    assert whole({"content": "Hi"}, usage=COUNTED | {"prompt_cache_hit_tokens": 2}).usage.cached_tokens == 2
    assert whole({"content": "Hi"}, usage=COUNTED | {"cost": {"total_cost": 0.5}}).usage.cost == 0.5


def test_usage_beside_text_comes_with_it() -> None:
    deltas = WIRE.decoder().feed(stream(chunk({"content": "Hi"}, usage=COUNTED)))

    assert [type(delta) for delta in deltas][:2] == [UsageDelta, TextDelta]


# --- errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {"error": {"message": "no", "code": 500}},
        {"error": "no"},
        {"object": "error", "message": "no"},
        {"detail": "no"},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": {"message": "no"}}]},
        chunk({"content": "x"}, error={"message": "no"}),
    ],
)
def test_an_error_with_a_good_status_is_an_error(value: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match="no"):
        read(value)
    with pytest.raises(ProviderError, match="no"):
        decode("chat", json.dumps(value).encode(), stream=False)


def test_an_error_comes_after_the_deltas_before_it() -> None:
    decoder = WIRE.decoder()
    deltas = decoder.feed(
        stream(chunk({"content": "Hi"}), {"error": {"code": "context_length_exceeded", "message": "x"}})
    )

    assert deltas == [TextDelta("Hi")]
    assert decoder.is_done
    with pytest.raises(ContextTooLong):
        decoder.close()


@pytest.mark.parametrize(
    "body", [b"<html><body>x</body></html>", b"{}", b'{"a": 1}', b"[1]", b"{'a'}", b"data: {x}\n\n", b"nothing"]
)
def test_what_is_no_reply_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(BadReply):
        decode("chat", body)


def test_nothing_is_an_incomplete_reply() -> None:
    assert not decode("chat", b"").complete
    assert not decode("chat", b": keep-alive\n\n").complete


def test_a_stream_and_a_document_are_told_apart_by_themselves() -> None:
    padded = b"\n \n" + json.dumps({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}).encode()

    assert decode("chat", padded, stream=True).text == "Hi"
    assert decode("chat", stream(chunk({"content": "Hi"}, "stop")), stream=False).text == "Hi"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from([
    "choices", "delta", "message", "index", "content", "tool_calls", "function", "custom",
    "name", "arguments", "id", "usage", "reasoning", "reasoning_details", "refusal", "audio",
    "images", "image_url", "url", "finish_reason", "error", "type", "text", "function_call",
    "prompt_tokens", "prompt_tokens_details", "x_groq", "extra_content", "input", "native_finish_reason",
])  # fmt: skip
HOSTILE = st.recursive(
    JSON, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5), max_leaves=24
)


@given(st.lists(st.dictionaries(FIELDS, HOSTILE, max_size=4), max_size=4))
def test_any_json_is_survived(values: list[Any]) -> None:
    for body in (stream(*values), stream(*({"choices": [value]} for value in values))):
        assert survives(body)
    assert survives(json.dumps({"choices": values}).encode())


def survives(body: bytes) -> bool:
    """Whether a body gives a reply or an error of ours; every other error comes through."""
    try:
        return decode("chat", body) is not None
    except NbtoolError:
        return True


# --- encoding -------------------------------------------------------------------------------------------------


def native(reply: Reply) -> dict[str, Any]:
    assert reply.message.native
    payload: dict[str, Any] = reply.message.native.payload
    return payload


def body(*messages: Message, target: Target = HERE, **prompt: Any) -> dict[str, Any]:
    return WIRE.encode(Prompt(messages, **prompt), target).body


def written(*messages: Message, target: Target = HERE, **prompt: Any) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = body(*messages, target=target, **prompt)["messages"]
    return encoded


def able(*abilities: str) -> Target:
    return Target("host.example", "m", frozenset(abilities))


def echoing(payload: dict[str, Any], *parts: Any, host: str = "host.example") -> Message:
    return Message("assistant", parts, native=Native("chat", host, "m", {"role": "assistant", **payload}))


CALL = ToolCall("f", '{"x": 1}', id="c1", call_id="call_1", args={"x": 1}, runnable=True)
RESULT = ToolResult("f", "two", id="c1", call_id="call_1")


def test_a_request_is_a_post_of_the_conversation() -> None:
    request = WIRE.encode(Prompt((user("Hi"),), system="Be brief."), HERE)

    assert (request.path, request.stream) == ("/chat/completions", True)
    assert request.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_the_usage_is_not_asked_for_where_it_is_refused() -> None:
    assert "stream_options" not in body(user("Hi"), target=able("no_stream_options"))


def test_a_whole_reply_is_asked_for_without_stream_fields() -> None:
    assert body(user("Hi"), stream=False).keys() == {"model", "messages"}


def test_the_system_prompt_has_the_role_that_the_target_wants() -> None:
    assert written(user("Hi"), system="S", target=able("developer_role"))[0] == {"role": "developer", "content": "S"}


def test_tools_are_told_with_a_schema_that_has_properties() -> None:
    tools = (ToolSpec("now", "The time.", {"type": "object"}),)
    function = {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}

    assert body(user("Hi"), tools=tools)["tools"] == [{"type": "function", "function": function}]
    assert "tools" not in body(user("Hi"))


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("now", {"type": "function", "function": {"name": "now"}}),
    ],
)
def test_a_choice_of_tools_goes_only_with_tools(choice: str, sent: Any) -> None:
    tools = (ToolSpec("now", "", {}),)

    assert body(user("Hi"), tools=tools, tool_choice=choice).get("tool_choice") == sent
    assert "tool_choice" not in body(user("Hi"), tool_choice=choice)


def test_options_are_laid_over_everything_and_none_removes() -> None:
    options = {"temperature": 0, "stream_options": {"x": 1}, "model": None}

    sent = body(user("Hi"), options=options)

    assert (sent["temperature"], sent["stream_options"]) == (0, {"include_usage": True, "x": 1})
    assert "model" not in sent


def test_the_limit_of_tokens_has_the_name_that_the_target_knows() -> None:
    assert body(user("Hi"), options={"max_tokens": 5})["max_tokens"] == 5
    sent = body(user("Hi"), options={"max_tokens": 5}, target=able("max_completion_tokens"))
    assert sent["max_completion_tokens"] == 5
    assert "max_tokens" not in sent


def test_calls_and_results_pair_by_id() -> None:
    sent = written(user("Hi"), assistant("Let me see.", CALL), results(RESULT))

    function = {"name": "f", "arguments": '{"x": 1}'}
    assert sent[1:] == [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "two"},
    ]


def test_a_message_of_calls_alone_has_empty_content_where_a_server_cannot_do_without() -> None:
    sent = written(assistant(CALL), results(RESULT), target=able("empty_content"))

    assert sent[0]["content"] == ""
    assert sent[0]["tool_calls"]


def test_a_message_of_calls_alone_has_no_content() -> None:
    assert "content" not in written(assistant(CALL))[0]


def test_calls_without_arguments_send_an_empty_object_and_empty_results_a_word() -> None:
    sent = written(
        assistant(ToolCall("f", "", id="c1", call_id="call_1")), results(ToolResult("f", "", "c1", "call_1"))
    )

    assert sent[0]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert sent[1]["content"] == "(empty)"


def test_ids_that_come_back_in_a_later_round_are_made_unique() -> None:
    again = ToolCall("f", "{}", id="c1", call_id="call_2")
    sent = written(assistant(CALL), results(RESULT), assistant(again), results(ToolResult("f", "x", "c1", "call_2")))

    ids = [sent[0]["tool_calls"][0]["id"], sent[2]["tool_calls"][0]["id"]]
    assert len(set(ids)) == 2
    assert [sent[1]["tool_call_id"], sent[3]["tool_call_id"]] == ids


def test_ids_are_short_where_the_target_wants_it() -> None:
    sent = written(assistant(CALL), results(RESULT), target=able("short_call_ids"))

    given = sent[0]["tool_calls"][0]["id"]
    assert len(given) == 9
    assert given.isalnum()
    assert sent[1]["tool_call_id"] == given


def test_an_own_message_goes_back_as_it_came() -> None:
    signed = {
        "id": "functions.f:0",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"g": 1},
    }
    made = ToolCall("f", "{}", id="functions.f:0", call_id="call_1")

    sent = written(echoing({"content": "Hi", "tool_calls": [signed], "unknown": 1}, Text("Hi"), made))

    assert sent == [{"role": "assistant", "content": "Hi", "tool_calls": [signed]}]


def test_a_message_of_another_host_is_built_anew() -> None:
    message = echoing({"content": "native", "extra_content": 1}, Text("Hi"), Thinking("Hm"), host="other.example")

    assert written(message) == [{"role": "assistant", "content": "Hi"}]


@pytest.mark.parametrize(
    ("ability", "with_call", "without"),
    [(None, False, False), ("echo_reasoning", True, True), ("echo_reasoning_with_calls", True, False)],
)
def test_thoughts_go_back_only_where_they_are_wanted(ability: str | None, with_call: bool, without: bool) -> None:
    target = able(*([ability] if ability else []))
    payload_call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asking = echoing({"tool_calls": [payload_call], "reasoning_content": "Hm"}, CALL)
    saying = echoing({"content": "Hi", "reasoning_content": "Hm"}, Text("Hi"))

    sent = written(asking, results(RESULT), saying, target=target)

    assert ("reasoning_content" in sent[0], "reasoning_content" in sent[2]) == (with_call, without)


def test_a_refusal_goes_back_as_text_and_an_empty_message_not_at_all() -> None:
    assert written(assistant(Refusal("No.")), assistant(), user("")) == [{"role": "assistant", "content": "No."}]


def test_media_are_parts() -> None:
    sent = written(
        user(
            "See",
            Media("image/png", data=b"\0"),
            Media("image/png", url="https://host.example/x.png"),
            Media("audio/mpeg", data=b"\0"),
            Media("application/pdf", data=b"\0", name="a.pdf"),
            Media("text/csv", data=b"a,b", name="a.csv"),
        )
    )

    assert sent[0]["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "image_url", "image_url": {"url": "https://host.example/x.png"}},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}},
        {"type": "text", "text": "a.csv\na,b"},
    ]


@pytest.mark.parametrize(
    "media", [Media("video/mp4", data=b"\0"), Media("audio/wav", url="https://host.example/x.wav")]
)
def test_media_that_cannot_be_carried_are_refused(media: Media) -> None:
    with pytest.raises(Unsupported, match="cannot carry"):
        written(user(media))


def test_pictures_of_a_result_follow_in_a_message_of_their_own() -> None:
    result = ToolResult("f", "a plot", "c1", "call_1", media=(Media("image/png", data=b"\0"),))

    sent = written(assistant(CALL), results(result))

    assert [message["role"] for message in sent] == ["assistant", "tool", "user"]
    assert sent[2]["content"][1]["type"] == "image_url"


def test_lone_surrogates_never_leave() -> None:
    sent = written(user("a\ud83d"), assistant("b\ud83d"), system="c\ud83d")

    assert [message["content"] for message in sent] == ["c\ufffd", "a\ufffd", "b\ufffd"]


def test_a_message_is_written_once_while_it_lives() -> None:
    said = user("Hi")

    first, again, other = written(said)[0], written(said, system="S")[1], written(user("Hi"))[0]

    assert first is again
    assert first is not other
