"""Access to files: that of others is taken from nbtool's own ones, and what a link leads to stays as it is."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from nbtool.chat.journal.log_owner import RECORD, record_owner
from nbtool.chat.journal.schema import connect
from nbtool.plugins.event_log import EventLog
from nbtool.settings import make_private

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def readable_file(path: Path, text: str = "mine") -> Path:
    path.write_text(text)
    path.chmod(0o644)
    return path


def test_a_file_and_a_folder_of_ones_own_become_private(tmp_path: Path) -> None:
    file, folder = readable_file(tmp_path / "file"), tmp_path / "folder"
    folder.mkdir(mode=0o755)

    for one in (file, folder, tmp_path / "missing"):
        make_private(one)

    assert (mode_of(file), mode_of(folder)) == (0o600, 0o700)


@pytest.mark.parametrize("kind", ["symbolic", "hard", "of a folder", "dangling"])
def test_what_a_link_leads_to_keeps_its_mode(kind: str, tmp_path: Path) -> None:
    target, link = readable_file(tmp_path / "target"), tmp_path / "link"
    if kind == "of a folder":
        target = tmp_path / "folder"
        target.mkdir(mode=0o755)
    if kind == "hard":
        os.link(target, link)
    else:
        link.symlink_to(tmp_path / "missing" if kind == "dangling" else target)
    before = mode_of(target)

    make_private(link)

    assert mode_of(target) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give a file away")
def test_a_file_of_another_account_keeps_its_mode(tmp_path: Path) -> None:
    file = readable_file(tmp_path / "file")
    os.chown(file, 65534, 65534)

    make_private(file)

    assert mode_of(file) == 0o644


def test_opening_a_journal_changes_no_file_that_a_link_beside_it_leads_to(tmp_path: Path) -> None:
    target = readable_file(tmp_path / "target")
    folder = tmp_path / "home"
    folder.mkdir(mode=0o755)
    for end in (RECORD, "-lock"):
        (folder / f"journal.sqlite{end}").symlink_to(target)

    connect(folder / "journal.sqlite").close()
    record_owner(folder / "journal.sqlite")

    assert (target.read_text(), mode_of(target)) == ("mine", 0o644)


def test_opening_a_journal_that_is_a_link_leaves_the_mode_of_its_file(tmp_path: Path) -> None:
    target, folder = tmp_path / "target.sqlite", tmp_path / "home"
    connect(target).close()
    target.chmod(0o644)
    folder.mkdir()
    (folder / "journal.sqlite").symlink_to(target)

    connect(folder / "journal.sqlite").close()

    assert mode_of(target) == 0o644


def test_an_event_log_leaves_the_mode_of_what_a_link_leads_to(tmp_path: Path) -> None:
    target, own = readable_file(tmp_path / "target", ""), readable_file(tmp_path / "own.jsonl", "")
    (tmp_path / "events.jsonl").symlink_to(target)

    EventLog(tmp_path / "events.jsonl")
    EventLog(own)

    assert (mode_of(target), mode_of(own)) == (0o644, 0o600)
