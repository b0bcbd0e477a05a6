from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import jsonschema
import pytest

from nbtool.blocks.fold.turn_events import Transcript
from nbtool.blocks.media import MAX_DISPLAYED, SAVED_LIMIT
from nbtool.blocks.protocol_schema import DATA_LIMIT, SCHEMA
from nbtool.blocks.question import question_summary
from nbtool.blocks.render.mimebundle import TURN_MIME, turn_mimebundle
from nbtool.blocks.render.static_html import HTML_LIMIT, to_text
from nbtool.events import (
    CallAsked,
    CallDecided,
    CallFinished,
    CallReady,
    CallStarted,
    Event,
    MessageAppended,
    TurnEnded,
    TurnStarted,
)
from nbtool.messages import Media, Text, ToolResult, Usage, results, user
from tests.blocks.turns import fold
from tests.samples import PNG, WAV

IMAGE, SOUND = Media("image/png", PNG, name="plot"), Media("audio/wav", WAV)
PAPER = Media("application/pdf", b"%PDF-1.7", name="a.pdf")
END = TurnEnded("completed", "Done.", Usage(), 1, 1, 1.0)


def make_transcript(
    *media: Media, left_out: int = 0, attached: tuple[Media, ...] = (), more: tuple[Event, ...] = ()
) -> Transcript:
    prompt = user(Text("Look"), *attached)
    finished = CallFinished("c1", "draw", 1, "ok", "an image", media=media, media_left_out=left_out)
    started = TurnStarted("t", "m", prompt, 1.0)
    return fold(started, CallReady("c1", "draw", 1, "{}"), CallStarted("c1", 1.0), finished, *more, END)


def saved_bundle(transcript: Transcript) -> dict[str, Any]:
    bundle = turn_mimebundle(transcript.document(), transcript.media)
    jsonschema.Draft202012Validator(SCHEMA).validate(bundle[TURN_MIME])
    return bundle


def test_a_call_names_its_images_and_sounds_and_the_bytes_are_beside_the_document() -> None:
    transcript = make_transcript(IMAGE, SOUND, left_out=2, attached=(PAPER,))

    document = transcript.document()

    (block,) = document["blocks"]
    assert [(one["mime"], one["name"], one["size"]) for one in block["media"]] == [  # type: ignore[typeddict-item]  # a call's block
        ("image/png", "plot", len(PNG)),
        ("audio/wav", "", len(WAV)),
    ]
    assert block["media_left_out"] == 2  # type: ignore[typeddict-item]  # the same
    assert [one["name"] for one in document["head"]["attached"]] == ["a.pdf"]
    assert set(transcript.media.values()) == {IMAGE, SOUND, PAPER}
    assert b64encode(PNG).decode() not in json.dumps(document)


def test_the_images_that_a_model_saw_are_in_a_turn_that_is_read_back() -> None:
    actual = MessageAppended(results(ToolResult("draw", "an image", "", "c1", media=(IMAGE,))))

    assert list(make_transcript(more=(actual,)).media.values()) == [IMAGE]
    both = make_transcript(IMAGE, SOUND, more=(actual,)).document()["blocks"][0]
    assert [one["is_sent"] for one in both["media"]] == [True, False]  # type: ignore[typeddict-item]  # a call's block
    assert len(make_transcript(SOUND, more=(actual,)).document()["blocks"][0]["media"]) == 1  # type: ignore[typeddict-item]  # a call's block


def test_a_saved_turn_keeps_its_images_in_both_forms_and_names_them_as_text() -> None:
    transcript = make_transcript(IMAGE, SOUND, attached=(IMAGE, PAPER))

    bundle = saved_bundle(transcript)

    data = b64encode(PNG).decode()
    assert (
        bundle["text/html"].count(f'<img alt="plot, image/png, {len(PNG)} bytes" src="data:image/png;base64,{data}"')
        == 2
    )
    assert (
        f'<audio controls preload="none" src="data:audio/wav;base64,{b64encode(WAV).decode()}"' in bundle["text/html"]
    )
    assert bundle[TURN_MIME]["blocks"][0]["media"][0]["data"] == data
    assert "data" not in bundle[TURN_MIME]["head"]["attached"][1]
    assert "    [audio/wav, 48 bytes]" in to_text(transcript.document())


@pytest.mark.parametrize("count", [1, MAX_DISPLAYED])
def test_what_is_too_large_for_a_notebook_is_reported_and_all_of_it_keeps_within_its_bounds(count: int) -> None:
    large = Media("image/png", PNG + bytes(SAVED_LIMIT // 2))

    bundle = saved_bundle(make_transcript(*[large] * count))

    assert bundle["text/html"].count("<img") == 1
    assert bundle["text/html"].count("too large to save in the notebook") == count - 1
    assert len(bundle["text/html"]) <= HTML_LIMIT + SAVED_LIMIT
    assert len(json.dumps(bundle[TURN_MIME])) <= DATA_LIMIT + SAVED_LIMIT


def test_no_name_and_no_type_of_an_image_becomes_markup() -> None:
    hostile = Media('image/png" onerror="x', PNG, name='"><script>alert(1)</script>')

    html = saved_bundle(make_transcript(hostile))["text/html"]

    assert "<script" not in html
    assert "<img" not in html
    assert 'onerror="' not in html


@pytest.mark.parametrize("verdict", ["withheld", "released"])
def test_an_image_that_is_asked_about_is_there_for_the_person_until_it_is_decided(verdict: Any) -> None:
    transcript = Transcript()
    transcript.feed(CallReady("c1", "draw", 1, "{}"))
    transcript.feed(CallAsked("c1", "result", "d", "draw", "an image", media=(IMAGE,)))
    question: Any = transcript.document()["blocks"][0]
    (shape,) = question["question"]["media"]
    before = transcript.find_media(shape["key"])
    said = question_summary(question)
    saved_then = str(turn_mimebundle(transcript.document(), transcript.media))

    transcript.feed(CallDecided("c1", "result", "d", verdict, "button"))

    assert before == IMAGE
    assert said.endswith("(8 characters and 1 image)?")
    assert shape["key"] not in saved_then
    assert transcript.find_media(shape["key"]) is None
    assert transcript.media == {}
