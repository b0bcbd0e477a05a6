from __future__ import annotations

from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.errors import Unsupported
from nbtool.messages import Media
from tests.chaos import ChaosServer, serve, serve_each, whole
from tests.samples import JPEG, PNG, WAV, as_base64, drawn, form_of, written


def chat(server: ChaosServer, model: str = "gpt-image-1", **more: Any) -> Chat:
    return Chat(f"openai:{model}", base_url=server.url, api_key="k", **more)


def test_a_chat_with_an_image_model_gives_an_image() -> None:
    with serve(drawn(as_base64(PNG))) as server:
        turn = chat(server).send("a cat")

    assert (turn.status, turn.error) == ("completed", None)
    assert turn.rounds[-1].message.parts == (Media("image/png", data=PNG),)
    assert [media.data for media in turn.media] == [PNG]


def test_an_image_of_a_reply_is_the_target_of_a_reference() -> None:
    with serve(drawn(as_base64(PNG))) as server:
        talk = chat(server)
        turn = talk.send("a cat")

    kept = talk.variables.value("image_1_result")
    assert kept is turn.media[0]
    assert kept.data == PNG
    assert "$VAR_REF{{image_1_result}}" in turn.content


def test_an_image_of_one_turn_is_edited_in_the_next() -> None:
    with serve_each([drawn(as_base64(PNG))], [drawn(as_base64(JPEG))]) as server:
        talk = chat(server)
        second = talk.send("make it blue", attach=talk.send("a cat"))

    assert written(form_of(server.requests[1]), "image") == [PNG]
    assert second.media[0].mime == "image/jpeg"


@pytest.mark.parametrize("tool_mode", ["auto", "native", "prompted"])
def test_a_chat_with_tools_is_told_what_to_do(tool_mode: Any) -> None:
    @tool
    def price() -> int:
        "A price."
        return 1

    with serve(drawn(as_base64(PNG))) as server:
        turn = chat(server, tools=[price], tool_mode=tool_mode).send("a cat")

    assert turn.status == "error"
    assert isinstance(turn.error, Unsupported)
    assert str(turn.error) == (
        "gpt-image-1 makes images and cannot call tools."
        " Use a chat without tools and exposed variables: `-c NAME` in a cell, or a Chat of its own."
    )
    assert server.connections == 0


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
