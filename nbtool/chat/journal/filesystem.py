"""What kind of disk a path is on: SQLite's write-ahead log needs one that is in this machine."""

from __future__ import annotations

import re
from pathlib import Path

NETWORK_TYPES = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.beegfs", "fuse.ceph", "fuse.cephfs", "fuse.davfs",
    "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.juicefs", "fuse.moosefs", "fuse.mfs", "fuse.rclone",
    "fuse.s3fs", "fuse.sshfs", "fuseblk.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "orangefs",
    "panfs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", "fuse.vmhgfs-fuse", "prl_fs", "wekafs",
    "fuse.portal", "fuse.lustre",
})  # fmt: skip
"""File systems that are shared with other machines, or lend no memory between processes; as Linux names them."""

MOUNTS = Path("/proc/self/mountinfo")


def is_network_path(path: Path) -> bool:
    """Whether a path is on a network file system, as far as this system says: Linux by its mounts, Windows by `//`."""
    text = str(path.absolute())
    if text.startswith(("\\\\", "//")):
        return True
    try:
        return file_system(path, MOUNTS.read_text(encoding="utf-8", errors="replace")) in NETWORK_TYPES
    except OSError:
        return False


def file_system(path: Path, mounts: str) -> str:
    """Give the type of the file system under a path, by the text of `mountinfo`; empty where none is named.

    The fields are told in proc(5): the fifth is the place, the first after the dash the type.
    """
    resolved = path.absolute().resolve()
    best, kind = Path(), ""
    for line in mounts.splitlines():
        fields, _, after = line.partition(" - ")
        words = fields.split(" ")
        if len(words) < 5 or not after:
            continue
        mounted = Path(re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), words[4]))
        if (mounted == resolved or mounted in resolved.parents) and len(mounted.parts) >= len(best.parts):
            best, kind = mounted, after.split(" ")[0]  # of two on one place, the later covers the earlier
    return kind
