"""Sound that a chat model gives is kept, can be played, and its words are the text."""

from __future__ import annotations

import io
import json
import wave
from base64 import b64encode
from typing import Any

import pytest

from nbtool import Chat
from nbtool.messages import Media, assistant, user
from nbtool.wire import Prompt, Target, decode, find_wire
from nbtool.wire.dialects.chat_completions.audio import SAMPLE_RATE, UNREADABLE
from nbtool.wire.providers.model_kinds import MEDIA_KINDS
from nbtool.wire.registry import WIRES
from tests.chaos import head, serve
from tests.wire import chatting

SAMPLES = bytes(range(256)) * 20


def b64(data: bytes) -> str:
    return b64encode(data).decode()


def as_wav(samples: bytes) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8_000)
        sound.writeframes(samples)
    return file.getvalue()


def audio_chunk(**audio: Any) -> dict[str, Any]:
    return chatting.chunk({"audio": audio})


def audio_stream(first: bytes = SAMPLES[:1_001], second: bytes = SAMPLES[1_001:]) -> bytes:
    return chatting.stream(
        chatting.chunk({"role": "assistant"}), audio_chunk(id="a1", transcript="Good "), audio_chunk(data=b64(first)),
        audio_chunk(transcript="morning."), audio_chunk(data=b64(second)), audio_chunk(expires_at=1),
        chatting.chunk(finish="stop"),
    )  # fmt: skip


def test_streamed_samples_become_a_sound_that_can_be_played() -> None:
    with serve(head(), audio_stream()) as server:
        turn = Chat("m", base_url=server.url).send("Say it")

    assert turn.text == "Good morning."
    (media,) = turn.media
    assert media.mime == "audio/wav"
    assert media.name
    with wave.open(io.BytesIO(media.data or b"")) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (SAMPLE_RATE, 1, 2)
        assert sound.readframes(10_000) == SAMPLES
    assert "<audio" in media._repr_mimebundle_()["text/html"]
    assert f"$VAR_REF{{{{{media.name}}}}}" in turn.natural_flow


FILES = [(as_wav(SAMPLES), "audio/wav"), (b"ID3" + SAMPLES, "audio/mpeg"), (b"fLaC" + SAMPLES, "audio/flac")]


@pytest.mark.parametrize(("data", "mime"), FILES)
def test_a_whole_sound_is_kept_as_it_came(data: bytes, mime: str) -> None:
    audio = {"id": "a1", "data": b64(data), "transcript": "Good morning.", "expires_at": 1}
    reply = chatting.whole({"role": "assistant", "content": None, "audio": audio})

    assert (reply.text, reply.complete) == ("Good morning.", True)
    assert [part for part in reply.message.parts if isinstance(part, Media)] == [Media(mime, data=data)]


def test_a_sound_that_cannot_be_read_is_reported() -> None:
    reply = decode("chat", chatting.stream(audio_chunk(data="no base64!"), chatting.chunk(finish="stop")))

    assert reply.text == UNREADABLE


def test_a_sound_that_breaks_off_is_no_whole_one() -> None:
    reply = decode("chat", chatting.stream(audio_chunk(data=b64(SAMPLES)), done=False))

    assert not reply.complete
    assert not any(isinstance(part, Media) for part in reply.message.parts)


@pytest.mark.parametrize("wire", sorted(set(WIRES) - set(MEDIA_KINDS)))
def test_a_reply_with_sound_can_be_in_the_history_of_every_dialect(wire: str) -> None:
    said = assistant("Good morning.", Media("audio/wav", data=as_wav(SAMPLES), name="audio_1"))
    request = find_wire(wire).encode(Prompt((user("Hi"), said, user("And?"))), Target("h", "m"))

    assert "Good morning." in json.dumps(request.body)
