"""A folder that paths cannot leave: the file that is opened is the file that was checked.

A path is resolved first, including links, and must be below the root. It is then opened step by step from the root's
own descriptor, and no step follows a link: a link created in between is an error. If the platform has no such
descriptors (Windows), the opened file is compared with the checked one: that narrows the race, but does not close it.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtool.errors import BadUsage, ToolFailed
from nbtool.text import shorten
from nbtool.tools.secret_patterns import is_secret_path
from nbtool.tools.values.sanitize import single_line
from nbtool.toolsets.protected_paths import GIVE_ANYWAY, protected_reason

MAX_PATH_CHARS = 1_000
"""Maximum number of characters of a path."""

NOTEBOOK_SUFFIX = ".ipynb"
"""The ending of files that are not changed where they exist."""

MAX_DEPTH = 50
"""Maximum number of folders in a path."""

HAS_DESCRIPTORS = {os.open, os.stat, os.mkdir, os.rename, os.unlink} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether the platform opens files relative to a folder's descriptor."""

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINKS
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINKS  # opening a pipe must not wait for its writer
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS


@dataclass(frozen=True, slots=True)
class _OpenFolder:
    """A folder below the root, with its descriptor if supported."""

    path: Path
    descriptor: int | None

    def path_of(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)

    @property
    def options(self) -> dict[str, Any]:
        return {} if self.descriptor is None else {"dir_fd": self.descriptor}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a folder."""

    name: str
    is_folder: bool
    is_link: bool
    size: int


class SandboxedFolder:
    """Files below one folder. All errors are `ToolFailed` with a message that the model can act on.

    Raises:
        BadUsage: the folder does not exist, or tools may not access it.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            self.root = Path(folder).expanduser().resolve(strict=True)
            is_folder = self.root.is_dir()
        except (OSError, ValueError, RuntimeError):  # a NUL; a cycle of links; no home
            is_folder = False
        if not is_folder:
            raise BadUsage(
                f"{shorten(str(folder), 200)!r} is not a folder.", fix="Pass the path of an existing folder."
            )
        if reason := protected_reason(self.root):
            raise BadUsage(f"{self.root} is not accessible to tools: {reason}.", fix="Use another folder.")

    def resolve(self, path: str) -> tuple[str, ...]:
        """Resolve a path written by a model, and return its parts below the root."""
        _check_text(path)
        try:
            target = (self.root / path).resolve()
        except (OSError, RuntimeError, ValueError):  # a cycle of links
            raise ToolFailed(f"{_quoted(path)} does not exist.") from None
        if not target.is_relative_to(self.root):
            raise ToolFailed(f"{_quoted(path)} is outside the folder and was not opened.")
        if reason := protected_reason(self.root / path) or protected_reason(target):
            has_secrets = is_secret_path(self.root / path) or is_secret_path(target)
            advice = f" {GIVE_ANYWAY}" if has_secrets else ""
            raise ToolFailed(f"{_quoted(path)} is not accessible to tools: {reason}.{advice}")
        return target.relative_to(self.root).parts

    def read(self, path: str, max_bytes: int) -> tuple[bytes, int]:
        """Return the first bytes of a regular file, and its size."""
        *folders, name = self.resolve(path) or (".",)
        with _os_errors_as_failures(path), self._open(folders) as folder:
            _check_regular(_status(folder, name), path)
            descriptor = os.open(folder.path_of(name), _READ_FLAGS, **folder.options)
            with os.fdopen(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                _check_regular(status, path)
                self._check_unchanged(folder, name, status, path)
                if status.st_nlink > 1:
                    raise ToolFailed(
                        f"{_quoted(path)} is a hard link: it may also be outside the folder and was not read."
                    )
                return file.read(max_bytes), status.st_size

    def write(self, path: str, data: bytes, *, replace: bool) -> bool:
        """Write a whole file; return whether it existed. Missing folders are created."""
        *folders, name = self.resolve(path) or (".",)
        with _os_errors_as_failures(path), self._open(folders, create=True) as folder:
            try:
                existing = _status(folder, name)
            except FileNotFoundError:
                _write_new_file(folder, name, data)
                return False
            _check_regular(existing, path)
            refuse_notebook(path)
            if not replace:
                raise ToolFailed(f"{_quoted(path)} already exists; use replace=true to replace it.")
            self._check_unchanged(folder, name, existing, path)
            draft = f".nbtool-{secrets.token_hex(8)}"
            _write_new_file(folder, draft, data, mode=stat.S_IMODE(existing.st_mode))
            try:
                os.replace(
                    folder.path_of(draft),
                    folder.path_of(name),
                    src_dir_fd=folder.descriptor,
                    dst_dir_fd=folder.descriptor,
                )
            except BaseException:
                os.unlink(folder.path_of(draft), **folder.options)
                raise
            return True

    def list_entries(self, path: str, max_entries: int) -> list[Entry]:
        """Return at most this many entries of a folder, without those that tools may not access."""
        parts = self.resolve(path)
        with _os_errors_as_failures(path), self._open(parts) as folder:
            entries_read: list[Entry] = []
            with os.scandir(folder.path if folder.descriptor is None else folder.descriptor) as names:
                for entry in names:
                    if len(entries_read) == max_entries:
                        break
                    if not protected_reason(folder.path / entry.name):
                        entries_read.append(_entry(entry))
            return sorted(entries_read, key=lambda entry: entry.name)

    @contextmanager
    def _open(self, parts: Iterable[str], *, create: bool = False) -> Iterator[_OpenFolder]:
        """Open a folder below the root, step by step, without following links."""
        path = self.root.joinpath(*parts)
        if not HAS_DESCRIPTORS:
            if create:
                path.mkdir(parents=True, exist_ok=True)
            if Path(os.path.realpath(path)) != path:
                raise NotADirectoryError(errno.ENOTDIR, "it goes through a link")
            yield _OpenFolder(path, None)
            return
        descriptor = os.open(self.root, _FOLDER_FLAGS)
        try:
            for part in parts:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=descriptor)
                child = os.open(part, _FOLDER_FLAGS, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = child
            yield _OpenFolder(path, descriptor)
        finally:
            os.close(descriptor)

    def _check_unchanged(self, folder: _OpenFolder, name: str, status: os.stat_result, path: str) -> None:
        """Without descriptors: check that no link was created between the check and the opening."""
        if folder.descriptor is not None:
            return
        full_path = folder.path / name
        if Path(os.path.realpath(full_path)) != full_path or not os.path.samestat(status, full_path.lstat()):
            raise ToolFailed(f"{_quoted(path)} changed while it was opened and was not used.")


def refuse_notebook(path: str) -> None:
    """Refuse to change an existing notebook: a page that has it open would overwrite the change, or lose its own.

    Raises:
        ToolFailed: the path is that of a notebook.
    """
    if path.lower().rstrip().endswith(NOTEBOOK_SUFFIX):
        raise ToolFailed(
            f"{_quoted(path)} is a notebook and was not changed: a page that has it open would lose one of the changes."
            " Use the tools of nbtool:notebook, or write a notebook of another name."
        )


def _check_text(path: str) -> None:
    if not path or len(path) > MAX_PATH_CHARS:
        raise ToolFailed(f"Expected a path of 1 to {MAX_PATH_CHARS} characters.")
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        raise ToolFailed(f"{_quoted(path)} contains a control character.")
    if path.startswith(("/", "~")) or "\\" in path or (os.name == "nt" and ":" in path):
        raise ToolFailed(f"{_quoted(path)} is not a path below the folder: write it as sub/file.txt.")
    if path.count("/") > MAX_DEPTH:
        raise ToolFailed(f"Expected a path with at most {MAX_DEPTH} folders.")
    if ".." in path.split("/"):
        raise ToolFailed(f"{_quoted(path)} contains '..': only paths below the folder are allowed.")


@contextmanager
def _os_errors_as_failures(path: str) -> Iterator[None]:
    """Convert an OS error to a one-line message, without local paths."""
    try:
        yield
    except FileNotFoundError:
        raise ToolFailed(f"There is no {_quoted(path)}.") from None
    except OSError as error:
        is_link = error.errno in (errno.ELOOP, errno.ENOTDIR)
        reason = "it is a link, or goes through one or a file" if is_link else error.strerror or type(error).__name__
        raise ToolFailed(f"{_quoted(path)} cannot be opened: {reason}.") from None


def _check_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolFailed(f"{_quoted(path)} is a folder.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailed(f"{_quoted(path)} is not a regular file.")


def _status(folder: _OpenFolder, name: str) -> os.stat_result:
    target = folder.path_of(name)
    return os.stat(target, follow_symlinks=False, **folder.options)  # noqa: PTH116 - Path.stat takes no descriptor


def _write_new_file(folder: _OpenFolder, name: str, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file that did not exist before; remove it if it cannot be written completely."""
    descriptor = os.open(folder.path_of(name), _CREATE_FLAGS, mode, **folder.options)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        os.unlink(folder.path_of(name), **folder.options)
        raise


def _entry(entry: os.DirEntry[str]) -> Entry:
    is_folder = entry.is_dir(follow_symlinks=False)
    size = 0
    if not is_folder:
        with suppress(OSError):  # it was removed since it was listed
            size = entry.stat(follow_symlinks=False).st_size
    return Entry(entry.name, is_folder, entry.is_symlink(), size)


def _quoted(path: str) -> str:
    return repr(shorten(single_line(path), 200))
