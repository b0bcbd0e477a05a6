from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest

from nbtool.errors import (
    AuthenticationFailed,
    BadUsage,
    IncompleteReply,
    InvalidReply,
    ModelNotFound,
    ProviderError,
    ReplyTooLarge,
    Unsupported,
)
from nbtool.events import Delta, MediaDelta, ReplyEnd, TextDelta, UsageDelta
from nbtool.messages import Media, Message, Usage, assistant, user
from nbtool.secret import Secret
from nbtool.wire import Prompt, Target, ToolSpec, decode, find_wire
from nbtool.wire.endpoints.model_endpoint import make_endpoint
from nbtool.wire.framing.json_payloads import MAX_BODY_BYTES
from nbtool.wire.transport.http_endpoint import HttpEndpoint
from nbtool.wire.transport.request.multipart import MAX_UPLOAD
from nbtool.wire.transport.retry import RetryPolicy
from tests.chaos import ChaosServer, Repeat, Reset, Silence, head, serve, serve_each, whole
from tests.samples import JPEG, MP3, PNG, WAV, as_base64, form_of, form_values, image_response
from tests.wire.reading import close, feed

KEY = "sk-secret-0123456789"
PICTURE = Media("image/png", data=PNG, name="cat.png")
SOUND = Media("audio/wav", data=WAV, name="talk.wav")
TOOL = ToolSpec("f", "", {"type": "object"})


def ask(there: HttpEndpoint, *said: Any, **more: Any) -> list[Delta]:
    async def run() -> list[Delta]:
        return [delta async for delta in there.stream(Prompt((user(*said),), **more))]

    return asyncio.run(run())


def at(server: ChaosServer, model: str, **more: Any) -> HttpEndpoint:
    return make_endpoint(f"openai:{model}", base_url=server.url, api_key=KEY, **more)


def request_of(kind: str, *said: Any, model: str = "m", **more: Any) -> Any:
    return find_wire(kind).encode(Prompt((user(*said),), **more), Target("h", model))


# --- images ---------------------------------------------------------------------------------------------------


def test_an_image_is_made_of_a_description() -> None:
    usage = {"input_tokens": 9, "output_tokens": 272, "total_tokens": 281}
    with serve(image_response(as_base64(PNG, revised_prompt="A tabby."), usage=usage)) as server:
        deltas = ask(at(server, "gpt-image-1"), "a cat", options={"size": "1024x1024"})

    request = server.requests[0]
    assert (request.path, request.json) == (
        "/v1/images/generations",
        {"model": "gpt-image-1", "prompt": "a cat", "size": "1024x1024"},
    )
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert deltas == [
        MediaDelta(Media("image/png", data=PNG)),
        TextDelta("Revised prompt: A tabby.\n"),
        UsageDelta(Usage(9, 272)),
        ReplyEnd("end"),
    ]


def test_several_images_come_in_order_and_their_type_is_that_of_their_bytes() -> None:
    with serve(image_response(as_base64(PNG), as_base64(JPEG), output_format="webp")) as server:
        deltas = ask(at(server, "gpt-image-1"), "two cats", options={"n": 2})

    assert [delta.media.mime for delta in deltas if isinstance(delta, MediaDelta)] == ["image/png", "image/jpeg"]


def test_a_model_that_would_answer_with_an_address_is_asked_for_the_bytes() -> None:
    with serve(image_response(as_base64(PNG))) as server:
        ask(at(server, "dall-e-3"), "a cat")

    assert server.requests[0].json["response_format"] == "b64_json"


def test_an_address_is_kept_and_not_fetched() -> None:
    with serve_each([b""]) as elsewhere:
        url = f"{elsewhere.url}/cat.webp?sig=1"
        with serve(image_response({"url": url})) as server:
            deltas = ask(at(server, "flux.1"), "a cat")

    assert deltas[0] == MediaDelta(Media("image/webp", url=url))
    assert elsewhere.connections == 0


