from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter

from nbtool.event_json import dump_event, load_event
from nbtool.events import MessageAppended
from nbtool.messages import Media, user
from nbtool.mime import MAX_DISPLAY_BYTES, sniff
from tests.samples import JPEG, MP3, PNG, WAV


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (PNG, "image/png"), (JPEG, "image/jpeg"), (b"GIF89a..", "image/gif"), (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (WAV, "audio/wav"), (MP3, "audio/mpeg"), (b"\xff\xfb\x90\x00", "audio/mpeg"), (b"\xff\xf1\x50", "audio/aac"),
        (b"fLaC\0", "audio/flac"), (b"OggS\0", "audio/ogg"), (b"\0\0\0\x20ftypM4A ", "audio/mp4"),
        (b"\0\0\0\x20ftypisom", "video/mp4"), (b"\x1aE\xdf\xa3", "video/webm"), (b"%PDF-1.7", "application/pdf"),
        (b"", ""), (b"\xff", ""), (b"hello", ""), (b"RIFF\0\0\0\0AVI ", ""), ("hä".encode("utf-16"), ""),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", ""),
    ],
)  # fmt: skip
def test_bytes_say_what_they_are(data: bytes, mime: str) -> None:
    assert sniff(data) == mime


def display_bundle(media: Media) -> dict[str, Any]:
    """Give what IPython would put into the notebook."""
    bundle: dict[str, Any] = DisplayFormatter().format(media)[0]
    return bundle


def test_an_image_is_shown_as_itself() -> None:
    bundle = display_bundle(Media("image/png", data=PNG, name="cat"))

    assert b64decode(bundle["image/png"]) == PNG
    assert bundle["text/plain"] == f"cat (image/png), {len(PNG)} bytes"


def test_the_bytes_decide_and_not_the_name() -> None:
    assert set(Media("image/png", data=JPEG)._repr_mimebundle_()) == {"image/jpeg", "text/plain"}


@pytest.mark.parametrize(
    "media",
    [
        Media("image/svg+xml", data=b"<svg onload='alert(1)'/>"),
        Media("image/png", data=b"<script>alert(1)</script>"),
        Media("text/html", data=b"<script>alert(1)</script>"),
        Media("application/pdf", data=b"%PDF-1.7"),
        Media("image/png", url="javascript:alert(1)"),
    ],
)
def test_what_could_do_something_is_a_line_of_text(media: Media) -> None:
    assert set(media._repr_mimebundle_()) == {"text/plain"}


def test_a_sound_has_controls_and_fetches_nothing() -> None:
    markup = Media("audio/x' onerror='alert(1)", data=WAV)._repr_mimebundle_()["text/html"]

    assert markup.startswith('<audio controls src="data:audio/wav;base64,')
    assert "alert" not in markup


def test_an_address_is_a_link_and_cannot_break_out_of_it() -> None:
    markup = Media("image/png", url='https://h/a.png?x="><img src=x onerror=alert(1)>')._repr_mimebundle_()["text/html"]

    assert markup.startswith('<a href="https://h/a.png?x=&quot;&gt;&lt;img')
    assert "<img" not in markup


def test_what_is_too_large_is_reported_and_not_shown() -> None:
    bundle = Media("image/png", data=PNG + bytes(MAX_DISPLAY_BYTES))._repr_mimebundle_()

    assert set(bundle) == {"text/plain"}
    assert "too large to show (limit: 20 MiB)" in bundle["text/plain"]


def test_media_are_read_back_from_json_as_they_were() -> None:
    event = MessageAppended(user("a", Media("image/png", data=PNG, name="cat.png")))

    assert load_event(dump_event(event)) == event
