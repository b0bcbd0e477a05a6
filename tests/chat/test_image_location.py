"""A person learns that an image contains where it was taken before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from nbtool import Chat
from nbtool.chat.attachments import MAX_BLOCKS, as_media, has_location
from nbtool.events import Notice, RequestStarted
from nbtool.testing import ScriptedWire

GPS = {1: "N", 2: (48.0, 12.0, 30.0), 3: "E", 4: (16.0, 22.0, 12.0)}
FORMATS = ["JPEG", "PNG", "WEBP", "TIFF"]


def photo(format_: str = "JPEG", *, location: bool = True) -> bytes:
    image, file = Image.new("RGB", (8, 8), "red"), BytesIO()
    exif = Image.Exif()
    exif[271] = "A camera"
    if location:
        exif.get_ifd(0x8825).update(GPS)
        exif[0x8825] = exif.get_ifd(0x8825)
    image.save(file, format_, exif=exif)
    return file.getvalue()


def with_xmp() -> bytes:
    info, file = PngInfo(), BytesIO()
    info.add_itxt("XML:com.adobe.xmp", "<rdf exif:GPSLatitude='48,12.5N'/>")
    Image.new("RGB", (8, 8)).save(file, "PNG", pnginfo=info)
    return file.getvalue()


@pytest.mark.parametrize("format_", FORMATS)
def test_a_location_is_found_in_each_format(format_: str) -> None:
    assert has_location(photo(format_))
    assert not has_location(photo(format_, location=False))


def test_a_location_is_found_in_xmp() -> None:
    assert has_location(with_xmp())


ODD: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "a header alone": lambda: b"II*\x00",
    "a directory behind the end": lambda: b"MM\x00*\xff\xff\xff\xff",
    "many headers": lambda: b"II*\x00" * 1_000_000,
    "many entries": lambda: b"II*\x00\x08\x00\x00\x00\xff\xff" * 100_000,
}


@pytest.mark.parametrize("kind", ODD)
def test_malformed_bytes_have_no_location(kind: str) -> None:
    assert not has_location(ODD[kind]())
    assert MAX_BLOCKS < 100


def test_the_person_is_informed_before_a_photo_with_a_location_is_sent(tmp_path: Path) -> None:
    (tmp_path / "beach.jpg").write_bytes(photo())
    with ScriptedWire(["A beach."]) as wire:
        turn = Chat(wire=wire).send("Where is this?", attach=tmp_path / "beach.jpg")

    notice, request = (next(one for one in turn.log if isinstance(one, kind)) for kind in (Notice, RequestStarted))
    assert notice.text.startswith("beach.jpg contains the location where it was taken")
    assert turn.log.index(notice) < turn.log.index(request)


@pytest.mark.parametrize("thing", ["file", "pixels"])
def test_an_image_without_a_location_brings_no_notice(tmp_path: Path, thing: str) -> None:
    (tmp_path / "red.jpg").write_bytes(photo(location=thing == "pixels"))
    attached = tmp_path / "red.jpg" if thing == "file" else Image.open(tmp_path / "red.jpg")
    with ScriptedWire(["Red."]) as wire:
        turn = Chat(wire=wire).send("What is this?", attach=attached)

    assert [one for one in turn.log if isinstance(one, Notice)] == []


def test_the_pixels_of_a_photo_have_no_location(tmp_path: Path) -> None:
    (tmp_path / "beach.jpg").write_bytes(photo())

    assert not has_location(as_media(Image.open(tmp_path / "beach.jpg")).data or b"")
