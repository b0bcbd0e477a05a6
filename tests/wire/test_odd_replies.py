"""Replies whose fields are not what they should be: what can be read is read, and nothing is invented."""

from __future__ import annotations

import base64
import gc
import json
import weakref
from typing import Any

import pytest

from nbtool import wire
from nbtool.errors import BadReply, BadUsage, NbtoolError, ProviderError, RateLimited, TooLarge
from nbtool.events import Delta, ReplyEnd, TextDelta
from nbtool.messages import Media, Message, Native, Refusal, Text, Thinking, ToolCall, user
from nbtool.wire import Prompt, Reply, Target, decode, find_wire, payloads
from nbtool.wire.chat_completions import SHORT_CALL_IDS
from nbtool.wire.reply import ReplyBuilder
from nbtool.wire.settled import Settled


def lines(*values: Any) -> bytes:
    return b"".join(
        b"data: %s\n\n" % (value if isinstance(value, bytes) else json.dumps(value).encode()) for value in values
    )


def deltas(dialect: str, *values: Any) -> list[Delta]:
    """Decode a stream and give its deltas; one that has ended is not closed."""
    decoder = find_wire(dialect).decoder()
    return [delta for value in values for delta in decoder.feed(lines(value))]


def chunk(delta: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


STOP = chunk({}, "stop")


def chat(*values: Any) -> Reply:
    return decode("chat", lines(*values, STOP))


# --- Chat Completions -----------------------------------------------------------------------------------------


def test_values_of_a_chat_stream_that_are_no_objects_say_nothing() -> None:
    assert chat(7, "words", None, [chunk({"content": "listed"})], chunk({"content": "Hi"})).text == "Hi"


def test_a_chat_document_in_a_list_is_read() -> None:
    body = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}

    assert decode("chat", json.dumps([body]).encode(), stream=False).text == "Hi"


@pytest.mark.parametrize("body", [[], [1], "words", 3])
def test_a_chat_document_without_choices_is_no_reply(body: Any) -> None:
    with pytest.raises(BadReply):
        decode("chat", json.dumps(body).encode(), stream=False)


def test_content_in_parts_is_joined_and_what_is_no_part_says_nothing() -> None:
    reply = chat(chunk({"content": ["one ", 7, {"type": "text", "text": "two"}, None], "role": "assistant"}))

    assert reply.text == "one two"


def test_content_that_is_a_number_says_nothing() -> None:
    assert chat(chunk({"content": 7, "role": "assistant"})).message.parts == ()


@pytest.mark.parametrize("calls", ["call", {"0": {}}, 7])
def test_calls_that_are_no_list_are_no_calls(calls: Any) -> None:
    assert chat(chunk({"tool_calls": calls}), chunk({"tool_calls": calls, "content": "Hi"})).calls == ()


def test_an_empty_thought_in_a_part_is_none() -> None:
    assert chat(
        chunk({"content": [{"type": "thinking", "thinking": []}, "Hi"], "role": "assistant"})
    ).message.parts == (Text("Hi"),)


def test_a_message_beside_a_delta_that_still_goes_on_is_not_taken() -> None:
    early = chunk({"content": "Hel"}, message={"content": "Hello there"})

    assert chat(early, chunk({"content": "lo"})).text == "Hello"


def test_a_whole_message_at_the_end_brings_only_what_the_deltas_did_not() -> None:
    def last(message: dict[str, Any]) -> dict[str, Any]:
        return chunk({}, "stop", message=message)

    assert decode("chat", lines(chunk({"content": "Hel"}), last({"content": "Hello"}))).text == "Hello"
    assert decode("chat", lines(chunk({"content": "Hello"}), last({"content": "Hello"}))).text == "Hello"
    assert decode("chat", lines(chunk({"content": "Hello"}), last({"content": None}))).text == "Hello"


