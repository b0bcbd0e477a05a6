from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbtool.chat.export.files import read_bounded, write_new
from nbtool.errors import BadUsage


def test_a_file_is_written_with_the_usual_rights(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        write_new(tmp_path / "new.md", "é\n")
        write_new(tmp_path / "forced.md", "b", force=True)
    finally:
        os.umask(mask)

    assert (tmp_path / "new.md").read_bytes() == "é\n".encode()
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new.md", "forced.md")] == [0o644, 0o644]


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "elsewhere")
    for name in ("a.md", "dangling"):
        with pytest.raises(BadUsage, match=r"exists and was not overwritten\. Name another file, or add --overwrite"):
            write_new(tmp_path / name, "theirs")

    assert path.read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_force_replaces_the_file_whole_and_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("mine")
    path.chmod(0o600)
    write_new(path, "theirs", force=True)

    assert (path.read_text(), path.stat().st_mode & 0o777) == ("theirs", 0o600)
    assert [one.name for one in tmp_path.iterdir()] == ["a.md"]


def test_files_beside_it_are_written_first_and_overwrite_none(tmp_path: Path) -> None:
    write_new(tmp_path / "a.md", "text", beside={"a_files/1.png": b"1"})
    with pytest.raises(BadUsage, match=r"1\.png exists and was not overwritten"):
        write_new(tmp_path / "b.md", "text", beside={"a_files/1.png": b"2"})
    with pytest.raises(BadUsage, match=r"a\.md exists"):
        write_new(tmp_path / "a.md", "text", beside={"c_files/1.png": b"2"})
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.md", "a_files"]

    write_new(tmp_path / "a.md", "other", beside={"a_files/1.png": b"2"}, force=True)
    assert ((tmp_path / "a.md").read_text(), (tmp_path / "a_files/1.png").read_bytes()) == ("other", b"2")


@pytest.mark.parametrize("name", ["missing/a.md", "", "a\0b"])
@pytest.mark.parametrize("force", [False, True])
def test_a_path_that_cannot_be_written_is_reported_in_a_line(tmp_path: Path, name: str, force: bool) -> None:
    with pytest.raises(BadUsage, match=r"cannot be written|exists"):
        write_new(tmp_path / name, "text", force=force)

    assert not list(tmp_path.iterdir())


def test_only_files_of_a_bounded_size_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"12345")

    assert read_bounded(path, 5) == b"12345"
    for wrong, most in ((path, 4), (tmp_path, 5), (tmp_path / "none", 5), (Path("a\0b"), 5)):
        with pytest.raises(BadUsage):
            read_bounded(wrong, most)
