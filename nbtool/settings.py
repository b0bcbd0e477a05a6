"""Settings and their sources.

Precedence, highest first: flag, call argument, `%config`, `ipython_config.py`, environment, default. A setting carries
its source, so that `%chat status` can show it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import platformdirs

from nbtool.errors import SettingsError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A value and its source."""

    value: T
    source: str

    def __str__(self) -> str:
        return f"{self.value} ({self.source})"


def resolve_setting(candidates: Iterable[tuple[str, T | None]], default: T) -> Setting[T]:
    """Return the first candidate that has a value; candidates are (source, value), highest precedence first."""
    for source, value in candidates:
        if value is not None:
            return Setting(value, source)
    return Setting(default, "default")


def env(name: str) -> str | None:
    """Return an environment variable; empty counts as not set."""
    return os.environ.get(name) or None


def display_path(path: Path | None) -> str:
    """Return a path for display, without the home folder: outputs are saved with the notebook."""
    folder = env("NBTOOL_HOME")
    for name, root in (("$NBTOOL_HOME", folder), ("~", os.path.expanduser("~"))):  # noqa: PTH111 - it never raises
        if root and path and path.is_relative_to(root):
            return str(Path(name) / path.relative_to(root))
    return str(path)


def data_dir() -> Path:
    """Return the folder of the journal and the settings: `NBTOOL_HOME`, else the platform's user data folder.

    The folder is created if missing, with access for its owner only.

    Raises:
        SettingsError: it cannot be created.
    """
    folder = Path(env("NBTOOL_HOME") or platformdirs.user_data_dir("nbtool", appauthor=False))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"Cannot create the folder {folder} ({error.strerror or error}).",
            fix="Set NBTOOL_HOME to another folder.",
        ) from None
    return folder


def make_private(path: Path) -> None:
    """Take the access of others from a file or folder of this account.

    A link stays as it is, and so does what it leads to: a symbolic one, or a file that has a second name. A file is not
    opened for it, because closing it would release the locks that SQLite holds on it.

    Raises:
        OSError: the mode cannot be changed.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    is_file, is_folder = stat.S_ISREG(found.st_mode), stat.S_ISDIR(found.st_mode)
    is_ours = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    if not is_ours or not (is_folder or (is_file and found.st_nlink == 1)) or not found.st_mode & 0o077:
        return
    mode = 0o700 if is_folder else 0o600
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(path, mode, follow_symlinks=False)  # noqa: PTH101 - `Path.chmod` is the same
    elif hasattr(os, "O_PATH"):  # Linux before Python 3.13: a link that has taken the place of the file is not followed
        handle = os.open(path, os.O_PATH | os.O_NOFOLLOW)
        try:
            if os.path.samestat(os.fstat(handle), found):
                Path(f"/proc/self/fd/{handle}").chmod(mode)
        finally:
            os.close(handle)
    else:
        path.chmod(mode)