def test_what_google_wants_back_is_kept_with_the_message_and_with_the_call() -> None:
    made = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}, "extra_content": {"google": "a"}}
    reply = chat(chunk({"tool_calls": [made]}), chunk({"extra_content": {"google": "b"}, "content": "Hi"}))

    assert reply.message.native
    assert reply.message.native.payload["extra_content"] == {"google": "b"}
    assert reply.message.native.payload["tool_calls"][0]["extra_content"] == {"google": "a"}


def test_a_late_extra_beside_more_arguments_is_kept_too() -> None:
    first = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"a":'}}
    more = {"index": 0, "function": {"arguments": "1}"}, "extra_content": {"google": "a"}}
    reply = chat(chunk({"tool_calls": [first]}), chunk({"tool_calls": [more]}))

    assert reply.message.native
    assert [call.args for call in reply.calls] == [{"a": 1}]
    assert reply.message.native.payload["tool_calls"][0]["extra_content"] == {"google": "a"}


def test_an_empty_fragment_of_arguments_adds_nothing() -> None:
    first = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}
    reply = chat(chunk({"tool_calls": [first]}), chunk({"tool_calls": [{"index": 0, "function": {"arguments": ""}}]}))

    assert [call.arguments for call in reply.calls] == ["{}"]


def test_calls_that_are_no_objects_among_others_say_nothing() -> None:
    good = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}

    assert [call.id for call in chat(chunk({"tool_calls": ["x", good, None]})).calls] == ["c1"]


def test_an_id_that_is_a_number_is_an_id() -> None:
    first = {"index": 0, "id": 7, "function": {"name": "look", "arguments": "{}"}}

    assert [call.id for call in chat(chunk({"tool_calls": [first]})).calls] == ["7"]


def test_arguments_that_grow_by_whole_texts_are_taken_once() -> None:
    def told(arguments: str) -> dict[str, Any]:
        return chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": arguments}}]})

    grown = chat(told('{"a"'), told('{"a": 1}'))
    cut = chat(told('{"a"'), told('{"a": 1'))

    assert [call.args for call in grown.calls] == [{"a": 1}]
    assert [call.runnable for call in cut.calls] == [False]


def test_a_fragment_with_neither_index_nor_name_belongs_to_the_call_in_its_place() -> None:
    one = {"function": {"name": "one", "arguments": "{}"}}
    both = [{"function": {"name": "two", "arguments": '{"b":'}}, {"function": {"arguments": " 2}"}}]
    reply = chat(chunk({"tool_calls": [one]}), chunk({"tool_calls": both}))

    assert [(call.name, call.args) for call in reply.calls] == [("one", {}), ("two", {"b": 2})]


def test_a_thought_in_pieces_is_joined() -> None:
    thought = {"type": "thinking", "thinking": ["H", {"text": "m."}, 7]}

    assert chat(chunk({"content": [thought, "Hi"], "role": "assistant"})).message.parts == (Thinking("Hm."), Text("Hi"))


def test_a_whole_message_names_its_calls_by_their_place_where_ids_agree() -> None:
    first = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"a"'}}
    whole = {"id": "c1", "function": {"name": "look", "arguments": '{"a": 1}'}}
    reply = decode(
        "chat", lines(chunk({"tool_calls": [first]}), chunk({}, "tool_calls", message={"tool_calls": [whole]}))
    )

    assert [(call.id, call.args) for call in reply.calls] == [("c1", {"a": 1})]


def test_a_field_of_a_thought_that_turns_null_keeps_what_it_was() -> None:
    details = [
        {"type": "reasoning.text", "index": 0, "text": "Hm", "signature": "sealed", "format": "v1"},
        {"type": "reasoning.text", "index": 0, "text": "m.", "format": None, "id": None},
    ]
    reply = chat(*(chunk({"reasoning_details": [detail]}) for detail in details))

    assert reply.message.native
    assert reply.message.native.payload["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "Hmm.", "signature": "sealed", "format": "v1", "id": None},
    ]


