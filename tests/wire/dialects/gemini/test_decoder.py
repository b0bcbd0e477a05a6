from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from nbtool.errors import InvalidReply, ProviderError
from nbtool.events import ReplyEnd, StreamNotice
from nbtool.messages import Media, Usage
from nbtool.wire import Reply, decode
from nbtool.wire.dialects.gemini.decoder import GeminiDecoder
from tests.wire.geminis import CALL, SIGNATURE, candidate, end, stream
from tests.wire.reading import close, feed, feed_with_error


def read(*events: dict[str, Any]) -> Reply:
    return decode("gemini", stream(*events))


def native(reply: Reply) -> Any:
    assert reply.message.native
    return reply.message.native.payload


def test_a_reply_is_its_text_its_thoughts_and_its_calls_in_order() -> None:
    reply = read(candidate({"text": "Hm", "thought": True}), candidate({"text": "So"}), candidate(CALL), end())

    assert (reply.text, reply.thinking) == ("So", "Hm")
    assert [(call.name, call.args, call.id, call.runnable) for call in reply.calls] == [
        ("price", {"ticker": "A"}, "g1", True)
    ]
    assert (reply.stop_reason, reply.finish_reason, reply.complete) == ("tools", "STOP", True)
    assert native(reply) == [{"text": "Hm", "thought": True}, {"text": "So"}, CALL]


def test_a_call_without_an_id_gets_one_of_ours_and_its_part_stays_without() -> None:
    reply = read(candidate({"functionCall": {"name": "look"}}), end())

    assert reply.calls[0].id == reply.calls[0].call_id
    assert reply.calls[0].args == {}
    assert native(reply) == [{"functionCall": {"name": "look"}}]


def test_texts_are_joined_and_a_signed_part_stays_one_of_its_own() -> None:
    reply = read(
        candidate({"text": "a"}), candidate({"text": "b"}), candidate({"text": "c", "thoughtSignature": SIGNATURE}),
        candidate({"text": "d"}), candidate({"text": "", "thoughtSignature": SIGNATURE}, finishReason="STOP"),
    )  # fmt: skip

    assert reply.text == "abcd"
    assert native(reply) == [
        {"text": "ab"},
        {"text": "c", "thoughtSignature": SIGNATURE},
        {"text": "d"},
        {"text": "", "thoughtSignature": SIGNATURE},
    ]


def test_parts_that_nobody_here_knows_are_kept_for_the_next_request() -> None:
    parts = [{"executableCode": {"language": "PYTHON", "code": "1"}}, {"newPart": {"a": 1}}]
    reply = read(candidate(*parts), candidate({"text": "So"}), end())

    assert (reply.text, reply.calls) == ("So", ())
    assert native(reply) == [*parts, {"text": "So"}]


def test_an_image_of_the_reply_is_media_and_one_of_its_thoughts_is_not() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": b64encode(b"PNG").decode()}}
    reply = read(candidate({**image, "thought": True}), candidate({**image, "thoughtSignature": SIGNATURE}), end())

    assert reply.message.parts == (Media("image/png", data=b"PNG"),)
    assert [part.get("thoughtSignature") for part in native(reply)] == [None, SIGNATURE]


def test_a_file_of_the_reply_is_media_by_its_address() -> None:
    reply = read(candidate({"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/a.mp4"}}), end())

    assert reply.message.parts == (Media("video/mp4", url="gs://b/a.mp4"),)


def test_bytes_that_are_not_base64_are_no_media() -> None:
    assert read(candidate({"inlineData": {"mimeType": "image/png", "data": "§§"}}), end()).message.parts == ()


def test_a_stream_without_a_reason_to_finish_is_not_complete_and_runs_nothing() -> None:
    reply = read(candidate({"text": "So"}), candidate(CALL))

    assert not reply.complete
    assert [call.runnable for call in reply.calls] == [False]


def test_a_reason_to_finish_before_more_parts_is_none() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    outcome = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    decoder = GeminiDecoder()

    feed(decoder, stream(candidate(code, finishReason="STOP")))
    assert not decoder.is_done
    feed(decoder, stream(candidate(outcome)))
    assert not decoder.is_done
    feed(decoder, stream(candidate({"text": "1."}, finishReason="STOP")))
    assert decoder.is_done
    assert isinstance(close(decoder)[-1], ReplyEnd)


def test_a_cut_after_more_parts_than_the_reason_to_finish_is_not_complete() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}

    assert not read(candidate(code, finishReason="STOP"), candidate({"text": "It"})).complete


def test_calls_of_a_reply_at_its_length_do_not_run_and_its_parts_do_not_go_back() -> None:
    reply = read(candidate(CALL), end("MAX_TOKENS"))

    assert (reply.stop_reason, reply.calls[0].runnable, reply.message.native) == ("length", False, None)


# --- calls whose arguments come in pieces ----------------------------------------------------------------------


def piece(path: str, **value: Any) -> dict[str, Any]:
    return {"functionCall": {"partialArgs": [{"jsonPath": path, **value}], "willContinue": True}}


BEGIN = {"functionCall": {"name": "price", "id": "g1", "willContinue": True}, "thoughtSignature": SIGNATURE}
END: dict[str, Any] = {"functionCall": {}}


