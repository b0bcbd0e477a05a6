from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.journal import Journal, filesystem, schema
from nbtool.chat.journal.durability import JournalConnection
from nbtool.errors import JournalError
from nbtool.events import Notice
from nbtool.files import locked

MOUNTS = r"""
21 26 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw
26 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw,discard
95 26 0:44 / /home rw,relatime shared:50 - nfs4 fs-1.efs.example.org:/ rw,vers=4.1
96 95 0:45 / /home/ada/local rw - xfs /dev/sdb rw
97 26 0:46 / /mnt/my\040share rw,relatime - cifs //server/share rw
98 26 0:47 / /mnt/mine rw - fuse.sshfs me@there: rw
"""


KINDS = {
    "/home/ada/.local": "nfs4", "/home/ada/local/x": "xfs", "/mnt/my share/x": "cifs", "/homes": "ext4",
    "/mnt/mine": "fuse.sshfs", "/sys/kernel": "sysfs",
}  # fmt: skip

SHARED = """
nfs: nas:/home, nfs4: fs-1.efs.example.org:/, cifs: //server/share, smb2: //server/share, smb3: //server/share,
smbfs: //server/share, ncpfs: SERVER/ada, coda: coda, afs: AFS, davfs: https://dav.example.org/, fuse.davfs: dav,
9p: drvfs, virtiofs: home, vboxsf: home, vmhgfs: .host:/, fuse.vmhgfs-fuse: vmhgfs-fuse, prl_fs: home,
ceph: 10.0.0.1:6789:/, fuse.ceph: ceph-fuse, fuse.cephfs: ceph, glusterfs: gl:/vol, fuse.glusterfs: gl:/vol,
lustre: 10.0.0.1@tcp:/scratch, fuse.lustre: lustre, gpfs: gpfs0, beegfs: beegfs_nodev, fuse.beegfs: beegfs, panfs: p,
pvfs2: tcp://p, orangefs: tcp://o, wekafs: weka, fuse.moosefs: mfs, fuse.mfs: mfs#master, fuse.juicefs: JuiceFS:vol,
fuse.s3fs: s3fs, fuse.goofys: bucket, fuse.gcsfuse: bucket, fuse.rclone: drive:, fuse.sshfs: me@there:,
fuseblk.sshfs: me@there:, fuse.portal: portal
"""
"""What file systems that machines share are called in the list of mounts, with a source of each."""


def test_the_file_system_of_a_path_is_read_from_the_mounts() -> None:
    assert {path: filesystem.file_system(Path(path), MOUNTS) for path in KINDS} == KINDS


def test_a_file_system_that_machines_share_is_a_network_and_a_disk_is_none(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"

    def is_network(kind: str, source: str) -> bool:
        mounts.write_text(f"26 1 259:1 / / rw,relatime shared:1 - {kind} {source} rw\n")
        return filesystem.is_network_path(Path("/home/ada"), mounts)

    shared = [entry.strip().partition(": ") for entry in SHARED.split(",")]
    assert [kind for kind, _, source in shared if not is_network(kind, source)] == []
    assert [kind for kind in ("ext4", "btrfs", "overlay", "tmpfs", "fuseblk", "zfs") if is_network(kind, kind)] == []


def test_a_network_file_system_gets_no_log_in_shared_memory(tmp_path: Path) -> None:
    home = Path(f"/{tmp_path}/home")  # two slashes, as of a share of Windows; on Linux the same folder
    home.mkdir()
    first, second = Journal(home / "journal.sqlite"), Journal(home / "journal.sqlite")
    for book in (first, second, first):
        asyncio.run(book.write("c", "t", [Notice("one")]))

    assert len(second.events("t")) == 3
    assert [file.name for file in home.iterdir()] == ["journal.sqlite"]


def test_a_journal_that_was_moved_to_a_network_file_system_loses_its_log(tmp_path: Path) -> None:
    schema.connect(tmp_path / "journal.sqlite").close()
    with closing(schema.connect(Path(f"/{tmp_path}/journal.sqlite"))) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """Return a journal of an earlier build, whose last event is in its log only."""
    path = tmp_path / "journal.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as kernel:
        kernel.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, at, chat_id, turn_id, kind, body)")
        kernel.execute("INSERT INTO events VALUES (1, 1.0, 'c', 't', 'notice', '{}')")
        kernel.execute("PRAGMA user_version = 1")
        kernel.execute("PRAGMA journal_mode = WAL")
        kernel.execute("INSERT INTO events VALUES (9000, 1.0, 'c', 't', 'notice', '{}')")
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{path}.copy{end}")
    for end in ("", "-wal"):  # as a kernel that was killed leaves them
        Path(f"{path}.copy{end}").replace(f"{path}{end}")
    return path