@pytest.mark.parametrize("data", ["%%%", "YQ"])
def test_a_picture_that_is_no_base64_is_not_taken(data: str) -> None:
    image = {"image_url": {"url": f"data:image/png;base64,{data}"}}

    assert chat(chunk({"images": [image], "content": "Hi"})).message.parts == (Text("Hi"),)


# --- Anthropic ------------------------------------------------------------------------------------------------

BEGIN = {"type": "message_start", "message": {"id": "m1", "content": []}}
END = {"type": "message_stop"}


def start(index: Any, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def fragment(index: Any, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def reason(why: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": why}}


def anthropic(*values: Any, why: str = "end_turn") -> Reply:
    return decode("anthropic", lines(BEGIN, *values, reason(why), END))


def native(reply: Reply) -> Any:
    assert reply.message.native
    return reply.message.native.payload


def test_values_of_an_anthropic_stream_that_are_no_objects_say_nothing() -> None:
    assert anthropic(7, [BEGIN], start(0, type="text", text="Hi")).text == "Hi"


def test_a_call_without_input_is_one_without_arguments() -> None:
    reply = anthropic(start(0, type="tool_use", id="t1", name="look", input=None), why="tool_use")

    assert [(call.name, call.args) for call in reply.calls] == [("look", {})]
    assert native(reply) == [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]


@pytest.mark.parametrize("written", ['{"a": ', "[1]", "[" * 100_000])
def test_a_call_whose_input_is_no_object_goes_back_without_any_and_does_not_run(written: str) -> None:
    block = start(0, type="tool_use", id="t1", name="look", input={})
    reply = anthropic(block, fragment(0, "input_json_delta", partial_json=written), why="tool_use")

    assert native(reply)[0]["input"] == {}
    assert [(call.runnable, call.arguments) for call in reply.calls] == [(False, written)]


def test_a_block_that_begins_twice_with_the_same_words_began_once() -> None:
    block = start(0, type="text", text="Hi")

    assert anthropic(block, block).text == "Hi"


def test_a_block_that_begins_twice_with_other_words_is_refused() -> None:
    with pytest.raises(BadReply, match="Block 0 of the reply began twice"):
        anthropic(start(0, type="tool_use", id="a", name="look"), start(0, type="tool_use", id="b", name="look"))


def test_blocks_of_the_first_event_that_are_no_objects_say_nothing() -> None:
    begin = {"type": "message_start", "message": {"id": "m1", "content": ["Hi", 7, {"type": "text", "text": "Hi"}]}}

    assert decode("anthropic", lines(begin, reason("end_turn"), END)).text == "Hi"


def test_a_fragment_without_an_index_belongs_to_the_last_block() -> None:
    reply = anthropic(
        start(0, type="text", text="a"), start(1, type="text", text="b"), fragment(None, "text_delta", text="c")
    )

    assert [block["text"] for block in native(reply)] == ["a", "bc"]


@pytest.mark.parametrize("kind", ["text_delta", "thinking_delta"])
def test_an_empty_fragment_is_no_fragment_of_an_unknown_kind(kind: str) -> None:
    reply = anthropic(start(0, type="text", text="Hi"), fragment(0, kind, text="", thinking="", note="x"))

    assert native(reply) == [{"type": "text", "text": "Hi"}]


def test_a_fragment_of_an_unknown_kind_is_kept_for_the_echo() -> None:
    reply = anthropic(start(0, type="text", text="Hi"), fragment(0, "new_delta", seal="a", count=3, gone=None))

    assert native(reply) == [{"type": "text", "text": "Hi", "seal": "a", "count": 3}]


def test_a_pause_with_calls_asks_for_their_answers_first() -> None:
    reply = anthropic(start(0, type="tool_use", id="t1", name="look", input={}), why="pause_turn")

    assert (reply.stop_reason, reply.finish_reason) == ("tools", "pause_turn")


# --- Responses ------------------------------------------------------------------------------------------------

MESSAGE = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hi"}]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"}


def completed(*output: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", "output": list(output)}}


def responses(*values: Any) -> Reply:
    return decode("responses", lines(*values))


def test_values_of_a_responses_stream_that_are_no_objects_say_nothing() -> None:
    assert responses(7, ["x"], completed(MESSAGE)).text == "Hi"


def test_what_follows_the_end_in_the_same_bytes_is_not_read() -> None:
    decoder = find_wire("responses").decoder()
    found = decoder.feed(lines(completed(MESSAGE), {"type": "error", "error": {"message": "late"}}))

    assert isinstance(found[-1], ReplyEnd)
    assert decoder.is_done
    assert decoder.close() == []


@pytest.mark.parametrize(
    "body", [[], "words", {"error": {"message": "no"}}, {"status": "failed"}, {"status": "cancelled"}]
)
def test_a_document_that_is_no_response_says_why(body: Any) -> None:
    with pytest.raises(NbtoolError) as caught:
        decode("responses", json.dumps(body).encode(), stream=False)

    said = body.get("status") or "no" if isinstance(body, dict) else ""
    assert said in str(caught.value)


def test_fragments_that_are_no_text_say_nothing() -> None:
    found = deltas(
        "responses",
        {"type": "response.output_text.delta", "output_index": 0, "delta": 7},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc_1", "delta": None},
    )

    assert found == [TextDelta("Hi")]


def test_arguments_for_something_that_is_no_call_are_dropped() -> None:
    item = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "msg_1"}}
    arguments = {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "msg_1", "delta": "{}"}

    assert responses(item, arguments, completed(MESSAGE)).calls == ()


def test_a_fragment_without_a_place_belongs_to_the_item_that_is_open() -> None:
    item = {"type": "response.output_item.added", "output_index": 0, "item": {**CALL, "arguments": ""}}
    arguments = {"type": "response.function_call_arguments.delta", "delta": '{"a": 1}'}
    whole = {**CALL, "arguments": '{"a": 1}'}

    assert [call.args for call in responses(item, arguments, completed(whole)).calls] == [{"a": 1}]


def test_an_item_that_ends_without_a_place_is_the_one_that_is_open() -> None:
    item = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "name": "look"}}
    ended = {
        "type": "response.output_item.done",
        "item": {"type": "function_call", "name": "look", "arguments": '{"a": 1}'},
    }
    reply = responses(item, ended, {"type": "response.completed", "response": {"status": "completed"}})

    assert [(call.name, call.args) for call in reply.calls] == [("look", {"a": 1})]


