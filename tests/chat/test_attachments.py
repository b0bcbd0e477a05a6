from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image

from nbtool import Chat
from nbtool.chat.attachments import MAX_ATTACHED, as_media, as_parts
from nbtool.errors import BadUsage
from nbtool.messages import Media, Text, user
from nbtool.testing import ScriptedWire
from nbtool.tools.secret_patterns import SECRET_FOLDERS, SECRET_PLACES
from tests.samples import JPEG, MP3, PNG, WAV


def pixels(media: Media, folder: Path) -> Any:
    """Read an attached image as another program does."""
    (folder / "image").write_bytes(media.data or b"")
    with Image.open(folder / "image") as image:
        return np.asarray(image)


@pytest.mark.parametrize(
    ("name", "data", "mime"),
    [
        ("cat.png", PNG, "image/png"), ("cat.jpg", JPEG, "image/jpeg"), ("really.png", JPEG, "image/jpeg"),
        ("a.wav", WAV, "audio/wav"), ("a.mp3", MP3, "audio/mpeg"), ("a.pdf", b"%PDF-1.7\n\xff", "application/pdf"),
        ("a.csv", b"a,b\n1,2\n", "text/csv"), ("notes", b"hello", "text/plain"), ("a.json", b"{}", "text/plain"),
        ("a.svg", b"<svg/>", "text/plain"), ("a.zip", b"PK\x03\x04\xff", "application/zip"),
    ],
)  # fmt: skip
def test_a_file_is_known_by_its_bytes_and_then_by_its_name(tmp_path: Path, name: str, data: bytes, mime: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)

    assert as_media(path) == as_media(str(path)) == Media(mime, data=data, name=name)


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "cat.png").write_bytes(PNG)

    assert as_media("~/cat.png").data == PNG


@pytest.mark.parametrize("thing", [PNG, bytearray(PNG), memoryview(PNG)])
def test_bytes_can_be_attached(thing: Any) -> None:
    assert as_media(thing) == Media("image/png", data=PNG)


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        ("/nowhere/cat.png", "does not exist"),
        ("/", "is a folder"),
        ("/dev/null", "is not a regular file"),
        ("a\x00b", "cannot be read"),
        ("x" * 5000, "cannot be read"),
        (b"", "no content to attach"),
        (b"\x00\x01\xff\xfe", "has an unknown type"),
        (7, "An int cannot be attached. Attach a path, a URL, bytes"),
        ({"a": 1}, "A dict cannot be attached"),
        ("https:///cat.png", "has no host"),
        ("http://[bad/cat.png", "has no host"),
        ("https://ann:pw@h.example/cat.png", "contains a user or a password"),
        ("https://h.example/cat", "is unknown"),
        (np.zeros((2, 2)), "float64 of shape (2, 2)"),
        (np.zeros((2, 2, 5), "uint8"), "uint8 of shape (2, 2, 5)"),
        (np.zeros((0, 2), "uint8"), "uint8 of shape (0, 2)"),
        (Image.new("RGB", (0, 0)), "The image cannot be drawn ("),
        (np.zeros(3, "uint8"), "uint8 of shape (3,)"),
    ],
)
def test_what_cannot_be_attached_says_why_in_one_line(thing: Any, said: str) -> None:
    with pytest.raises(BadUsage) as caught:
        as_media(thing)

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert "pw" not in str(caught.value)


def test_a_file_that_is_not_what_it_is_called_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cat.png"
    path.write_bytes(b"\xff\x00 no image")

    with pytest.raises(BadUsage, match=r"is named cat\.png, but its content is not image/png"):
        as_media(path)


def test_what_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    path.write_bytes(PNG)
    os.truncate(path, MAX_ATTACHED + 1)

    with pytest.raises(BadUsage, match="more than 20 MB cannot be attached"):
        as_media(path)
    with pytest.raises(BadUsage, match="more than 20 MB cannot be attached"):
        as_media(PNG + bytes(MAX_ATTACHED))
    os.truncate(path, MAX_ATTACHED)
    assert len(as_media(path).data or b"") == MAX_ATTACHED


