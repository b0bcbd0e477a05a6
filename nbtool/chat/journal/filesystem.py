"""Detect network file systems: SQLite's write-ahead log needs a local disk."""

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
"""Linux names of file systems that are shared with other machines or have no shared memory between processes."""

MOUNTS = Path("/proc/self/mountinfo")


def is_network_path(path: Path, mounts: Path = MOUNTS) -> bool:
    """Whether a path is on a network file system: by its mount on Linux, by `//` on Windows."""
    text = str(path.absolute())
    if text.startswith(("\\\\", "//")):
        return True
    try:
        return file_system(path, mounts.read_text(encoding="utf-8", errors="replace")) in NETWORK_TYPES
    except OSError:
        return False


def file_system(path: Path, mounts: str) -> str:
    """Return the type of the file system of a path from the text of `mountinfo`; empty if it is not listed.

    See proc(5) for the fields: the fifth is the mount point, the first after the dash is the type.
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
            best, kind = mounted, after.split(" ")[0]  # a later mount hides an earlier one on the same path
    return kind