def test_another_kind_of_item_in_the_place_of_one_is_another_item() -> None:
    item = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1"}}
    done = {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE}

    assert responses(item, done, {"type": "response.completed", "response": {"status": "completed"}}).text == "Hi"


def test_parts_of_a_message_that_are_not_known_say_nothing() -> None:
    parts = [
        {"type": "new_part", "text": "x"},
        {"type": "output_text", "text": 7},
        {"type": "refusal", "refusal": "No."},
    ]

    assert responses(completed({**MESSAGE, "content": parts})).message.parts == (Refusal("No."),)


def test_a_message_whose_content_is_one_text_is_read() -> None:
    assert responses(completed({**MESSAGE, "content": "Hi"})).text == "Hi"


def test_a_picture_that_is_no_base64_is_left_out() -> None:
    made = {"type": "image_generation_call", "id": "ig_1", "status": "completed"}
    good = responses(completed({**made, "result": base64.b64encode(b"PNG").decode()}))
    bad = responses(completed({**made, "result": "%%%"}, MESSAGE))

    assert good.message.parts == (Media("image/png", data=b"PNG"),)
    assert bad.message.parts == (Text("Hi"),)


def test_an_error_in_a_stream_is_raised_by_the_next_call_when_something_came_before_it() -> None:
    decoder = find_wire("responses").decoder()
    words = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"}

    assert decoder.feed(lines(words, {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"})) == [
        TextDelta("Hi")
    ]
    with pytest.raises(RateLimited):
        decoder.close()


def test_an_empty_first_fragment_makes_no_part() -> None:
    builder = ReplyBuilder(wire="chat")
    for delta in (TextDelta(""), TextDelta("Hi"), ReplyEnd("stop")):
        builder.add(delta)

    assert builder.reply().message.parts == (Text("Hi"),)


def test_an_event_that_is_no_json_and_no_object_says_nothing_and_a_broken_object_is_an_error() -> None:
    assert chat(b"hello", chunk({"content": "Hi"})).text == "Hi"
    with pytest.raises(BadReply, match="no JSON"):
        chat(b'{"choices": ]')


def test_an_error_without_words_still_is_one() -> None:
    with pytest.raises(ProviderError):
        responses({"type": "error"})


# --- bodies ---------------------------------------------------------------------------------------------------


def test_a_body_is_bytes() -> None:
    with pytest.raises(BadUsage, match="A body is bytes; str came"):
        decode("chat", "data: {}")  # type: ignore[arg-type]  # the mistake that is told


def test_a_module_says_which_name_it_does_not_have() -> None:
    with pytest.raises(AttributeError, match="no attribute 'parse_cals'"):
        wire.parse_cals  # noqa: B018 - asking is the test


def test_a_reply_that_grows_too_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "MAX_BODY", 100)
    decoder = find_wire("chat").decoder()
    decoder.feed(b"data: {}\n\n" + b" " * 90)

    with pytest.raises(TooLarge, match="The reply is larger than"):
        decoder.feed(b" ")


def test_a_stream_that_ends_within_an_event_is_cut_and_not_broken() -> None:
    reply = decode("chat", lines(chunk({"content": "Hi"})) + b'data: {"choices": [{"del')

    assert (reply.text, reply.complete) == ("Hi", False)


def test_json_with_half_a_letter_is_read_with_the_letter_replaced() -> None:
    said = b'{"choices": [{"index": 0, "delta": {"content": "a\\ud800b"}, "finish_reason": null, "n": [true, null]}]}'

    assert chat(said).text == "a\ufffdb"


def test_json_that_nests_too_deep_is_no_json() -> None:
    with pytest.raises(BadReply, match="no JSON"):
        decode("chat", b'{"choices": "\\ud800", "a": ' + b"[" * 100_000, stream=True)
    with pytest.raises(BadReply, match="no JSON"):
        chat(b'{"b": "\\ud800", "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def test_a_line_that_begins_and_ends_as_an_object_and_is_none_goes_on() -> None:
    text = b'data: {"choices": [{"index": 0,}\ndata: "delta": {}}]}\n\n'

    with pytest.raises(BadReply, match="no JSON"):
        decode("chat", text)


# --- the history of another place -----------------------------------------------------------------------------

HERE = Target("host.example", "m")
LOOK = ToolCall("look", "{}", id="c1", call_id="ours_1", args={}, runnable=True)
PICTURE = Media("image/png", data=b"PNG")


def encoded(name: str, *messages: Message, target: Target = HERE) -> Any:
    body = find_wire(name).encode(Prompt(messages), target).body
    return body["input"] if name == "responses" else body["messages"]


@pytest.mark.parametrize("name", ["anthropic", "responses"])
def test_a_picture_that_the_model_made_last_goes_back_as_the_persons(name: str) -> None:
    last = encoded(name, user("Draw."), Message("assistant", (Text("Here."), PICTURE)))[-1]

    assert last["role"] == "user"
    assert [part["type"] for part in last["content"]] in (["image"], ["input_image"])


@pytest.mark.parametrize("name", ["anthropic", "responses"])
def test_system_messages_have_no_place_in_the_dialogue(name: str) -> None:
    assert [said["role"] for said in encoded(name, Message("system", (Text("Be brief."),)), user("Hi"))] == ["user"]


def test_a_file_by_its_address_stays_an_address() -> None:
    (said,) = encoded("responses", Message("user", (Media("application/pdf", url="https://x.example/a.pdf"),)))

    assert said["content"] == [{"type": "input_file", "file_url": "https://x.example/a.pdf"}]


@pytest.mark.parametrize("payload", ["words", {"content": "Hi", "tool_calls": []}, {"content": "Hi"}])
def test_a_chat_message_that_does_not_fit_its_parts_is_written_anew(payload: Any) -> None:
    message = Message("assistant", (Text("Hi"), LOOK), native=Native("chat", HERE.host, HERE.model, payload))
    (said,) = encoded("chat", message)

    assert [made["function"] for made in said["tool_calls"]] == [{"name": "look", "arguments": "{}"}]


def test_a_call_without_arguments_goes_back_with_an_empty_object() -> None:
    made = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": ""}}
    payload = {"role": "assistant", "tool_calls": [made]}
    message = Message("assistant", (LOOK,), native=Native("chat", HERE.host, HERE.model, payload))
    (said,) = encoded("chat", message)

    assert said["tool_calls"] == [{**made, "function": {"name": "look", "arguments": "{}"}}]


def test_ids_of_nine_letters_stay_where_only_those_are_taken() -> None:
    short = Target(HERE.host, HERE.model, frozenset({SHORT_CALL_IDS}))
    calls = [LOOK, ToolCall("look", "{}", id="abcdefgh9", call_id="ours_2", args={}, runnable=True)]
    (said,) = encoded("chat", Message("assistant", tuple(calls)), target=short)
    first, second = (made["id"] for made in said["tool_calls"])

    assert (len(first), first.isalnum(), second) == (9, True, "abcdefgh9")


def test_a_message_that_is_gone_is_forgotten_and_a_new_form_of_it_is_not() -> None:
    settled: Settled[str, str] = Settled()
    message = user("Hi")
    forms = [settled.get(message, key, key.upper) for key in ("a", "a", "b")]
    place, known = next(iter(settled._forms.items()))
    settled._forget(place, weakref.ref(user("another")))

    assert forms == ["A", "A", "B"]
    assert settled._forms == {place: known}
    del message
    gc.collect()
    assert settled._forms == {}


# --- small things that matter ---------------------------------------------------------------------------------


def test_arguments_that_only_fragments_brought_are_whole_at_the_end() -> None:
    item = {"type": "response.output_item.added", "output_index": 0, "item": {**CALL, "arguments": ""}}
    pieces = [
        {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": piece}
        for piece in ('{"a"', ": 1}")
    ]
    reply = responses(item, *pieces, {"type": "response.completed", "response": {"status": "completed"}})

    assert [(call.name, call.args, call.runnable) for call in reply.calls] == [("look", {"a": 1}, True)]


def test_a_summary_of_thinking_is_thinking() -> None:
    parts = [{"type": "summary_text", "text": "Hm"}, {"type": "summary_text", "text": "."}]
    reply = responses(completed({"type": "reasoning", "id": "rs_1", "summary": parts}, MESSAGE))

    assert reply.message.parts == (Thinking("Hm."), Text("Hi"))


@pytest.mark.parametrize("url", ["data:text/plain;base64,aGk=", "data:image/png,aGk=", "https://x.example/a.png", 7])
def test_what_is_no_picture_in_base64_is_not_taken(url: Any) -> None:
    image = {"image_url": {"url": url}}

    assert chat(chunk({"images": [image], "content": "Hi"})).message.parts == (Text("Hi"),)


@pytest.mark.parametrize(("length", "is_kept"), [(64, True), (65, False)])
def test_a_round_goes_back_as_it_came_where_its_ids_are_not_too_long(length: int, is_kept: bool) -> None:
    call_id = "c" * length
    made = ToolCall("look", "{}", id=call_id, call_id="ours_1", args={}, runnable=True)
    item = {**CALL, "call_id": call_id, "status": "completed"}
    message = Message("assistant", (made,), native=Native("responses", HERE.host, HERE.model, [item]))
    (said,) = encoded("responses", message)

    assert ("status" in said, said["call_id"] == call_id) == (is_kept, is_kept)