@pytest.mark.parametrize(
    ("body", "error", "said"),
    [
        ({"data": []}, InvalidReply, "holds no image"),
        ({"data": [{"url": "https://h/a.png"}] * 65}, ReplyTooLarge, "more than 64 images"),
        ({"data": [{"b64_json": "%%%"}]}, InvalidReply, "no base64"),
        ({"data": [{"b64_json": b64encode(b"<svg onload=alert(1)>").decode()}]}, InvalidReply, "none of PNG"),
        ({"data": [{"url": "javascript:alert(1)"}]}, InvalidReply, "does not hold it"),
        ({"data": [{"url": "http://[bad"}]}, InvalidReply, "does not hold it"),
        ({"error": {"message": "model_not_found: no such model"}}, ModelNotFound, "no such model"),
    ],
)
def test_what_is_no_image_is_an_error(body: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        decode("image", json.dumps(body).encode())


@pytest.mark.parametrize("body", [b"<html><body>Welcome</body></html>", b"[1, 2]", b"hello", b"data: {}\n\n"])
def test_a_body_that_is_no_object_is_an_error(body: bytes) -> None:
    with pytest.raises(InvalidReply):
        decode("image", body)


def test_an_address_that_holds_the_image_is_the_image() -> None:
    url = f"data:image/jpeg;base64,{b64encode(PNG).decode()}"
    reply = decode("image", json.dumps({"data": [{"url": url}]}).encode())

    assert reply.message.parts == (Media("image/png", data=PNG),)


def test_a_recorded_body_has_the_same_bound() -> None:
    with pytest.raises(ReplyTooLarge, match="larger than 64 MiB"):
        decode("speech", MP3 + bytes(MAX_BODY_BYTES))


def test_an_image_whose_json_is_cut_off_is_incomplete() -> None:
    body = json.dumps({"data": [as_base64(PNG)]}).encode()

    with pytest.raises(IncompleteReply):
        decode("image", body[:-10])


def test_a_reply_can_be_cut_anywhere() -> None:
    body = json.dumps({"data": [as_base64(PNG)]}).encode()
    for place in range(len(body)):
        decoder = find_wire("image").decoder(stream=False)

        assert feed(decoder, body[:place]) == feed(decoder, body[place:]) == []
        assert close(decoder) == [MediaDelta(Media("image/png", data=PNG)), ReplyEnd("end")]


# --- edits ----------------------------------------------------------------------------------------------------


def test_an_attached_image_is_edited() -> None:
    with serve(image_response(as_base64(JPEG))) as server:
        deltas = ask(at(server, "gpt-image-1"), "make it blue", PICTURE, options={"quality": "low", "n": 2})

    form = form_of(server.requests[0])
    image = form["image"][0]
    assert server.requests[0].path == "/v1/images/edits"
    assert {name: form_values(form, name) for name in ("model", "prompt", "quality", "n")} == {
        "model": [b"gpt-image-1"],
        "prompt": [b"make it blue"],
        "quality": [b"low"],
        "n": [b"2"],
    }
    assert (image.get_filename(), image.get_content_type(), form_values(form, "image")) == (
        "cat.png",
        "image/png",
        [PNG],
    )
    assert deltas[0] == MediaDelta(Media("image/jpeg", data=JPEG))


def test_several_attached_images_go_along_together() -> None:
    request = request_of("image-edit", "join them", PICTURE, Media("image/jpeg", data=JPEG))

    assert [(upload.field_name, upload.filename) for upload in request.uploads] == [
        ("image[]", "cat.png"),
        ("image[]", "image.jpg"),
    ]


NAMED = {
    "image-edit": ("image/png", "image/jpeg", "image/webp", "image/gif"),
    "transcription": (
        "audio/mpeg", "audio/wav", "audio/x-wav", "audio/flac", "audio/ogg", "audio/mp4", "audio/aac", "audio/webm",
        "video/mp4", "video/webm", "video/mpeg",
    ),
}  # fmt: skip


def test_a_file_without_a_name_is_sent_with_the_extension_of_its_type() -> None:
    uploads = [request_of(kind, "x", Media(mime, data=b"x")).uploads[0] for kind in NAMED for mime in NAMED[kind]]

    assert [upload.filename for upload in uploads] == [
        "image.png", "image.jpg", "image.webp", "image.gif", "audio.mp3", "audio.wav", "audio.wav", "audio.flac",
        "audio.ogg", "audio.m4a", "audio.aac", "audio.webm", "video.mp4", "video.webm", "video.mpeg",
    ]  # fmt: skip


def test_only_the_last_message_of_the_person_counts() -> None:
    prompt = Prompt((user("a dog", PICTURE), assistant("Here."), user("a cat")), system="Be brief.")
    request = find_wire("image").encode(prompt, Target("h", "gpt-image-1"))

    assert (request.path, request.body["prompt"], request.uploads) == ("/images/generations", "a cat", ())


def test_the_name_of_a_file_leaves_without_its_folders_and_cannot_break_the_form() -> None:
    nasty = Media("image/png", data=PNG, name='C:\\Users\\ann\\../x";\r\ncontent-type: text/html\r\n\r\n.png')
    with serve(image_response(as_base64(PNG))) as server:
        ask(at(server, "gpt-image-1"), "blue", nasty)

    parts = form_of(server.requests[0])["image"]
    assert len(parts) == 1
    assert parts[0].get_content_type() == "image/png"
    assert b"ann" not in server.requests[0].body


# --- transcription --------------------------------------------------------------------------------------------


def test_a_sound_is_written_down() -> None:
    body = {"text": " Hello there. ", "usage": {"type": "tokens", "input_tokens": 14, "output_tokens": 3}}
    with serve(whole(200, body)) as server:
        deltas = ask(at(server, "gpt-4o-transcribe"), "Names: Ann.", SOUND, options={"language": "en"})

    form = form_of(server.requests[0])
    assert server.requests[0].path == "/v1/audio/transcriptions"
    assert (form_values(form, "file"), form["file"][0].get_filename()) == ([WAV], "talk.wav")
    assert [form_values(form, name) for name in ("prompt", "language", "response_format")] == [
        [b"Names: Ann."],
        [b"en"],
        [b"json"],
    ]
    assert deltas == [TextDelta("Hello there."), UsageDelta(Usage(14, 3)), ReplyEnd("end", native=body)]


def test_times_stay_in_the_native_form_and_seconds_are_no_tokens() -> None:
    body = {"text": "Hi.", "segments": [{"start": 0.0, "end": 0.4, "text": "Hi."}], "usage": {"type": "duration"}}
    options = {"response_format": "verbose_json", "timestamp_granularities[]": ["segment", "word"]}
    with serve(whole(200, body)) as server:
        deltas = ask(at(server, "whisper-1"), SOUND, options=options)

    form = form_of(server.requests[0])
    assert form_values(form, "timestamp_granularities[]") == [b"segment", b"word"]
    assert "prompt" not in form
    assert deltas == [TextDelta("Hi."), ReplyEnd("end", native=body)]


@pytest.mark.parametrize(
    "text", ["Hello there.", "WEBVTT\n\n00:00.000 --> 00:01.000\nHi.", "[Music] la la", "1\n<i>a</i>"]
)
def test_a_transcription_can_be_plain_text(text: str) -> None:
    reply = decode("transcription", text.encode())

    assert (reply.text, reply.complete) == (text, True)


def test_silence_is_a_whole_reply_without_text() -> None:
    reply = decode("transcription", b'{"text": ""}')

    assert (reply.text, reply.complete) == ("", True)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"<!DOCTYPE html><title>Sign in</title>", InvalidReply),
        (b'{"words": []}', InvalidReply),
        (b'{"text": "Hel', IncompleteReply),
        (b'{"error": "out of quota"}', ProviderError),
    ],
)
def test_what_is_no_transcription_is_an_error(body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        decode("transcription", body)


# --- speech ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sound", "mime"), [(MP3, "audio/mpeg"), (WAV, "audio/wav"), (b"\xff\xfb\x90\x00", "audio/mpeg")]
)
def test_text_is_read_aloud(sound: bytes, mime: str) -> None:
    with serve(whole(200, sound, content_type="application/octet-stream")) as server:
        deltas = ask(at(server, "gpt-4o-mini-tts"), "Hello.", options={"voice": "nova"})

    assert (server.requests[0].path, server.requests[0].json) == (
        "/v1/audio/speech",
        {"model": "gpt-4o-mini-tts", "input": "Hello.", "voice": "nova"},
    )
    assert deltas == [MediaDelta(Media(mime, data=sound)), ReplyEnd("end")]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"<html>Sign in</html>", InvalidReply),
        (bytes(100), InvalidReply),
        (PNG, InvalidReply),
        (b'{"error": {"message": "no such voice"}}', ProviderError),
        (b'{"audio": "later"}', InvalidReply),
        (WAV[:-4], IncompleteReply),
    ],
)
def test_what_is_no_whole_sound_is_an_error(body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        decode("speech", body)


# --- what is checked before anything is sent ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "said", "more", "error", "line"),
    [
        (
            "gpt-image-1",
            ["a cat"],
            {"tools": (TOOL,)},
            Unsupported,
            "gpt-image-1 generates images and cannot call tools.",
        ),
        ("whisper-1", [SOUND], {"tools": (TOOL,)}, Unsupported, "whisper-1 transcribes speech and cannot call"),
        ("tts-1", ["hi"], {"tools": (TOOL,)}, Unsupported, "tts-1 converts text to speech and cannot call tools."),
        ("qwen-image-edit", ["blue"], {}, BadUsage, "edits an image, and none is attached. Attach one with `-a PATH`"),
        ("qwen-image-edit", [PICTURE], {}, BadUsage, "needs to be told what to change, and no text is given"),
        ("gpt-image-1", [" "], {}, BadUsage, "makes an image from a description, and no text is given"),
        ("gpt-image-1", ["x", SOUND], {}, Unsupported, "audio/wav is attached. Attach PNG"),
        ("gpt-image-1", ["x", Media("image/png", url="https://h/a.png")], {}, Unsupported, "never fetched"),
        ("dall-e-3", ["blue", PICTURE], {}, Unsupported, "cannot edit one"),
        ("whisper-1", ["hi"], {}, BadUsage, "writes down a sound, and none is attached"),
        ("whisper-1", [PICTURE], {}, Unsupported, "image/png is attached. Attach a sound"),
        ("whisper-1", [SOUND, SOUND], {}, BadUsage, "one sound, and 2 are attached"),
        ("whisper-1", [Media("audio/x\r\nx: y", data=WAV)], {}, Unsupported, "Attach a sound"),
        ("tts-1", ["hi", SOUND], {}, Unsupported, "takes no attachment"),
        ("tts-1", [""], {}, BadUsage, "no text is given"),
        ("tts-1", ["hi"], {"options": {"stream": True}}, BadUsage, "`stream` is no option"),
        ("tts-1", ["hi"], {"options": {"speed": float("nan")}}, BadUsage, "cannot be encoded as JSON"),
        ("whisper-1", [SOUND], {"options": {"temperature": object()}}, BadUsage, "cannot be encoded as a form"),
        ("whisper-1", [Media("audio/wav", data=bytes(MAX_UPLOAD + 1))], {}, BadUsage, "the limit is 64 MiB"),
    ],
)
def test_what_a_kind_needs_is_checked_before_anything_is_sent(
    model: str, said: list[Any], more: dict[str, Any], error: type[Exception], line: str
) -> None:
    with serve(whole(200, {})) as server, pytest.raises(error) as caught:
        ask(at(server, model), *said, **more)

    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    assert server.connections == 0