def content(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute("SELECT * FROM events ORDER BY seq").fetchall()


def test_a_journal_of_an_earlier_build_is_kept_aside_whole_and_named_in_one_line(earlier: Path, tmp_path: Path) -> None:
    shutil.copytree(tmp_path, before := tmp_path / "before")
    book = Journal(earlier)

    with pytest.warns(
        UserWarning, match=r"was written by an earlier build, and is kept as journal\.format1\.sqlite"
    ) as one:
        asyncio.run(book.write("c", "t", [Notice("new")]))
    book.close()

    assert len(one) == 1
    assert content(tmp_path / "journal.format1.sqlite") == content(before / "journal.sqlite")
    assert [event["text"] for event in book.events("t")] == ["new"]


@pytest.mark.promise("goes-on")
def test_while_a_kernel_of_an_earlier_build_has_its_journal_open_the_history_is_in_memory(earlier: Path) -> None:
    kernel = sqlite3.connect(earlier, isolation_level=None)
    assert kernel.execute("SELECT count(*) FROM events").fetchone() == (2,)
    book = Journal(earlier)
    with pytest.warns(UserWarning, match="is locked by another process; history stays in memory until it is unlocked"):
        asyncio.run(book.write("c", "t", [Notice("new")]))
    kernel.execute("INSERT INTO events VALUES (9001, 1.0, 'c', 't', 'notice', '{}')")
    kernel.close()

    with pytest.warns(UserWarning, match="was written by an earlier build"):
        found = book.events("t")
    assert [event["text"] for event in found] == ["new"]
    assert len(content(earlier.with_name("journal.format1.sqlite"))) == 3


def test_another_one_is_kept_beside_it(earlier: Path, tmp_path: Path) -> None:
    shutil.copytree(tmp_path, before := tmp_path / "before")
    moved = [schema.keep_aside(earlier)]
    for end in ("", "-wal"):
        shutil.copy(before / f"journal.sqlite{end}", tmp_path)
    moved.append(schema.keep_aside(earlier))

    assert [path and path.name for path in moved] == ["journal.format1.sqlite", "journal.format1-2.sqlite"]
    assert schema.keep_aside(earlier) is None


def test_a_reader_of_one_says_what_it_is(earlier: Path) -> None:
    with pytest.raises(JournalError, match=r"was written by an earlier build \(format 1\)"):
        schema.open_to_read(earlier)


def test_tables_whose_creation_is_cut_off_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with pytest.raises(sqlite3.Error):
        schema.connect(path, f"{schema.TABLES}; CREATE TABLE more (a); NONSENSE")

    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)


@pytest.mark.promise("killed-kernel")
def test_a_journal_whose_maker_was_killed_is_read_and_written_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    killed = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('PRAGMA cache_size = 1'); c.execute('CREATE TABLE a (b)');"
        "c.execute('BEGIN'); c.execute('CREATE TABLE c (d)');"
        "c.executemany('INSERT INTO a VALUES (?)', [('x' * 3_000,)] * 200); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    assert path.with_name("journal.sqlite-journal").exists()

    schema.open_to_read(path).close()
    schema.connect(path).close()

    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM a").fetchall() == [(0,)]


def test_a_journal_in_a_folder_that_may_not_be_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = Journal(tmp_path / "journal.sqlite")
    asyncio.run(book.write("c", "t", [Notice("one")]))
    book.close()
    monkeypatch.setattr(os, "access", lambda *_: False)  # whoever runs the tests may perhaps write everywhere

    with closing(schema.open_to_read(tmp_path / "journal.sqlite")) as connection:
        assert connection.execute("SELECT kind FROM events").fetchall() == [("notice",)]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM events")


def test_a_file_that_another_process_has_created_meanwhile_keeps_its_log(tmp_path: Path) -> None:
    path, log = tmp_path / "journal.sqlite", tmp_path / "journal.sqlite-wal"
    path.write_bytes(b"journal")
    log.write_bytes(b"log")

    schema._create(path, {log.name})

    assert (path.read_bytes(), log.read_bytes()) == (b"journal", b"log")


def test_tables_that_cannot_be_made_leave_none_and_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"

    with pytest.raises((sqlite3.Error, JournalError), match="NONSENSE"):
        schema.connect(path, "CREATE TABLE one (a); CREATE NONSENSE;")

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []


def test_tables_that_another_process_has_made_meanwhile_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"

    class Late(JournalConnection):
        """Gets its turn to write after another process."""

        def execute(self, statement: str, *more: Any) -> sqlite3.Cursor:
            if statement == "BEGIN IMMEDIATE":
                schema.connect(path).close()
            return super().execute(statement, *more)

    with closing(sqlite3.connect(path, isolation_level=None, factory=Late)) as connection:
        schema._create_tables(connection, "CREATE TABLE other (a)")
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

        assert (schema.version(connection), connection.in_transaction) == (schema.VERSION, False)
    assert {"events", "turns", "chats"} <= names
    assert "other" not in names


def test_a_journal_that_another_process_has_moved_meanwhile_is_not_moved_again(
    earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[Path | None] = []

    @contextmanager
    def locked_later(path: Path, seconds: float) -> Iterator[None]:
        monkeypatch.undo()
        moved.append(schema.keep_aside(earlier))
        schema.connect(earlier).close()
        with locked(path, seconds):
            yield

    monkeypatch.setattr(schema, "locked", locked_later)

    assert schema.keep_aside(earlier) is None
    assert moved == [earlier.with_name("journal.format1.sqlite")]
    with closing(schema.open_to_read(earlier)) as connection:
        assert schema.version(connection) == schema.VERSION