def test_arguments_in_pieces_are_put_together() -> None:
    pieces = [
        piece("$.ticker", stringValue="A", willContinue=True), piece("$.ticker", stringValue="BC"),
        piece("$.range[0].from", numberValue=1), piece("$.range[0]['to']", boolValue=False),
        piece("$.range[1]", nullValue="NULL_VALUE"),
    ]  # fmt: skip
    reply = read(candidate(BEGIN), *map(candidate, pieces), candidate(END), end())

    args = {"ticker": "ABC", "range": [{"from": 1, "to": False}, None]}
    assert [(call.name, call.args, call.runnable) for call in reply.calls] == [("price", args, True)]
    assert native(reply) == [
        {"functionCall": {"name": "price", "id": "g1", "args": args}, "thoughtSignature": SIGNATURE}
    ]


@pytest.mark.parametrize("after", [[], [{"functionCall": {"name": "look"}}]])
def test_a_call_in_pieces_that_never_ends_does_not_run(after: list[dict[str, Any]]) -> None:
    reply = read(candidate(BEGIN), candidate(piece("$.a", numberValue=1)), *map(candidate, after), end())

    assert [call.runnable for call in reply.calls] == [False, *(True for _ in after)]
    assert "not JSON" in str(reply.calls[0].error)
    assert reply.message.native is None


@pytest.mark.parametrize(
    "path", ["", "a", "$", "$[0]", "$.a[7]", "$.a[", "$..a", "$.a.b", "$.b[1].c", "$.a" + "[0]" * 200, 7]
)
def test_a_piece_without_a_place_makes_a_call_that_does_not_run(path: Any) -> None:
    pieces = [piece("$.a", numberValue=1), piece(path, numberValue=2)]
    reply = read(candidate(BEGIN), *map(candidate, pieces), candidate(END), end())

    assert [call.runnable for call in reply.calls] == [path == "$.a"]


def test_a_piece_of_a_call_that_never_began_names_no_tool_and_does_not_run() -> None:
    reply = read(candidate(piece("$.a", numberValue=1)), candidate(END), end())

    assert [(call.name, call.runnable) for call in reply.calls] == [("", False)]


# --- whole bodies, usage, errors --------------------------------------------------------------------------------


def test_a_list_of_partial_replies_is_read_as_their_stream() -> None:
    body = json.dumps([candidate({"text": "S"}), candidate({"text": "o"}), end()]).encode()

    assert decode("gemini", body, stream=False).text == "So"


def test_only_the_first_candidate_is_read_and_a_notice_says_so() -> None:
    both = {"candidates": [{**candidate({"text": text})["candidates"][0], "index": at} for at, text in enumerate("ab")]}
    decoder = GeminiDecoder()
    deltas = [*feed(decoder, stream(both, end())), *close(decoder)]

    assert read(both, end()).text == "a"
    assert StreamNotice("The reply has 2 choices; only the first is shown.") in deltas


def test_thoughts_count_as_output_and_what_provider_tools_read_as_input() -> None:
    usage = {
        "promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 7, "toolUsePromptTokenCount": 3,
        "cachedContentTokenCount": 4, "totalTokenCount": 25,
    }  # fmt: skip
    reply = read(
        {**candidate({"text": "So"}), "usageMetadata": {"promptTokenCount": 9}}, {**end(), "usageMetadata": usage}
    )

    assert reply.usage == Usage(13, 12, 4, 7)
    assert reply.usage.total_tokens == usage["totalTokenCount"]


def test_an_error_in_the_stream_is_raised_after_what_came_before() -> None:
    decoder = GeminiDecoder()
    deltas, error = feed_with_error(
        decoder,
        stream(candidate({"text": "So"}), {"error": {"code": 503, "status": "UNAVAILABLE", "message": "Busy."}}),
    )

    assert [delta.kind for delta in deltas] == ["text_delta"]
    assert isinstance(error, ProviderError)
    assert (error.code, error.type) == ("503", "UNAVAILABLE")


@pytest.mark.parametrize("body", [{}, [], [7], {"id": "x"}])
def test_json_of_another_kind_is_no_reply(body: Any) -> None:
    with pytest.raises((InvalidReply, ProviderError)):
        decode("gemini", json.dumps(body).encode(), stream=False)


def test_the_end_mark_of_a_gateway_ends_a_reply_that_has_a_reason() -> None:
    body = stream(candidate({"text": "So"}), end()) + b"data: [DONE]\n\n"
    cut = stream(candidate({"text": "So"})) + b"data: [DONE]\n\n"

    assert decode("gemini", body).complete
    assert not decode("gemini", cut).complete


def test_an_empty_text_brings_nothing_whatever_else_is_in_its_part() -> None:
    reply = read(candidate({"text": "So"}), candidate({"text": "", "videoMetadata": {"fps": 1}}), end())

    assert native(reply) == [{"text": "So"}]


@pytest.mark.parametrize(
    ("reason", "expected"), [("stop", "end"), ("Stop", "end"), ("max_tokens", "length"), ("safety", "filtered")]
)
def test_a_finish_reason_in_small_letters_is_that_reason(reason: str, expected: str) -> None:
    reply = read(candidate({"text": "Hi"}, finishReason=reason))

    assert reply.stop_reason == expected
    assert reply.finish_reason == reason