def test_a_prompt_without_a_word_of_the_person_is_refused() -> None:
    with pytest.raises(BadUsage, match="Nothing was said to m"):
        find_wire("image").encode(Prompt((Message("assistant"),)), Target("h", "m"))


# --- the socket -----------------------------------------------------------------------------------------------


def test_the_keys_of_an_error_are_hidden_whatever_the_kind() -> None:
    said = {"error": {"message": f"Incorrect API key provided: {KEY}"}}
    with serve(whole(401, said)) as server, pytest.raises(AuthenticationFailed) as caught:
        ask(at(server, "whisper-1"), SOUND)

    assert KEY not in str(caught.value)
    assert "openai (127.0.0.1" in str(caught.value)
    assert len(server.requests) == 1


def test_a_key_in_a_strange_body_is_hidden_too() -> None:
    answer = whole(200, f"your key is {KEY}".encode(), content_type="text/plain")
    with serve(answer) as server, pytest.raises(InvalidReply) as caught:
        ask(at(server, "tts-1"), "hi")

    assert "your key is" in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_broken_connection_is_tried_again_with_the_whole_form() -> None:
    with serve_each([Reset()], [whole(200, {"text": "Hi."})]) as server:
        there = at(server, "whisper-1")
        deltas = ask(replace(there, retries=RetryPolicy(min_delay=0.01)), SOUND)

    assert [request.body for request in server.requests] == [server.requests[0].body] * 2
    assert TextDelta("Hi.") in deltas


def test_a_body_that_never_ends_is_cut_off_at_its_bound() -> None:
    with serve(head(content_type="audio/mpeg"), MP3, Repeat(bytes(4 << 20), every=0)) as server:
        with pytest.raises(ReplyTooLarge, match=f"{MAX_BODY_BYTES >> 20} MiB"):
            ask(at(server, "tts-1"), "hi")

        assert server.left.wait(240)


def test_a_cancelled_request_closes_its_socket() -> None:
    async def run(server: ChaosServer) -> None:
        task = asyncio.ensure_future(anext(at(server, "gpt-image-1").stream(Prompt((user("a cat"),)))))
        assert await asyncio.to_thread(server.asked.wait, 240)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with serve(head(content_type="application/json"), b'{"data"', Silence()) as server:
        asyncio.run(run(server))

        assert server.left.wait(240)


def test_a_key_is_never_in_what_is_shown_of_an_endpoint() -> None:
    there = make_endpoint("openai:tts-1", base_url="http://127.0.0.1:9/v1", api_key=Secret(KEY))

    assert KEY not in repr(there)
    assert "PNG" not in repr(Media("image/png", data=PNG))
