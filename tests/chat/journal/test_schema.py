from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from nbtool.chat.conversation import restore
from nbtool.chat.journal import Journal, filesystem, queries, schema, search
from nbtool.event_json import load_events
from nbtool.events import Notice

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


def test_a_journal_that_an_older_nbtool_wrote_is_migrated_with_everything_in_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    shutil.copy(Path(__file__).parent / "version1.sqlite", path)
    with closing(sqlite3.connect(path)) as old, old:
        before = old.execute("SELECT * FROM events ORDER BY seq").fetchall()
    book = Journal(path)
    asyncio.run(book.write("chat_new", "t", [Notice("new")]))
    book.execute(search.update_index)

    tree = restore.restore_tree(book.read(lambda connection: queries.chat_events(connection, "chat_old")))
    with closing(sqlite3.connect(path)) as new, new:
        assert new.execute("SELECT * FROM events WHERE chat_id = 'chat_old' ORDER BY seq").fetchall() == before
        assert new.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
    assert [[version.text for version in node.versions] for node in tree.active_path] == [
        ["It is lorem ipsum.", "A second version."], ["A picture of a fox."],
    ]  # fmt: skip
    assert [call.status for call in tree.active_path[0].versions[0].calls] == ["ok"]
    assert tree.active_path[1].versions[0].prompt.parts[1].kind == "media"
    assert {found.what for found in book.read(lambda connection: search.search(connection, "lorem"))} == {
        "reply", "result",
    }  # fmt: skip


def test_an_older_journal_is_read_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    shutil.copy(Path(__file__).parent / "version1.sqlite", path)

    lines = Journal(path).read(queries.list_turns)

    assert [line.text for line in lines] == ["It is lorem ipsum.", "A second version.", "A picture of a fox."]


def test_a_migration_that_is_cut_off_leaves_the_old_tables(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    shutil.copy(Path(__file__).parent / "version1.sqlite", path)
    with pytest.raises(sqlite3.Error):
        schema.connect(path, (*schema._MIGRATIONS, "CREATE TABLE more (a); NONSENSE"))

    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").fetchone() == (1,)


def test_the_events_of_an_old_chat_are_events(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    shutil.copy(Path(__file__).parent / "version1.sqlite", path)
    book = Journal(path)

    for line in book.read(queries.list_turns):
        assert restore.restore_turn(load_events(book.events(line.turn_id))).status == "completed"


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