@pytest.mark.parametrize(
    "name", [".env", ".env.local", "prod.ENV", "id_rsa", "id_ed25519", "server.pem", ".netrc", "credentials.json"]
)
def test_a_file_that_looks_like_secrets_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("KEY=sentinel")
    (tmp_path / "innocent.txt").symlink_to(path)

    for one in (path, tmp_path / "innocent.txt"):
        with pytest.raises(BadUsage, match="looks like a file of secrets and was not attached") as caught:
            as_media(one)
        assert "sentinel" not in str(caught.value)


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize(
    "name",
    [
        *(f"{folder}/notes" for folder in sorted(SECRET_FOLDERS)),
        *(f"{folder}/{name}" for folder, name in sorted(SECRET_PLACES)),
        *(f"{folder}/{name}/notes" for folder, name in sorted(SECRET_PLACES)),
        ".SSH/notes",
        ".ssh.bak/notes",
        ".Config/Hub",
    ],
)
def test_what_lies_where_programs_keep_secrets_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text("sentinel")
    (tmp_path / "innocent.txt").symlink_to(path)

    for one in (path, tmp_path / "innocent.txt"):
        with pytest.raises(BadUsage, match="looks like a file of secrets and was not attached"):
            as_media(one)


names_of_files = st.text("abz019._-", min_size=1, max_size=8).map(lambda name: f"n{name}t")
SECRET_PARTS = [*((folder,) for folder in sorted(SECRET_FOLDERS)), *sorted(SECRET_PLACES)]


@settings(max_examples=80)
@given(
    parts=st.sampled_from(SECRET_PARTS),
    case=st.sampled_from([str, str.upper, str.title]),
    above=st.lists(names_of_files, max_size=2),
    below=st.lists(names_of_files, min_size=1, max_size=3),
)
def test_no_file_below_a_place_of_secrets_is_attached_in_any_case_and_through_no_link(
    tmp_path_factory: pytest.TempPathFactory,
    parts: tuple[str, ...],
    case: Callable[[str], str],
    above: list[str],
    below: list[str],
) -> None:
    root = tmp_path_factory.mktemp("root")
    path = root.joinpath(*above, *map(case, parts), *below)
    path.parent.mkdir(parents=True)
    path.write_text("sentinel")
    (root / "innocent.txt").symlink_to(path)

    for given_path in (path, root / "innocent.txt"):
        with pytest.raises(BadUsage, match="looks like a file of secrets and was not attached"):
            as_media(given_path)


def test_a_private_key_is_refused_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nsentinel")

    with pytest.raises(BadUsage, match="contains a private key"):
        as_media(tmp_path / "notes.txt")


@pytest.mark.parametrize("name", ["hub", "stripe/config.toml", "settings", "keys/host", ".config/app/hub"])
def test_the_same_names_elsewhere_are_attached(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("plain")

    assert as_media(path).data == b"plain"


def test_an_address_is_kept_and_not_fetched() -> None:
    url = "https://h.example/a/cat.jpeg?size=2"

    assert as_media(url) == Media("image/jpeg", url=url, name="cat.jpeg")


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "YCbCr", "F"])
def test_an_image_of_pillow_becomes_png(tmp_path: Path, mode: str) -> None:
    media = as_media(Image.new(mode, (3, 2)))

    assert media.mime == "image/png"
    assert pixels(media, tmp_path).shape[:2] == (2, 3)


def test_a_figure_becomes_png(tmp_path: Path) -> None:
    mpl.use("agg")
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([1, 2, 3])
    media = as_media(figure)

    assert media.mime == "image/png"
    assert pixels(media, tmp_path).shape[2] == 4


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 2), (4, 3, 3), (4, 3, 4)])
def test_an_array_becomes_png_with_the_very_pixels(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).integers(0, 256, shape, dtype="uint8")

    assert np.array_equal(pixels(as_media(array), tmp_path), array)
    assert np.array_equal(pixels(as_media(array[::-1, ::2]), tmp_path), array[::-1, ::2])


def test_a_grey_array_may_have_one_channel(tmp_path: Path) -> None:
    array = np.arange(6, dtype="uint8").reshape(2, 3, 1)

    assert np.array_equal(pixels(as_media(array), tmp_path), array[..., 0])


