"""Chat Completions: text, thinking, usage, errors, and the end of what comes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtool.errors import ContextTooLong, IncompleteReply, InvalidReply, NbtoolError, ProviderError
from nbtool.events import MediaDelta, StopReason, StreamNotice, TextDelta, UsageDelta
from nbtool.messages import Media, Usage
from nbtool.wire import decode
from nbtool.wire.dialects.chat_completions.reply_fields import OTHER_CALL, SEVERAL_CHOICES
from tests.wire.chatting import WIRE, call, calls, chunk, native, read, stream, whole
from tests.wire.reading import close, feed, feed_with_error


def test_a_finish_reason_completes_a_reply() -> None:
    assert read(chunk({"content": "Hi"}), chunk(finish="stop"), done=False).complete


FINISHES: dict[StopReason, tuple[str, ...]] = {
    "end": ("stop", "eos", "end_turn", "stop_sequence", "completed", "STOP"),
    "length": (
        "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "incomplete",
        "MAX_TOKENS",
    ),
    "filtered": ("content_filter", "safety", "sensitive", "recitation", "prohibited_content", "blocklist", "SAFETY"),
    "refused": ("refusal",),
    "error": ("abort", "network_error", "insufficient_system_resource", "malformed_function_call"),
    "unknown": ("finished", ""),
}  # fmt: skip
"""The words of servers for the end of a reply without calls."""


def test_the_words_of_all_servers_for_the_end_are_understood() -> None:
    def stop_reasons(delta: dict[str, Any], *words: str) -> set[StopReason]:
        return {read(chunk(delta), chunk(finish=word)).stop_reason for word in words}

    assert {reason: stop_reasons({"content": "Hi"}, *words) for reason, words in FINISHES.items()} == {
        reason: {reason} for reason in FINISHES
    }
    for_calls = ("tool_calls", "tool_use", "function_call", "tool_call", *FINISHES["end"])
    assert stop_reasons(call(0, "c1", "f", "{}"), *for_calls) == {"tools"}


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
    feed(decoder, stream(chunk({"content": "Hi"}, "stop")))

    assert decoder.is_done
    assert feed(decoder, stream(chunk({"content": "more"}))) == []
    assert close(decoder) == []


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

    assert feed(decoder, stream(chunk({"role": "assistant", "content": ""}), done=False)) == []


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
    assert native(reply)["content"] == "I won't"


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


def test_a_picture_that_comes_along_is_media_and_one_by_address_keeps_its_address() -> None:
    images = [
        {"image_url": {"url": "data:image/png;base64,AAEC"}},
        {"image_url": {"url": "https://host.example/x.png"}},
    ]
    deltas = feed(WIRE.decoder(), stream(chunk({"content": "See", "images": images})))

    assert [delta.media for delta in deltas if isinstance(delta, MediaDelta)] == [
        Media("image/png", data=b"\0\1\2"), Media("image/png", url="https://host.example/x.png"),
    ]  # fmt: skip


def test_lone_surrogates_are_replaced() -> None:
    reply = decode("chat", b'data: {"choices":[{"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}\n\n')

    assert reply.text == "a\ufffd"


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    reply = decode("chat", b'data: {"choices":[{"delta":{"content":"a\xff"},"finish_reason":"stop"}]}\n\n')

    assert reply.text == "a\ufffd"


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
    deltas = feed(WIRE.decoder(), stream(chunk({"content": "Hi"}, usage=COUNTED)))

    assert [type(delta) for delta in deltas][:2] == [UsageDelta, TextDelta]


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


def test_an_error_beside_the_text_of_several_choices_follows_the_text_of_the_first() -> None:
    choices = [{"index": index, "delta": {"content": text}} for index, text in enumerate(("one", "two"))]
    decoder = WIRE.decoder()
    deltas, error = feed_with_error(decoder, stream({"choices": choices, "error": {"message": "no"}}))

    assert deltas == [TextDelta("one")]
    assert isinstance(error, ProviderError)


def test_an_error_comes_after_the_deltas_before_it() -> None:
    decoder = WIRE.decoder()
    too_long = {"error": {"code": "context_length_exceeded", "message": "x"}}
    deltas, error = feed_with_error(decoder, stream(chunk({"content": "Hi"}), too_long))

    assert deltas == [TextDelta("Hi")]
    assert isinstance(error, ContextTooLong)
    assert decoder.is_done


@pytest.mark.parametrize(
    "body", [b"<html><body>x</body></html>", b"{}", b'{"a": 1}', b"[1]", b"{'a'}", b"data: {x}\n\n", b"nothing"]
)
def test_what_is_no_reply_is_reported_to_be_none(body: bytes) -> None:
    with pytest.raises(InvalidReply):
        decode("chat", body)


def test_nothing_is_an_incomplete_reply() -> None:
    assert not decode("chat", b"").complete
    assert not decode("chat", b": keep-alive\n\n").complete


def test_a_stream_and_a_document_are_distinguished_by_themselves() -> None:
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


# --- several choices ------------------------------------------------------------------------------------------------


def at_choice(index: Any, delta: dict[str, Any], finish: Any = None) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


@pytest.mark.parametrize("index", [1, "1", 7])
def test_the_only_choice_is_the_reply_whatever_its_index(index: Any) -> None:
    reply = read(at_choice(index, call(0, "a", "f", "{}")), at_choice(index, {}, "tool_calls"))

    assert calls(reply) == [("f", "{}")]
    assert reply.complete


def test_a_call_in_another_choice_is_named_and_does_not_run() -> None:
    chunks = [
        at_choice(0, {"content": "Hi"}),
        at_choice(1, call(0, "a", "f", "{}")),
        at_choice(0, {}, "stop"),
        at_choice(1, {}, "tool_calls"),
    ]
    decoder = WIRE.decoder()

    deltas = feed(decoder, stream(*chunks)) + close(decoder)

    assert [delta.text for delta in deltas if isinstance(delta, StreamNotice)] == [
        SEVERAL_CHOICES.format(count=2) + OTHER_CALL
    ]
    assert calls(read(*chunks)) == []


def test_a_message_that_is_split_into_choices_is_one() -> None:
    text, called = at_choice(0, {"content": "I look."}), at_choice(1, call(0, "a", "f", '{"x":'))
    ends = at_choice(0, {}, "tool_calls"), at_choice(1, {}, "tool_calls")
    streamed = read(text, called, at_choice(1, call(0, None, None, "1}")), *ends)
    choices = [
        {"index": 0, "message": {"content": "I look."}, "finish_reason": "tool_calls"},
        {"index": 1, "message": call(0, "a", "f", '{"x":1}'), "finish_reason": "tool_calls"},
    ]
    document = decode("chat", json.dumps({"choices": choices}).encode(), stream=False)

    for reply in (streamed, document):
        assert (reply.text, calls(reply), reply.complete) == ("I look.", [("f", '{"x":1}')], True)
        assert [made.runnable for made in reply.calls] == [True]


def test_calls_of_two_other_choices_are_alternatives() -> None:
    others = [at_choice(index, call(0, "a", "f", "{}")) for index in (1, 2)]

    assert calls(read(at_choice(0, {"content": "Hi"}), *others, at_choice(0, {}, "tool_calls"))) == []
