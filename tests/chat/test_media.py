from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.messages import Media
from nbtool.plugins.media_variables import MAX_STORED
from tests.chaos import ChaosServer, serve, serve_each, whole
from tests.chat.again import notices
from tests.samples import JPEG, MP3, PNG, WAV, as_base64, form_of, form_values, image_response


def chat(server: ChaosServer, model: str = "gpt-image-1", **more: Any) -> Chat:
    return Chat(f"openai:{model}", base_url=server.url, api_key="k", **more)


def test_a_chat_with_an_image_model_gives_an_image() -> None:
    with serve(image_response(as_base64(PNG))) as server:
        turn = chat(server).send("a cat")

    assert (turn.status, turn.error) == ("completed", None)
    assert turn.rounds[-1].message.parts == (Media("image/png", data=PNG),)
    assert [media.data for media in turn.media] == [PNG]


def test_an_image_model_runs_no_tools_of_the_provider() -> None:
    with serve(image_response(as_base64(PNG))) as server:
        turn = chat(server, provider_tools=["web_search"]).send("a cat")

    assert (turn.status, turn.error) == ("completed", None)
    assert "web_search" not in server.requests[0].body.decode()


def test_an_image_of_a_reply_is_the_target_of_a_reference() -> None:
    with serve(image_response(as_base64(PNG))) as server:
        talk = chat(server)
        turn = talk.send("a cat")

    stored = talk.variables.value("image_1_result")
    assert stored is turn.media[0]
    assert stored.data == PNG
    assert "$VAR_REF{{image_1_result}}" in turn.content


def test_thousands_of_images_in_one_reply_are_kept_and_only_the_first_become_variables() -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": as_base64(PNG)["b64_json"]}}
    reply = {"candidates": [{"content": {"role": "model", "parts": [part] * 2_000}, "finishReason": "STOP"}]}
    with serve(whole(200, reply)) as server:
        turn = Chat("m", base_url=server.url, wire="gemini").send("cats")

    assert len(turn.media) == 2_000
    assert notices(turn) == [
        f"The first {MAX_STORED} of 2,000 images, sounds and files of the reply can be referenced."
    ]


def test_an_image_of_one_turn_is_edited_in_the_next() -> None:
    with serve_each([image_response(as_base64(PNG))], [image_response(as_base64(JPEG))]) as server:
        talk = chat(server)
        second = talk.send("make it blue", attach=talk.send("a cat"))

    assert form_values(form_of(server.requests[1]), "image") == [PNG]
    assert second.media[0].mime == "image/jpeg"


@pytest.mark.parametrize("tool_mode", ["auto", "native", "prompted"])
def test_in_a_chat_with_tools_and_objects_a_media_model_has_neither_and_its_prompt_is_the_persons_alone(
    tool_mode: Any,
) -> None:
    @tool
    def price() -> int:
        "A price."
        return 1

    with serve(image_response(as_base64(PNG))) as server:
        talk = chat(server, tools=[price], tool_mode=tool_mode)
        talk.choose_tools = lambda _: ["price"]
        talk.keeps_notes = True
        talk.expose(read=True, rows=[1, 2])
        turn = talk.send("a cat")

    assert (turn.status, turn.error) == ("completed", None)
    assert server.requests[0].json["prompt"] == "a cat"
    assert "tools" not in server.requests[0].json


def test_what_is_transcribed_is_the_persons_text_alone() -> None:
    with serve_each([whole(200, MP3, "audio/mpeg")], [whole(200, {"text": "Hello."})]) as server:
        speech, writer = chat(server, "tts-1"), chat(server, "whisper-1")
        for talk in (speech, writer):
            talk.expose(rows=[1, 2])
        speech.send("Good morning.")
        writer.send("Names: Ada", attach=[WAV])

    assert server.requests[0].json["input"] == "Good morning."
    assert form_values(form_of(server.requests[1]), "prompt") == [b"Names: Ada"]


def test_a_transcription_is_the_text_of_its_turn() -> None:
    with serve(whole(200, {"text": "Hello."})) as server:
        turn = chat(server, "whisper-1").send("", attach=[WAV])

    assert (turn.text, turn.status) == ("Hello.", "completed")


def test_a_rehearsal_shows_the_form_and_sends_nothing() -> None:
    with serve(whole(200, {})) as server:
        request = chat(server, "whisper-1").rehearse("", attach=WAV)

    assert request.path == "/audio/transcriptions"
    assert [(upload.filename, upload.data) for upload in request.uploads] == [("audio.wav", WAV)]
    assert server.connections == 0