def test_one_thing_or_several_can_be_attached_and_parts_stay_as_they_are() -> None:
    part = Media("image/png", url="https://h/a.png")

    assert as_media(part) is part
    assert as_parts(part) == [part]
    assert as_parts([part, Text("and"), PNG]) == [part, Text("and"), Media("image/png", data=PNG)]
    assert as_parts(thing for thing in (PNG, WAV)) == [*as_parts(PNG), *as_parts(WAV)]
    assert len(as_parts(np.zeros((2, 2), "uint8"))) == 1
    assert as_parts(()) == []


def test_a_chat_sends_what_is_attached(tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_bytes(PNG)
    with ScriptedWire(["A cat.", "A cat.", "A cat."]) as wire:
        chat = Chat(wire=wire)
        chat.send("What is it?", attach=str(tmp_path / "cat.png"))
        chat.send("", attach=[PNG])
        chat.send(user("Again?"), attach=PNG)

    picture = Media("image/png", data=PNG)
    assert wire.prompts[0].messages[-1].parts[:-1] == (
        Text("What is it?"), Media("image/png", data=PNG, name="cat.png"),
    )  # fmt: skip
    assert picture in wire.prompts[1].messages[-1].parts
    assert wire.prompts[2].messages[-1].parts == (Text("Again?"), picture)


def test_nothing_is_sent_where_an_attachment_cannot_be_made() -> None:
    with ScriptedWire([]) as wire, pytest.raises(BadUsage, match="does not exist"):
        Chat(wire=wire).send("What is it?", attach="/nowhere/cat.png")

    assert wire.prompts == []


def test_a_turn_without_an_image_cannot_be_attached() -> None:
    with ScriptedWire(["Hi."]) as wire:
        chat = Chat(wire=wire)
        turn = chat.send("Hello")

    with pytest.raises(BadUsage, match="contain no image and no sound"):
        chat.send("Edit it", attach=turn)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_an_image_of_pil_leaves_without_its_metadata_and_a_file_with_it(tmp_path: Path, kind: str) -> None:
    notes = Image.Exif()
    notes[0x010F] = "SENTINEL"
    Image.new("RGB", (8, 8)).save(tmp_path / "photo", kind, exif=notes)

    assert b"SENTINEL" in (as_media(tmp_path / "photo").data or b"")
    assert b"SENTINEL" not in (as_media(Image.open(tmp_path / "photo")).data or b"SENTINEL")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["data.csv", "notes.txt", "run.log", "data", "script.py"])
def test_a_text_with_a_byte_order_mark_is_attached_as_utf_8(tmp_path: Path, encoding: str, name: str) -> None:
    (tmp_path / name).write_bytes("name;préis\nä;1,5\n".encode(encoding))
    media = as_media(tmp_path / name)

    assert media.mime.startswith("text/")
    assert (media.data or b"").decode().removeprefix("\ufeff") == "name;préis\nä;1,5\n"


@pytest.mark.parametrize(
    ("encoding", "hint"),
    [
        ("latin-1", "Windows-1252 or Latin-1"),
        ("cp1252", "byte 0xE9 at 7"),
        ("utf-16-le", "UTF-16 without"),
        ("utf-16-be", "UTF-16 without"),
    ],
)
@pytest.mark.parametrize("name", ["data.csv", "notes.txt", "page.html", "data.json"])
def test_a_text_of_another_encoding_is_refused_with_its_name(
    tmp_path: Path, encoding: str, hint: str, name: str
) -> None:
    (tmp_path / name).write_bytes("name;préis\nä;1,5\n".encode(encoding))

    with pytest.raises(BadUsage, match=rf"{name} is not UTF-8 text.*{hint}.*Save it as UTF-8"):
        as_media(tmp_path / name)


def test_a_text_without_a_type_is_refused_by_its_encoding_and_other_bytes_by_their_type(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_bytes("préis\n".encode("latin-1"))
    (tmp_path / "run.dat").write_bytes(bytes(range(256)))

    with pytest.raises(BadUsage, match="is not UTF-8 text"):
        as_media(tmp_path / "run.log")
    with pytest.raises(BadUsage, match="has an unknown type"):
        as_media(tmp_path / "run.dat")


def test_a_private_key_is_found_in_every_encoding(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("-----BEGIN PRIVATE KEY-----", "utf-16")

    with pytest.raises(BadUsage, match="contains a private key"):
        as_media(tmp_path / "notes.txt")
